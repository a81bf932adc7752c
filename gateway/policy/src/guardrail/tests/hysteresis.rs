//! S10: signals at their threshold with noise settle; a real breach is seen.

use proptest::prelude::*;

use super::*;
use crate::draw::{Key, Purpose, unit};

/// Runs `minutes` with one look every 5 s. Each bucket of 10 s has 1,000 originals while hedging at full share, and
/// `per_mille(second)` of them hedged. Data from before the last trip and before a trial does not count.
fn run(minutes: u64, per_mille: impl Fn(u64) -> f64) -> Vec<Transition> {
    let rules = Rules { ramp: Ramp { start_percent: 100, ..Rules::default().ramp }, ..Rules::default() };
    let (mut latch, _) = step(&Latch::default(), &rules, &enforce(), &Evaluation::default(), at(0));
    let (mut ring, mut transitions) = (Ring::new(), Vec::new());
    for second in (5..minutes * 60).step_by(5) {
        let now = at(second);
        if latch.hedging() {
            *ring.at(now) += &tally(500, (per_mille(second) / 2.0) as u64);
        }
        let (next, transition) = step(&latch, &rules, &enforce(), &look(&ring, now, &rules), now);
        if transition.is_some() {
            ring = Ring::new();
        }
        latch = next;
        transitions.extend(transition);
    }
    transitions
}

#[test]
fn noise_around_the_threshold_makes_at_most_one_transition_in_ten_minutes() {
    for seed in 0..20 {
        let key = Key::new([seed; 16]);
        let noisy = |second| 80.0 * (0.9 + 0.2 * unit(key.draw(u128::from(second / 10), Purpose::Sample)));
        let transitions = run(120, noisy);
        assert!(transitions.len() <= 12, "{} transitions in 2 h with seed {seed}", transitions.len());
        assert!(transitions.len() % 2 == 1, "it ends suspended, waiting for a person");
    }
}

#[test]
fn noise_around_the_rearm_value_trips_nothing() {
    let key = Key::new([9; 16]);
    let noisy = |second| 60.0 * (0.9 + 0.2 * unit(key.draw(u128::from(second / 10), Purpose::Sample)));
    assert_eq!(run(120, noisy), []);
}

#[test]
fn a_real_breach_is_tripped_within_ninety_seconds() {
    let breach = |second| if second < 600 { 47.5 } else { 150.0 };
    let first = run(30, breach).into_iter().next().expect("a trip");
    assert_eq!(first.cause, Cause::Tripped);
    let took = first.at - at(600);
    assert!(took <= Duration::from_secs(90), "{took:?}");
}

#[test]
fn a_breach_that_ends_is_followed_by_a_trial_and_by_hedging() {
    let breach = |second| if (600..700).contains(&second) { 150.0 } else { 47.5 };
    let causes: Vec<Cause> = run(60, breach).iter().map(|transition| transition.cause).collect();
    assert_eq!(causes, [Cause::Tripped, Cause::CooldownOver, Cause::TrialPassed]);
}

#[test]
fn the_same_inputs_give_the_same_transitions() {
    let wave = |second: u64| 60.0 + (second % 300) as f64 / 3.0;
    assert_eq!(run(120, wave), run(120, wave));
}

fn wish() -> impl Strategy<Value = Wish> {
    (0_u8..12, prop::option::of(0_u64..3)).prop_map(|(choice, resume)| Wish {
        mode: match choice {
            0 => Mode::Disabled,
            1 => Mode::Observe,
            _ => Mode::Enforce,
        },
        hold: (choice == 2).then_some(Hold { until: None }),
        resume,
    })
}

proptest! {
    /// Whatever people and traffic do: the counter grows by one exactly with each change of state, shares stay within
    /// bounds, nothing hedges unless it may, and dwell is kept by everything that releases.
    #[test]
    fn any_history_keeps_the_latchs_invariants(
        (start_percent, grow_percent) in (1_u8..=100, 0_u16..300),
        looks in prop::collection::vec((wish(), 0_u64..300, 0_u64..400), 1..200),
    ) {
        let every = Duration::from_mins(1);
        let rules = Rules { ramp: Ramp { start_percent, grow_percent, every }, ..Rules::default() };
        let (mut latch, mut second) = (Latch::default(), 0);
        for (wish, hedges, wait) in looks {
            second += wait;
            let evaluation = look(&ring(at(second), 60, &tally(1_000, hedges)), at(second), &rules);
            let (next, transition) = step(&latch, &rules, &wish, &evaluation, at(second));
            let changed = u64::from(next.state != latch.state);
            prop_assert_eq!(next.transition, latch.transition + changed);
            prop_assert_eq!(transition.is_some(), changed == 1);
            prop_assert!(next.share_percent() <= 100);
            prop_assert!(!next.hedging() || (wish.mode == Mode::Enforce && wish.hold.is_none()));
            if let Some(Cause::CooldownOver | Cause::TrialPassed) = transition.map(|transition| transition.cause) {
                prop_assert!(at(second) - latch.since >= rules.dwell());
            }
            latch = next;
        }
    }
}
