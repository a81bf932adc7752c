//! The hedge: its timer, the one question to the gate, and what follows.
//!
//! The timer runs from the start of the primary. When it fires, all facts are gathered and `policy::gate::decide` answers
//! once; only then something is taken: breaker pass and route permit first, budget second. A refusal gives everything
//! back, is counted by its reason, and ends hedging for this user action. What forbids hedges holds at once, also for user
//! actions that began before it did.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hedgerow_config::{cohort::DecisionState, settings::Hedging, state::CohortCounters};
use hedgerow_policy::{
    budget::Spend,
    delay,
    draw::Purpose,
    gate::{self, Facts, Reason, Verdict},
    ledger::Kind,
    time::Moment,
};

use super::{Race, action::Action, attempt::Attempt, launch, slot::HedgeRight};
use crate::{
    plan::{
        NoRoute,
        alternate::{self, Alternate},
    },
    runtime::{cohort::CohortRuntime, snapshot::Snapshot},
};

/// Whether and when a hedge may be launched.
pub struct HedgeTimer {
    right: Option<HedgeRight>,
    at: Option<Moment>,
}

impl HedgeTimer {
    /// Not armed yet.
    pub fn new(right: HedgeRight) -> Self {
        Self { right: Some(right), at: None }
    }

    /// When it fires.
    pub fn at(&self) -> Option<Moment> {
        self.at
    }

    /// Whether it has fired and waits for an answer.
    pub fn due(&self, now: Moment) -> bool {
        self.at.is_some_and(|at| now >= at)
    }

    /// Whether no hedge can be launched any more.
    pub fn over(&self) -> bool {
        self.right.is_none()
    }

    /// No hedge for this user action.
    fn end(&mut self) {
        self.right = None;
        self.at = None;
    }
}

impl Race<'_> {
    /// Arms the timer for a new primary, if its user action may be hedged at all.
    pub(super) fn arm(&mut self, primary: &Attempt, now: Moment) {
        if self.timer.over() {
            return;
        }
        let reason = match &self.action.request.cohort {
            None => Some(Reason::NoCohort),
            Some(cohort) if cohort.mode() == gate::Mode::Disabled => Some(Reason::CohortDisabled),
            Some(_) if self.slots.left() == 0 => Some(Reason::NoAttemptsLeft),
            Some(cohort) => {
                let delay = self.delay(cohort, primary);
                self.action.course().hedge_delay = Some(delay);
                self.timer.at = Some(now + delay);
                None
            }
        };
        if let Some(reason) = reason {
            let client_retry = self.action.request.client_retry;
            self.action.course().reason = Some(if client_retry { Reason::ClientRetrying } else { reason });
            self.timer.end();
        }
    }

    fn delay(&self, cohort: &CohortRuntime, primary: &Attempt) -> Duration {
        let learnt = primary.cell.learnt.load();
        learnt.as_ref().map_or_else(
            || delay::plan(cohort.delay_rule(self.action.request.stream), &delay::Inputs::default()).delay,
            |learnt| learnt.plan.delay,
        )
    }

    /// The timer fired.
    pub(super) fn fire(&mut self, now: Moment) {
        self.timer.at = None;
        let Some(cohort) = self.action.request.cohort.clone() else { return };
        let Some(primary) = &self.primary else { return };
        let alternate = alternate::best(self.action, &primary.attempt, now);
        let facts = self.facts(
            &cohort,
            primary.attempt.offer.route.config.quota_group.as_str(),
            alternate.as_ref(),
            now,
        );
        let reason = match (gate::decide(&facts).verdict, alternate) {
            (Verdict::Fire, Some(alternate)) => match self.launch_hedge(&cohort, &alternate, now) {
                Ok(()) => return,
                Err(reason) => reason,
            },
            (Verdict::Fire, None) => Reason::NoAlternate,
            (Verdict::Refuse(reason), _) => reason,
        };
        self.refuse(&cohort, reason, now);
    }

    fn refuse(&mut self, cohort: &CohortRuntime, reason: Reason, now: Moment) {
        self.timer.end();
        cohort.state.suppress(reason);
        cohort.metrics.suppressed(reason);
        let mut course = self.action.course();
        course.reason = Some(reason);
        let mut change = CohortCounters::default();
        match reason {
            Reason::Withheld => {
                course.arm = "control";
                change.withheld = 1;
            }
            Reason::Thinned => {
                course.arm = "thinned";
                change.thinned = 1;
            }
            // Observing: what would have been sent counts as sent.
            Reason::Observe => change.hedges = 1,
            _ => return,
        }
        drop(course);
        self.count(cohort, &change, now);
    }

    fn count(&self, cohort: &CohortRuntime, change: &CohortCounters, now: Moment) {
        let unix_s = self.action.runtime.clock.wall(now).as_secs();
        cohort.state.ring(|ring| ring.add(unix_s, change));
    }

    /// Takes what a hedge needs and sends it.
    fn launch_hedge(
        &mut self,
        cohort: &CohortRuntime,
        alternate: &Alternate,
        now: Moment,
    ) -> Result<(), Reason> {
        let choice = alternate::take(self.action, &alternate.offer, now).map_err(|why| match why {
            NoRoute::Saturated => Reason::RouteSaturated,
            NoRoute::PodFull => Reason::PodFull,
            NoRoute::Throttled(_) => Reason::Pushback,
            NoRoute::Unusable | NoRoute::NoneConfigured => Reason::NoAlternate,
        })?;
        let budget = &self.action.request.listing.budget;
        let reservation = budget.reserve(Spend::Hedge, now).map_err(|_| Reason::BudgetEmpty)?;
        // The right goes last: from here on the hedge is sent.
        let (Some(slot), Some(_right)) = (self.slots.take(), self.timer.right.take()) else {
            return Err(Reason::NoAttemptsLeft);
        };
        let leg = launch::launch(self.action, self.prepared, &slot, Kind::Hedge, choice, now)
            .map_err(|_| Reason::NoAlternate)?;
        reservation.spend();
        leg.attempt.cell.hedges.fetch_add(1, Ordering::Relaxed);
        leg.attempt
            .cell
            .predicted
            .fetch_add(u64::from(alternate.predicted.unwrap_or(500)), Ordering::Relaxed);
        self.hedge = Some(leg);
        let mut course = self.action.course();
        course.hedged = true;
        course.arm = "hedge";
        course.reason = None;
        drop(course);
        self.count(cohort, &CohortCounters { hedges: 1, ..CohortCounters::default() }, now);
        Ok(())
    }

    fn facts(
        &self,
        cohort: &CohortRuntime,
        quota_group: &str,
        alternate: Option<&Alternate>,
        now: Moment,
    ) -> Facts {
        let (action, runtime) = (self.action, &self.action.runtime);
        let request = &action.request;
        let settings = &action.snapshot.settings;
        let cell = self.primary.as_ref().map(|leg| &leg.attempt.cell);
        let learnt = cell.and_then(|cell| cell.learnt.load_full());
        let rule = cohort.delay_rule(request.stream);
        let unknown = delay::plan(rule, &delay::Inputs::default());
        let plan = learnt.as_ref().map_or(&unknown, |learnt| &learnt.plan);
        let lane = runtime.lanes.with(|lanes| lanes.view(now, request.lane.state.id));
        let buffered =
            runtime.gauges.buffered.get().saturating_mul(1_000) / settings.buffered_bytes_limit.max(1);
        let (mode, guardrail_suspended) = switches(action, cohort);
        Facts {
            committed: false,
            draining: runtime.draining(),
            mode,
            guardrail_suspended,
            blind: cohort.blind(now, runtime.fleet().heartbeat),
            enrol_draw: action.draw(Purpose::Enrol),
            share_per_mille: cohort.share_per_mille(),
            attempts: self.slots.started(),
            max_attempts: self.slots.most(),
            in_flight: self.in_flight(),
            hedged: self.timer.over(),
            eligible: request.eligibility.hedge && !request.client_retry && !request.passthrough,
            cached_input_per_mille: cell.map_or(0, |cell| cell.cached_per_mille()),
            hedge_warm_cache: cohort.config.hedge_warm_cache,
            alternate: alternate.map(|alternate| alternate.facts),
            pushback: cohort.state.pushed_back(now) || alternate::group_pushed_back(action, quota_group, now),
            client_retry_per_mille: cohort.state.client_retry_per_mille(),
            lane_shedding: lane.shedding,
            body_memory_per_mille: u16::try_from(buffered).unwrap_or(u16::MAX),
            remaining: now.until(request.deadline),
            within_spend: alternate.is_none_or(|alternate| action.within_spend(&alternate.offer)),
            not_in_tail: plan.not_in_tail,
            arm_draw: action.draw(Purpose::Arm),
            holdout_percent: rule.holdout_percent,
            send_per_mille: plan.send_per_mille,
        }
    }
}

/// Mode, and whether a guardrail has suspended the cohort: as when the user action began, unless what is in force now is
/// stricter. A delay is seconds long, and no hedge may be sent after this pod has acknowledged that hedging is off.
fn switches(action: &Action, cohort: &CohortRuntime) -> (gate::Mode, bool) {
    let before = standing(&action.snapshot, cohort);
    let current = action.runtime.snapshot();
    let Some(current) = current.as_ref().filter(|current| !Arc::ptr_eq(current, &action.snapshot)) else {
        return before;
    };
    let Some(later) = current.cohorts.iter().find(|later| later.id == cohort.id) else {
        return (gate::Mode::Disabled, before.1);
    };
    let now = standing(current, later);
    (if now.0 == gate::Mode::Enforce { before.0 } else { now.0 }, before.1 || now.1)
}

fn standing(snapshot: &Snapshot, cohort: &CohortRuntime) -> (gate::Mode, bool) {
    let forbidden = snapshot.settings.hedging == Hedging::Forbidden;
    let suspended =
        matches!(cohort.config.decision.state, DecisionState::Suspended | DecisionState::Disabled);
    (if forbidden { gate::Mode::Disabled } else { cohort.mode() }, suspended)
}
