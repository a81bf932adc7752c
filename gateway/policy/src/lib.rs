//! Every mechanism of the gateway as pure code.
//!
//! The gateway, the operator and the replay simulator call the same functions, so what was proved in virtual
//! time is what runs. To make that possible nothing in here does I/O, reads a clock, awaits, spawns, or keeps
//! a global: time is an argument ([`time::Moment`]), randomness is an argument (a `u64` draw, usually a keyed
//! hash of the user action's id from [`draw`]), and the same calls give the same answers.
//!
//! | Module | Decides |
//! | --- | --- |
//! | [`latency`] | what first tokens look like, cancelled losers counted as right-censored |
//! | [`learning`] | what a pod learns from its cells: curves, delays, what is normal |
//! | [`experience`] | what became of hedges, against what was predicted for them |
//! | [`delay`] | when a hedge is armed, and what share of firings may launch one |
//! | [`gate`] | whether this firing may hedge; the first refusal is the reason |
//! | [`routing`] | which of several routes is next |
//! | [`retry`] | how long to wait before a retry |
//! | [`budget`] | whether a retry or hedge is affordable |
//! | [`breaker`] | whether a route may be used, and with what share |
//! | [`quota`] | how much of a provider's own limits is left for this pod |
//! | [`limiter`] | how many user actions a lane may run |
//! | [`lane`] | who is admitted, who waits, who is shed, and when to come back |
//! | [`guardrail`] | whether a cohort may hedge at all |
//! | [`ledger`] | what every attempt cost |
//! | [`gauge`] | how much of something is held, and that it comes back exactly once |
//! | [`bypass`] | which hosts are reached without the fleet's proxy |
//!
//! Types that take `&self` are atomics and may be shared freely; types that take `&mut self` belong behind a
//! lock that is never held across an await. Hot paths allocate nothing.

mod atomic;
pub mod breaker;
pub mod budget;
pub mod bypass;
pub mod delay;
pub mod draw;
pub mod experience;
pub mod gate;
pub mod gauge;
pub mod guardrail;
pub mod lane;
pub mod latency;
pub mod learning;
pub mod ledger;
pub mod limiter;
pub mod quota;
pub mod retry;
pub mod routing;
pub mod time;
mod window;
