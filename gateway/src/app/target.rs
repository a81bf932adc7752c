//! The runtime as the watcher and the admin port see it.

use std::sync::Arc;

use hedgerow_config::{FleetFile, GatewayConfig, State, state::DigestOnly};
use tokio::sync::Notify;

use crate::{admin::Source, config::Target, runtime::Runtime};

/// A runtime, and who waits for its configuration.
#[derive(Clone)]
pub(super) struct Live {
    pub runtime: Arc<Runtime>,
    pub applied: Arc<Notify>,
}

impl Target for Live {
    fn apply(&self, config: GatewayConfig, digest: String) -> Result<(), String> {
        self.runtime.apply(config, digest).map_err(|error| error.to_string())?;
        self.applied.notify_waiters();
        Ok(())
    }

    fn apply_fleet(&self, fleet: FleetFile) {
        self.runtime.apply_fleet(fleet);
    }

    fn credentials_changed(&self) {
        self.runtime.credentials_changed();
        // A certificate may have been all that was missing.
        self.applied.notify_waiters();
    }

    fn reject(&self, digest: String, message: String) {
        self.runtime.metrics.config_rejected.inc();
        self.runtime.reject(digest, message);
    }
}

impl Source for Live {
    fn waits_for(&self) -> Option<String> {
        self.runtime.waits_for()
    }

    fn state(&self) -> State {
        self.runtime.state()
    }

    fn digest_only(&self) -> DigestOnly {
        self.runtime.digest_only()
    }
}
