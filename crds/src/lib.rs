//! The four kinds of `hedgerow.dev/v1alpha1` as Rust types, with everything the API server knows
//! about them: schema, bounds, constant defaults, CEL rules, printer columns.
//!
//! Inputs -> outputs: YAML or JSON of an object -> typed values ([`v1alpha1`]); a kind -> its
//! CustomResourceDefinition ([`generate`]); a raw object -> the API server's verdict, offline
//! ([`Kind::violations`]); a cohort or model -> its values with all defaults ([`effective`]).
//!
//! Invariants: what the schema accepts can be read into the types; reading a partial object gives
//! what the API server would have stored. The crate has no client, no async and no clock.

#![allow(
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "kubectl explain prints the docs of fields as they are"
)]
#![allow(clippy::duplicated_attributes, reason = "every printcolumn of a kind has a name and a type")]

pub mod condition;
pub mod effective;
pub mod generate;
mod kind;
pub mod text;
pub mod units;
pub mod v1alpha1;

pub use kind::{Kind, UnknownKind, Violation};

/// API group of all kinds.
pub const GROUP: &str = "hedgerow.dev";
/// The one version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of all kinds.
pub const API_VERSION: &str = "hedgerow.dev/v1alpha1";

/// Fleet that an object without `spec.gateway` belongs to.
pub const DEFAULT_FLEET: &str = "default";
/// Most routes that one fleet compiles.
pub const MAX_ROUTES_PER_FLEET: usize = 256;

/// Label on a `GatewayFleet` that the operator created by itself.
pub const LABEL_GENERATED: &str = "hedgerow.dev/generated";
/// Label on every child object: the fleet that it belongs to.
pub const LABEL_FLEET: &str = "hedgerow.dev/fleet";
/// Annotation on pods whose change makes the kubelet refresh the configuration volume.
pub const ANNOTATION_DIGEST: &str = "hedgerow.dev/config-digest";
/// Start of the annotation that resumes a cohort by hand; the cohort's name or `all` follows.
pub const ANNOTATION_RESUME_PREFIX: &str = "hedgerow.dev/resume.";
/// Start of the annotation that suspends a cohort by hand until a time (RFC 3339); the cohort's
/// name or `all` follows.
pub const ANNOTATION_SUSPEND_PREFIX: &str = "hedgerow.dev/suspend.";
/// What stands in a hold annotation for every cohort of the policy.
pub const ALL_COHORTS: &str = "all";

/// Name of the children of a fleet that need no suffix: `hedgerow-<fleet>`.
pub fn child_name(fleet: &str) -> String {
    format!("hedgerow-{fleet}")
}

/// Secret of a fleet that is always mounted and that routes use unless they name another:
/// `hedgerow-<fleet>-keys`.
pub fn default_secret_name(fleet: &str) -> String {
    format!("hedgerow-{fleet}-keys")
}
