//! Why a configuration cannot be put in force.

/// A configuration is taken as a whole or not at all; the old one stays.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A route that cannot be set up.
    #[error("route {route}: {why}")]
    Route {
        /// Name of the route.
        route: String,
        /// What to change.
        why: String,
    },
    /// More than the process can number.
    #[error("more than {limit} {what} since the start of the process: restart the pod")]
    TooMany {
        /// Routes, cohorts or models.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}
