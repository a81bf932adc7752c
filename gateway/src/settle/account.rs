//! Booking: what an attempt cost, and what a user action was.
//!
//! Inputs: an ended attempt or user action. Outputs: the ledger, the cohort's ring, metrics, records and spans. Called from
//! `Drop`, so it never fails and never blocks beyond short mutexes.
//!
//! Rules: a refused attempt costs 0; a cancelled loser costs its input in full plus the output seen, marked as a lower
//! bound; a provider that is declared to bill on after a cancel is booked at the expected output, marked as estimated.
//! Tokens that nobody told are estimated so that a lower bound is one: rounded down, and of a primary's input the share
//! that its cell usually reads from the prompt cache is booked as read from there (at the full price hedging would look 8
//! points dearer than it is in the warm mix of replay scenario s16).

use std::sync::atomic::Ordering;

use hedgerow_config::{money::Picos, route::CancelBilling, state::CohortCounters};
use hedgerow_policy::{
    ledger::{self, Basis, Booked, Cost, Kind, Role, Usage, extra_spend},
    time::Moment,
};

use super::{
    describe,
    record::{Outcome, StatusClass},
};
use crate::{
    race::{
        action::{Action, Course},
        attempt::{Attempt, End},
    },
    wire::{
        contract::{self, Breach},
        error_table::Scope,
    },
};

/// Bytes of output text in one token at most, where the provider has not told: English prose comes to 4 to 5, code and
/// other scripts to less.
const BYTES_PER_OUTPUT_TOKEN: u64 = 6;

/// Books an ended attempt.
pub fn book(attempt: &Attempt, now: Moment) {
    let action = &attempt.action;
    let outcome = outcome(attempt, action.course().winner.is_some());
    let (usage, basis) = usage(attempt, outcome);
    let role = ledger::role(attempt.kind, attempt.committed, attempt.replaced);
    let prices = attempt.offer.model().and_then(|model| model.prices.as_ref());
    let cost = prices.map(|prices| ledger::cost(&usage, prices));
    let booked = Booked { kind: attempt.kind, role, usage, basis, cost };
    learn(attempt, &usage, basis);

    let route = &attempt.offer.route;
    route.state.count(outcome);
    route.metrics.attempt(attempt.kind, outcome);
    action.runtime.spend.add(&booked);
    if let Some(cost) = cost {
        action.runtime.metrics.spend(role, basis, cost);
    }
    if let Some(model) = attempt.offer.model().filter(|_| usage.total() > 0) {
        let input = usage.input_uncached + usage.cache_read + usage.cache_write;
        model.metrics.input_tokens.observe(input as f64);
        model.metrics.output_tokens.observe(usage.output as f64);
    }
    if let (Kind::Hedge, Some(cohort)) = (attempt.kind, &action.request.cohort) {
        cohort.metrics.hedge(outcome);
    }
    let breach = breach(attempt);
    if let Some(breach) = &breach {
        route.metrics.breach(breach);
    }
    describe::attempt(attempt, outcome, &booked, breach.is_none(), now);

    let mut course = action.course();
    if attempt.audited {
        course.audited += 1;
        course.late |= outcome == Outcome::LoserFinished;
    }
    if attempt.committed {
        course.winner_usage = Some(usage);
    }
    course.booked.push(booked);
    course.routes.push(route.config.name.as_str().into());
}

/// What a stream that ended whole lacks of what its policy asks for. It has been relayed by then, so it is only counted and
/// written down; a whole answer was held against the contract before it won.
fn breach(attempt: &Attempt) -> Option<Breach> {
    let reader = attempt.reader.as_ref().filter(|_| attempt.end == End::Complete)?;
    let request = &attempt.action.request;
    let contract = attempt.action.snapshot.terms(request.cohort.as_deref()).contract;
    contract::check_stream(contract, reader.finish_reason(), reader.spoken(), request.schema.as_deref()).err()
}

fn outcome(attempt: &Attempt, has_winner: bool) -> Outcome {
    match (attempt.end, attempt.committed) {
        (End::Complete, true) => Outcome::Won,
        (End::Complete, false) => Outcome::LoserFinished,
        (End::Truncated, _) => Outcome::Truncated,
        (End::Failed { outcome, .. }, _) => outcome,
        (End::Cancelled, false) if has_winner => Outcome::LoserCancelled,
        (End::Cancelled, _) => Outcome::ClientGone,
    }
}

/// Usage in normal form and how well it is known.
fn usage(attempt: &Attempt, outcome: Outcome) -> (Usage, Basis) {
    // Also one that was given up while its error was still being read.
    let refused = attempt.status.is_some_and(|status| !status.is_success());
    if refused || matches!(attempt.end, End::Failed { free: true, .. }) {
        return (Usage::default(), Basis::Exact);
    }
    let told = attempt.known_usage();
    let seen = attempt.output_bytes() / BYTES_PER_OUTPUT_TOKEN;
    let input = match told.and_then(|usage| usage.input_uncached) {
        Some(input_uncached) => Usage {
            input_uncached,
            cache_read: told.and_then(|usage| usage.cache_read).unwrap_or(0),
            cache_write: told.and_then(|usage| usage.cache_write).unwrap_or(0),
            output: 0,
        },
        None => estimated_input(attempt),
    };
    let usage = Usage { output: told.and_then(|usage| usage.output).unwrap_or(0).max(seen), ..input };
    let whole = attempt.end == End::Complete;
    let exact = told.filter(|usage| usage.input_uncached.is_some() && usage.output.is_some());
    match exact {
        Some(exact) if whole => {
            (Usage { output: exact.output.unwrap_or(usage.output), ..usage }, Basis::Exact)
        }
        _ if whole => (usage, Basis::Estimated),
        _ if matches!(outcome, Outcome::LoserCancelled | Outcome::ClientGone) => cancelled(attempt, usage),
        _ => (usage, Basis::LowerBound),
    }
}

/// Input that the provider has not told. A hedge or a retry is on a route where the conversation does not live.
fn estimated_input(attempt: &Attempt) -> Usage {
    let cell = &attempt.cell;
    let input = ledger::least_input(attempt.action.request.text_bytes, cell.ratio.bytes_per_token_milli());
    let share = if attempt.kind == Kind::Primary { u64::from(cell.cached_per_mille()) } else { 0 };
    let cache_read = input * share / 1_000;
    Usage { input_uncached: input - cache_read, cache_read, cache_write: 0, output: 0 }
}

/// What a cancelled attempt is taken to cost. Sums are made of this, so of the usual lengths the mean counts: the 95th
/// percentile, which bounds what an attempt may come to, would book more than twice what is billed.
fn cancelled(attempt: &Attempt, seen: Usage) -> (Usage, Basis) {
    if attempt.offer.route.config.on_cancel.billing != CancelBilling::Continues {
        return (seen, Basis::LowerBound);
    }
    let mean = attempt.cell.learnt.load().as_ref().and_then(|learnt| learnt.output_mean);
    match ledger::estimate_output(attempt.action.request.max_output, mean) {
        Some(output) => (Usage { output: output.max(seen.output), ..seen }, Basis::Estimated),
        None => (seen, Basis::LowerBound),
    }
}

/// Exact usage teaches the cell: bytes per token, cached share, length of answers.
fn learn(attempt: &Attempt, usage: &Usage, basis: Basis) {
    if basis != Basis::Exact || attempt.end != End::Complete {
        return;
    }
    let input = usage.input_uncached + usage.cache_read + usage.cache_write;
    attempt.cell.ratio.learn(attempt.action.request.text_bytes, input);
    attempt.cell.output.event(std::time::Duration::from_millis(usage.output));
    if attempt.kind == Kind::Primary {
        attempt.cell.input(input, usage.cache_read);
    }
}

/// Settles a user action: called when its last owner lets go.
pub fn settle(action: &mut Action) {
    let mut course = action.take_course();
    let now = action.now();
    let ended = course.ended.unwrap_or(now);
    let class = course.class.unwrap_or_else(|| {
        course.error = "client_gone";
        StatusClass::Canceled
    });
    let request = &action.request;
    action.snapshot.action_metrics(request.cohort.as_deref(), &request.lane).ended(class);
    if course.admitted {
        tally(action, &course, class, now);
    }
    describe::action(action, &mut course, class, ended);
}

/// Tells the model's budget and the cohort what became of an admitted user action.
fn tally(action: &Action, course: &Course, class: StatusClass, now: Moment) {
    let request = &action.request;
    if matches!(class, StatusClass::UpstreamError | StatusClass::GatewayError) {
        request.lane.state.failed.fetch_add(1, Ordering::Relaxed);
    }
    // Neither a shed nor a client that left says anything about the model's health.
    if !request.client_retry && !matches!(class, StatusClass::Shed | StatusClass::Canceled) {
        request.listing.budget.settle(now, is_success(class));
    }
    if let Some(cohort) = &request.cohort {
        let change = counters(action, course, class);
        let unix_s = action.runtime.clock.wall(now).as_secs();
        cohort.state.ring(|ring| ring.add(unix_s, &change));
        if let Some(first_token) = course.first_token {
            cohort.state.user_latency.event(first_token);
            if course.arm == "control" {
                cohort.state.control_latency.event(first_token);
            }
        }
    }
}

fn is_success(class: StatusClass) -> bool {
    matches!(class, StatusClass::Success | StatusClass::ClientError)
}

/// What a user action adds to its cohort's bucket. Hedges, withheld and thinned firings were counted when they happened.
fn counters(action: &Action, course: &Course, class: StatusClass) -> CohortCounters {
    let mut change = CohortCounters::default();
    let enrolled = action.enrolled();
    let counts = !action.request.client_retry && class != StatusClass::Shed;
    if counts && enrolled {
        change.originals = 1;
        change.errors = u64::from(matches!(class, StatusClass::UpstreamError | StatusClass::GatewayError));
    } else if counts {
        change.not_enrolled = 1;
    }
    change.wins = u64::from(course.winner.as_ref().is_some_and(|winner| winner.hedge));
    change.audited = u64::from(course.audited);
    change.late = u64::from(course.late);
    objective(action, course, class, &mut change);
    length(action, course, class, &mut change);
    money(course, &mut change);
    change
}

fn objective(action: &Action, course: &Course, class: StatusClass, change: &mut CohortCounters) {
    let objective = action.request.cohort.as_ref().and_then(|cohort| cohort.config.objective);
    let Some(objective) =
        objective.filter(|_| class != StatusClass::Canceled || course.first_token.is_some())
    else {
        return;
    };
    change.objective_measured = 1;
    let met = course.first_token.is_some_and(|seen| seen.as_millis() <= u128::from(objective.first_token_ms));
    change.objective_met = u64::from(met);
}

/// How long a whole answer took and is, where the primary gave it: whether slow ones are simply long.
fn length(action: &Action, course: &Course, class: StatusClass, change: &mut CohortCounters) {
    let by_primary = |booked: &&Booked| {
        booked.kind == Kind::Primary && booked.role == Role::Winner && booked.basis == Basis::Exact
    };
    let whole = class == StatusClass::Success && !action.request.stream;
    let answer = course.booked.iter().find(by_primary).filter(|_| whole);
    let Some((answer, took)) = answer.zip(course.first_token) else { return };
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    change.answers = 1;
    change.answers_ms = millis;
    change.answers_tokens = answer.usage.output;
    if course.hedge_delay.is_some_and(|delay| took >= delay) {
        change.slow_answers = 1;
        change.slow_answers_ms = millis;
        change.slow_answers_tokens = answer.usage.output;
    }
}

/// Costs by role, and what the primary alone would have cost.
fn money(course: &Course, change: &mut CohortCounters) {
    let picos = |cost: Option<Cost>| cost.map_or(Picos::default(), |cost| Picos(cost.0));
    for booked in &course.booked {
        match booked.role {
            Role::Loser => change.cost_lost += picos(booked.cost),
            Role::Retry => change.cost_retries += picos(booked.cost),
            Role::Winner => {}
        }
        if booked.kind != Kind::Retry && booked.basis != Basis::Exact {
            change.cost_estimated += picos(booked.cost);
        }
    }
    let (alone_usage, alone_cost) = alone(course);
    let extra = extra_spend(&course.booked, &alone_usage, alone_cost);
    if extra.unpriced > 0 {
        change.unpriced_tokens = extra.tokens.0;
        change.unpriced_tokens_without = extra.tokens.1;
        return;
    }
    change.cost = Picos(extra.actual.0);
    change.cost_without = Picos(extra.alone.0);
    let added = change.cost.saturating_sub(change.cost_without);
    let hedge_route = course.booked.iter().zip(&course.routes).find(|(booked, _)| booked.kind == Kind::Hedge);
    if let Some((_, route)) = hedge_route.filter(|_| added.0 > 0) {
        change.extra_by_route.insert(route.to_string(), added);
    }
}

/// Usage and cost of the primary had it run alone to its end: as booked without a hedge, or if it won; otherwise its
/// input with the cell's cached share, and the winner's output, at the primary's prices.
fn alone(course: &Course) -> (Usage, Option<Cost>) {
    let primary = course.booked.iter().find(|booked| booked.kind == Kind::Primary);
    let own = primary.map_or((Usage::default(), Some(Cost::default())), |booked| (booked.usage, booked.cost));
    let Some((facts, winner)) = course.primary.as_ref().zip(course.winner_usage).filter(|_| course.hedged)
    else {
        return own;
    };
    if course.winner.as_ref().is_some_and(|winner| !winner.hedge) {
        return own;
    }
    let input = winner.input_uncached + winner.cache_read + winner.cache_write;
    let cached = input * u64::from(facts.cell.cached_per_mille()) / 1_000;
    let usage =
        Usage { input_uncached: input - cached, cache_read: cached, cache_write: 0, output: winner.output };
    let prices = facts.offer.model().and_then(|model| model.prices.as_ref());
    (usage, prices.map(|prices| ledger::cost(&usage, prices)))
}

/// Short name of an error's scope for records.
pub fn scope_name(scope: Option<Scope>) -> &'static str {
    scope.map_or("none", Scope::as_str)
}
