//! Why a gateway cannot start or go on.

use crate::{front::server::BindError, upstream::SetupError};

/// Why a gateway cannot start or go on. A missing or bad configuration is none of these: it is waited for.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// TLS towards upstreams cannot be set up.
    #[error(transparent)]
    Upstream(#[from] SetupError),
    /// The task that accepts connections died, which is a bug.
    #[error("the traffic port stopped: {message}")]
    Traffic {
        /// What happened.
        message: String,
    },
}
