//! One step of the latch: wishes first, then breaches, then time.
//!
//! The order is the rule: what a person or an author wants holds at once; a breach trips at once; everything that
//! releases waits for its time, for the minimum dwell, and for evidence. At most one transition a step.

use std::time::Duration;

use super::evaluate::{Evaluation, Reading};
use super::latch::{Cause, Latch, State, Transition, Trip, Wish};
use super::rules::{Recovery, Rules};
use super::signal::Signal;
use crate::gate::Mode;
use crate::time::Moment;

const DAY: u64 = 86_400;
/// Time without a suspension after which cooldowns start small again.
const CLEAN: Duration = Duration::from_hours(1);

/// One look: the old latch and what is known now give the new latch, and at most one transition.
/// In a trial the evaluation must cover the trial only, or the breach that led to it would end it.
pub fn step(
    latch: &Latch,
    rules: &Rules,
    wish: &Wish,
    evaluation: &Evaluation,
    now: Moment,
) -> (Latch, Option<Transition>) {
    let mut next = latch.clone();
    next.follow_the_clock(now);
    next.turn_day(now);
    let Some((cause, reading)) = next.act(rules, wish, evaluation, now) else { return (next, None) };
    next.transition += 1;
    let transition = Transition {
        from: latch.state,
        to: next.state,
        cause,
        transition: next.transition,
        reading,
        at: now,
    };
    (next, Some(transition))
}

type Act = Option<(Cause, Option<Reading>)>;

impl Latch {
    /// A state that begins in the future was entered before the clock was put back: its times move with it, or a cooldown
    /// of a minute would last an hour longer. A clock that is put forward ends what waits for it, which is a trial at most.
    fn follow_the_clock(&mut self, now: Moment) {
        let ahead = self.since - now;
        self.since = self.since.min(now);
        self.ramped = self.ramped.min(now);
        if !self.held {
            self.until = self.until.map(|until| until - ahead);
        }
    }

    fn turn_day(&mut self, now: Moment) {
        let today = now.as_secs() / DAY;
        if self.day != today {
            self.day = today;
            self.trips_today = 0;
        }
    }

    fn act(&mut self, rules: &Rules, wish: &Wish, evaluation: &Evaluation, now: Moment) -> Act {
        if let Some(cause) = self.obey(rules, wish, now) {
            return Some((cause, None));
        }
        if self.state.hedges() && evaluation.blind() {
            self.enter(State::Suspended, now);
            // No breach, so no number of a series: the shortest cooldown, and then as long as nothing is seen.
            self.until = Some(now + rules.cooldown);
            return Some((Cause::Blinded, None));
        }
        match self.state {
            State::Observing | State::Disabled => None,
            State::Suspended => {
                let over = !evaluation.blind()
                    && !self.held
                    && !self.manual
                    && self.until.is_some_and(|until| now >= until);
                (over && wish.hold.is_none() && self.dwelt(rules, now)).then(|| {
                    self.begin_trial(rules, now);
                    (Cause::CooldownOver, None)
                })
            }
            State::Ramping | State::Active => match evaluation.tripped() {
                Some(reading) => Some(self.trip(rules, reading, Cause::Tripped, now)),
                None => self.carry_on(rules, evaluation, now).map(|cause| (cause, None)),
            },
            State::Trial => self.judge_trial(rules, evaluation, now),
        }
    }

    /// What authors and people want, if it differs from where the latch stands.
    fn obey(&mut self, rules: &Rules, wish: &Wish, now: Moment) -> Option<Cause> {
        let resume = wish.resume.is_some() && wish.resume != self.handled_resume;
        if resume {
            self.handled_resume = wish.resume;
        }
        let off = match wish.mode {
            Mode::Disabled => Some(State::Disabled),
            Mode::Observe => Some(State::Observing),
            Mode::Enforce => None,
        };
        if let Some(state) = off {
            self.forget_suspension();
            return (self.state != state).then(|| {
                self.enter(state, now);
                Cause::ModeChanged
            });
        }
        if let Some(hold) = wish.hold {
            let by_hand = self.state != State::Suspended || self.held;
            if by_hand {
                let fresh = self.state != State::Suspended;
                if fresh {
                    self.enter(State::Suspended, now);
                    self.held = true;
                }
                self.until = hold.until;
                return fresh.then_some(Cause::Held);
            }
            return None;
        }
        match self.state {
            State::Observing | State::Disabled => {
                self.begin_ramp(rules, rules.ramp.start_percent, now);
                Some(Cause::ModeChanged)
            }
            State::Suspended if self.held => {
                self.begin_ramp(rules, rules.ramp.start_percent, now);
                Some(if resume { Cause::Resumed } else { Cause::HoldEnded })
            }
            State::Suspended | State::Trial if resume => {
                self.forget_suspension();
                self.begin_ramp(rules, rules.ramp.start_percent, now);
                Some(Cause::Resumed)
            }
            _ => None,
        }
    }

    /// Ramp steps and the clean hour.
    fn carry_on(&mut self, rules: &Rules, evaluation: &Evaluation, now: Moment) -> Option<Cause> {
        if now - self.since >= CLEAN {
            self.cooldown = Duration::ZERO;
        }
        let due = self.state == State::Ramping && now - self.ramped >= rules.ramp.every;
        if !due || !evaluation.within() {
            return None;
        }
        self.ramped = now;
        self.ramp_percent = rules.ramp.grow(self.ramp_percent);
        (self.ramp_percent >= 100).then(|| {
            self.enter(State::Active, now);
            Cause::RampFinished
        })
    }

    fn judge_trial(&mut self, rules: &Rules, evaluation: &Evaluation, now: Moment) -> Act {
        if let Some(reading) = evaluation.tripped() {
            return Some(self.trip(rules, reading, Cause::TrialFailed, now));
        }
        let over = now - self.since >= rules.trial_for || evaluation.hedges() >= rules.trial_hedges;
        // A trial without a single request has shown nothing.
        if !over || evaluation.originals() == 0 || !self.dwelt(rules, now) {
            return None;
        }
        if let Some(reading) = evaluation.not_rearmed(self.last_trip.map(|trip| trip.signal)) {
            return Some(self.trip(rules, reading, Cause::TrialFailed, now));
        }
        // The trial was the ramp's first step.
        self.begin_ramp(rules, rules.ramp.grow(rules.ramp.start_percent.min(99)), now);
        Some((Cause::TrialPassed, None))
    }

    fn trip(
        &mut self,
        rules: &Rules,
        reading: &Reading,
        cause: Cause,
        now: Moment,
    ) -> (Cause, Option<Reading>) {
        self.enter(State::Suspended, now);
        self.last_trip = Some(Trip { at: now, signal: reading.signal });
        self.trips_today = self.trips_today.saturating_add(1);
        if reading.signal == Signal::DailySpend {
            self.until = Some(Moment::from_secs((self.day + 1) * DAY));
        } else {
            self.cooldown = match self.cooldown {
                Duration::ZERO => rules.cooldown,
                last => last.saturating_mul(2).min(rules.max_cooldown.max(rules.cooldown)),
            };
            self.until = Some(now + self.cooldown);
        }
        self.manual = rules.recovery == Recovery::Manual || self.trips_today >= rules.max_trips_per_day;
        if self.manual {
            self.until = None;
        }
        (cause, Some(reading.clone()))
    }

    fn begin_trial(&mut self, rules: &Rules, now: Moment) {
        self.enter(State::Trial, now);
        self.ramp_percent = rules.ramp.start_percent.clamp(1, 100);
        self.until = Some(now + rules.trial_for);
    }

    /// The ramp from `share` on; at 100 there is none.
    fn begin_ramp(&mut self, rules: &Rules, share: u8, now: Moment) {
        let whole = share >= 100 || rules.ramp.start_percent >= 100;
        self.enter(if whole { State::Active } else { State::Ramping }, now);
        self.ramp_percent = share.clamp(1, 100);
        self.ramped = now;
    }

    fn enter(&mut self, state: State, now: Moment) {
        self.state = state;
        self.since = now;
        self.until = None;
        self.held = false;
        self.manual = false;
    }

    fn forget_suspension(&mut self) {
        self.manual = false;
        self.held = false;
        self.until = None;
        self.trips_today = 0;
        self.cooldown = Duration::ZERO;
    }

    fn dwelt(&self, rules: &Rules, now: Moment) -> bool {
        now - self.since >= rules.dwell()
    }
}
