//! Tables per rule, then random schedules: permits return to zero and every ticket is answered once.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limiter::{self, Algorithm};
use crate::time::Moment;

fn at(millis: u64) -> Moment {
    Moment::from_millis(1_000_000 + millis)
}

/// A lane of fixed size.
fn fixed(limit: u32, priority: u16) -> Rule {
    let limiter = limiter::Rule { algorithm: Algorithm::Fixed, initial: limit, ..limiter::Rule::default() };
    Rule { priority, limiter, ..Rule::default() }
}

fn pod(max: u32, rules: Vec<Rule>) -> (Lanes, Vec<LaneId>) {
    let mut lanes = Lanes::new(max);
    let ids = rules.into_iter().map(|rule| lanes.add(at(0), rule, None)).collect();
    (lanes, ids)
}

fn ask(lanes: &mut Lanes, now: u64, lane: LaneId, tenant: u64) -> Arrival {
    lanes.arrive(at(now), Request { lane, tenant, returning: false, patience: Duration::from_mins(1) })
}

fn admit(lanes: &mut Lanes, now: u64, lane: LaneId, tenant: u64) -> Permit {
    match ask(lanes, now, lane, tenant) {
        Arrival::Admit(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn queue(lanes: &mut Lanes, now: u64, lane: LaneId, tenant: u64) -> Ticket {
    match ask(lanes, now, lane, tenant) {
        Arrival::Queue(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn shed(lanes: &mut Lanes, now: u64, lane: LaneId, tenant: u64) -> Shed {
    match ask(lanes, now, lane, tenant) {
        Arrival::Shed(shed) => shed,
        other => panic!("{other:?}"),
    }
}

/// The user action goes on beyond the end of the test.
fn keep(permit: Permit) {
    drop(permit);
}

#[test]
fn a_full_lane_queues_a_quarter_of_its_limit_and_sheds_the_rest() {
    let (mut lanes, ids) = pod(900, vec![fixed(8, 500)]);
    let permits: Vec<Permit> = (0..8).map(|_| admit(&mut lanes, 0, ids[0], 0)).collect();
    let first = queue(&mut lanes, 0, ids[0], 0);
    let second = queue(&mut lanes, 0, ids[0], 0);
    assert_eq!(shed(&mut lanes, 0, ids[0], 0).reason, ShedReason::QueueFull);
    assert!(lanes.view(at(0), ids[0]).shedding);
    for (permit, ticket) in permits.into_iter().zip([first, second]) {
        lanes.release(at(100), permit);
        let Some(Wake::Admitted(served, permit)) = lanes.next_wake() else { panic!("nobody was served") };
        assert_eq!((served, permit.waited()), (ticket, Duration::from_millis(100)));
        lanes.release(at(100), permit);
    }
}

#[test]
fn waiting_ends_with_the_shorter_of_max_wait_and_patience() {
    let (mut lanes, ids) = pod(900, vec![fixed(8, 500)]);
    let _permits: Vec<Permit> = (0..8).map(|_| admit(&mut lanes, 0, ids[0], 0)).collect();
    let slow = queue(&mut lanes, 0, ids[0], 0);
    let hasty = Request { lane: ids[0], tenant: 0, returning: false, patience: Duration::from_millis(100) };
    let Arrival::Queue(hasty) = lanes.arrive(at(0), hasty) else { panic!("not queued") };
    assert_eq!(lanes.next_expiry(), Some(at(100)));
    lanes.tick(at(100));
    assert!(
        matches!(lanes.next_wake(), Some(Wake::Shed(t, s)) if t == hasty && s.reason == ShedReason::QueueTimeout)
    );
    lanes.tick(at(499));
    assert_eq!(lanes.next_wake(), None);
    lanes.tick(at(500));
    assert!(matches!(lanes.next_wake(), Some(Wake::Shed(t, _)) if t == slow));
    let none = Request { lane: ids[0], tenant: 0, returning: false, patience: Duration::ZERO };
    assert!(matches!(lanes.arrive(at(500), none), Arrival::Shed(s) if s.reason == ShedReason::LaneFull));
}

#[test]
fn a_lane_without_a_queue_sheds_at_once() {
    let (mut lanes, ids) = pod(1, vec![Rule { max_wait: Duration::ZERO, ..fixed(8, 500) }]);
    let permit = admit(&mut lanes, 0, ids[0], 0);
    assert_eq!(shed(&mut lanes, 0, ids[0], 0).reason, ShedReason::PodFull);
    lanes.release(at(0), permit);
    assert!(lanes.view(at(1_999), ids[0]).shedding && !lanes.view(at(2_000), ids[0]).shedding);
}

#[test]
fn ceilings_bound_a_lane_and_unused_guarantees_are_lent() {
    let batch = Rule { ceiling_percent: 70, max_wait: Duration::ZERO, ..fixed(1_000, 100) };
    let chat = Rule { guaranteed_percent: 60, ..fixed(1_000, 900) };
    let (mut lanes, ids) = pod(10, vec![chat, batch]);
    let _batch: Vec<Permit> = (0..7).map(|_| admit(&mut lanes, 0, ids[1], 0)).collect();
    assert_eq!(shed(&mut lanes, 0, ids[1], 0).reason, ShedReason::LaneFull);
    let _chat: Vec<Permit> = (0..3).map(|_| admit(&mut lanes, 0, ids[0], 0)).collect();
    queue(&mut lanes, 0, ids[0], 0);
    assert_eq!(lanes.in_flight(), 10);
}

#[test]
fn a_freed_place_goes_to_a_lane_below_its_guarantee_then_by_priority() {
    let deep = |priority| Rule { max_depth_percent: 100, ..fixed(1_000, priority) };
    let low = Rule { guaranteed_percent: 50, ..deep(100) };
    let (mut lanes, ids) = pod(4, vec![deep(900), low]);
    let mut high: Vec<Permit> = (0..4).map(|_| admit(&mut lanes, 0, ids[0], 0)).collect();
    let waiting_high: Vec<Ticket> = (0..3).map(|_| queue(&mut lanes, 0, ids[0], 0)).collect();
    let waiting_low: Vec<Ticket> = (0..3).map(|_| queue(&mut lanes, 0, ids[1], 0)).collect();
    let mut served = Vec::new();
    while let Some(permit) = high.pop() {
        lanes.release(at(1), permit);
        while let Some(Wake::Admitted(ticket, permit)) = lanes.next_wake() {
            served.push(ticket);
            keep(permit);
        }
    }
    assert_eq!(served, [waiting_low[0], waiting_low[1], waiting_high[0], waiting_high[1]]);
}

#[test]
fn the_lowest_lane_gets_one_contested_place_in_twenty() {
    let (mut lanes, ids) = pod(1, vec![fixed(1_000, 900), fixed(1_000, 100)]);
    let mut running = admit(&mut lanes, 0, ids[0], 0);
    let mut low = 0;
    for round in 0..400 {
        for lane in &ids {
            while lanes.view(at(round), *lane).queued < 1 {
                queue(&mut lanes, round, *lane, 0);
            }
        }
        lanes.release(at(round), running);
        let Some(Wake::Admitted(_, permit)) = lanes.next_wake() else { panic!("nobody was served") };
        low += u32::from(permit.lane() == ids[1]);
        running = permit;
    }
    assert_eq!(low, 20);
}

#[test]
fn a_flooding_tenant_is_stopped_at_its_share_and_others_get_in() {
    let (mut lanes, ids) = pod(900, vec![Rule { max_wait: Duration::ZERO, ..fixed(100, 500) }]);
    let _alone: Vec<Permit> = (0..80).map(|_| admit(&mut lanes, 0, ids[0], 1)).collect();
    let _other: Vec<Permit> = (0..10).map(|_| admit(&mut lanes, 0, ids[0], 2)).collect();
    assert_eq!(shed(&mut lanes, 0, ids[0], 1).reason, ShedReason::TenantShare);
    let _others: Vec<Permit> = (0..10).map(|_| admit(&mut lanes, 0, ids[0], 2)).collect();
    assert_eq!(shed(&mut lanes, 0, ids[0], 2).reason, ShedReason::LaneFull);
}

#[test]
fn a_tenant_alone_may_fill_its_lane_up_to_max_share() {
    for (percent, most) in [(100, 20), (50, 10), (1, 1)] {
        let rule = Rule { tenant_max_share_percent: percent, max_wait: Duration::ZERO, ..fixed(20, 500) };
        let (mut lanes, ids) = pod(900, vec![rule]);
        let mut admitted = 0;
        while let Arrival::Admit(permit) = ask(&mut lanes, 0, ids[0], 1) {
            admitted += 1;
            keep(permit);
        }
        assert_eq!(admitted, most);
    }
}

#[test]
fn weights_divide_a_full_lane_and_denied_tenants_never_enter() {
    let rule = Rule { weights: vec![(1, 3)], deny: vec![9], max_wait: Duration::ZERO, ..fixed(100, 500) };
    let (mut lanes, ids) = pod(900, vec![rule]);
    let mut held = [0, 0];
    loop {
        let mut progress = false;
        for (tenant, held) in held.iter_mut().enumerate() {
            if let Arrival::Admit(permit) = ask(&mut lanes, 0, ids[0], tenant as u64 + 1) {
                *held += 1;
                progress = true;
                keep(permit);
            }
        }
        if !progress {
            break;
        }
    }
    assert_eq!(held, [55, 45], "equal up to 90, then only the heavier tenant is below its share");
    assert_eq!(shed(&mut lanes, 0, ids[0], 9).reason, ShedReason::TenantDenied);
}

#[test]
fn one_tenant_cannot_fill_the_pod_through_several_lanes() {
    let no_queue = |priority| Rule { max_wait: Duration::ZERO, ..fixed(100, priority) };
    let (mut lanes, ids) = pod(20, vec![no_queue(900), no_queue(100)]);
    let _small = admit(&mut lanes, 0, ids[0], 2);
    let mut flood = 0;
    for lane in [ids[0], ids[1]].into_iter().cycle().take(100) {
        if let Arrival::Admit(permit) = ask(&mut lanes, 0, lane, 1) {
            flood += 1;
            keep(permit);
        }
    }
    assert_eq!(flood, 17, "18 of 20 is 90 %");
    let _second = admit(&mut lanes, 0, ids[0], 2);
}

/// A pod of 100 places: 60 are guaranteed to its first lane, and a tenant of the second has so many.
fn borrowed(places: u32) -> (Lanes, Vec<LaneId>) {
    let chat = Rule { guaranteed_percent: 60, ..fixed(90, 100) };
    let (mut lanes, ids) = pod(100, vec![chat, fixed(70, 10)]);
    (0..places).for_each(|_| keep(admit(&mut lanes, 0, ids[1], 9)));
    (lanes, ids)
}

#[test]
fn a_lane_below_its_guarantee_is_not_held_to_a_share_of_the_pod() {
    let (mut lanes, ids) = borrowed(45);
    for held in 0..55 {
        assert!(matches!(ask(&mut lanes, 0, ids[0], 1), Arrival::Admit(_)), "{held}");
    }
    // The pod is full: it waits for the first freed place instead of being told to come back.
    queue(&mut lanes, 0, ids[0], 1);
}

#[test]
fn tenants_of_a_lane_share_its_guarantee_in_a_full_pod() {
    let (mut lanes, ids) = borrowed(40);
    keep(admit(&mut lanes, 0, ids[0], 2));
    for _ in 0..53 {
        keep(admit(&mut lanes, 0, ids[0], 1));
    }
    assert_eq!(shed(&mut lanes, 0, ids[0], 1).reason, ShedReason::TenantShare);
    keep(admit(&mut lanes, 0, ids[0], 2));
}

/// Ten seconds of one arrival every `gap` ms, each of which runs for a second; returns what still runs.
fn steady(lanes: &mut Lanes, lane: LaneId, tenant: u64, gap: u64) -> Vec<Permit> {
    let mut running = std::collections::VecDeque::new();
    for now in (0..10_000).step_by(gap as usize) {
        if running.len() as u64 >= 1_000 / gap {
            lanes.release(at(now), running.pop_front().expect("not empty"));
        }
        running.push_back(admit(lanes, now, lane, tenant));
    }
    running.into()
}

#[test]
fn each_refused_one_is_told_a_later_time_and_what_lies_beyond_the_longest_is_spread() {
    let (mut lanes, ids) = pod(900, vec![Rule { max_wait: Duration::ZERO, ..fixed(10, 500) }]);
    let _full = steady(&mut lanes, ids[0], 0, 100);
    let waits: Vec<u32> = (0..2_000).map(|_| shed(&mut lanes, 9_999, ids[0], 0).retry_after).collect();
    let promised = waits.iter().position(|wait| *wait == 60).expect("the longest wait is reached");
    assert!(waits[..promised].is_sorted() && waits[0] <= 2);
    let spread = &waits[promised + 100..];
    let busiest = (30..=60).map(|second| spread.iter().filter(|wait| **wait == second).count()).max();
    assert!(spread.iter().all(|wait| (30..=60).contains(wait)));
    assert!(busiest <= Some(spread.len() / 30 + 2), "{busiest:?} of {}", spread.len());
}

#[test]
fn a_flooding_tenant_tells_nobody_else_to_wait() {
    let (mut lanes, ids) =
        pod(900, vec![Rule { max_wait: Duration::ZERO, deny: vec![9], ..fixed(100, 500) }]);
    let running = steady(&mut lanes, ids[0], 2, 20);
    let _flood: Vec<Permit> = (0..50).map(|_| admit(&mut lanes, 9_999, ids[0], 1)).collect();
    assert_eq!(running.len(), 50);
    let floods: Vec<Shed> = (0..3_000).map(|_| shed(&mut lanes, 9_999, ids[0], 1)).collect();
    assert!(floods.iter().all(|flood| flood.reason == ShedReason::TenantShare));
    assert!(floods[2_999].retry_after >= 30);
    assert_eq!(shed(&mut lanes, 9_999, ids[0], 9).retry_after, 60);
    assert_eq!(shed(&mut lanes, 9_999, ids[0], 3), Shed { reason: ShedReason::LaneFull, retry_after: 1 });
}

#[test]
fn an_abandoned_ticket_is_never_served() {
    let (mut lanes, ids) = pod(900, vec![fixed(8, 500)]);
    let mut permits: Vec<Permit> = (0..8).map(|_| admit(&mut lanes, 0, ids[0], 0)).collect();
    let (first, second) = (queue(&mut lanes, 0, ids[0], 0), queue(&mut lanes, 0, ids[0], 0));
    assert_eq!(lanes.abandon(first), None);
    lanes.release(at(1), permits.pop().expect("eight"));
    let permit = lanes.abandon(second).expect("it had been admitted");
    assert_eq!(lanes.next_wake(), None);
    lanes.release(at(1), permit);
    assert_eq!((lanes.in_flight(), lanes.abandon(second)), (7, None));
}

#[test]
fn a_retired_lane_sheds_and_its_place_is_used_again() {
    let (mut lanes, ids) = pod(900, vec![fixed(1, 500)]);
    let permit = admit(&mut lanes, 0, ids[0], 0);
    let ticket = queue(&mut lanes, 0, ids[0], 0);
    lanes.retire(at(0), ids[0]);
    assert!(
        matches!(lanes.next_wake(), Some(Wake::Shed(t, s)) if t == ticket && s.reason == ShedReason::LaneRetired)
    );
    assert_eq!(shed(&mut lanes, 0, ids[0], 0).reason, ShedReason::LaneRetired);
    let other = lanes.add(at(0), fixed(1, 500), None);
    assert_ne!(other, ids[0], "something still runs there");
    lanes.release(at(0), permit);
    assert_eq!(lanes.add(at(0), fixed(1, 500), None), ids[0]);
}

#[derive(Clone, Debug)]
enum Event {
    Arrive(usize, u64),
    Release(usize),
    Abandon(usize),
    Wait(u64),
    Overload(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0_usize..3, 0_u64..4).prop_map(|(lane, tenant)| Event::Arrive(lane, tenant)),
        4 => any::<usize>().prop_map(Event::Release),
        1 => any::<usize>().prop_map(Event::Abandon),
        1 => (0_u64..800).prop_map(Event::Wait),
        1 => any::<usize>().prop_map(Event::Overload),
    ]
}

proptest! {
    #[test]
    fn permits_return_to_zero_and_every_ticket_is_answered_once(events in prop::collection::vec(event(), 1..400)) {
        let adaptive = Rule { limiter: limiter::Rule { initial: 6, ..limiter::Rule::default() }, ..fixed(6, 700) };
        let guaranteed = Rule { guaranteed_percent: 30, ..fixed(8, 900) };
        let capped = Rule { tenant_max_share_percent: 50, ceiling_percent: 50, ..fixed(9, 100) };
        let (mut lanes, ids) = pod(12, vec![guaranteed, adaptive, capped]);
        let (mut now, mut permits, mut waiting) = (0, Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Arrive(lane, tenant) => match ask(&mut lanes, now, ids[lane], tenant) {
                    Arrival::Admit(permit) => permits.push(permit),
                    Arrival::Queue(ticket) => waiting.push(ticket),
                    Arrival::Shed(shed) => prop_assert!((1..=60).contains(&shed.retry_after)),
                },
                Event::Release(i) if !permits.is_empty() => lanes.release(at(now), permits.swap_remove(i % permits.len())),
                Event::Abandon(i) if !waiting.is_empty() => {
                    prop_assert_eq!(lanes.abandon(waiting.swap_remove(i % waiting.len())), None);
                }
                Event::Overload(i) if !permits.is_empty() => {
                    let permit = &permits[i % permits.len()];
                    lanes.sample(permit, limiter::Sample::Overloaded);
                }
                Event::Wait(millis) => {
                    now += millis;
                    lanes.tick(at(now));
                }
                _ => {}
            }
            while let Some(wake) = lanes.next_wake() {
                let (Wake::Admitted(ticket, _) | Wake::Shed(ticket, _)) = &wake;
                let at = waiting.iter().position(|waiting| waiting == ticket);
                prop_assert!(at.is_some(), "answered twice or never asked");
                waiting.swap_remove(at.unwrap_or_default());
                if let Wake::Admitted(_, permit) = wake {
                    permits.push(permit);
                }
            }
            prop_assert_eq!(lanes.in_flight() as usize, permits.len());
            prop_assert!(lanes.in_flight() <= 12);
            let queued: u32 = ids.iter().map(|id| lanes.view(at(now), *id).queued).sum();
            prop_assert_eq!(queued as usize, waiting.len());
        }
        for ticket in waiting {
            prop_assert_eq!(lanes.abandon(ticket), None);
        }
        for permit in permits {
            lanes.release(at(now), permit);
        }
        prop_assert_eq!(lanes.in_flight(), 0);
        prop_assert!(lanes.tenants.is_empty());
        for id in ids {
            prop_assert_eq!(lanes.view(at(now), id).in_flight, 0);
            prop_assert!(lanes.all[usize::from(id.0)].tenants.is_empty());
        }
    }
}
