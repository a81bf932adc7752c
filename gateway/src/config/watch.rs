//! Notices that a file changed, by its bytes.
//!
//! Why bytes: Kubernetes swaps a symlink, editors rename, and file systems differ in what they tell about either; a few
//! small files read four times a second cost less than getting that right. Inputs: two directories. Outputs: calls of a
//! [`Target`], from one task, in the order: credentials, fleet, configuration, so that the first one finds what
//! the fleet knows and its lanes start warm. Invariants: a file that did not change is
//! not reported again; a refused configuration is tried again only when it or a credential changes.

use std::{path::PathBuf, sync::Arc, time::Duration};

use hedgerow_config::{FleetFile, GatewayConfig, fleet_file, gateway};

use super::{
    credentials::Credentials,
    load::{self, LoadError, MAX_FLEET, MAX_GATEWAY},
};

/// Time between two looks.
pub const EVERY: Duration = Duration::from_millis(250);

/// Who is told.
pub trait Target: Send + Sync + 'static {
    /// A configuration that can be read. `Err` refuses it as a whole, with a message for people.
    fn apply(&self, config: GatewayConfig, digest: String) -> Result<(), String>;
    /// What the fleet measured.
    fn apply_fleet(&self, fleet: FleetFile);
    /// At least one credential is new, changed or gone.
    fn credentials_changed(&self);
    /// A configuration was refused; the one before stays in force.
    fn reject(&self, digest: String, message: String);
}

/// Looks at the files.
pub struct Watcher<T> {
    directory: PathBuf,
    secrets: PathBuf,
    credentials: Arc<Credentials>,
    target: T,
    gateway: Seen,
    fleet: Seen,
    refused: bool,
}

/// What was last read of one file.
#[derive(Default)]
struct Seen {
    bytes: Option<Vec<u8>>,
    problem: Option<String>,
}

impl Seen {
    /// New bytes, if there are any since the last look; a problem is logged once.
    fn look(&mut self, read: Result<Option<Vec<u8>>, LoadError>) -> Option<&[u8]> {
        match read {
            Ok(Some(bytes)) => {
                if let Some(problem) = self.problem.take() {
                    tracing::info!(was = %problem, "readable again");
                }
                let fresh = self.bytes.as_ref() != Some(&bytes);
                let bytes = self.bytes.insert(bytes);
                fresh.then_some(bytes)
            }
            // Absent is no change: a pod goes on with what it last read.
            Ok(None) => None,
            Err(error) => {
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::warn!(%problem, "keeping what was read before");
                    self.problem = Some(problem);
                }
                None
            }
        }
    }
}

impl<T: Target> Watcher<T> {
    /// Watches `gateway.json` and `fleet.json` in `directory` and `<secret>/<key>` in `secrets`.
    pub fn new(directory: PathBuf, secrets: PathBuf, credentials: Arc<Credentials>, target: T) -> Self {
        Self {
            directory,
            secrets,
            credentials,
            target,
            gateway: Seen::default(),
            fleet: Seen::default(),
            refused: false,
        }
    }

    /// Looks once and tells the target. Blocks on file reads.
    pub fn look(&mut self, unix_ms: u64) {
        let rotated = self.credentials.refresh(&self.secrets, unix_ms);
        if rotated {
            self.target.credentials_changed();
        }
        let path = self.directory.join(fleet_file::FILE);
        if let Some(bytes) = self.fleet.look(load::bytes(&path, fleet_file::FILE, MAX_FLEET)) {
            match FleetFile::read(bytes) {
                Ok(fleet) => self.target.apply_fleet(fleet),
                Err(error) => tracing::warn!(%error, "keeping the fleet's figures read before"),
            }
        }
        let path = self.directory.join(gateway::FILE);
        if self.gateway.look(load::bytes(&path, gateway::FILE, MAX_GATEWAY)).is_some()
            || (rotated && self.refused)
        {
            self.offer();
        }
    }

    fn offer(&mut self) {
        let Some(bytes) = &self.gateway.bytes else { return };
        let (digest, read) = load::gateway(bytes);
        let outcome = read.map_err(|error| error.to_string()).and_then(|config| {
            self.credentials.expect(&config);
            self.target.apply(config, digest.clone())
        });
        let repaired = std::mem::replace(&mut self.refused, outcome.is_err());
        match outcome {
            Ok(()) => {
                let digest = hedgerow_config::digest::short(&digest);
                tracing::info!(digest, repaired, "configuration in force");
            }
            Err(message) => {
                tracing::error!(
                    digest = hedgerow_config::digest::short(&digest),
                    %message,
                    "configuration refused, the one before stays"
                );
                self.target.reject(digest, message);
            }
        }
    }

    /// Looks every [`EVERY`] for as long as the task runs. Reads happen on the runtime's blocking threads.
    pub async fn run(mut self, unix_ms: impl Fn() -> u64) {
        loop {
            let now = unix_ms();
            let looked = tokio::task::spawn_blocking(move || {
                self.look(now);
                self
            });
            let Ok(back) = looked.await else {
                tracing::error!("the watcher died: configuration changes are no longer noticed");
                return;
            };
            self = back;
            tokio::time::sleep(EVERY).await;
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
