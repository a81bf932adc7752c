//! Whether a share that is over its limit may be so by chance. Window and limit -> yes or no.
//!
//! A cohort of 1.3 requests/s has 78 of them in a minute. At a steady 5 % that is 4 hedges a minute, and 7, which is more
//! than 8 %, in every tenth: such a cohort would trip many times a day with nothing amiss. So a share must be so far from the
//! value at which it would be healthy that chance alone hardly takes it there. What little traffic costs by
//! tripping later is little, too: it takes the same number of hedges, not the same time. Large cohorts are not touched:
//! from 60 requests/s on, 8 % in a minute are always beyond chance at 6 %.
//!
//! Counts are taken as binomial, in the normal approximation, whose tail is too thin where few are expected; that is part
//! of why the distances are as large as they are (`guardrail/tests/chance.rs` counts what they give, `docs/guardrails.md`
//! shows it).

use super::signal::Ratio;

/// Standard deviations above the re-arm value. So many because a look every few seconds gives chance many chances: at 4
/// the same cohort still trips several times a month.
const ABOVE: f64 = 5.0;
/// Standard deviations below a minimum. Less, because windows of hedges have few of them (50): at 5 not even none of 50 would
/// be below 20 %. At 3 it takes one of 50 or none: of a true 25 % one window in a hundred thousand.
const BELOW: f64 = 3.0;
/// Variance of the sum of what hedges cost, over that of their number: costs scatter about as much as they are high.
const COST_SCATTER: f64 = 2.0;

/// Whether a share of counted things lies above `per_mille` beyond chance.
pub(super) fn above(share: Ratio, per_mille: u32) -> bool {
    let (expected, deviation) = binomial(share, per_mille);
    share.num as f64 - expected >= ABOVE * deviation
}

/// Whether a share of counted things lies below `per_mille` beyond chance.
pub(super) fn below(share: Ratio, per_mille: u32) -> bool {
    let (expected, deviation) = binomial(share, per_mille);
    expected - share.num as f64 >= BELOW * deviation
}

/// Whether an extra spend that `hedges` of them made lies above `per_mille` beyond chance: there would be proportionally
/// fewer of them at that value. What hedges of before the window cost late counts as made by one.
pub(super) fn dearer(spend: Ratio, per_mille: u32, hedges: u64) -> bool {
    if spend.num == 0 {
        return false;
    }
    let hedges = hedges.max(1) as f64;
    let expected = hedges * f64::from(per_mille) / 1_000.0 * (spend.den as f64 / spend.num as f64);
    hedges - expected >= ABOVE * (COST_SCATTER * expected).sqrt()
}

/// Expected count and its standard deviation at this probability.
fn binomial(share: Ratio, per_mille: u32) -> (f64, f64) {
    let probability = f64::from(per_mille.min(1_000)) / 1_000.0;
    let expected = share.den as f64 * probability;
    (expected, (expected * (1.0 - probability)).sqrt())
}
