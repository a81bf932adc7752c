//! Short and long sums of a ring, widened where traffic is thin.
//!
//! The long window grows until it holds `minRequests`, the short one until it holds a fifth of that (it is a fifth as
//! long), over the ring of ten minutes and then over coarser sums of up to a day ([`widen`]). The win rate counts hedges, of which there are twenty times fewer, so
//! it has windows of its own that grow until they hold `minHedges`. Late completions count audited losers, of which there are fifty
//! times fewer still: theirs grow until they hold [`AUDITED`] of them, or a cohort would have to send four hedges a second to be
//! judged at all.

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
    /// The short window of what counts hedges; its audited losers are those of a window of their own.
    pub hedges_short: Tally,
    /// The long window of what counts hedges; its audited losers are those of a window of their own.
    pub hedges_long: Tally,
}

/// Audited losers that a long window must hold before late completions are judged.
pub(super) const AUDITED: u64 = 20;

/// The windows that end now (Unix time).
pub fn windows(ring: &Ring, now: Moment, rules: &Rules) -> Windows {
    let (short, long) = (rules.short_window(), rules.window);
    let requests = |least: u64| move |tally: &Tally| tally.originals >= least;
    let hedges = |least: u64| move |tally: &Tally| tally.hedges >= least;
    let (long_sum, long_span) = gather(ring, now, long, requests(rules.min_requests));
    let (short_sum, short_span) = gather(ring, now, short, requests(fifth(rules.min_requests)));
    let min_hedges = rules.win_rate.min_hedges;
    let count = |span: Duration, least: u64, audits: u64| {
        let (tally, _) = gather(ring, now, span, hedges(least));
        let (audited, _) = gather(ring, now, span, enough_audits(rules, audits));
        with_audits(tally, &audited)
    };
    Windows {
        short: short_sum,
        long: long_sum,
        short_span,
        long_span,
        hedges_short: count(short, fifth(min_hedges), fifth(AUDITED)),
        hedges_long: count(long, min_hedges, AUDITED),
    }
}

/// Whether a window holds enough audited losers; always where nobody asks for them.
fn enough_audits(rules: &Rules, least: u64) -> impl Fn(&Tally) -> bool {
    let off = rules.late_completions == 0;
    move |tally| off || tally.audited >= least
}

/// A window of hedges with the audited losers of another.
fn with_audits(hedges: Tally, audits: &Tally) -> Tally {
    Tally { audited: audits.audited, late: audits.late, ..hedges }
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
    for (sum, least, audits) in
        [(hedges_short, fifth(min_hedges), fifth(AUDITED)), (hedges_long, min_hedges, AUDITED)]
    {
        let mut audited = *sum;
        further(&mut audited, &mut Duration::default(), past, now, enough_audits(rules, audits));
        further(sum, &mut Duration::default(), past, now, hedges(least));
        *sum = with_audits(*sum, &audited);
    }
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
