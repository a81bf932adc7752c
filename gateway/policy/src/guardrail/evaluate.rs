//! Windows and rules -> one reading per signal.

use std::time::Duration;

use super::chance;
use super::rules::{BlindAction, Rules};
use super::signal::{Ratio, Signal};
use super::tally::Tally;
use super::window::{AUDITED, Windows, fifth};

/// Errors below which an error rate says nothing.
const MIN_ERRORS: u64 = 20;
/// Requests from which a missing tail gain may trip. (At 200, "below 5 % three times" trips falsely about once an hour
/// at a true gain of 11 %.)
const MIN_TAIL_REQUESTS: u64 = 3_000;
/// Duplicates from which a shifted median may be hedging's own doing, per mille.
const MEDIAN_DUPLICATES: u32 = 30;
/// Re-arm value of a shifted median, per mille.
const MEDIAN_REARM: u32 = 200;
/// Re-arm value of the error rate, percent of the baseline.
const ERROR_REARM_PERCENT: u32 = 120;

/// What the windows do not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Error rate that is normal for the cohort; `None` = not known, the signal says nothing.
    pub error_baseline: Option<Ratio>,
    /// Median first token of primaries: now, and what is normal.
    pub median: Option<(Duration, Duration)>,
    /// Gain at the 99th percentile against the estimate without hedging.
    pub tail_gain: Option<TailGain>,
    /// What the cohort's losers have cost since midnight UTC, in 1e-12 of the currency.
    pub spent_today: u128,
    /// For how long too little could be seen to judge; zero = it can be seen now.
    pub unseen: Duration,
}

/// Gain at the 99th percentile, as a share of the estimate without hedging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailGain {
    /// Best estimate, per mille; a loss is 0.
    pub per_mille: u32,
    /// Upper end of its 95 % interval, per mille.
    pub upper_per_mille: u32,
    /// Requests behind it.
    pub requests: u64,
}

/// How a signal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Too little data: neither healthy nor breached.
    Insufficient,
    /// On the good side of its re-arm value.
    Clear,
    /// In between: no trip, no re-arming, no ramp step.
    Elevated,
    /// Breached.
    Trips,
}

/// One signal, measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which.
    pub signal: Signal,
    /// Value over the short window.
    pub short: Ratio,
    /// Value over the long window.
    pub long: Ratio,
    /// Limit, per mille.
    pub threshold_per_mille: u32,
    /// Re-arm value, per mille; equal to the limit where there is none.
    pub rearm_per_mille: u32,
    /// How it stands.
    pub standing: Standing,
    /// It trips by the long window at the limit, with the short one at the re-arm value: little traffic, or a breach that
    /// the limit itself hardly shows.
    pub sustained: bool,
    /// Extra spend was compared in tokens because nothing in the window had a price.
    pub in_tokens: bool,
}

/// All readings of one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    readings: Vec<Reading>,
    originals: u64,
    hedges: u64,
    sufficient: bool,
    blind: bool,
}

impl Evaluation {
    /// One reading per signal that is switched on, in the order of [`Signal::ALL`].
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The first signal that trips.
    pub fn tripped(&self) -> Option<&Reading> {
        self.readings.iter().find(|reading| reading.standing == Standing::Trips)
    }

    /// The first signal on the wrong side of its re-arm value. The signal that had tripped is judged by whatever was
    /// measured, the others only with enough data.
    pub fn not_rearmed(&self, tripped: Option<Signal>) -> Option<&Reading> {
        let judged = |reading: &&Reading| {
            reading.standing != Standing::Insufficient || tripped == Some(reading.signal)
        };
        let wrong = |reading: &&Reading| {
            if reading.signal.is_minimum() {
                reading.long.below(reading.rearm_per_mille)
            } else {
                reading.long.at_least(reading.rearm_per_mille)
            }
        };
        self.readings.iter().filter(judged).find(wrong)
    }

    /// Whether the long window holds `minRequests`.
    pub fn sufficient(&self) -> bool {
        self.sufficient
    }

    /// Whether something was measured and nothing of it is breached or elevated: a ramp may take its step.
    pub fn within(&self) -> bool {
        let calm = |reading: &Reading| matches!(reading.standing, Standing::Clear | Standing::Insufficient);
        self.originals > 0 && self.readings.iter().all(calm)
    }

    /// Whether too little could be seen for so long that hedging must not go on unwatched.
    pub fn blind(&self) -> bool {
        self.blind
    }

    /// Enrolled originals of the long window.
    pub fn originals(&self) -> u64 {
        self.originals
    }

    /// Hedges of the long window.
    pub fn hedges(&self) -> u64 {
        self.hedges
    }
}

/// Judges every signal that is switched on. `duplicateRate` and `extraSpend` can't be switched off: a 0 counts as 1.
pub fn evaluate(rules: &Rules, windows: &Windows, context: &Context) -> Evaluation {
    let sufficient = windows.long.originals >= rules.min_requests.max(1)
        && windows.short.originals >= fifth(rules.min_requests);
    let judge = Judge { rules, windows, context, sufficient };
    let readings = Signal::ALL.into_iter().filter_map(|signal| judge.reading(signal)).collect();
    let unseen = context.unseen > Duration::ZERO && context.unseen >= rules.blind_after;
    Evaluation {
        readings,
        originals: windows.long.originals,
        hedges: windows.hedges_long.hedges,
        sufficient,
        blind: unseen && rules.blind_action == BlindAction::Suspend,
    }
}

struct Judge<'a> {
    rules: &'a Rules,
    windows: &'a Windows,
    context: &'a Context,
    sufficient: bool,
}

impl Judge<'_> {
    fn reading(&self, signal: Signal) -> Option<Reading> {
        match signal {
            Signal::DuplicateRate => Some(self.duplicate_rate()),
            Signal::ExtraSpend => Some(self.extra_spend()),
            Signal::WinRate => self.win_rate(),
            Signal::LateCompletions => self.late_completions(),
            Signal::ErrorRate => self.error_rate(),
            Signal::TailGain => self.tail_gain(),
            Signal::MedianShift => self.median_shift(),
            Signal::DailySpend => self.daily_spend(),
        }
    }

    fn duplicate_rate(&self) -> Reading {
        let rate = |tally: &Tally| Ratio::of(tally.hedges, tally.originals);
        let rule = self.rules.duplicate_rate;
        let limits = percents((rule.trip_percent, rule.rearm_percent));
        counted(Signal::DuplicateRate, self.both(rate), limits, self.sufficient)
    }

    fn extra_spend(&self) -> Reading {
        let in_tokens = self.windows.long.primaries_alone_cost == 0;
        let rate = |tally: &Tally| {
            let (with, alone) = if in_tokens {
                (u128::from(tally.tokens_total), u128::from(tally.tokens_alone))
            } else {
                (tally.primaries_cost.saturating_add(tally.hedges_cost), tally.primaries_alone_cost)
            };
            Ratio { num: with.saturating_sub(alone), den: alone }
        };
        let rule = self.rules.extra_spend;
        let limits = percents((rule.trip_percent, rule.rearm_percent));
        let values = self.both(rate);
        let beyond = (
            chance::dearer(values.0, limits.1, self.windows.short.hedges),
            chance::dearer(values.1, limits.1, self.windows.long.hedges),
        );
        let reading = maximum(Signal::ExtraSpend, values, limits, self.sufficient, beyond);
        Reading { in_tokens, ..reading }
    }

    fn win_rate(&self) -> Option<Reading> {
        let rule = self.rules.win_rate;
        if rule.min_percent == 0 {
            return None;
        }
        let (short, long) = (&self.windows.hedges_short, &self.windows.hedges_long);
        let rate = |tally: &Tally| Ratio::share(tally.hedge_wins, tally.hedges);
        let enough = long.hedges >= rule.min_hedges.max(1) && short.hedges >= fifth(rule.min_hedges);
        let limit = u32::from(rule.min_percent) * 10;
        let values = (rate(short), rate(long));
        Some(minimum(Signal::WinRate, values, limit, enough, chance::below(values.1, limit)))
    }

    fn late_completions(&self) -> Option<Reading> {
        let trip = self.rules.late_completions;
        let rate = |tally: &Tally| Ratio::share(tally.late, tally.audited);
        let values = (rate(&self.windows.hedges_short), rate(&self.windows.hedges_long));
        let enough = self.windows.hedges_long.audited >= AUDITED;
        (trip > 0).then(|| maximum(Signal::LateCompletions, values, percents((trip, trip)), enough, CERTAIN))
    }

    fn error_rate(&self) -> Option<Reading> {
        let rule = self.rules.error_rate;
        let baseline = self.context.error_baseline.map_or(0, Ratio::per_mille);
        let factor = baseline.saturating_mul(u32::from(rule.factor_percent)) / 100;
        let trip = factor.max(baseline + u32::from(rule.min_points) * 10);
        let rearm = (baseline * ERROR_REARM_PERCENT / 100).clamp(1, trip.max(1));
        let rate = |tally: &Tally| Ratio::share(tally.originals_errors, tally.originals);
        let enough = self.sufficient
            && self.context.error_baseline.is_some()
            && self.windows.long.originals_errors >= MIN_ERRORS;
        (rule.factor_percent > 0).then(|| counted(Signal::ErrorRate, self.both(rate), (trip, rearm), enough))
    }

    fn tail_gain(&self) -> Option<Reading> {
        let limit = u32::from(self.rules.tail_gain_min_percent) * 10;
        if limit == 0 {
            return None;
        }
        let gain = self.context.tail_gain;
        let value = gain.map_or(Ratio::default(), |gain| Ratio::of(gain.per_mille, 1_000_u32));
        let enough = gain.is_some_and(|gain| gain.requests >= MIN_TAIL_REQUESTS);
        let mut reading = minimum(Signal::TailGain, (value, value), limit, enough, true);
        // It trips on the upper end of the interval, else it only advises.
        if enough && gain.is_some_and(|gain| gain.upper_per_mille >= limit) {
            reading.standing = Standing::Clear;
        }
        Some(reading)
    }

    fn median_shift(&self) -> Option<Reading> {
        let trip = u32::from(self.rules.median_shift_trip_percent) * 10;
        if trip == 0 {
            return None;
        }
        let value = self.context.median.map_or(Ratio::default(), |(now, normal)| Ratio {
            num: now.saturating_sub(normal).as_nanos(),
            den: normal.as_nanos(),
        });
        let duplicates = Ratio::of(self.windows.long.hedges, self.windows.long.originals);
        let enough = self.sufficient && value.den > 0 && duplicates.at_least(MEDIAN_DUPLICATES);
        let limits = (trip, trip.min(MEDIAN_REARM));
        Some(maximum(Signal::MedianShift, (value, value), limits, enough, CERTAIN))
    }

    fn daily_spend(&self) -> Option<Reading> {
        let ceiling = u128::from(self.rules.daily_spend_micros?) * 1_000_000;
        let value = Ratio { num: self.context.spent_today, den: ceiling.max(1) };
        Some(maximum(Signal::DailySpend, (value, value), (1_000, 1_000), true, CERTAIN))
    }

    fn both(&self, rate: impl Fn(&Tally) -> Ratio) -> (Ratio, Ratio) {
        (rate(&self.windows.short), rate(&self.windows.long))
    }
}

fn percents((trip, rearm): (u8, u8)) -> (u32, u32) {
    let trip = u32::from(trip.max(1)) * 10;
    (trip, (u32::from(rearm) * 10).clamp(1, trip))
}

/// No chance in either window.
const CERTAIN: (bool, bool) = (true, true);

/// A maximum of a share of counted things: it trips only beyond chance.
fn counted(signal: Signal, values: (Ratio, Ratio), limits: (u32, u32), enough: bool) -> Reading {
    let beyond = (chance::above(values.0, limits.1), chance::above(values.1, limits.1));
    maximum(signal, values, limits, enough, beyond)
}

/// Trips when one value (short, long) is at the limit and beyond chance at the re-arm value, and the other at the re-arm
/// value or above.
fn maximum(
    signal: Signal,
    (short, long): (Ratio, Ratio),
    (trip, rearm): (u32, u32),
    enough: bool,
    beyond: (bool, bool),
) -> Reading {
    let sudden = beyond.0 && short.at_least(trip) && long.at_least(rearm);
    let sustained = beyond.1 && long.at_least(trip) && short.at_least(rearm);
    let standing = if !enough || long.den == 0 {
        Standing::Insufficient
    } else if sudden || sustained {
        Standing::Trips
    } else if long.at_least(rearm) {
        Standing::Elevated
    } else {
        Standing::Clear
    };
    Reading {
        signal,
        short,
        long,
        threshold_per_mille: trip,
        rearm_per_mille: rearm,
        standing,
        sustained: !sudden && standing == Standing::Trips,
        in_tokens: false,
    }
}

/// Trips when both values are below the limit, the long one beyond chance.
fn minimum(signal: Signal, (short, long): (Ratio, Ratio), limit: u32, enough: bool, beyond: bool) -> Reading {
    let standing = if !enough || long.den == 0 {
        Standing::Insufficient
    } else if beyond && short.below(limit) && long.below(limit) {
        Standing::Trips
    } else if long.below(limit) {
        Standing::Elevated
    } else {
        Standing::Clear
    };
    Reading {
        signal,
        short,
        long,
        threshold_per_mille: limit,
        rearm_per_mille: limit,
        standing,
        sustained: false,
        in_tokens: false,
    }
}
