//! Short and long sums of a ring, widened where traffic is thin.
//!
//! The long window grows until it holds `minRequests`, the short one until it holds a fifth of that (it is a fifth as
//! long), over the ring of ten minutes and then over coarser sums of up to a day ([`widen`]). Win rate and late completions count hedges, of which there are twenty times fewer, so
//! they have windows of their own that grow until they hold `minHedges`.

use std::time::Duration;

use super::ring::{BUCKET, RING, Ring};
use super::rules::Rules;
use super::tally::Tally;
use crate::time::Moment;

/// What one evaluation looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Sum over the short window.
    pub short: Tally,
    /// Sum over the long window.
    pub long: Tally,
    /// Length of the short window.
    pub short_span: Duration,
    /// Length of the long window.
    pub long_span: Duration,
    /// The short window of what counts hedges.
    pub hedges_short: Tally,
    /// The long window of what counts hedges.
    pub hedges_long: Tally,
}

/// The windows that end now (Unix time).
pub fn windows(ring: &Ring, now: Moment, rules: &Rules) -> Windows {
    let (short, long) = (rules.short_window(), rules.window);
    let requests = |least: u64| move |tally: &Tally| tally.originals >= least;
    let hedges = |least: u64| move |tally: &Tally| tally.hedges >= least;
    let (long_sum, long_span) = gather(ring, now, long, requests(rules.min_requests));
    let (short_sum, short_span) = gather(ring, now, short, requests(fifth(rules.min_requests)));
    let min_hedges = rules.win_rate.min_hedges;
    Windows {
        short: short_sum,
        long: long_sum,
        short_span,
        long_span,
        hedges_short: gather(ring, now, short, hedges(fifth(min_hedges))).0,
        hedges_long: gather(ring, now, long, hedges(min_hedges)).0,
    }
}

/// A sum of the past, newest first: what happened from this moment (Unix time) until the next newer one of the list, or
/// until now.
pub type Past = (Moment, Tally);

/// Longest window.
const LONGEST: Duration = Duration::from_hours(24);

/// Widens what the ring could not fill over `past`, whose first entry reaches until `now`. A window takes whole entries,
/// only while it lacks data, and never more than a day of them.
pub fn widen(windows: &mut Windows, past: &[Past], now: Moment, rules: &Rules) {
    let requests = |least: u64| move |tally: &Tally| tally.originals >= least;
    let hedges = |least: u64| move |tally: &Tally| tally.hedges >= least;
    let min_hedges = rules.win_rate.min_hedges;
    let Windows { short, long, short_span, long_span, hedges_short, hedges_long } = windows;
    further(long, long_span, past, now, requests(rules.min_requests));
    further(short, short_span, past, now, requests(fifth(rules.min_requests)));
    further(hedges_short, &mut Duration::default(), past, now, hedges(fifth(min_hedges)));
    further(hedges_long, &mut Duration::default(), past, now, hedges(min_hedges));
}

/// The shortest sum of `past` that holds `enough`, else the longest; nothing where it would hold less than is there.
fn further(
    sum: &mut Tally,
    span: &mut Duration,
    past: &[Past],
    now: Moment,
    enough: impl Fn(&Tally) -> bool,
) {
    if enough(sum) {
        return;
    }
    let mut wide = Tally::default();
    for (start, tally) in past.iter().take_while(|(start, _)| now - *start <= LONGEST) {
        wide += tally;
        if wide.originals >= sum.originals && wide.hedges >= sum.hedges {
            (*sum, *span) = (wide, now - *start);
        }
        if enough(&wide) {
            return;
        }
    }
}

/// What the short window needs, for a need of the long one.
pub(super) fn fifth(least: u64) -> u64 {
    (least / 5).max(1)
}

/// Adds buckets backwards until they cover `span` and hold `enough`, or the ring ends.
fn gather(ring: &Ring, now: Moment, span: Duration, enough: impl Fn(&Tally) -> bool) -> (Tally, Duration) {
    let last = Ring::index(now);
    let mut sum = Tally::default();
    let mut covered = Duration::ZERO;
    for age in 0..RING as u64 {
        if let Some(tally) = last.checked_sub(age).and_then(|index| ring.get(index)) {
            sum += tally;
        }
        // The bucket of now is not over: it adds to the sum, not to the span.
        covered = BUCKET * age as u32;
        if covered >= span && enough(&sum) {
            break;
        }
    }
    (sum, covered.max(BUCKET))
}
