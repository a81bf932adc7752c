//! The life of a cohort, transition by transition.

use super::*;

struct Cohort {
    latch: Latch,
    rules: Rules,
    wish: Wish,
}

impl Cohort {
    fn new(rules: Rules) -> Self {
        Self { latch: Latch::default(), rules, wish: enforce() }
    }

    /// One look at `second` with `hedges` per thousand originals in every bucket.
    fn look(&mut self, second: u64, hedges: u64) -> Option<(State, Cause)> {
        let evaluation = look(&ring(at(second), 60, &tally(1_000, hedges)), at(second), &self.rules);
        self.see(second, &evaluation)
    }

    /// One look without data.
    fn blank(&mut self, second: u64) -> Option<(State, Cause)> {
        self.see(second, &Evaluation::default())
    }

    fn see(&mut self, second: u64, evaluation: &Evaluation) -> Option<(State, Cause)> {
        let before = self.latch.clone();
        let (latch, transition) = step(&self.latch, &self.rules, &self.wish, evaluation, at(second));
        self.latch = latch;
        let transition = transition?;
        assert_eq!(transition.transition, before.transition + 1);
        assert_eq!((transition.from, transition.to), (before.state, self.latch.state));
        Some((transition.to, transition.cause))
    }
}

/// Hedging on at 100 % from second 0.
fn active(mut rules: Rules) -> Cohort {
    rules.ramp.start_percent = 100;
    let mut cohort = Cohort::new(rules);
    assert_eq!(cohort.look(0, 50), Some((State::Active, Cause::ModeChanged)));
    cohort.rules.ramp.start_percent = 25;
    cohort
}

#[test]
fn the_ramp_grows_by_half_every_quarter_of_an_hour_within_the_guardrails() {
    let mut cohort = Cohort::new(Rules::default());
    assert_eq!(cohort.look(0, 50), Some((State::Ramping, Cause::ModeChanged)));
    let mut shares = vec![cohort.latch.share_percent()];
    for quarter in 1..=4 {
        assert_eq!(cohort.look(quarter * 900 - 1, 50), None);
        let change = cohort.look(quarter * 900, 50);
        assert_eq!(change, (quarter == 4).then_some((State::Active, Cause::RampFinished)));
        shares.push(cohort.latch.share_percent());
    }
    assert_eq!(shares, [25, 37, 55, 82, 100]);
}

#[test]
fn no_step_is_taken_while_a_signal_is_elevated_or_nothing_is_measured() {
    let mut cohort = Cohort::new(Rules::default());
    cohort.look(0, 50);
    cohort.look(900, 70);
    cohort.blank(901);
    assert_eq!(cohort.latch.share_percent(), 25);
    cohort.look(902, 50);
    assert_eq!(cohort.latch.share_percent(), 37);
}

#[test]
fn a_breach_suspends_at_once_and_a_clean_trial_brings_hedging_back() {
    let mut cohort = active(Rules::default());
    assert_eq!(cohort.look(100, 90), Some((State::Suspended, Cause::Tripped)));
    assert_eq!(cohort.latch.last_trip, Some(Trip { at: at(100), signal: Signal::DuplicateRate }));
    assert_eq!((cohort.latch.share_percent(), cohort.latch.until), (0, Some(at(160))));
    assert_eq!(cohort.blank(159), None);
    assert_eq!(cohort.blank(160), Some((State::Trial, Cause::CooldownOver)));
    assert_eq!((cohort.latch.share_percent(), cohort.latch.until), (25, Some(at(460))));
    assert_eq!(cohort.look(219, 50), None, "100 hedges, but the minimum dwell is 60 s");
    assert_eq!(cohort.look(220, 50), Some((State::Ramping, Cause::TrialPassed)));
    assert_eq!(cohort.latch.share_percent(), 37);
}

#[test]
fn a_trial_fails_at_its_end_unless_it_stayed_below_the_rearm_value() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.blank(160);
    assert_eq!(cohort.look(460, 60), Some((State::Suspended, Cause::TrialFailed)));
    assert_eq!(cohort.latch.until, Some(at(460 + 120)), "the cooldown doubles");
    cohort.blank(580);
    assert_eq!(
        cohort.look(581, 90),
        Some((State::Suspended, Cause::TrialFailed)),
        "a breach ends it at once"
    );
    assert_eq!(cohort.latch.until, Some(at(581 + 240)));
}

#[test]
fn a_trial_without_requests_goes_on() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.blank(160);
    assert_eq!(cohort.blank(10_000), None);
    assert_eq!(cohort.look(10_001, 50), Some((State::Ramping, Cause::TrialPassed)));
}

#[test]
fn a_trial_with_little_data_is_judged_by_what_had_tripped() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.blank(160);
    let few = look(&ring(at(460), 1, &tally(20, 5)), at(460), &cohort.rules);
    assert!(!few.sufficient());
    assert_eq!(cohort.see(460, &few), Some((State::Suspended, Cause::TrialFailed)));
}

#[test]
fn a_clean_hour_makes_cooldowns_small_again() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.blank(160);
    cohort.look(220, 50);
    assert_eq!(cohort.latch.cooldown, Duration::from_mins(1));
    cohort.look(220 + 3_600, 50);
    assert_eq!(cohort.latch.cooldown, Duration::ZERO);
    cohort.look(220 + 3_601, 90);
    assert_eq!(cohort.latch.cooldown, Duration::from_mins(1));
}

#[test]
fn the_last_trip_of_the_day_stays_until_resumed_by_hand() {
    let mut cohort = active(Rules { max_trips_per_day: 2, ..Rules::default() });
    cohort.look(100, 90);
    cohort.blank(160);
    cohort.look(161, 90);
    assert_eq!((cohort.latch.manual, cohort.latch.until), (true, None));
    assert_eq!(cohort.blank(80_000), None);
    cohort.wish.resume = Some(7);
    assert_eq!(cohort.blank(80_001), Some((State::Ramping, Cause::Resumed)));
    assert_eq!(cohort.blank(80_002), None, "a request to resume is acted on once");
    assert_eq!((cohort.latch.manual, cohort.latch.trips_today), (false, 0));
}

#[test]
fn manual_recovery_waits_for_a_person_after_the_first_trip() {
    let mut cohort = active(Rules { recovery: Recovery::Manual, ..Rules::default() });
    cohort.look(100, 90);
    assert!(cohort.latch.manual);
    assert_eq!(cohort.blank(1 << 30), None);
}

#[test]
fn the_days_ceiling_suspends_until_the_next_day() {
    let rules = Rules { daily_spend_micros: Some(1), ..Rules::default() };
    let mut cohort = active(rules);
    let spent = Context { spent_today: 1_000_000, ..Context::default() };
    let evaluation = evaluate(&cohort.rules, &Windows::default(), &spent);
    assert_eq!(cohort.see(3_600, &evaluation), Some((State::Suspended, Cause::Tripped)));
    assert_eq!((cohort.latch.until, cohort.latch.trips_today), (Some(at(86_400)), 1));
    assert_eq!(cohort.blank(86_400), Some((State::Trial, Cause::CooldownOver)));
    assert_eq!(cohort.latch.trips_today, 0);
}

#[test]
fn a_hold_by_hand_suspends_and_its_end_starts_the_ramp() {
    let mut cohort = active(Rules::default());
    cohort.wish.hold = Some(Hold { until: Some(at(500)) });
    assert_eq!(cohort.look(10, 50), Some((State::Suspended, Cause::Held)));
    assert_eq!((cohort.latch.until, cohort.latch.held), (Some(at(500)), true));
    assert_eq!(cohort.look(400, 50), None);
    cohort.wish.hold = None;
    assert_eq!(cohort.look(500, 50), Some((State::Ramping, Cause::HoldEnded)));
}

#[test]
fn a_hold_on_a_tripped_cohort_only_delays_its_trial() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.wish.hold = Some(Hold { until: Some(at(500)) });
    assert_eq!(cohort.blank(160), None);
    cohort.wish.hold = None;
    assert_eq!(cohort.blank(500), Some((State::Trial, Cause::CooldownOver)));
}

#[test]
fn the_mode_wins_over_everything_and_comes_back_through_the_ramp() {
    let mut cohort = active(Rules::default());
    cohort.look(100, 90);
    cohort.wish.mode = Mode::Observe;
    assert_eq!(cohort.look(101, 90), Some((State::Observing, Cause::ModeChanged)));
    assert_eq!(cohort.look(102, 90), None, "nothing is sent, so nothing trips");
    cohort.wish.mode = Mode::Disabled;
    assert_eq!(cohort.look(103, 50), Some((State::Disabled, Cause::ModeChanged)));
    cohort.wish.mode = Mode::Enforce;
    assert_eq!(cohort.look(104, 50), Some((State::Ramping, Cause::ModeChanged)));
}

#[test]
fn what_cannot_be_seen_for_long_is_suspended_until_it_is_seen_again() {
    let mut cohort = active(Rules::default());
    let unseen = |minutes: u64, rules: &Rules| {
        let context = Context { unseen: Duration::from_mins(minutes), ..Context::default() };
        evaluate(rules, &Windows::default(), &context)
    };
    let rules = cohort.rules.clone();
    assert_eq!(cohort.see(100, &unseen(29, &rules)), None, "blind.after is half an hour");
    assert_eq!(cohort.see(200, &unseen(30, &rules)), Some((State::Suspended, Cause::Blinded)));
    assert_eq!(cohort.see(9_000, &unseen(99, &rules)), None, "the cooldown is over, but nothing is seen");
    assert_eq!(cohort.blank(9_005), Some((State::Trial, Cause::CooldownOver)));
    assert_eq!(cohort.latch.trips_today, 0, "no breach");
    let patient = Rules { blind_action: BlindAction::Continue, ..Rules::default() };
    assert!(!unseen(999, &patient).blind());
}
