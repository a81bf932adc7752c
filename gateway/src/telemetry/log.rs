//! Logs on stderr: what the process does, never what passes through it.
//!
//! Inputs: a format and a filter. Requests are not logged here at all (they have records); prompts, answers and keys
//! have no way into these lines.

use tracing_subscriber::{EnvFilter, fmt};

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON object a line.
    #[default]
    Json,
    /// For people.
    Text,
}

/// Starts logging, once per process; a second call keeps the first. `filter` is in the form of `RUST_LOG`; an unusable
/// one falls back to `info`.
pub fn init(format: Format, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let started = match format {
        Format::Json => lines.json().flatten_event(true).try_init(),
        Format::Text => lines.with_ansi(false).try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was already started");
    }
}
