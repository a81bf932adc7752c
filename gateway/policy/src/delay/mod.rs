//! When a hedge is armed, and what share of the firings may launch one.
//!
//! Recomputed every 30 s per cell, in exactly this order, each step recorded in the [`Trail`]:
//!
//! 1. the strategy's wish: a quantile of the primary's curve (default p95), the predicted optimum, or a fixed delay;
//!    without any curve the cold-start delay;
//! 2. clamp to `min`, and for streams to `max` (a complete answer's time depends on its length: no maximum);
//! 3. at most `max(min, 1.5 x p95 of the best usable alternate)`, so that one slow route cannot switch its own
//!    hedging off: in a simulated slow region this cap took p50 from 6.6 to 2.5 s;
//! 4. at most 25 % away from the previous value;
//! 5. within 0.5 to 2 times the 24 h baseline when there is one;
//! 6. `min` wins last.
//!
//! Then thinning: `q = min(1 - holdout, target / S(delay))`. A firing hedges with probability q, the form that
//! is optimal for one reissue (Kaler, He, Elnikety, *SingleR*, SPAA 2017); it spreads the duplicate target
//! over the window instead of first come, first served.
//!
//! `not_in_tail` (no hedge at all): only when the clamp to `max` shortened the delay, more than twice the
//! duplicate target reach it, and no alternate's p95 is below `max`. Then the firings are not a tail but the
//! normal case, and duplicates would buy nothing (median 12 s answers clamped to 8 s: p99 48.5 -> 47.7 s).

mod optimal;
pub mod predict;
mod rule;
#[cfg(test)]
mod tests;
mod trail;

use std::time::Duration;

pub use rule::{Rule, Strategy};
pub use trail::{Step, Trail};

use crate::latency::{Curve, Quantile};

/// What is measured when a delay is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs<'a> {
    /// Curve of the cell's primaries, blended with its parents.
    pub primary: Option<&'a Curve>,
    /// Curve of the best usable alternate.
    pub alternate: Option<&'a Curve>,
    /// The delay now in force.
    pub previous: Option<Duration>,
    /// The cell's own delay over the last 24 h.
    pub baseline: Option<Duration>,
}

/// A delay with its consequences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// From the start of the primary to the firing.
    pub delay: Duration,
    /// Share of firings that hedge (q), 0..=1000 - hold-out.
    pub send_per_mille: u16,
    /// Share of primaries expected to be without a first token at `delay`, 0..=1000.
    pub reach_per_mille: u16,
    /// The delay is not in the tail: record the reason, launch nothing.
    pub not_in_tail: bool,
    /// Which steps changed the delay.
    pub trail: Trail,
}

/// The most the delay may move in one recomputation, in percent of its previous value.
const SLEW_PERCENT: u32 = 25;

/// Computes the delay of one cell.
pub fn plan(rule: &Rule, inputs: &Inputs<'_>) -> Plan {
    let mut trail = Trail::default();
    let p95 = |curve: Option<&Curve>| curve.and_then(|curve| curve.quantile(0.95)).map(Quantile::bound);
    let alternate_p95 = p95(inputs.alternate);
    let cap = alternate_p95.map(|p95| (p95 + p95 / 2).max(rule.min));
    let max = if rule.streaming { rule.max } else { Duration::MAX };
    let mut delay = wish(rule, inputs, cap.unwrap_or(Duration::MAX).min(max), &mut trail);

    delay = at_least(delay, rule.min, Step::ClampedToMin, &mut trail);
    delay = at_most(delay, max, Step::ClampedToMax, &mut trail);
    delay = at_most(delay, cap.unwrap_or(delay), Step::CappedByAlternate, &mut trail);
    if let Some(previous) = inputs.previous {
        delay =
            at_least(delay, previous.saturating_mul(100 - SLEW_PERCENT) / 100, Step::SlewedDown, &mut trail);
        delay = at_most(delay, previous.saturating_mul(100 + SLEW_PERCENT) / 100, Step::SlewedUp, &mut trail);
    }
    if let Some(baseline) = inputs.baseline {
        delay = at_least(delay, baseline / 2, Step::HeldByBaseline, &mut trail);
        delay = at_most(delay, baseline.saturating_mul(2), Step::HeldByBaseline, &mut trail);
    }
    delay = at_least(delay, rule.min, Step::ClampedToMin, &mut trail);

    let reach = inputs.primary.map_or(0.0, |curve| curve.survival(delay));
    let target = f64::from(rule.duplicate_target_percent) / 100.0;
    let alternate_is_fast = alternate_p95.is_some_and(|p95| p95 < rule.max);
    Plan {
        delay,
        // Without a curve the reach is unknown and taken as 0: budget and guardrails bound what is sent.
        send_per_mille: per_mille(send(rule, reach)),
        reach_per_mille: per_mille(reach),
        not_in_tail: trail.has(Step::ClampedToMax) && reach > 2.0 * target && !alternate_is_fast,
        trail,
    }
}

/// The strategy's own wish; `max` is only a hint for the search, all bounds are applied afterwards.
fn wish(rule: &Rule, inputs: &Inputs<'_>, max: Duration, trail: &mut Trail) -> Duration {
    if let Strategy::Fixed(delay) = rule.strategy {
        return delay;
    }
    if rule.strategy == Strategy::Optimal
        && let Some(primary) = inputs.primary
        && let Some(delay) = optimal::delay(rule, primary, inputs.alternate.unwrap_or(primary), max)
    {
        if rule.streaming && delay >= rule.max {
            trail.add(Step::ClampedToMax);
        }
        return delay;
    }
    let p = f64::from(rule.quantile_percent) / 100.0;
    match inputs.primary.and_then(|curve| curve.quantile(p)) {
        Some(Quantile::At(delay)) => delay,
        Some(Quantile::Beyond(at_least)) => {
            trail.add(Step::BeyondSamples);
            at_least
        }
        None => {
            trail.add(Step::ColdStart);
            rule.cold_start
        }
    }
}

/// Share of firings that hedge (q), 0..=1, so that duplicates stay at the target when `reach` of all primaries get
/// as far as the delay.
pub fn send(rule: &Rule, reach: f64) -> f64 {
    let most = 1.0 - f64::from(rule.holdout_percent.min(100)) / 100.0;
    let target = f64::from(rule.duplicate_target_percent) / 100.0;
    if reach <= target { most } else { (target / reach).min(most) }
}

fn per_mille(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 1_000.0).round() as u16
}

fn at_least(delay: Duration, bound: Duration, step: Step, trail: &mut Trail) -> Duration {
    if delay < bound {
        trail.add(step);
    }
    delay.max(bound)
}

fn at_most(delay: Duration, bound: Duration, step: Step, trail: &mut Trail) -> Duration {
    if delay > bound {
        trail.add(step);
    }
    delay.min(bound)
}
