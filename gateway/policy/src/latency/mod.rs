//! First-token latency under censoring.
//!
//! A hedge that wins cancels its primary, and the primary's first token is never seen. Dropping it makes the
//! route look faster than it is, which lowers the delay and doubles the duplicates; counting it at the time of
//! the cancel makes the delay chase itself. Both are documented failures of earlier systems
//! (scylladb/scylladb#3746, #7342; cassandra-java-driver#924). Here such a sample is *right-censored*: "slower
//! than this, by how much is unknown", and quantiles come from the Kaplan-Meier estimate (1958), which uses
//! exactly that knowledge.
//!
//! Recording rule, for primaries only (hedges have a recorder of their own, since they are sent for slow
//! prompts): an *event* at the first generated token; *censored* at the end of anything else (lost to the
//! hedge, client left, deadline, error). Ages of attempts still in flight enter as censored when asked, so a
//! route that hangs is not a route without samples.
//!
//! Flow: [`Recorder`] (atomic, in the gateway, never decays) -> [`Counts`] (deltas, merged over pods) ->
//! [`Decayed`] (half-life 58 s) -> [`Curve`] (quantiles, survival, win probability).

mod bucket;
mod counts;
mod curve;
mod decayed;
mod recorder;
#[cfg(test)]
mod tests;
mod win;

pub use bucket::{BUCKETS, bucket_of, lower_bound, upper_bound};
pub use counts::{Counts, UnknownBucket};
pub use curve::{Curve, Interval, PSEUDO_SAMPLES, Quantile};
pub use decayed::{Decayed, KEEP, TICK};
pub use recorder::Recorder;
pub use win::win_probability;
