//! The race's [`Transports`] over real connections.

use std::sync::Arc;

use hedgerow_config::{Route, settings::Egress};

use crate::{
    race::transport::{Pooled, Transport, Transports},
    runtime::trust::Trust,
    trace::Way,
    upstream::{Setup, SetupError, Upstream, UpstreamShared},
};

/// Opens pools.
pub(super) struct Pools(pub UpstreamShared);

impl Transports for Pools {
    fn open(&self, route: &Route, egress: &Egress, trust: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        let setup = Setup {
            ca: trust.ca.as_ref().map(|secret| secret.bytes()),
            egress: Some(egress),
            further: trust.further.as_ref().map(|secret| secret.bytes()),
        };
        Ok(Arc::new(Pooled(Upstream::new(route, &self.0, &setup)?)))
    }

    fn collector(&self, way: &Way) -> Result<Arc<dyn Transport>, SetupError> {
        let further = way.further.as_ref().map(|secret| secret.bytes());
        let setup = Setup { ca: None, egress: Some(&way.egress), further };
        Ok(Arc::new(Pooled(Upstream::collector(&way.endpoint, &self.0, &setup)?)))
    }
}
