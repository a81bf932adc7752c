//! A decision in words: what was measured against which limit, what explains it, what happens next, and the exact command
//! for who disagrees. Every figure is the one that decided; rounding is for display only.

use std::fmt::Write as _;

use hedgerow_crds::{condition::Reason, v1alpha1::hedge_policy::Evidence};
use hedgerow_policy::{
    guardrail::{
        Cause, Evaluation, Ratio, Reading, Rules, Signal, Standing as Stands, State, Transition, Windows,
    },
    time::Moment,
};

use super::{Facts, Rings, Standing};
use crate::domain::figure;

/// A route explains a trip where it carries at least this share of the extra spend, in percent.
const EXPLAINS_PERCENT: u128 = 50;

/// Everything that one transition is described from.
pub(super) struct Scene<'a> {
    pub(super) transition: &'a Transition,
    pub(super) rings: &'a Rings,
    pub(super) windows: &'a Windows,
    pub(super) evaluation: &'a Evaluation,
    pub(super) rules: &'a Rules,
    pub(super) facts: &'a Facts<'a>,
}

/// Whether the short window is on the wrong side of the limit, or the long one has tripped.
pub(super) fn over(reading: &Reading) -> bool {
    let limit = reading.threshold_per_mille;
    if reading.sustained {
        true
    } else if reading.signal.is_minimum() {
        reading.short.below(limit)
    } else {
        reading.short.at_least(limit)
    }
}

/// Why, in one word of the conditions. A trial goes on under the reason of the trip that led to it.
pub(super) fn reason(transition: &Transition, before: Option<Reason>) -> Reason {
    if let Some(reading) = &transition.reading {
        return Reason::parse(reading.signal.reason()).unwrap_or(Reason::Suspended);
    }
    match (transition.cause, transition.to) {
        (Cause::Held, _) => Reason::Suspended,
        (Cause::Blinded, _) => Reason::Blind,
        (Cause::CooldownOver, _) => before.unwrap_or(Reason::WithinLimits),
        (_, State::Disabled) => Reason::SwitchedOff,
        _ => Reason::WithinLimits,
    }
}

/// The signals of the windows that decided, in the resource's form.
pub(super) fn list(scene: &Scene<'_>) -> Vec<Evidence> {
    let spans = (figure::span(scene.windows.short_span), figure::span(scene.windows.long_span));
    scene
        .evaluation
        .readings()
        .iter()
        .filter(|reading| reading.standing != Stands::Insufficient)
        .map(|reading| Evidence {
            signal: reading.signal.as_str().to_owned(),
            value: percent(reading.long),
            threshold: figure::percent(reading.threshold_per_mille),
            short_window: over_span(reading.signal, percent(reading.short), &spans.0),
            long_window: over_span(reading.signal, percent(reading.long), &spans.1),
            samples: figure::whole(samples(reading.signal, scene.windows)),
        })
        .collect()
}

/// The status message of a transition.
pub(super) fn message(scene: &Scene<'_>, standing: &Standing) -> String {
    let clock = figure::clock(scene.facts.now);
    let latch = &standing.latch;
    match (scene.transition.to, &scene.transition.reading) {
        (State::Suspended, Some(reading)) => {
            let mut text = format!(
                "Hedging is off for this cohort since {clock}; requests go on primary-only. {}",
                breach(scene, reading)
            );
            if let Some(route) = explanation(scene) {
                let _ = write!(text, " {route}");
            }
            let _ = write!(text, " {} {}", next_step(scene, standing), commands(scene));
            text
        }
        (State::Suspended, None) if scene.transition.cause == Cause::Blinded => format!(
            "Hedging is off for this cohort since {clock}, because too few gateways could be read for {} (blind.after) and nobody \
             would see what it costs; requests go on primary-only. Check that the operator reaches port 9090 of the pods. \
             Next: a trial once they are read. {}",
            figure::span(scene.rules.blind_after),
            resume(scene)
        ),
        (State::Suspended, None) => match standing.hold {
            Some(until) => format!(
                "Hedging is held off by hand since {clock}, until {}; requests go on primary-only. {}",
                figure::clock_from(until, scene.facts.now),
                resume(scene)
            ),
            None => format!(
                "Hedging is off for this cohort since {clock}; requests go on primary-only. {}",
                resume(scene)
            ),
        },
        (State::Trial, _) => format!(
            "Trial since {clock}: {} % of enrolled requests may be hedged, until {} or {} hedges. Hedging is back for all if \
             every guardrail stays within its limits, else it is off again, for longer. {}",
            latch.share_percent(),
            latch.until.map_or_else(
                || "the end of the trial".to_owned(),
                |until| figure::clock_from(until, scene.facts.now)
            ),
            scene.rules.trial_hedges,
            commands(scene)
        ),
        (State::Ramping, _) => format!(
            "Hedging was switched on at {clock} and grows from {} % of enrolled requests, a step every {}, while every \
             guardrail is within its limits.",
            latch.share_percent(),
            figure::span(scene.rules.ramp.every)
        ),
        (State::Active, _) => format!("Hedging is on for every enrolled request since {clock}."),
        (State::Observing, _) => format!("Since {clock} hedges are decided and counted, and none is sent."),
        (State::Disabled, _) => format!("Hedging is switched off for this cohort since {clock}."),
    }
}

/// The decision in one line, for logs and timelines.
pub(super) fn line(scene: &Scene<'_>, standing: &Standing) -> String {
    let cohort = &scene.facts.key.cohort;
    let latch = &standing.latch;
    match (scene.transition.to, &scene.transition.reading) {
        (State::Suspended, Some(reading)) => {
            format!("{cohort} suspended: {}", excess(reading, scene.windows))
        }
        (State::Suspended, None) if scene.transition.cause == Cause::Blinded => {
            let after = figure::span(scene.rules.blind_after);
            format!("{cohort} suspended: too few gateways could be read for {after}")
        }
        (State::Suspended, None) => match standing.hold {
            Some(until) => {
                format!("{cohort} suspended by hand until {}", figure::clock_from(until, scene.facts.now))
            }
            None => format!("{cohort} suspended"),
        },
        (State::Trial, _) => format!("{cohort} on trial at {} %", latch.share_percent()),
        (State::Ramping, _) => format!("{cohort} ramping from {} %", latch.share_percent()),
        (State::Active, _) => format!("{cohort} active"),
        (State::Observing, _) => format!("{cohort} observing"),
        (State::Disabled, _) => format!("{cohort} switched off"),
    }
}

/// Reason and next step in a few words, as of `now`; empty where there is nothing to say.
pub fn why(standing: &Standing, now: Moment) -> String {
    let latch = &standing.latch;
    let reason = standing.reason.map_or("", Reason::as_str);
    let left =
        latch.until.map(|until| figure::span(std::time::Duration::from_secs(now.until(until).as_secs())));
    match (latch.state, left) {
        (State::Suspended, _) if latch.held => {
            let until = standing.hold.map(|until| figure::clock_from(until, now)).unwrap_or_default();
            format!("by hand until {until}")
        }
        (State::Suspended, _) if latch.manual => format!("{reason}, until resumed by hand"),
        (State::Suspended, Some(left)) => format!("{reason}, trial in {left}"),
        (State::Suspended, None) => reason.to_owned(),
        (State::Trial, Some(left)) => format!("trial at {} %, {left} left", latch.share_percent()),
        (State::Trial, None) => format!("trial at {} %", latch.share_percent()),
        (State::Ramping, _) => format!("ramp at {} %", latch.share_percent()),
        (State::Active | State::Observing | State::Disabled, _) => String::new(),
    }
}

/// One window of a reading in words, and the limit that it is held against.
struct Held {
    value: String,
    limit: String,
    /// What the limit is called.
    kind: &'static str,
    span: String,
}

/// Both windows, the one that decides first. A maximum trips when the short one is at its limit and the long one at its
/// re-arm value, or the other way round; a minimum when both are below their limit. A trial fails by the long one at the re-arm value.
fn both(reading: &Reading, windows: &Windows) -> [Held; 2] {
    let trips = reading.standing == Stands::Trips;
    let held = |value: Ratio, span, limit: u32, kind| Held {
        value: percent(value),
        limit: figure::percent(limit),
        kind,
        span: figure::span(span),
    };
    let (trip, rearm) = (reading.threshold_per_mille, reading.rearm_per_mille);
    let short = |limit, kind| held(reading.short, windows.short_span, limit, kind);
    let long = |limit, kind| held(reading.long, windows.long_span, limit, kind);
    match (trips, reading.signal.is_minimum()) {
        (true, false) if reading.sustained => [long(trip, "limit"), short(rearm, "re-arm value")],
        (true, false) => [short(trip, "limit"), long(rearm, "re-arm value")],
        (true, true) => [long(trip, "limit"), short(trip, "limit")],
        (false, _) => [long(rearm, "limit of a trial"), short(rearm, "limit of a trial")],
    }
}

/// "Hedging added 8.2 % to spend over 1m (limit 6 %) and 6.9 % over 5m (re-arm value 4 %), 1,312 requests, 31 % win rate."
fn breach(scene: &Scene<'_>, reading: &Reading) -> String {
    let windows = scene.windows;
    let [first, second] = both(reading, windows);
    let value = &first.value;
    let requests = figure::count(windows.long.originals);
    let what = match reading.signal {
        Signal::ExtraSpend => format!("Hedging added {value} to spend"),
        Signal::DuplicateRate => format!("{value} of enrolled requests were hedged"),
        Signal::WinRate => format!("Only {value} of hedges won"),
        Signal::LateCompletions => format!("{value} of cancelled attempts had completed anyway"),
        Signal::ErrorRate => format!("{value} of enrolled requests ended in an error"),
        Signal::TailGain => format!("Hedging shortened the 99th percentile by only {value}"),
        Signal::MedianShift => format!("The median of the first token rose by {value}"),
        Signal::DailySpend => format!("Losers have cost {value} of the day's ceiling"),
    };
    let mut text = if has_windows(reading.signal) {
        format!(
            "{what} over {} ({} {}) and {} over {} ({} {}), {requests} requests",
            first.span, first.kind, first.limit, second.value, second.span, second.kind, second.limit
        )
    } else {
        format!("{what} ({} {}), {requests} requests", first.kind, first.limit)
    };
    if windows.long.hedges > 0 && reading.signal != Signal::WinRate {
        let won = Ratio::of(windows.long.hedge_wins, windows.long.hedges);
        let _ = write!(text, ", {} win rate", percent(won));
    }
    text.push('.');
    if reading.in_tokens {
        text.push_str(" No route in use has a price, so tokens were compared.");
    }
    text
}

/// "extra spend 7 % > 6 % over 10s and 5.4 % > 4 % over 30s"; of a trial only the long window is judged.
fn excess(reading: &Reading, windows: &Windows) -> String {
    let side = if reading.signal.is_minimum() { '<' } else { '>' };
    let said = |held: &Held| {
        let sign = if held.value == held.limit { '=' } else { side };
        format!("{} {sign} {} over {}", held.value, held.limit, held.span)
    };
    let [first, second] = both(reading, windows);
    let name = spoken(reading.signal);
    if !has_windows(reading.signal) {
        let sign = if first.value == first.limit { '=' } else { side };
        format!("{name} {} {sign} {}", first.value, first.limit)
    } else if reading.standing == Stands::Trips {
        format!("{name} {} and {}", said(&first), said(&second))
    } else {
        format!("{name} {} ({} over {})", said(&first), second.value, second.span)
    }
}

/// Whether a signal is measured over the two windows. A median and the gain at the tail have their own recent past, and
/// a day's spend is the day's.
fn has_windows(signal: Signal) -> bool {
    !matches!(signal, Signal::TailGain | Signal::MedianShift | Signal::DailySpend)
}

fn over_span(signal: Signal, value: String, span: &str) -> String {
    if has_windows(signal) { format!("{value} over {span}") } else { value }
}

/// "83 % of it is on azure-sweden, whose p95 is 8.4s."
fn explanation(scene: &Scene<'_>) -> Option<String> {
    let by_route = scene.rings.extra_by_route(scene.facts.now, scene.windows.long_span);
    let sum: u128 = by_route.values().map(|extra| extra.0).sum();
    let (route, extra) = by_route.into_iter().max_by_key(|(_, extra)| *extra)?;
    if by_route_is_one(sum, extra.0) {
        return None;
    }
    let share = u32::try_from(extra.0.saturating_mul(1_000) / sum.max(1)).unwrap_or(1_000);
    let speed = scene
        .facts
        .p95
        .get(&route)
        .map_or_else(String::new, |p95| format!(", whose p95 is {}", figure::latency(*p95)));
    Some(format!("{} of the extra spend is on {route}{speed}.", figure::percent(share / 10 * 10)))
}

/// Whether no single route stands out.
fn by_route_is_one(sum: u128, largest: u128) -> bool {
    sum == 0 || largest.saturating_mul(100) < sum.saturating_mul(EXPLAINS_PERCENT)
}

fn next_step(scene: &Scene<'_>, standing: &Standing) -> String {
    let latch = &standing.latch;
    if latch.manual {
        return "Next: nothing until it is resumed by hand (recovery is Manual, or the day had its most trips).".to_owned();
    }
    let at = latch
        .until
        .map_or_else(|| "the cooldown".to_owned(), |until| figure::clock_from(until, scene.facts.now));
    format!(
        "Next: trial at {} % after {at} (trip {} of the current series).",
        scene.rules.ramp.start_percent, standing.trips
    )
}

fn commands(scene: &Scene<'_>) -> String {
    let (policy, cohort) = (&scene.facts.key.policy, &scene.facts.key.cohort);
    let end = scene.facts.command;
    format!(
        "To keep this cohort off: cohorts[{cohort}].suspend: true in the policy, or now: hedgerow suspend hp/{policy} \
         {cohort} --for 2h{end}. {}",
        resume(scene)
    )
}

fn resume(scene: &Scene<'_>) -> String {
    let (policy, cohort) = (&scene.facts.key.policy, &scene.facts.key.cohort);
    format!("To resume now: hedgerow resume hp/{policy} {cohort}{}", scene.facts.command)
}

fn percent(ratio: Ratio) -> String {
    figure::percent(ratio.per_mille())
}

fn samples(signal: Signal, windows: &Windows) -> u64 {
    match signal {
        Signal::WinRate => windows.hedges_long.hedges,
        Signal::LateCompletions => windows.hedges_long.audited,
        _ => windows.long.originals,
    }
}

fn spoken(signal: Signal) -> &'static str {
    match signal {
        Signal::DuplicateRate => "duplicate rate",
        Signal::ExtraSpend => "extra spend",
        Signal::WinRate => "win rate",
        Signal::LateCompletions => "late completions",
        Signal::ErrorRate => "error rate",
        Signal::TailGain => "tail gain",
        Signal::MedianShift => "median shift",
        Signal::DailySpend => "daily spend",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_window_is_shown_with_the_limit_that_it_is_held_against() {
        let windows = Windows {
            short_span: Duration::from_secs(10),
            long_span: Duration::from_secs(30),
            ..Windows::default()
        };
        let reading = |signal: Signal, short: u32, long: u32, limits: (u32, u32), standing| Reading {
            signal,
            short: Ratio::of(short, 1_000_u32),
            long: Ratio::of(long, 1_000_u32),
            threshold_per_mille: limits.0,
            rearm_per_mille: limits.1,
            standing,
            sustained: standing == Stands::Trips && !signal.is_minimum() && short < limits.0,
            in_tokens: false,
        };
        for (reading, line) in [
            (
                reading(Signal::DuplicateRate, 101, 90, (100, 70), Stands::Trips),
                "duplicate rate 10.1 % > 10 % over 10s and 9 % > 7 % over 30s",
            ),
            (
                reading(Signal::DuplicateRate, 99, 101, (100, 70), Stands::Trips),
                "duplicate rate 10.1 % > 10 % over 30s and 9.9 % > 7 % over 10s",
            ),
            (
                reading(Signal::WinRate, 20, 30, (50, 50), Stands::Trips),
                "win rate 3 % < 5 % over 30s and 2 % < 5 % over 10s",
            ),
            (
                reading(Signal::ExtraSpend, 10, 40, (60, 40), Stands::Elevated),
                "extra spend 4 % = 4 % over 30s (1 % over 10s)",
            ),
            (
                reading(Signal::DailySpend, 1_040, 1_040, (1_000, 1_000), Stands::Trips),
                "daily spend 104 % > 100 %",
            ),
        ] {
            assert_eq!(excess(&reading, &windows), line);
        }
    }
}
