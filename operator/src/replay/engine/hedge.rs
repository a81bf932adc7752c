//! The hedge: its timer, the one question to the gate, and what follows. `gateway/src/race/hedge.rs` in virtual time.

use hedgerow_config::cohort::Mode;
use hedgerow_policy::{
    budget, delay,
    draw::Purpose,
    gate::{self, Facts, Reason, Verdict},
    ledger::Kind,
};

use super::{
    Engine,
    action::{Action, Call, Fate, Leg},
    measure::Run,
    pod::Pod,
    queue::{Event, Handle},
};
use crate::replay::model::terms::Terms;

impl Engine<'_> {
    /// Arms the timer for a new primary, if its user action may be hedged at all.
    pub(super) fn arm_timer(
        &mut self,
        handle: Handle,
        primary: &Leg,
        cohort: Option<usize>,
        client_retry: bool,
    ) {
        let Some(action) = self.actions.get(handle) else { return };
        let spent = action.attempts >= self.terms.max_attempts.min(gate::MOST_ATTEMPTS);
        let (true, Some(cohort)) = (!action.over && !spent && !client_retry, cohort) else {
            action.over = true;
            return;
        };
        let pod = &mut self.pods[usize::from(action.pod)];
        let cell = pod.cell(Some(cohort), primary.route);
        let delay = match &mut pod.rival {
            Some(rival) => rival.delay(self.now, primary.route),
            None if self.terms.mode == Mode::Disabled => None,
            None => Some(pod.cells[cell].learnt.as_ref().map_or_else(
                || delay::plan(&self.terms.delay, &delay::Inputs::default()).delay,
                |learnt| learnt.plan.delay,
            )),
        };
        let Some(delay) = delay else {
            action.over = true;
            return;
        };
        let at = self.now + delay;
        // A timer that runs out after the first token finds everything decided.
        if primary.fate != Fate::Answer || at < primary.first {
            self.queue.at(at, Event::Fire(handle));
        }
    }

    /// The timer fired.
    pub(super) fn fire(&mut self, handle: Handle) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        if action.over {
            return;
        }
        action.over = true;
        let call = self.calls[action.call as usize];
        let Some(cohort) = self.model.traffic[usize::from(call.class)].cohort else { return };
        let pod = &mut self.pods[usize::from(action.pod)];
        let Some(primary) = &action.primary else { return };
        let alternate = pod.alternate(Some(cohort), primary, now);
        if let Some(rival) = &mut pod.rival {
            if let Some((route, _, predicted)) = alternate
                && rival.take(now)
            {
                self.hedge(handle, cohort, route, predicted);
            }
            return;
        }
        let alternate_facts = alternate.map(|(_, facts, _)| facts);
        let lane = self.model.traffic[usize::from(call.class)].lane.min(pod.lane_ids.len() - 1);
        let shedding = pod.lanes.view(now, pod.lane_ids[lane]).shedding;
        let facts = Facts {
            alternate: alternate_facts,
            lane_shedding: shedding,
            remaining: now.until(call.born + self.terms.deadline),
            ..facts(&self.terms, pod, action, primary, &call, cohort, now)
        };
        let reason = match (gate::decide(&facts).verdict, alternate) {
            (Verdict::Fire, Some((route, _, predicted))) => {
                match self.pods[usize::from(action.pod)].take(cohort, route, now) {
                    Ok(()) => {
                        self.hedge(handle, cohort, route, predicted);
                        return;
                    }
                    Err(reason) => reason,
                }
            }
            (Verdict::Fire, None) => Reason::NoAlternate,
            (Verdict::Refuse(reason), _) => reason,
        };
        self.run.refused(reason);
        let pod = &mut self.pods[usize::from(action.pod)];
        pod.count(cohort, now, |counters| match reason {
            Reason::Withheld => counters.withheld += 1,
            Reason::Thinned => counters.thinned += 1,
            Reason::Observe => counters.hedges += 1,
            _ => {}
        });
    }

    /// Sends the hedge.
    fn hedge(&mut self, handle: Handle, cohort: usize, route: u8, predicted: Option<u16>) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        action.hedged = true;
        let call = self.calls[action.call as usize];
        let pod = &mut self.pods[usize::from(action.pod)];
        let Ok(choice) = pod.acquire(Some(cohort), route, now, false) else { return };
        let cell = pod.cell(Some(cohort), route);
        let races = &mut pod.cells[cell].races;
        races.hedges += 1;
        races.predicted += u64::from(predicted.unwrap_or(500));
        pod.count(cohort, now, |counters| counters.hedges += 1);
        Run::tick(&mut self.run.hedges, now);
        self.run.add(call.born, call.class, |sums| sums.hedges += 1);
        self.launch(handle, choice, Kind::Hedge);
    }
}

impl Pod {
    /// Takes the budget of a hedge, if the route would let it pass.
    fn take(&mut self, _cohort: usize, route: u8, now: hedgerow_policy::time::Moment) -> Result<(), Reason> {
        if self.breakers[usize::from(route)].throttled_until(now).is_some() {
            return Err(Reason::Pushback);
        }
        self.breakers[usize::from(route)].usable(now).map_err(|_| Reason::NoAlternate)?;
        let grant = budget::take(&self.budgets.0, &self.budgets.1, budget::Spend::Hedge, now);
        // A grant that is not refunded is spent.
        grant.map(drop).map_err(|_| Reason::BudgetEmpty)
    }
}

/// Everything that decides a firing but the alternate, the lane and the time left.
fn facts(
    terms: &Terms,
    pod: &Pod,
    action: &Action,
    primary: &Leg,
    call: &Call,
    cohort: usize,
    now: hedgerow_policy::time::Moment,
) -> Facts {
    let cell = &pod.cells[pod.cell(Some(cohort), primary.route)];
    let unknown = delay::plan(&terms.delay, &delay::Inputs::default());
    let plan = cell.learnt.as_ref().map_or(&unknown, |learnt| &learnt.plan);
    let side = &pod.cohorts[cohort];
    let id = u128::from(call.number);
    Facts {
        committed: false,
        draining: pod.draining,
        mode: match terms.mode {
            Mode::Disabled => gate::Mode::Disabled,
            Mode::Observe => gate::Mode::Observe,
            Mode::Enforce => gate::Mode::Enforce,
        },
        guardrail_suspended: side.suspended(),
        blind: false,
        enrol_draw: pod.key.draw(id, Purpose::Enrol),
        share_per_mille: (side.decision.hedging_percent.min(100) * 10) as u16,
        attempts: action.attempts,
        max_attempts: terms.max_attempts,
        in_flight: action.in_flight(),
        hedged: action.hedged,
        eligible: call.retries == 0,
        cached_input_per_mille: cell.cached_per_mille(),
        hedge_warm_cache: terms.hedge_warm_cache,
        alternate: None,
        pushback: side.pushed_back_until > now
            || pod.breakers[usize::from(primary.route)].throttled_until(now).is_some(),
        client_retry_per_mille: side.returning.per_mille(),
        not_in_tail: plan.not_in_tail,
        arm_draw: pod.key.draw(id, Purpose::Arm),
        holdout_percent: terms.delay.holdout_percent,
        send_per_mille: plan.send_per_mille,
        ..Facts::default()
    }
}
