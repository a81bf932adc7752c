//! The race: attempts start, answer, fail, and lose. `gateway/src/race` in virtual time.

use hedgerow_policy::{breaker, budget, draw::Purpose, ledger::Kind, limiter, retry, time::Moment};

use super::{
    Engine,
    action::{Fate, Leg, Side},
    measure::{Run, Sample, secs},
    plan::{Choice, NoRoute},
    queue::{Event, Handle},
    settle::Ending,
};
use crate::replay::{
    baseline::Ended,
    model::{
        chance::{self, Stream, seconds},
        provider::Answer,
    },
};

/// Longest pushback that is taken to heart when the provider names none, in seconds.
const PUSHBACK: f64 = 1.0;

impl Engine<'_> {
    /// Sends the primary.
    pub(super) fn begin_race(&mut self, handle: Handle) {
        let (now, model) = (self.now, self.model);
        let Some(action) = self.actions.get(handle) else { return };
        let (call, pod) = (self.calls[action.call as usize], action.pod);
        let cohort = model.traffic[usize::from(call.class)].cohort;
        match self.pods[usize::from(pod)].primary(model, cohort, call.affinity, now) {
            Ok(choice) => {
                if let Some(action) = self.actions.get(handle) {
                    action.first_route = choice.route;
                }
                self.launch(handle, choice, Kind::Primary);
            }
            Err(NoRoute::Throttled(wait)) => {
                let told = f64::from(retry::client_seconds(wait));
                self.no_answer(handle, Fate::Refusal(Some(told)));
            }
            Err(NoRoute::Unusable) => self.no_answer(handle, Fate::Failure),
        }
    }

    /// Sends an attempt; a primary or retry also arms the hedge timer.
    pub(super) fn launch(&mut self, handle: Handle, choice: Choice, kind: Kind) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        action.attempts += 1;
        action.used |= 1 << choice.route;
        let (number, base, place) = (action.attempts, action.base, action.call);
        let (pod, route) = (usize::from(action.pod), usize::from(choice.route));
        let call = self.calls[place as usize];
        let traffic = &self.model.traffic[usize::from(call.class)];
        let tries = call.number.wrapping_mul(64) + u64::from(call.retries.min(15)) * 4 + u64::from(number);
        let first = kind == Kind::Primary;
        self.run.early += u64::from(self.pods[pod].breakers[route].throttled_until(now).is_some());
        let mut rng = chance::stream(self.seed, if first { Stream::Action } else { Stream::Later }, tries);
        let alike = !first && rng.f64() < self.model.correlation;
        let cold = traffic.warm > 0.0 && !first;
        let (answer, drawn) = self.providers[route].begin(secs(now), &mut rng, alike.then_some(base), cold);
        let (first_at, ends, fate) = match answer {
            Answer::Tokens { first, end } => (now + first, now + end, Fate::Answer),
            Answer::Failure { after } => (Moment::MAX, now + after, Fate::Failure),
            Answer::Refusal { retry_after } => (Moment::MAX, now + seconds(0.05), Fate::Refusal(retry_after)),
        };
        let cell = self.pods[pod].cell(traffic.cohort, choice.route);
        let waits = (kind != Kind::Hedge).then(|| self.pods[pod].cells[cell].wait(now));
        self.pods[pod].in_flight[route] += 1;
        Run::tick(&mut self.run.attempts, now);
        self.run.add(call.born, call.class, |sums| sums.attempts += 1);
        let leg = Leg {
            number,
            kind,
            route: choice.route,
            started: now,
            ends,
            first: first_at,
            cold,
            pass: Some(choice.pass),
            place: waits,
            fate,
        };
        match fate {
            Fate::Answer => self.queue.at(first_at, Event::First(handle, number)),
            Fate::Failure | Fate::Refusal(_) => self.queue.at(ends, Event::Fail(handle, number)),
        }
        if kind != Kind::Hedge {
            self.arm_timer(handle, &leg, traffic.cohort, call.retries > 0);
        }
        let Some(action) = self.actions.get(handle) else { return };
        if first {
            action.base = drawn;
        }
        match kind {
            Kind::Hedge => action.hedge = Some(leg),
            Kind::Primary | Kind::Retry => action.primary = Some(leg),
        }
    }

    /// A first token: it commits.
    pub(super) fn first_token(&mut self, handle: Handle, number: u8) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        let Some(side) = action.side(number) else { return };
        let other = if side == Side::Primary { Side::Hedge } else { Side::Primary };
        let (Some(mut leg), loser) = (action.take(side), action.take(other)) else { return };
        action.over = true;
        let (place, pod, first_route, started) =
            (action.call, usize::from(action.pod), action.first_route, action.started);
        let call = self.calls[place as usize];
        let traffic = &self.model.traffic[usize::from(call.class)];
        let elapsed = now - leg.started;
        let entropy = self.pods[pod].rng.u64(..);
        let at = self.pods[pod].cell(traffic.cohort, leg.route);
        let cell = &mut self.pods[pod].cells[at];
        let expected = if leg.kind == Kind::Hedge {
            cell.hedge.event(elapsed);
            cell.races.wins += 1;
            None
        } else {
            cell.primary.event(elapsed);
            cell.expected()
        };
        if let Some(place) = leg.place.take() {
            cell.waited(place);
        }
        let pod = &mut self.pods[pod];
        if let Some(cohort) = traffic.cohort {
            pod.users[cohort].event(now - started);
        }
        if let Some(pass) = leg.pass.take() {
            let outcome = breaker::Outcome::FirstToken { elapsed, expected };
            pod.breakers[usize::from(leg.route)].report(now, pass, outcome, entropy);
        }
        if let Some(rival) = &mut pod.rival {
            rival.ended(now, leg.route, leg.kind, elapsed, Ended::Answered);
            rival.answered(now, first_route, now - started);
        }
        if let Some(action) = self.actions.get(handle)
            && let Some(permit) = action.permit.as_ref().filter(|_| leg.kind == Kind::Primary)
        {
            pod.lanes.sample(permit, limiter::Sample::FirstToken { elapsed, expected });
        }
        Run::tick(&mut self.run.answers, now);
        if traffic.measured {
            let waited = (now - call.born).as_secs_f64() as f32;
            let (born, by_hedge) = (secs(call.born) as f32, side == Side::Hedge);
            self.run.samples.push(Sample { born, waited, class: call.class, by_hedge });
        }
        self.run.add(call.born, call.class, |sums| {
            sums.answered += 1;
            sums.wins += u64::from(side == Side::Hedge);
        });
        if let Some(loser) = loser {
            self.cancel(handle, loser);
        }
        self.queue.at(leg.ends, Event::End(handle));
        if let Some(action) = self.actions.get(handle) {
            action.winner = Some((leg, side));
            action.tail = now.since(call.born) > seconds(self.model.tail);
        }
    }

    /// An attempt fails: retry, go on, or end.
    pub(super) fn leg_fails(&mut self, handle: Handle, number: u8) {
        let Some(action) = self.actions.get(handle) else { return };
        let Some(side) = action.side(number) else { return };
        let Some(mut leg) = action.take(side) else { return };
        action.error = Some(leg.fate);
        let (pod, place) = (usize::from(action.pod), action.call);
        let call = self.calls[place as usize];
        let cohort = self.model.traffic[usize::from(call.class)].cohort;
        if leg.fate == Fate::Failure {
            self.providers[usize::from(leg.route)].end();
        }
        self.unanswered(pod, cohort, &mut leg, Ended::Failed);
        self.book(handle, &leg, Ending::Failed);
        if let Fate::Refusal(wait) = leg.fate {
            self.heed(handle, pod, cohort, leg.route, wait);
        }
        let Some(action) = self.actions.get(handle) else { return };
        if action.in_flight() > 0 || action.again.is_some() || self.retry(handle, &leg) {
            return;
        }
        self.no_answer(handle, leg.fate);
    }

    /// Gives back what an attempt without a first token held, and tells cell and breaker.
    pub(super) fn unanswered(&mut self, pod: usize, cohort: Option<usize>, leg: &mut Leg, how: Ended) {
        let now = self.now;
        let elapsed = now - leg.started;
        let pod = &mut self.pods[pod];
        pod.in_flight[usize::from(leg.route)] -= 1;
        let at = pod.cell(cohort, leg.route);
        let cell = &mut pod.cells[at];
        if let Some(place) = leg.place.take() {
            cell.waited(place);
        }
        let hedge = leg.kind == Kind::Hedge;
        if hedge { &mut cell.hedge } else { &mut cell.primary }.censor(elapsed);
        let expected = if hedge { None } else { cell.expected() };
        let outcome = match (how, leg.fate) {
            (Ended::Failed, Fate::Refusal(wait)) => {
                breaker::Outcome::Throttled { retry_after: wait.map(seconds) }
            }
            (Ended::Failed, _) => breaker::Outcome::Failure,
            _ => breaker::Outcome::Cancelled { elapsed, expected },
        };
        let entropy = pod.rng.u64(..);
        if let Some(pass) = leg.pass.take() {
            pod.breakers[usize::from(leg.route)].report(now, pass, outcome, entropy);
        }
        if let Some(rival) = &mut pod.rival {
            rival.ended(now, leg.route, leg.kind, elapsed, how);
        }
    }

    /// Tells cohort and lane that a provider asked to wait.
    fn heed(&mut self, handle: Handle, pod: usize, cohort: Option<usize>, route: u8, wait: Option<f64>) {
        let now = self.now;
        let until = now + seconds(wait.unwrap_or(PUSHBACK));
        let pod = &mut self.pods[pod];
        if let Some(cohort) = cohort {
            let cohort = &mut pod.cohorts[cohort];
            cohort.pushed_back_until = cohort.pushed_back_until.max(until);
        }
        let others = (0..pod.breakers.len())
            .any(|other| other != usize::from(route) && pod.breakers[other].usable(now).is_ok());
        if let Some(permit) = self.actions.get(handle).and_then(|action| action.permit.as_ref())
            && !others
        {
            pod.lanes.sample(permit, limiter::Sample::Overloaded);
        }
    }

    /// Schedules or sends a retry; `false` = there is none.
    fn retry(&mut self, handle: Handle, failed: &Leg) -> bool {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return false };
        let call = self.calls[action.call as usize];
        let refusal = matches!(failed.fate, Fate::Refusal(_));
        let once = !refusal || action.retries == 0;
        if action.attempts >= self.terms.max_attempts || call.retries > 0 || !once {
            return false;
        }
        let (pod, used, retries) = (usize::from(action.pod), action.used, action.retries);
        let cohort = self.model.traffic[usize::from(call.class)].cohort;
        let elsewhere = self.pods[pod].elsewhere(cohort, used, now);
        if elsewhere.is_none() && refusal {
            return false;
        }
        let budgets = &self.pods[pod].budgets;
        let Ok(grant) = budget::take(&budgets.0, &budgets.1, budget::Spend::Retry, now) else { return false };
        if let Some(choice) = elsewhere {
            drop(grant);
            if let Some(action) = self.actions.get(handle) {
                action.retries += 1;
            }
            self.launch(handle, choice, Kind::Retry);
            return true;
        }
        let draw = self.pods[pod].key.draw(u128::from(call.number), Purpose::Backoff);
        let at = now + retry::backoff(&self.terms.retry, retries, draw);
        if at - call.born >= self.terms.deadline {
            budget::refund(&budgets.0, &budgets.1, grant);
            return false;
        }
        drop(grant);
        if let Some(action) = self.actions.get(handle) {
            action.retries += 1;
            action.again = Some(failed.route);
        }
        self.queue.at(at, Event::Retry(handle));
        true
    }

    /// The back-off is over.
    pub(super) fn retry_now(&mut self, handle: Handle) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        let Some(route) = action.again.take() else { return };
        let (pod, call) = (usize::from(action.pod), self.calls[action.call as usize]);
        let cohort = self.model.traffic[usize::from(call.class)].cohort;
        match self.pods[pod].acquire(cohort, route, now, true) {
            Ok(choice) => self.launch(handle, choice, Kind::Retry),
            Err(NoRoute::Throttled(wait)) => {
                self.no_answer(handle, Fate::Refusal(Some(f64::from(retry::client_seconds(wait)))));
            }
            Err(NoRoute::Unusable) => self.no_answer(handle, Fate::Failure),
        }
    }
}
