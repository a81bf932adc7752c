//! The mounted authorities that a route's connections are made with.
//!
//! Why: a private CA is taken up while the pod runs, by new connections; and a change of any other credential must not cost
//! a route its warm ones. Inputs: a route, the fleet's way out, what is mounted. Output: a [`Trust`] that differs exactly when
//! new connections are needed.

use std::sync::Arc;

use hedgerow_config::{Route, route::SecretKey, settings::Egress};

use crate::config::{Credentials, Secret};

/// Authorities of one route, as they were mounted when its connections were set up.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The route's own, which replace the machine's.
    pub ca: Option<Arc<Secret>>,
    /// The fleet's, which join them.
    pub further: Option<Arc<Secret>>,
}

impl Trust {
    /// What is mounted for `route` now; nothing where no certificate is checked.
    pub fn of(route: &Route, egress: &Egress, credentials: &Credentials) -> Self {
        if !route.endpoint.starts_with("https:") {
            return Self::default();
        }
        let value = |place: &Option<SecretKey>| place.as_ref().and_then(|place| credentials.get(place));
        Self { ca: value(&route.tls.ca), further: value(&egress.ca) }
    }
}

impl PartialEq for Trust {
    fn eq(&self, other: &Self) -> bool {
        let bytes = |secret: &Option<Arc<Secret>>| secret.as_ref().map(|secret| secret.bytes().to_vec());
        bytes(&self.ca) == bytes(&other.ca) && bytes(&self.further) == bytes(&other.further)
    }
}
