//! Other systems' rules, each written from its published source and cited there.
//!
//! They run in the same world as the shipped policy and differ in one mechanism: hedging ([`Rival`]) or concurrency
//! ([`Concurrency`]). None is tuned; constants are the published defaults.

mod envoy;
mod finagle;
mod go_gateway;
mod netflix;
mod tower;
mod vegas;

use std::time::Duration;

pub use envoy::Envoy;
pub use finagle::Finagle;
pub use go_gateway::{GoGateway, GoLane};
use hedgerow_policy::{ledger::Kind, time::Moment};
pub use netflix::{Aimd, Gradient2};
pub use tower::Tower;
pub use vegas::Vegas;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its first token.
    Answered,
    /// Cancelled because the other leg was faster.
    Lost,
    /// With an error.
    Failed,
}

/// A rule for hedging, one instance per pod.
pub trait Rival: Send {
    /// An original was admitted.
    fn original(&mut self, now: Moment);
    /// When the hedge timer fires after the start of a primary on `route`; none = no hedge.
    fn delay(&mut self, now: Moment, route: u8) -> Option<Duration>;
    /// The timer has fired: may a hedge be sent? Takes what it costs.
    fn take(&mut self, now: Moment) -> bool;
    /// An attempt ended.
    fn ended(&mut self, now: Moment, route: u8, kind: Kind, elapsed: Duration, how: Ended);
    /// The user of a primary on `route` has a first token after `elapsed`, from whichever leg.
    fn answered(&mut self, now: Moment, route: u8, elapsed: Duration);
}

/// A rule for the number of user actions that run at once, one instance per pod.
pub trait Concurrency: Send {
    /// The limit now.
    fn limit(&self) -> u32;
    /// A user action ended after `elapsed`, or was refused by the provider; `in_flight` includes it.
    fn sample(&mut self, now: Moment, elapsed: Duration, in_flight: u32, dropped: bool);
}
