//! What a delay would do, from two curves.
//!
//! With X the primary and Y the alternate, independent, a hedge after `d` with probability `q` gives (SingleR)
//! `P(T > t) = P(X > t) (1 - q P(Y <= t - d))` for t >= d, and `q P(X > d)` duplicates. Routes that are slow together
//! do worse than predicted; a pair's win ratio shows by how much.

use std::time::Duration;

use crate::latency::{BUCKETS, Curve, Quantile, lower_bound, upper_bound};

/// Share of user actions without a first token at `t`, with hedges sent after `delay` with probability `send` (0..=1).
pub fn survival(primary: &Curve, alternate: &Curve, delay: Duration, send: f64, t: Duration) -> f64 {
    let alone = primary.survival(t);
    if t <= delay {
        return alone;
    }
    alone * (1.0 - send * (1.0 - alternate.survival(t.saturating_sub(delay))))
}

/// Quantile `p` (0..=1) of what users would see; [`Quantile::Beyond`] where the curves end before it.
pub fn quantile(primary: &Curve, alternate: &Curve, delay: Duration, send: f64, p: f64) -> Quantile {
    let target = 1.0 - p.clamp(0.0, 1.0) + 1e-12;
    let reached = |t: Duration| survival(primary, alternate, delay, send, t) <= target;
    // Survival falls: bisect for the first bucket whose end is beyond the quantile, then inside it.
    let last = BUCKETS as u16 - 1;
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = u16::midpoint(low, high);
        if reached(upper_bound(middle)) { high = middle } else { low = middle + 1 }
    }
    if low == last {
        return Quantile::Beyond(lower_bound(last));
    }
    let (mut from, mut to) = (lower_bound(low), upper_bound(low));
    for _ in 0..8 {
        let middle = from + to.saturating_sub(from) / 2;
        if reached(middle) { to = middle } else { from = middle }
    }
    Quantile::At(to)
}
