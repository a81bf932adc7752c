//! One budget for retries and hedges.
//!
//! Why a budget and not a maximum of retries: a maximum multiplies load exactly when the provider fails, a
//! budget bounds the *ratio* of extra attempts. Each original deposits a tenth of a token at lane admission;
//! each retry or hedge withdraws one. Attempts are therefore bounded by
//! `1.1 x originals + caps + reserve x seconds`, whatever fails.
//!
//! - One [`Bucket`] per model and one per pod; a withdrawal takes from both or from neither ([`take`]).
//! - Integer milli-tokens and compare-exchange: a balance is never negative and nothing is lost to rounding
//!   (tower#857: a truncated float turned 0.6 into 100 %).
//! - `hi = max(2, cap / replicas)`, `lo = min(10, hi)`, `cap = clamp(ratio x originals of the last 10 s, lo, hi)`.
//! - Hedges need `1 + 25 %` of the cap, so hedging stops before retries do.
//! - Start `5 / replicas`, at least 1: a fresh pod can't burst a full bucket of duplicates.
//! - Retries may also use a reserve of `retryReservePerSecond / replicas`, so that a quiet model can retry at all.
//! - No deposits while most of the user actions of the last 30 s failed (gRPC's and Brooker's behaviour):
//!   in an outage only the reserve remains.
//!
//! Ratios need no coordination between pods (a sum of ratios is the ratio); cap, start and reserve are divided.
//! Refuses to know *why* an attempt wants a token: a caller that never launches gives its [`Grant`] back.

mod bucket;
mod rate;
mod reserve;
#[cfg(test)]
mod tests;

pub use bucket::{Bucket, Rule, TOKEN};

use crate::time::Moment;

/// What a token is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// A hedge: needs more than the floor.
    Hedge,
    /// A retry: may use the reserve.
    Retry,
}

/// Which bucket had nothing to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// The model's.
    Model,
    /// The pod's.
    Pod,
}

/// Where one bucket took the token from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Balance,
    Reserve,
}

/// One token out of both buckets. Dropping it spends the token; [`refund`] gives it back.
#[must_use = "an unused grant is a spent token; refund it when nothing is launched"]
#[derive(Debug, PartialEq, Eq)]
pub struct Grant {
    model: Source,
    pod: Source,
}

/// Takes one token from both buckets or from neither.
pub fn take(model: &Bucket, pod: &Bucket, spend: Spend, now: Moment) -> Result<Grant, Empty> {
    let from_model = model.withdraw(spend, now).ok_or(Empty::Model)?;
    if let Some(from_pod) = pod.withdraw(spend, now) {
        return Ok(Grant { model: from_model, pod: from_pod });
    }
    model.give_back(from_model);
    Err(Empty::Pod)
}

/// Gives back the token of an attempt that was never launched.
#[expect(clippy::needless_pass_by_value, reason = "a grant is given back once; taking it says so")]
pub fn refund(model: &Bucket, pod: &Bucket, grant: Grant) {
    model.give_back(grant.model);
    pod.give_back(grant.pod);
}

/// Deposits for one original user action, at lane admission. Client retries do not deposit.
pub fn deposit(model: &Bucket, pod: &Bucket, now: Moment) {
    model.deposit(now);
    pod.deposit(now);
}
