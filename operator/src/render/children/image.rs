//! Which image the pods run.

use std::fmt;

use hedgerow_crds::v1alpha1::GatewayFleetSpec;
use serde::{Deserialize, Serialize};

/// The gateway image of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Image {
    /// Name with registry, without tag.
    pub repository: String,
    /// Tag; the operator's own version unless set.
    pub tag: String,
    /// `sha256:...`; wins over the tag. Empty = none.
    pub digest: String,
    /// When the kubelet asks the registry.
    pub pull_policy: PullPolicy,
}

/// When the kubelet asks the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PullPolicy {
    /// Each time a container starts.
    Always,
    /// Unless the node has the image.
    #[default]
    IfNotPresent,
    /// Never: the node has it, or the pod fails.
    Never,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            repository: "hedgerow-gateway".to_owned(),
            tag: env!("CARGO_PKG_VERSION").to_owned(),
            digest: String::new(),
            pull_policy: PullPolicy::default(),
        }
    }
}

impl Image {
    /// The reference for a fleet. A version that the fleet asks for replaces tag and digest alike: the digest is that of
    /// the installation's version.
    pub fn reference(&self, fleet: &GatewayFleetSpec) -> String {
        match &fleet.version {
            Some(version) => format!("{}:{version}", self.repository),
            None if self.digest.is_empty() => format!("{}:{}", self.repository, self.tag),
            None => format!("{}@{}", self.repository, self.digest),
        }
    }

    /// The version that people see: what the fleet asks for, else the installation's.
    pub fn version(&self, fleet: &GatewayFleetSpec) -> String {
        fleet.version.as_ref().map_or_else(|| self.tag.clone(), ToString::to_string)
    }
}

impl fmt::Display for PullPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleets_version_wins_over_the_digest_and_the_digest_over_the_tag() {
        let (plain, asked) = (
            GatewayFleetSpec::default(),
            GatewayFleetSpec { version: Some("0.2.0".into()), ..Default::default() },
        );
        let tagged =
            Image { repository: "r.example/gw".to_owned(), tag: "0.1.0".to_owned(), ..Image::default() };
        let pinned = Image { digest: "sha256:ab".to_owned(), ..tagged.clone() };
        assert_eq!(tagged.reference(&plain), "r.example/gw:0.1.0");
        assert_eq!(pinned.reference(&plain), "r.example/gw@sha256:ab");
        assert_eq!(pinned.reference(&asked), "r.example/gw:0.2.0");
        assert_eq!(
            (pinned.version(&plain), pinned.version(&asked)),
            ("0.1.0".to_owned(), "0.2.0".to_owned())
        );
    }
}
