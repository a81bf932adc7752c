//! What some cells of a cohort leave of its duplicate target goes to those that want more.
//!
//! The target is the cohort's; [`plan`](super::plan) holds every cell to the target of its own originals. A cell whose
//! hedges the gate refuses leaves its part unused, while another is thinned: after the ejection of a slow region the few
//! requests that are left there are all late, one in twenty of them was hedged, and the healthy region, which had nowhere
//! to hedge to, left nearly all of the target.
//!
//! In: originals and hedges of every cell over the same recent time, and its plan. Out: `send_per_mille` of thinned cells,
//! raised. What is left is shared out max-min fairly: equally, and what a cell does not want goes on to the others
//! (Bertsekas, Gallager, *Data Networks*, 1992, 6.5.2).
//!
//! Invariants: no cell sends less than its own plan says, none more than the hold-out allows; together they stay at the
//! target of all originals as long as the others go on as they did. Refuses: to predict what others will send; what they
//! did send is what counts, and it is forgotten like their latencies.

use super::{Plan, Rule, per_mille};

/// One cell of a cohort.
#[derive(Debug)]
pub struct Part<'a> {
    /// Its primaries, recent ones in full.
    pub originals: f64,
    /// Hedges sent for them.
    pub sent: f64,
    /// What it would do by itself.
    pub plan: &'a mut Plan,
}

/// Raises the plans of thinned cells by what the others leave.
pub fn share(rule: &Rule, parts: &mut [Part<'_>]) {
    let target = f64::from(rule.duplicate_target_percent) / 100.0;
    let most = super::most(rule);
    let (mut left, mut wanting) = (0.0, Vec::new());
    for (place, part) in parts.iter().enumerate() {
        let wanted = (most * reach(part.plan) - target) * part.originals;
        if wanted > 0.0 && !part.plan.not_in_tail {
            wanting.push((place, wanted));
        } else {
            left += target * part.originals - part.sent;
        }
    }
    wanting.sort_unstable_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut left = left.max(0.0);
    for (done, (place, wanted)) in wanting.iter().enumerate() {
        let more = wanted.min(left / (wanting.len() - done) as f64);
        left -= more;
        let part = &mut parts[*place];
        let send = (target + more / part.originals) / reach(part.plan);
        part.plan.send_per_mille = part.plan.send_per_mille.max(per_mille(send.min(most)));
    }
}

fn reach(plan: &Plan) -> f64 {
    f64::from(plan.reach_per_mille) / 1_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delay::{Inputs, Trail, plan, send};

    /// A plan at which `reach` of 1,000 primaries fire.
    fn of(rule: &Rule, reach: u16) -> Plan {
        let send_per_mille = per_mille(send(rule, f64::from(reach) / 1_000.0));
        Plan {
            send_per_mille,
            reach_per_mille: reach,
            not_in_tail: false,
            trail: Trail::default(),
            ..plan(rule, &Inputs::default())
        }
    }

    /// What cells of (originals, hedges sent, reach) send afterwards.
    fn shared(cells: &[(f64, f64, u16)]) -> Vec<u16> {
        let rule = Rule::default();
        let mut plans: Vec<Plan> = cells.iter().map(|(.., reach)| of(&rule, *reach)).collect();
        let mut parts: Vec<Part<'_>> = plans
            .iter_mut()
            .zip(cells)
            .map(|(plan, (originals, sent, _))| Part { originals: *originals, sent: *sent, plan })
            .collect();
        share(&rule, &mut parts);
        plans.iter().map(|plan| plan.send_per_mille).collect()
    }

    #[test]
    fn what_a_healthy_region_cannot_use_goes_to_the_slow_one() {
        // 20 of 1,000 are left in the slow region, all late; the other sent 2 hedges where 49 were allowed.
        assert_eq!(shared(&[(980.0, 2.0, 50), (20.0, 1.0, 1_000)]), [950, 950]);
        // It used all: nothing is left.
        assert_eq!(shared(&[(980.0, 49.0, 50), (20.0, 1.0, 1_000)]), [950, 50]);
        // It left 9, and 20 want 18 more than their own 1.
        assert_eq!(shared(&[(980.0, 40.0, 50), (20.0, 1.0, 1_000)]), [950, 500]);
        // It sent more than its own, from a time when it was given some: that is no debt of others.
        assert_eq!(shared(&[(980.0, 90.0, 50), (20.0, 1.0, 1_000)]), [950, 50]);
    }

    #[test]
    fn what_is_left_is_shared_out_max_min_fairly() {
        // 30 are left. The second wants 9 and gets them; 21 go to the third: (5 + 21) of its 100 firings.
        assert_eq!(shared(&[(1_000.0, 20.0, 50), (10.0, 0.0, 1_000), (100.0, 5.0, 1_000)]), [950, 950, 260]);
    }

    #[test]
    fn cells_that_are_all_thinned_or_new_keep_to_themselves() {
        assert_eq!(shared(&[(500.0, 25.0, 1_000), (500.0, 25.0, 500)]), [50, 100]);
        assert_eq!(shared(&[(0.0, 0.0, 50), (20.0, 1.0, 1_000)]), [950, 50]);
        assert_eq!(shared(&[(0.0, 0.0, 1_000), (0.0, 0.0, 50)]), [50, 950]);
        assert_eq!(shared(&[]), [0_u16; 0]);
    }

    #[test]
    fn a_cell_that_is_not_hedged_at_all_leaves_its_part_and_takes_none() {
        let rule = Rule::default();
        let (mut never, mut slow) = (of(&rule, 1_000), of(&rule, 1_000));
        never.not_in_tail = true;
        let mut parts = [
            Part { originals: 360.0, sent: 0.0, plan: &mut never },
            Part { originals: 20.0, sent: 1.0, plan: &mut slow },
        ];
        share(&rule, &mut parts);
        assert_eq!((never.send_per_mille, slow.send_per_mille), (50, 950));
    }

    proptest! {
        #[test]
        fn together_they_stay_at_the_target_and_none_falls_below_its_own(
            cells in prop::collection::vec((0.0..1e6_f64, 0.0..1e5_f64, 0_u16..=1_000), 0..12),
        ) {
            let rule = Rule::default();
            let after = shared(&cells);
            let (mut sent, mut allowed) = (0.0, 0.0);
            for ((originals, before, reach), send) in cells.iter().zip(&after) {
                prop_assert!(*send >= of(&rule, *reach).send_per_mille && *send <= 950);
                let firings = originals * f64::from(*reach) / 1_000.0;
                let wants = 0.95 * firings > 0.05 * originals;
                // Rounding to thousandths is worth half of one of every firing.
                sent += if wants { firings * (f64::from(*send) / 1_000.0 - 0.000_5) } else { *before };
                allowed += if wants { 0.05 * originals } else { (0.05 * originals).max(*before) };
            }
            prop_assert!(sent <= allowed * 1.000_001 + 1e-6, "{} of {}", sent, allowed);
        }
    }
}
