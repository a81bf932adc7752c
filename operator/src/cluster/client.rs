//! The client: in a pod from its service account, elsewhere from `KUBECONFIG`.

use std::time::Duration;

use axum::http::{HeaderValue, header::USER_AGENT};
use kube::{Client, Config};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// What audit logs call it.
const AGENT: &str = concat!("hedgerow/", env!("CARGO_PKG_VERSION"));

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Neither a service account nor a kubeconfig.
    #[error("no Kubernetes to talk to: run in a pod with a service account, or set KUBECONFIG ({0})")]
    Nowhere(String),
    /// What was found cannot be used.
    #[error("the Kubernetes configuration cannot be used: {0}")]
    Unusable(String),
}

/// A client that has not talked to anybody yet.
///
/// # Errors
/// There is nothing to connect to.
pub async fn connect() -> Result<Client, ConnectError> {
    let mut config = Config::infer().await.map_err(|error| ConnectError::Nowhere(error.to_string()))?;
    config.connect_timeout = Some(CONNECT);
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    Client::try_from(config).map_err(|error| ConnectError::Unusable(error.to_string()))
}
