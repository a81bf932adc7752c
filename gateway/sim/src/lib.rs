//! Scripted providers over real HTTP, and traffic for a gateway.
//!
//! Why: latency, failure and cancellation are only proved against something that is slow, fails and is
//! cancelled on purpose. The demo, the wire tests and the benchmarks use the same providers.
//!
//! - [`profile`]: how a provider behaves, as data;
//! - [`provider`]: the servers, in the OpenAI and the Anthropic dialect;
//! - [`traffic`]: open-loop and closed-loop clients that measure what a user would.
//!
//! It refuses to be a model of any vendor's speed: every figure is the script's.

mod clock;
mod dialect;
pub mod profile;
pub mod provider;
pub mod traffic;

pub use dialect::Dialect;
pub use profile::{Fault, FaultRule, Latency, Load, Marker, OnCancel, Profile, Quota, Storm, Tokens};
pub use provider::{Provider, ProviderConfig, Stats};
