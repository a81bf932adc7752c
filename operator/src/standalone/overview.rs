//! The [`View`] of a fleet: figures and states as plain values.

use std::{collections::BTreeMap, sync::Arc};

use hedgerow_config::{
    State,
    cohort::Mode,
    lane,
    route::{Api, Route},
    state::{CohortCounters, InFlight, LaneState, RouteState},
};
use hedgerow_policy::{guardrail::Tally, time::Moment};

use super::{
    fleet::Fleet,
    view::{CohortView, Entry, FleetView, LaneView, PodView, RouteView, Totals},
};
use crate::domain::{
    CohortKey,
    guardrail::{Decision, why},
};

/// Breaker states from the best to the worst; the worst of all gateways is shown.
const BREAKERS: [&str; 7] = ["closed", "recovering", "throttled", "slow", "halfOpen", "open", "quotaOpen"];

/// One fleet as of `now`.
pub(super) fn fleet(fleet: &Fleet, now: Moment) -> FleetView {
    let present: Vec<&State> = fleet.memory.store.present(now).map(|life| &life.state).collect();
    FleetView {
        name: fleet.memory.name.clone(),
        base_url: fleet.base_url(),
        digest: fleet.memory.digest.clone(),
        pods: pods(fleet, now),
        totals: totals(fleet, &present),
        would_hedge_percent: would_hedge_percent(fleet),
        first_token: fleet.memory.recent.first_token(None),
        without: fleet.memory.recent.without_hedging(None),
        cohorts: cohorts(fleet, now),
        routes: routes(fleet, &present),
        lanes: lanes(fleet, &present),
        leaks: leaks(&present),
        cumulative: Arc::new(fleet.memory.store.counted().clone()),
    }
}

/// A decision on the timeline.
pub(super) fn entry(decision: &Decision) -> Entry {
    let reading = decision.reading.as_ref();
    Entry {
        at_unix_ms: decision.at.as_millis(),
        fleet: decision.fleet.clone(),
        policy: decision.key.policy.clone(),
        cohort: decision.key.cohort.clone(),
        from: decision.from.as_str().to_owned(),
        to: decision.to.as_str().to_owned(),
        reason: decision.reason.as_str().to_owned(),
        signal: reading.map(|reading| reading.signal.as_str().to_owned()),
        value_per_mille: reading.map(|reading| reading.short.per_mille()),
        threshold_per_mille: reading.map(|reading| reading.threshold_per_mille),
        breached_unix_ms: decision.breached.map(Moment::as_millis),
        line: decision.line.clone(),
    }
}

fn pods(fleet: &Fleet, now: Moment) -> Vec<PodView> {
    let lives: BTreeMap<&str, _> =
        fleet.memory.store.present(now).map(|life| (life.state.pod.uid.as_str(), life)).collect();
    fleet
        .members
        .iter()
        .map(|member| {
            let life = lives.get(member.uid.as_str()).filter(|_| member.failure.is_none());
            PodView {
                uid: member.uid.clone(),
                admin: member.admin,
                ready: life.is_some_and(|life| life.state.ready),
                digest: life.map(|life| life.state.digest.clone()).unwrap_or_default(),
                restarts: member.restarts,
                scraped_unix_ms: life.map(|life| life.read.as_millis()),
            }
        })
        .collect()
}

/// Requests and failures are counted by lane, the rest by cohort; a request that is in no cohort has only the former.
fn totals(fleet: &Fleet, present: &[&State]) -> Totals {
    let counted = fleet.memory.store.counted();
    let shed: u64 = counted.lanes.values().flat_map(|lane| lane.shed.values()).sum();
    let admitted: u64 = counted.lanes.values().map(|lane| lane.admitted).sum();
    let mut sum = Totals {
        requests: admitted + shed,
        shed,
        failed: counted.lanes.values().map(|lane| lane.failed).sum(),
        in_flight: present.iter().map(|state| state.in_flight.actions).sum(),
        ..Totals::default()
    };
    for (name, cohort) in &counted.cohorts {
        let one = cohort_totals(&fleet.observed.sent(name, &cohort.total));
        sum.originals += one.originals;
        sum.not_enrolled += one.not_enrolled;
        sum.hedges += one.hedges;
        sum.wins += one.wins;
        sum.withheld += one.withheld;
        sum.thinned += one.thinned;
        sum.cost += one.cost;
        sum.cost_without += one.cost_without;
        sum.cost_lost += one.cost_lost;
        sum.cost_retries += one.cost_retries;
    }
    sum
}

fn would_hedge_percent(fleet: &Fleet) -> Option<f64> {
    let cohorts = fleet.memory.config.iter().flat_map(|config| &config.cohorts);
    let observe = cohorts.filter(|cohort| cohort.mode == Mode::Observe);
    let (hedges, originals) = observe
        .map(|cohort| fleet.observed.of(&cohort.name))
        .fold((0, 0), |sum, seen| (sum.0 + seen.hedges, sum.1 + seen.originals));
    percent(hedges.into(), originals.into())
}

fn cohort_totals(counters: &CohortCounters) -> Totals {
    Totals {
        requests: counters.originals + counters.not_enrolled,
        shed: 0,
        in_flight: 0,
        originals: counters.originals,
        not_enrolled: counters.not_enrolled,
        failed: counters.errors,
        hedges: counters.hedges,
        wins: counters.wins,
        withheld: counters.withheld,
        thinned: counters.thinned,
        cost: counters.cost,
        cost_without: counters.cost_without,
        cost_lost: counters.cost_lost,
        cost_retries: counters.cost_retries,
    }
}

fn cohorts(fleet: &Fleet, now: Moment) -> Vec<CohortView> {
    let Some(config) = &fleet.memory.config else { return Vec::new() };
    let counted = fleet.memory.store.counted();
    let view = |cohort: &hedgerow_config::Cohort| {
        let key = CohortKey { policy: cohort.policy.clone(), cohort: cohort.name.clone() };
        let standing = fleet.memory.standings.get(&key)?;
        let outcome = fleet.memory.outcomes.get(&key)?;
        let long = &outcome.windows.long;
        let counts = counted.cohorts.get(&cohort.name);
        let latch = &standing.latch;
        // Nothing was won, lost or spent by a hedge that was never sent.
        let sent = |value: Option<f64>| value.filter(|_| cohort.mode != Mode::Observe);
        Some(CohortView {
            policy: key.policy,
            name: key.cohort,
            mode: cohort.mode,
            state: latch.state.as_str().to_owned(),
            reason: standing.reason.map(|reason| reason.as_str().to_owned()),
            why: why(standing, now),
            since_unix_ms: latch.since.as_millis(),
            until_unix_ms: latch.until.map(Moment::as_millis),
            transition: latch.transition,
            share_percent: u32::from(latch.share_percent()),
            duplicate_percent: percent(long.hedges.into(), long.originals.into()),
            extra_percent: sent(extra_percent(long)),
            lost_percent: sent(percent(
                long.losers_cost,
                long.primaries_cost + long.hedges_cost + long.retries_cost,
            )),
            win_percent: sent(percent(long.hedge_wins.into(), long.hedges.into())),
            window: outcome.windows.long_span,
            first_token: fleet.memory.recent.first_token(Some(&cohort.name)),
            without: fleet.memory.recent.without_hedging(Some(&cohort.name)),
            totals: counts
                .map(|counts| cohort_totals(&fleet.observed.sent(&cohort.name, &counts.total)))
                .unwrap_or_default(),
            not_hedged: counts.map(|counts| counts.suppressed.clone()).unwrap_or_default(),
            delays: fleet.memory.delays(&cohort.name),
        })
    };
    config.cohorts.iter().filter_map(view).collect()
}

fn percent(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

fn extra_percent(tally: &Tally) -> Option<f64> {
    let (all, alone) = if tally.primaries_alone_cost > 0 {
        (tally.primaries_cost + tally.hedges_cost, tally.primaries_alone_cost)
    } else {
        (tally.tokens_total.into(), tally.tokens_alone.into())
    };
    percent(all, alone).map(|all| all - 100.0)
}

fn routes(fleet: &Fleet, present: &[&State]) -> Vec<RouteView> {
    let Some(config) = &fleet.memory.config else { return Vec::new() };
    let seen = |route: &Route| -> Vec<&RouteState> {
        present.iter().flat_map(|state| &state.routes).filter(|seen| seen.route == route.name).collect()
    };
    let weight = |route: &Route| mean(seen(route).iter().map(|seen| seen.weight_percent), 100);
    let pull = |route: &Route| u64::from(route.weight) * u64::from(weight(route));
    let view = |route: &Route| {
        let states = seen(route);
        let tier: u64 = config.routes.iter().filter(|other| other.tier == route.tier).map(pull).sum();
        let recent = fleet.memory.recent.route(&route.name);
        let counted = fleet.memory.store.counted().routes.get(&route.name);
        let rank = |state: &&str| BREAKERS.iter().position(|known| known == state);
        RouteView {
            name: route.name.clone(),
            provider: route.failure_domain.provider.clone(),
            region: route.failure_domain.region.clone(),
            anthropic: route.api == Api::Anthropic,
            weight_percent: weight(route),
            share_percent: u32::try_from((pull(route) * 100).checked_div(tier).unwrap_or(0)).unwrap_or(100),
            in_flight: states.iter().map(|state| state.in_flight).sum(),
            p50: recent.p50,
            p95: recent.p95,
            breaker: states
                .iter()
                .map(|state| state.breaker.as_str())
                .max_by_key(rank)
                .unwrap_or("")
                .to_owned(),
            blocked: states
                .iter()
                .map(|state| state.blocked.clone())
                .find(|why| !why.is_empty())
                .unwrap_or_default(),
            throttled_until_unix_ms: states
                .iter()
                .map(|state| state.throttled_until_unix_ms)
                .max()
                .unwrap_or(0),
            outcomes: counted.map(|counted| counted.outcomes.clone()).unwrap_or_default(),
        }
    };
    config.routes.iter().map(view).collect()
}

fn mean(values: impl ExactSizeIterator<Item = u32>, without: u32) -> u32 {
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    values.sum::<u32>().checked_div(count).unwrap_or(without)
}

fn lanes(fleet: &Fleet, present: &[&State]) -> Vec<LaneView> {
    let Some(config) = &fleet.memory.config else { return Vec::new() };
    let mut named: Vec<(&str, u32)> =
        config.lanes.iter().map(|lane| (lane.name.as_str(), lane.priority)).collect();
    let states: Vec<&LaneState> = present.iter().flat_map(|state| &state.lanes).collect();
    let built_in = states.iter().any(|state| state.lane == lane::DEFAULT && state.admitted > 0);
    if built_in && named.iter().all(|(name, _)| *name != lane::DEFAULT) {
        named.push((lane::DEFAULT, 0));
    }
    let view = |(name, priority): (&str, u32)| {
        let here: Vec<_> = states.iter().filter(|state| state.lane == name).collect();
        let counted = fleet.memory.store.counted().lanes.get(name).cloned().unwrap_or_default();
        LaneView {
            name: name.to_owned(),
            priority,
            limit: here.iter().map(|state| state.limit).sum(),
            in_flight: here.iter().map(|state| state.in_flight).sum(),
            queued: here.iter().map(|state| state.queued).sum(),
            admitted: counted.admitted,
            shed: counted.shed.values().sum(),
            shed_reasons: counted.shed,
            last_retry_after_s: here.iter().map(|state| state.last_retry_after_s).max().unwrap_or(0),
            wait_p95: fleet.memory.recent.wait(name).p95,
        }
    };
    named.into_iter().map(view).collect()
}

fn leaks(present: &[&State]) -> InFlight {
    let mut sum = InFlight::default();
    for one in present.iter().map(|state| &state.in_flight) {
        sum.actions += one.actions;
        sum.attempts += one.attempts;
        sum.lane_permits += one.lane_permits;
        sum.route_permits += one.route_permits;
        sum.budget_reserved_milli += one.budget_reserved_milli;
        sum.buffered_bytes += one.buffered_bytes;
        sum.handshakes += one.handshakes;
    }
    sum
}
