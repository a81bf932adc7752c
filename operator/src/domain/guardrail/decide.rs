//! One look at one cohort: facts in, standing and perhaps a decision out.
//!
//! The sum over all pods decides. Where pods are many, a fault of some drowns in the sum: so at least [`VOTING_PODS`] pods
//! with [`POD_REQUESTS`] enrolled requests each also vote, and [`VOTE_PERCENT`] of them over their limits trip the cohort
//! (resilience notes 4(g); with one or two pods the sum is the better judge, so they have no vote).

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{State as PodState, cohort::Mode, state::BUCKET_SECONDS};
use hedgerow_crds::{condition::Reason, v1alpha1::HedgePolicySpec};
use hedgerow_policy::{
    gate,
    guardrail::{
        Cause, Context, Evaluation, Hold, Past, Ratio, Reading, Rules, Signal, Standing as Stands, State,
        Windows, Wish, evaluate, step, widen, windows,
    },
    time::Moment,
};

use super::{
    Base, Rings, Standing, Usual, Wanted,
    evidence::{self, Scene},
    rules, standing, wanted,
};
use crate::domain::decision::CohortKey;

/// Enrolled requests in a pod's long window that give it a vote.
const POD_REQUESTS: u64 = 50;
/// Fewest pods with a vote for a verdict.
const VOTING_PODS: usize = 3;
/// Share of the pods with a vote that trips the cohort.
const VOTE_PERCENT: usize = 30;

/// What is known about a cohort at one moment.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Fleet.
    pub fleet: &'a str,
    /// Which cohort.
    pub key: &'a CohortKey,
    /// Mode after all switches.
    pub mode: Mode,
    /// Its policy.
    pub spec: &'a HedgePolicySpec,
    /// Annotations of the policy, requests by hand included.
    pub annotations: &'a BTreeMap<String, String>,
    /// Every pod's last reading, ended lives included; their rings count.
    pub states: &'a [&'a PodState],
    /// For how long too few pods could be read. Above zero nothing is known, and nothing but wishes by hand and blindness is
    /// acted on.
    pub unseen: Duration,
    /// What is measured beyond the pods' rings.
    pub measured: &'a Measured,
    /// 95th percentile of each route's first tokens, recent.
    pub p95: &'a BTreeMap<String, Duration>,
    /// End of the commands in messages: ` --config DIR` or ` -n NAMESPACE`.
    pub command: &'a str,
    /// Unix time.
    pub now: Moment,
}

/// What is measured beyond the pods' rings of ten minutes.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Sums of up to a day, newest first, for windows that the rings cannot fill.
    pub past: Vec<Past>,
    /// What no window holds.
    pub context: Context,
}

/// The result of one look.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What to remember; in status and, as a latch, in the configuration.
    pub standing: Standing,
    /// Present only at a transition.
    pub decision: Option<Decision>,
    /// The windows that were judged.
    pub windows: Windows,
    /// The judgement.
    pub evaluation: Evaluation,
    /// Annotations that cannot be read, in words.
    pub problems: Vec<String>,
}

/// One transition: the only source of its Event, metric, log line, status and configuration.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Fleet.
    pub fleet: String,
    /// Which cohort.
    pub key: CohortKey,
    /// When, Unix time.
    pub at: Moment,
    /// State before.
    pub from: State,
    /// State after.
    pub to: State,
    /// Number of the transition.
    pub transition: u64,
    /// Why, in one word.
    pub reason: Reason,
    /// The signal behind it, if one is.
    pub reading: Option<Reading>,
    /// Since when the short window of the signal behind a trip had been on the wrong side of its limit.
    pub breached: Option<Moment>,
    /// The decision in one line.
    pub line: String,
}

/// Looks once.
pub fn decide(old: &Standing, facts: &Facts<'_>) -> Outcome {
    let rules = rules(facts.spec);
    let from = horizon(old);
    let rings = Rings::of(facts.states.iter().copied(), facts.key, from, &old.base, facts.now);
    let mut windows = windows(&rings.sum, facts.now, &rules);
    let past: Vec<Past> = facts.measured.past.iter().filter(|(start, _)| *start >= from).copied().collect();
    widen(&mut windows, &past, facts.now, &rules);
    let context = old.usual.raise(&facts.measured.context);
    let evaluation = judge(&rules, &windows, &rings, &context, facts);
    let wanted = wanted(facts.annotations, &facts.key.cohort);
    let mut standing = old.clone();
    let wish = wish(&mut standing, &wanted, facts);
    let (latch, transition) = step(&old.latch, &rules, &wish, &evaluation, facts.now);
    standing.latch = latch;
    standing.over_since = over_since(&old.over_since, &evaluation, facts.now);
    let decision = transition.map(|transition| {
        let scene = Scene {
            transition: &transition,
            rings: &rings,
            windows: &windows,
            evaluation: &evaluation,
            rules: &rules,
            facts,
        };
        remember(&mut standing, &scene)
    });
    if standing.latch.cooldown == Duration::ZERO {
        standing.trips = 0;
    }
    Outcome { standing, decision, windows, evaluation, problems: wanted.unreadable }
}

/// Data from before this moment does not count. While hedges are sent, that is when they began to be: what came before led
/// to the last trip, was booked late by races from before it, or is of hedges that were only counted and could not win.
fn horizon(standing: &Standing) -> Moment {
    if standing.latch.hedging() {
        return standing.hedging_since.unwrap_or(Moment::ZERO);
    }
    let bucket = Duration::from_secs(BUCKET_SECONDS);
    standing.tripped_at.last().map_or(Moment::ZERO, |at| *at + bucket)
}

fn judge(
    rules: &Rules,
    windows: &Windows,
    rings: &Rings,
    context: &Context,
    facts: &Facts<'_>,
) -> Evaluation {
    if facts.unseen > Duration::ZERO {
        let context = Context { unseen: facts.unseen, ..Context::default() };
        return evaluate(rules, &Windows::default(), &context);
    }
    let sum = evaluate(rules, windows, context);
    if sum.tripped().is_some() {
        return sum;
    }
    vote(rules, rings, facts.now).unwrap_or(sum)
}

/// The evaluation of one of the pods that are over their limits, if enough of them are.
fn vote(rules: &Rules, rings: &Rings, now: Moment) -> Option<Evaluation> {
    let of_a_pod = Rules { min_requests: POD_REQUESTS, ..rules.clone() };
    let judged: Vec<(Windows, Evaluation)> = rings
        .pods
        .iter()
        .map(|pod| self::windows(pod, now, &of_a_pod))
        .filter(|windows| windows.long.originals >= POD_REQUESTS)
        .map(|windows| {
            let judgement = evaluate(&of_a_pod, &windows, &Context::default());
            (windows, judgement)
        })
        .collect();
    let over: Vec<&(Windows, Evaluation)> =
        judged.iter().filter(|(_, judgement)| judgement.tripped().is_some()).collect();
    if judged.len() < VOTING_PODS || over.len() * 100 < judged.len() * VOTE_PERCENT {
        return None;
    }
    over.into_iter().max_by_key(|(windows, _)| windows.long.originals).map(|(_, judgement)| judgement.clone())
}

/// What the spec and people want, and what of it is to be remembered.
fn wish(standing: &mut Standing, wanted: &Wanted, facts: &Facts<'_>) -> Wish {
    let new_resume = wanted.resume.is_some() && wanted.resume != standing.last_handled_resume;
    if new_resume {
        standing.last_handled_resume.clone_from(&wanted.resume);
        standing.hold = None;
    }
    let hold = wanted.hold.or(standing.hold).filter(|until| *until > facts.now);
    standing.hold = hold;
    Wish {
        mode: match facts.mode {
            Mode::Disabled => gate::Mode::Disabled,
            Mode::Observe => gate::Mode::Observe,
            Mode::Enforce => gate::Mode::Enforce,
        },
        hold: hold.map(|until| Hold { until: Some(until) }),
        resume: standing.last_handled_resume.as_deref().map(standing::hash),
    }
}

/// Since when each signal's short window has been on the wrong side of its limit. Too little data is no breach.
fn over_since(
    before: &BTreeMap<Signal, Moment>,
    evaluation: &Evaluation,
    now: Moment,
) -> BTreeMap<Signal, Moment> {
    let known = evaluation.readings().iter().filter(|reading| reading.standing != Stands::Insufficient);
    known
        .filter(|reading| evidence::over(reading))
        .map(|reading| (reading.signal, before.get(&reading.signal).copied().unwrap_or(now)))
        .collect()
}

/// Fixes the words of a transition.
fn remember(standing: &mut Standing, scene: &Scene<'_>) -> Decision {
    let (transition, facts) = (scene.transition, scene.facts);
    let tripped = matches!(transition.cause, Cause::Tripped | Cause::TrialFailed);
    if tripped {
        standing.tripped_at.retain(|at| facts.now.since(*at) < Duration::from_hours(24));
        standing.tripped_at.push(facts.now);
        standing.trips = standing.trips.saturating_add(1);
        standing.evidence = evidence::list(scene);
    }
    if transition.to.hedges() && !transition.from.hedges() {
        standing.hedging_since = Some(facts.now);
        let long = &scene.windows.long;
        standing.usual = Usual {
            errors: (long.originals > 0).then(|| Ratio::of(long.originals_errors, long.originals)),
            median: facts.measured.context.median.map(|(now, _)| now),
        };
        standing.base = Base::at(facts.states.iter().copied(), facts.key, facts.now);
    }
    let reason = evidence::reason(transition, standing.reason);
    standing.reason = Some(reason);
    standing.message = evidence::message(scene, standing);
    Decision {
        fleet: facts.fleet.to_owned(),
        key: facts.key.clone(),
        at: facts.now,
        from: transition.from,
        to: transition.to,
        transition: transition.transition,
        reason,
        reading: transition.reading.clone(),
        breached: transition
            .reading
            .as_ref()
            .filter(|_| tripped)
            .map(|reading| standing.over_since.get(&reading.signal).copied().unwrap_or(facts.now)),
        line: evidence::line(scene, standing),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
