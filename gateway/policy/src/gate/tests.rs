//! The order of the gates, one table; the arms, one count.

use super::*;
use crate::draw::{Key, Purpose};

fn passing() -> Facts {
    Facts { alternate: Some(Alternate::default()), ..Facts::default() }
}

type Spoil = fn(&mut Facts);

fn alternate_of(facts: &mut Facts) -> &mut Alternate {
    facts.alternate.get_or_insert_default()
}

/// Each gate with a way to fail it, in the order of the contract.
const GATES: &[(Reason, Spoil)] = &[
    (Reason::Committed, |f| f.committed = true),
    (Reason::Draining, |f| f.draining = true),
    (Reason::CohortDisabled, |f| f.mode = Mode::Disabled),
    (Reason::GuardrailSuspended, |f| f.guardrail_suspended = true),
    (Reason::Blind, |f| f.blind = true),
    (Reason::NotEnrolled, |f| f.share_per_mille = 0),
    (Reason::NoAttemptsLeft, |f| f.attempts = 2),
    (Reason::Ineligible, |f| f.eligible = false),
    (Reason::WarmCache, |f| f.cached_input_per_mille = 301),
    (Reason::Pushback, |f| f.pushback = true),
    (Reason::ClientRetrying, |f| f.client_retry_per_mille = 101),
    (Reason::AlternateBusy, |f| alternate_of(f).busy_per_mille = 800),
    (Reason::LaneShedding, |f| f.lane_shedding = true),
    (Reason::BodyMemory, |f| f.body_memory_per_mille = 500),
    (Reason::DeadlineTooClose, |f| f.remaining = Duration::from_millis(249)),
    (Reason::SpendCeiling, |f| f.within_spend = false),
    (Reason::LowWinProbability, |f| {
        let alternate = alternate_of(f);
        (alternate.win_per_mille, alternate.pair_hedges) = (Some(199), 50);
    }),
    (Reason::DelayNotInTail, |f| f.not_in_tail = true),
    (Reason::Withheld, |f| f.arm_draw = 0),
];

#[test]
fn facts_that_pass_every_gate_fire() {
    assert_eq!(decide(&passing()), Decision { verdict: Verdict::Fire, learning: true });
}

#[test]
fn the_first_refusal_in_order_is_the_reason() {
    for (position, (reason, _)) in GATES.iter().enumerate() {
        let mut facts = passing();
        for (_, spoil) in &GATES[position..] {
            spoil(&mut facts);
        }
        assert_eq!(decide(&facts).verdict, Verdict::Refuse(*reason));
    }
    let order: Vec<Reason> = GATES.iter().map(|(reason, _)| *reason).collect();
    assert!(order.is_sorted(), "the enum is declared in the order of the gates");
}

#[test]
fn each_gate_alone_refuses() {
    for (reason, spoil) in GATES {
        let mut facts = passing();
        spoil(&mut facts);
        assert_eq!(decide(&facts).verdict, Verdict::Refuse(*reason));
    }
    assert_eq!(decide(&Facts::default()).verdict, Verdict::Refuse(Reason::NoAlternate));
}

#[test]
fn observe_decides_everything_and_sends_nothing() {
    let facts = Facts { mode: Mode::Observe, ..passing() };
    assert_eq!(decide(&facts).verdict, Verdict::Refuse(Reason::Observe));
    for (reason, spoil) in GATES {
        let mut facts = Facts { mode: Mode::Observe, ..passing() };
        spoil(&mut facts);
        assert_eq!(decide(&facts).verdict, Verdict::Refuse(*reason));
    }
}

#[test]
fn only_a_lone_primary_with_attempts_left_may_be_hedged() {
    for (attempts, max_attempts, in_flight, hedged, fires) in [
        (1, 2, 1, false, true),
        (2, 3, 1, false, true),
        (3, 9, 1, false, false),
        (2, 2, 1, false, false),
        (2, 3, 2, false, false),
        (1, 2, 0, false, false),
        (2, 3, 1, true, false),
        (1, 1, 1, false, false),
    ] {
        let facts = Facts { attempts, max_attempts, in_flight, hedged, ..passing() };
        assert_eq!(decide(&facts).verdict == Verdict::Fire, fires);
    }
}

#[test]
fn the_deadline_leaves_room_for_the_alternates_median() {
    let mut facts = passing();
    alternate_of(&mut facts).p50 = Some(Duration::from_secs(1));
    facts.remaining = Duration::from_millis(1_249);
    assert_eq!(decide(&facts).verdict, Verdict::Refuse(Reason::DeadlineTooClose));
    facts.remaining = Duration::from_millis(1_250);
    assert_eq!(decide(&facts).verdict, Verdict::Fire);
}

#[test]
fn a_pair_with_few_hedges_is_learning_and_passes() {
    let mut facts = passing();
    *alternate_of(&mut facts) = Alternate { win_per_mille: Some(0), pair_hedges: 49, ..Alternate::default() };
    assert_eq!(decide(&facts), Decision { verdict: Verdict::Fire, learning: true });
    alternate_of(&mut facts).pair_hedges = 50;
    assert_eq!(decide(&facts).verdict, Verdict::Refuse(Reason::LowWinProbability));
    alternate_of(&mut facts).win_per_mille = None;
    assert_eq!(decide(&facts), Decision { verdict: Verdict::Fire, learning: false });
}

#[test]
fn arms_have_their_shares() {
    let key = Key::new([7; 16]);
    let mut counts = [0_u32; 3];
    for id in 0..100_000_u128 {
        counts[arm(key.draw(id, Purpose::Arm), 5, 500) as usize] += 1;
    }
    assert!((4_700..5_300).contains(&counts[Arm::Control as usize]), "{counts:?}");
    assert!((49_300..50_700).contains(&counts[Arm::Hedge as usize]), "{counts:?}");
    assert_eq!(arm(u64::MAX, 5, 950), Arm::Hedge);
    assert_eq!(arm(0, 0, 0), Arm::Thinned);
}

#[test]
fn names_are_stable_and_unique() {
    let mut names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(names[6], "NotEnrolled");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Reason::ALL.len());
}
