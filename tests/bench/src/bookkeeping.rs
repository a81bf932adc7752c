//! Everything that is decided and counted for one user action that is hedged, without its bytes: lane, budget, breakers,
//! the gate with its draws, both legs' latencies, and everything given back.
//!
//! The same calls in the same order as the gateway's race makes them. Nothing here may allocate once the tables have
//! grown to their size, and all of it together has a budget of 2 us.

use std::time::Duration;

use hedgerow_policy::{
    breaker::{self, Breaker, Outcome},
    budget::{self, Bucket, Spend},
    draw::{Key, Purpose},
    gate::{self, Alternate, Facts, Verdict},
    lane::{Arrival, LaneId, Lanes, Request, Rule},
    latency::Recorder,
    limiter::Sample,
    time::Moment,
};

const SECOND: Duration = Duration::from_secs(1);

/// The state of a pod that user actions touch.
pub struct Pod {
    lanes: Lanes,
    lane: LaneId,
    model: Bucket,
    all: Bucket,
    primary: Breaker,
    alternate: Breaker,
    primaries: Recorder,
    hedges: Recorder,
    key: Key,
    now: Moment,
    actions: u64,
}

/// What became of a user action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Its lane refused it.
    Shed,
    /// The primary answered alone.
    Alone,
    /// The hedge answered.
    Hedged,
}

impl Default for Pod {
    fn default() -> Self {
        let now = Moment::from_secs(1_000_000);
        let rule = budget::Rule { ratio_percent: 100, cap: 20, ..budget::Rule::default() };
        let mut lanes = Lanes::new(900);
        let lane = lanes.add(now, Rule::default(), None);
        lanes.add(now, Rule { priority: 100, ..Rule::default() }, None);
        Self {
            lanes,
            lane,
            model: Bucket::new(&rule, now),
            all: Bucket::pod(&rule, now),
            primary: Breaker::new(breaker::Rule::default()),
            alternate: Breaker::new(breaker::Rule::default()),
            primaries: Recorder::new(),
            hedges: Recorder::new(),
            key: Key::new([7; 16]),
            now,
            actions: 0,
        }
    }
}

impl Pod {
    /// One user action from its admission to its end; they come a millisecond apart.
    pub fn action(&mut self) -> Course {
        self.actions += 1;
        self.now += Duration::from_millis(1);
        let now = self.now;
        if self.actions.is_multiple_of(500) {
            self.lanes.tick(now);
        }
        let request =
            Request { lane: self.lane, tenant: self.actions % 16, returning: false, patience: SECOND };
        let Arrival::Admit(permit) = self.lanes.arrive(now, request) else { return Course::Shed };
        budget::deposit(&self.model, &self.all, now);
        let Ok(pass) = self.primary.admit(now, true, SECOND) else { return Course::Shed };
        let course =
            if gate::decide(&self.facts()).verdict == Verdict::Fire { self.hedge() } else { Course::Alone };
        let draw = self.key.draw(u128::from(self.actions), Purpose::Arm);
        let outcome = if course == Course::Hedged {
            self.primaries.censor(SECOND);
            Outcome::Cancelled { elapsed: SECOND, expected: Some(SECOND) }
        } else {
            self.primaries.event(SECOND);
            self.lanes.sample(&permit, Sample::FirstToken { elapsed: SECOND, expected: Some(SECOND) });
            Outcome::FirstToken { elapsed: SECOND, expected: Some(SECOND) }
        };
        self.primary.report(now, pass, outcome, draw);
        self.model.settle(now, true);
        self.all.settle(now, true);
        self.lanes.release(now, permit);
        course
    }

    fn hedge(&mut self) -> Course {
        let now = self.now;
        let Ok(grant) = budget::take(&self.model, &self.all, Spend::Hedge, now) else { return Course::Alone };
        let Ok(pass) = self.alternate.admit(now, false, SECOND) else {
            budget::refund(&self.model, &self.all, grant);
            return Course::Alone;
        };
        let elapsed = SECOND / 4;
        self.hedges.event(elapsed);
        self.alternate.report(now, pass, Outcome::FirstToken { elapsed, expected: None }, 0);
        Course::Hedged
    }

    fn facts(&self) -> Facts {
        let action = u128::from(self.actions);
        let lane = self.lanes.view(self.now, self.lane);
        Facts {
            enrol_draw: self.key.draw(action, Purpose::Enrol),
            arm_draw: self.key.draw(action, Purpose::Arm),
            lane_shedding: lane.shedding,
            alternate: Some(Alternate {
                p50: Some(SECOND / 4),
                win_per_mille: Some(800),
                ..Alternate::default()
            }),
            remaining: 10 * SECOND,
            ..Facts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_every_action_is_hedged_and_the_control_group_is_not() {
        let mut pod = Pod::default();
        // Budgets have to be saved before anything is spent.
        for _ in 0..2_000 {
            pod.action();
        }
        let mut seen = [0_u32; 3];
        for _ in 0..10_000 {
            seen[pod.action() as usize] += 1;
        }
        let [shed, alone, hedged] = seen;
        assert_eq!(shed, 0);
        assert!((300..=700).contains(&alone), "{alone} of 10,000: 5 % are withheld");
        assert_eq!(alone + hedged, 10_000);
    }
}
