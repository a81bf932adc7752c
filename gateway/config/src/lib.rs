//! The contract between operator and gateway.
//!
//! Why: the operator decides and the gateway acts, in different processes and sometimes in neighbouring versions, so all
//! that passes between them is written down once, here, as plain serde types.
//!
//! Three documents:
//! - `gateway.json` ([`GatewayConfig`]), operator to gateway: everything that users decided and every guardrail decision,
//!   with all defaults applied. One file, one [`digest`](digest::digest).
//! - `fleet.json` ([`FleetFile`]), operator to gateway: what the fleet measured. Outside the digest, may be stale or absent.
//! - `GET /state` ([`State`]), gateway to operator: what this pod runs and what it has counted.
//!
//! Invariants: unknown optional fields are ignored; an unknown `schema` is refused as a whole; names are the resources'
//! names; durations are integer milliseconds (`...Ms`), percents integers, prices integer micro-units per million tokens,
//! counted money integer 1e-12 units.
//!
//! Refuses: decisions, I/O, clocks, and any knowledge of Kubernetes.

pub mod cohort;
pub mod digest;
pub mod fleet_file;
pub mod gateway;
pub mod lane;
pub mod metric;
pub mod money;
pub mod route;
pub mod settings;
pub mod state;

pub use cohort::Cohort;
pub use fleet_file::FleetFile;
pub use gateway::GatewayConfig;
pub use lane::Lane;
pub use route::Route;
pub use settings::Settings;
pub use state::State;
