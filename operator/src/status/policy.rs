//! Status of a `HedgePolicy`: conditions, columns, and the latch of every cohort with its figures.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::{cohort::Mode, gateway::ObjectRef, money::Picos};
use hedgerow_crds::{
    condition::{ConditionType, Reason},
    effective,
    v1alpha1::{
        HedgePolicySpec, HedgePolicyStatus,
        hedge_policy::{
            CohortState, CohortStatus, Diagnosis, EffectivePolicy, FirstToken, Hold, NotHedged,
            PolicySummary, Recommendation, RouteDelay, Spend, WithoutHedging,
        },
    },
};
use hedgerow_policy::{
    guardrail::{Evaluation, State, Tally, Windows},
    time::Moment,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    conditions::{self, Said, set_all},
    pods::Pods,
};
use crate::{
    domain::{Verdict, figure, guardrail::Standing, spent::Spent},
    scrape::{Estimate, Percentiles},
};

/// Share of requests that should meet an objective without a percentage of its own.
const DEFAULT_OBJECTIVE: i32 = 99;
/// Most entries of a list in a cohort's status.
const LISTED: usize = 16;
/// Trips that the status counts at most.
const MOST_TRIPS: u32 = 1_000_000;

/// What a policy's status is made from.
#[derive(Clone, Debug)]
pub struct PolicyFacts<'a> {
    /// What its author asks for.
    pub spec: &'a HedgePolicySpec,
    /// What the compiler said.
    pub verdict: &'a Verdict,
    /// The object.
    pub object: &'a ObjectRef,
    /// The pods of its fleet.
    pub pods: &'a Pods<'a>,
    /// Currency of the account, ISO 4217.
    pub currency: &'a str,
    /// Its cohorts in written order, conflicting ones aside.
    pub cohorts: Vec<CohortFacts<'a>>,
}

/// What one cohort's part is made from.
#[derive(Clone, Debug)]
pub struct CohortFacts<'a> {
    /// Name.
    pub name: &'a str,
    /// Mode after all switches.
    pub mode: Mode,
    /// What is remembered of it.
    pub standing: &'a Standing,
    /// What was measured and judged.
    pub windows: &'a Windows,
    /// The judgement.
    pub evaluation: &'a Evaluation,
    /// First token as users saw it, recent.
    pub first_token: Percentiles,
    /// First token with primaries alone, recent estimate.
    pub without: Estimate,
    /// Timer firings that sent no hedge, by reason.
    pub not_hedged: &'a BTreeMap<String, u64>,
    /// Delay in force by the primary's route.
    pub delays: &'a [(String, Duration)],
    /// What was spent since midnight UTC.
    pub today: Spent,
    /// What other delays would do; empty where that is not known, or of no interest now.
    pub recommendation: Vec<Recommendation>,
    /// Why the tail is slow, where it is.
    pub diagnosis: Option<Diagnosis>,
}

/// The status now.
pub fn policy(old: &HedgePolicyStatus, facts: &PolicyFacts<'_>) -> HedgePolicyStatus {
    let generation = facts.object.generation;
    let now = facts.pods.now;
    let mut status = old.clone();
    status.observed_generation = Some(generation);
    let breached = breached(facts);
    let breached_reason =
        (breached.status == hedgerow_crds::condition::ConditionStatus::True).then_some(breached.reason);
    set_all(
        &mut status.conditions,
        vec![
            (ConditionType::Accepted, conditions::accepted(facts.verdict)),
            (
                ConditionType::Programmed,
                conditions::programmed(&old.conditions, facts.verdict, Some(facts.object), facts.pods),
            ),
            (ConditionType::GuardrailBreached, breached),
        ],
        &[ConditionType::GuardrailBreached],
        generation,
        figure::timestamp(now),
    );
    status.cohorts = facts.spec.cohorts.iter().map(|cohort| one(cohort.name.as_ref(), facts)).collect();
    status.summary = Some(summary(facts, breached_reason));
    status.spend = Some(spend(facts));
    status.effective = Some(EffectivePolicy { cohorts: effective::cohorts(facts.spec) });
    status
}

/// `GuardrailBreached`: true is bad.
fn breached(facts: &PolicyFacts<'_>) -> Said {
    let tripped: Vec<&CohortFacts<'_>> =
        facts.cohorts.iter().filter(|cohort| tripped(cohort.standing)).collect();
    let latest = tripped.iter().max_by_key(|cohort| cohort.standing.tripped_at.last().copied());
    if let Some(reason) = latest.and_then(|cohort| trip_reason(cohort.standing)) {
        let all: Vec<String> = tripped
            .iter()
            .map(|cohort| {
                format!(
                    "{} ({}): {}",
                    cohort.name,
                    cohort.standing.latch.state.as_str(),
                    cohort.standing.message
                )
            })
            .collect();
        return Said::yes(reason, all.join(" "));
    }
    let on: Vec<_> =
        facts.cohorts.iter().filter(|cohort| is_on(cohort) || cohort.mode == Mode::Observe).collect();
    if on.is_empty() {
        Said::unknown(Reason::SwitchedOff, "no cohort is switched on")
    } else if facts.pods.members.is_empty() {
        Said::unknown(Reason::NoReadyPods, "no gateway runs, so nothing is measured")
    } else if !facts.pods.any_read() {
        Said::unknown(
            Reason::ScrapeFailed,
            "no gateway can be read, so nothing is known; hedging goes on as decided last",
        )
    } else if !facts.pods.most_read() {
        let (read, running) = facts.pods.read();
        let text = format!(
            "only {read} of {running} gateways can be read, too few to decide by; hedging goes on as decided last"
        );
        Said::unknown(Reason::ScrapeFailed, text)
    } else if !on.iter().any(|cohort| cohort.evaluation.sufficient()) {
        Said::unknown(Reason::InsufficientData, "too little traffic for a verdict")
    } else {
        Said::no(Reason::WithinLimits, "every guardrail is within its limits")
    }
}

/// Off or on trial because of a guardrail.
fn tripped(standing: &Standing) -> bool {
    matches!(standing.latch.state, State::Suspended | State::Trial) && trip_reason(standing).is_some()
}

/// The reason of the latest trip; a hold by hand is none.
fn trip_reason(standing: &Standing) -> Option<Reason> {
    match standing.reason {
        Some(Reason::Suspended) => None,
        Some(Reason::Blind) => Some(Reason::Blind),
        _ => Reason::parse(standing.latch.last_trip.as_ref()?.signal.reason()),
    }
}

/// Hedges may be sent.
fn is_on(cohort: &CohortFacts<'_>) -> bool {
    matches!(cohort.standing.latch.state, State::Active | State::Ramping | State::Trial)
}

/// The status of one cohort.
fn one(name: &str, facts: &PolicyFacts<'_>) -> CohortStatus {
    let mut status = empty(name);
    if let Some(conflict) = facts.verdict.conflicts.iter().find(|conflict| conflict.cohort == name) {
        status.state = CohortState::Conflicted;
        status.reason = Some(Reason::Conflicted.as_str().to_owned());
        status.message = Some(format!(
            "policy {} has a cohort of this name and comes first: rename one of them, or change the priorities",
            conflict.winner
        ));
        return status;
    }
    let Some(cohort) = facts.cohorts.iter().find(|cohort| cohort.name == name) else { return status };
    latch(&mut status, cohort);
    figures(&mut status, cohort);
    let objective =
        facts.spec.cohorts.iter().find(|spec| *spec.name == *name).and_then(|spec| spec.objective.as_ref());
    if let Some(objective) = objective {
        let long = &cohort.windows.long;
        let allowed = 1_000 - objective.percent.unwrap_or(DEFAULT_OBJECTIVE).clamp(0, 100) * 10;
        status.deadline_miss_per_mille = figure::share(long.deadline_misses.into(), long.originals.into());
        status.objective_met = status.deadline_miss_per_mille.map(|missed| missed <= allowed);
    }
    status
}

fn latch(status: &mut CohortStatus, cohort: &CohortFacts<'_>) {
    let standing = cohort.standing;
    let latch = &standing.latch;
    let time = |at: Moment| Time(figure::timestamp(at));
    status.state = match latch.state {
        State::Observing => CohortState::Observing,
        State::Ramping => CohortState::Ramping,
        State::Active => CohortState::Active,
        State::Suspended => CohortState::Suspended,
        State::Trial => CohortState::Trial,
        State::Disabled => CohortState::Disabled,
    };
    status.reason = standing.reason.map(|reason| reason.as_str().to_owned());
    status.message = Some(standing.message.clone()).filter(|message| !message.is_empty());
    status.since = Some(time(latch.since));
    status.until = latch.until.map(time);
    status.transition = figure::whole(latch.transition);
    status.trips = i32::try_from(standing.trips.min(MOST_TRIPS)).unwrap_or(i32::MAX);
    status.tripped_at = standing.tripped_at.iter().copied().map(time).collect();
    status.hold = standing.hold.map(|until| Hold { until: time(until) });
    status.last_handled_resume.clone_from(&standing.last_handled_resume);
    status.share_percent_now = Some(i32::from(latch.share_percent()));
    status.evidence.clone_from(&standing.evidence);
}

fn figures(status: &mut CohortStatus, cohort: &CohortFacts<'_>) {
    let long = &cohort.windows.long;
    status.delays = cohort
        .delays
        .iter()
        .take(LISTED)
        .map(|(route, delay)| RouteDelay { route: route.clone(), delay: figure::latency(*delay) })
        .collect();
    status.duplicate_per_mille = figure::per_mille(long.hedges.into(), long.originals.into());
    status.extra_spend_per_mille = sent(cohort, extra_per_mille(long));
    let all = long.primaries_cost + long.hedges_cost + long.retries_cost;
    status.lost_race_per_mille = sent(cohort, figure::share(long.losers_cost, all));
    status.win_per_mille = sent(cohort, figure::share(long.hedge_wins.into(), long.hedges.into()));
    status.late_per_mille = figure::share(long.late.into(), long.audited.into());
    let mut reasons: Vec<(&String, &u64)> =
        cohort.not_hedged.iter().filter(|(_, count)| **count > 0).collect();
    reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
    status.not_hedged = reasons
        .into_iter()
        .take(LISTED)
        .map(|(reason, count)| NotHedged { reason: reason.clone(), count: figure::whole(*count) })
        .collect();
    status.extra_today_micros = Some(extra_micros(&cohort.today));
    status.first_token = first_token(&cohort.first_token);
    status.without_hedging = without(&cohort.without);
    status.recommendation.clone_from(&cohort.recommendation);
    status.diagnosis.clone_from(&cohort.diagnosis);
}

/// Nothing was won, lost or spent by hedges that are decided and not sent.
fn sent<T>(cohort: &CohortFacts<'_>, figure: Option<T>) -> Option<T> {
    figure.filter(|_| cohort.standing.latch.state != State::Observing)
}

fn first_token(seen: &Percentiles) -> Option<FirstToken> {
    let (p50, p95, p99) = (seen.p50?, seen.p95?, seen.p99?);
    Some(FirstToken { p50: figure::latency(p50), p95: figure::latency(p95), p99: figure::latency(p99) })
}

fn without(estimate: &Estimate) -> Option<WithoutHedging> {
    Some(WithoutHedging {
        p99: figure::latency(estimate.p99?),
        low: figure::latency(estimate.p99_low?),
        high: figure::latency(estimate.p99_high?),
        samples: figure::whole(estimate.samples as i64),
    })
}

/// What hedging added to the cost of the primaries alone, in 1/1000; in tokens where nothing is priced.
fn extra_per_mille(tally: &Tally) -> Option<i32> {
    let (all, alone) = if tally.primaries_alone_cost > 0 {
        (tally.primaries_cost + tally.hedges_cost, tally.primaries_alone_cost)
    } else {
        (tally.tokens_total.into(), tally.tokens_alone.into())
    };
    let added = |more: u128, less: u128| figure::per_mille(more - less, alone);
    if all >= alone { added(all, alone) } else { added(alone, all).map(|saved| -saved) }
}

/// What hedging added to spend, in micro-units; negative where it saved.
fn extra_micros(today: &Spent) -> i64 {
    let micros = |picos: Picos| figure::whole(picos.to_micros());
    micros(today.cost.saturating_sub(today.without)) - micros(today.without.saturating_sub(today.cost))
}

/// Spend of the policy's cohorts since midnight UTC.
fn spend(facts: &PolicyFacts<'_>) -> Spend {
    let sum =
        |of: &dyn Fn(&Spent) -> Picos| facts.cohorts.iter().map(|cohort| of(&cohort.today)).sum::<Picos>();
    let micros = |picos: Picos| figure::whole(picos.to_micros());
    let (cost, retries, estimated) =
        (sum(&|today| today.cost), sum(&|today| today.retries), sum(&|today| today.estimated));
    let percent = estimated.0.saturating_mul(100).checked_div(cost.0).unwrap_or(0);
    Spend {
        date: figure::timestamp(facts.pods.now).strftime("%Y-%m-%d").to_string(),
        currency: facts.currency.into(),
        total_micros: micros(cost + retries),
        losers_micros: micros(sum(&|today| today.lost)),
        retries_micros: micros(retries),
        estimated_percent: i32::try_from(percent.min(100)).unwrap_or(100),
    }
}

/// The columns. Figures are those of the worst cohort that is on; in brackets where all only observe.
fn summary(facts: &PolicyFacts<'_>, breached: Option<Reason>) -> PolicySummary {
    let all = facts.cohorts.len();
    let on: Vec<&CohortFacts<'_>> = facts.cohorts.iter().filter(|cohort| is_on(cohort)).collect();
    let observing: Vec<&CohortFacts<'_>> =
        facts.cohorts.iter().filter(|cohort| cohort.standing.latch.state == State::Observing).collect();
    let bracket = on.is_empty() && !observing.is_empty();
    let cohorts = if bracket {
        let seen = observing.iter().filter(|cohort| cohort.windows.long.originals > 0).count();
        format!("{seen}/{all} seen")
    } else {
        format!("{}/{all} active", on.len())
    };
    let shown = if bracket { &observing } else { &on };
    let worst = shown.iter().max_by_key(|cohort| cohort.first_token.p99);
    let bracketed = |text: String| if bracket && !text.is_empty() { format!("({text})") } else { text };
    let share = |value: Option<i32>| value.map(signed_percent).unwrap_or_default();
    PolicySummary {
        cohorts,
        guardrail: if breached.is_some() { "Breached" } else { "Within" }.to_owned(),
        p99: worst.and_then(|cohort| cohort.first_token.p99).map(figure::latency).unwrap_or_default(),
        saved: worst.and_then(|cohort| saved(cohort)).filter(|_| !bracket).unwrap_or_default(),
        duplicate_percent: bracketed(share(worst.and_then(|cohort| {
            figure::per_mille(cohort.windows.long.hedges.into(), cohort.windows.long.originals.into())
        }))),
        extra_percent: share(worst.and_then(|cohort| sent(cohort, extra_per_mille(&cohort.windows.long)))),
        reason: breached.map_or_else(String::new, |reason| reason.as_str().to_owned()),
    }
}

/// Change of the 99th percentile by hedging: `-68%`.
fn saved(cohort: &CohortFacts<'_>) -> Option<String> {
    let (with, without) = (cohort.first_token.p99?.as_secs_f64(), cohort.without.p99?.as_secs_f64());
    let change = ((with / without - 1.0) * 100.0).round() as i64;
    (without > 0.0).then(|| if change == 0 { "0%".to_owned() } else { format!("{change:+}%") })
}

fn signed_percent(per_mille: i32) -> String {
    let sign = if per_mille < 0 { "-" } else { "" };
    format!("{sign}{}", figure::percent_bare(per_mille.unsigned_abs()))
}

fn empty(name: &str) -> CohortStatus {
    CohortStatus {
        name: name.into(),
        state: CohortState::InsufficientData,
        reason: None,
        message: None,
        since: None,
        until: None,
        transition: 0,
        trips: 0,
        tripped_at: Vec::new(),
        hold: None,
        last_handled_resume: None,
        share_percent_now: None,
        delays: Vec::new(),
        duplicate_per_mille: None,
        extra_spend_per_mille: None,
        lost_race_per_mille: None,
        win_per_mille: None,
        late_per_mille: None,
        deadline_miss_per_mille: None,
        objective_met: None,
        not_hedged: Vec::new(),
        first_token: None,
        without_hedging: None,
        extra_today_micros: None,
        evidence: Vec::new(),
        recommendation: Vec::new(),
        diagnosis: None,
    }
}
