//! The race's [`Transports`] over real connections.

use std::sync::Arc;

use hedgerow_config::Route;

use crate::{
    config::Credentials,
    race::transport::{Pooled, Transport, Transports},
    runtime::error::ApplyError,
    upstream::{Upstream, UpstreamShared},
};

/// Opens pools with the CAs that are mounted now.
pub(super) struct Pools {
    pub shared: UpstreamShared,
    pub credentials: Arc<Credentials>,
}

impl Transports for Pools {
    fn open(&self, route: &Route) -> Result<Arc<dyn Transport>, ApplyError> {
        let ca = route.tls.ca.as_ref().and_then(|place| self.credentials.get(place));
        let upstream = Upstream::new(route, &self.shared, ca.as_ref().map(|secret| secret.bytes()))
            .map_err(|error| ApplyError::Route { route: route.name.clone(), why: error.to_string() })?;
        Ok(Arc::new(Pooled(upstream)))
    }
}
