//! Scenario S8: a burst of twenty times what runs at once, and clients who do as they are told. A constant `Retry-After` of
//! 1 s brings all of them back together, again and again (simulated: 388 re-arrivals a second at a drain of 20, 3.8
//! tries a job).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use hedgerow_policy::lane::{Arrival, LaneId, Lanes, Permit, Request, Rule, Ticket, Wake};
use hedgerow_policy::limiter::{self, Algorithm};
use hedgerow_policy::time::Moment;

const SLOTS: u32 = 20;
const STREAM: Duration = Duration::from_secs(1);
const BURST: usize = 400;
const BURST_AT: Moment = Moment::from_secs(20);
const END: Moment = Moment::from_secs(150);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    Done(usize),
    Arrive(usize),
}

struct Lane {
    lanes: Lanes,
    id: LaneId,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    running: HashMap<usize, Permit>,
    waiting: HashMap<Ticket, usize>,
    tries: Vec<u32>,
    served: usize,
    rejections: u32,
    returns: HashMap<u64, u32>,
    constant: bool,
}

impl Lane {
    fn new(constant: bool) -> Self {
        let limiter =
            limiter::Rule { algorithm: Algorithm::Fixed, initial: SLOTS, ..limiter::Rule::default() };
        let mut lanes = Lanes::new(900);
        let id = lanes.add(Moment::ZERO, Rule { limiter, ..Rule::default() }, None);
        Self {
            lanes,
            id,
            events: BinaryHeap::new(),
            running: HashMap::new(),
            waiting: HashMap::new(),
            tries: Vec::new(),
            served: 0,
            rejections: 0,
            returns: HashMap::new(),
            constant,
        }
    }

    fn job(&mut self, at: Moment) {
        self.events.push(Reverse((at, Event::Arrive(self.tries.len()))));
        self.tries.push(0);
    }

    fn run(&mut self) {
        self.events.push(Reverse((Moment::ZERO, Event::Tick)));
        while let Some(Reverse((now, event))) = self.events.pop() {
            if now > END {
                return;
            }
            match event {
                Event::Tick => {
                    self.lanes.tick(now);
                    self.events.push(Reverse((now + Duration::from_millis(100), Event::Tick)));
                }
                Event::Done(job) => {
                    self.served += 1;
                    if let Some(permit) = self.running.remove(&job) {
                        self.lanes.release(now, permit);
                    }
                }
                Event::Arrive(job) => self.arrive(now, job),
            }
            while let Some(wake) = self.lanes.next_wake() {
                match wake {
                    Wake::Admitted(ticket, permit) => self.start(now, self.waiting[&ticket], permit),
                    Wake::Shed(ticket, shed) => self.refuse(now, self.waiting[&ticket], shed.retry_after),
                }
            }
        }
    }

    fn arrive(&mut self, now: Moment, job: usize) {
        let returning = self.tries[job] > 0;
        self.tries[job] += 1;
        if returning {
            *self.returns.entry(now.as_secs()).or_default() += 1;
        }
        let request = Request { lane: self.id, tenant: 0, returning, patience: Duration::from_mins(1) };
        match self.lanes.arrive(now, request) {
            Arrival::Admit(permit) => self.start(now, job, permit),
            Arrival::Queue(ticket) => {
                self.waiting.insert(ticket, job);
            }
            Arrival::Shed(shed) => self.refuse(now, job, shed.retry_after),
        }
    }

    fn start(&mut self, now: Moment, job: usize, permit: Permit) {
        self.running.insert(job, permit);
        self.events.push(Reverse((now + STREAM, Event::Done(job))));
    }

    fn refuse(&mut self, now: Moment, job: usize, retry_after: u32) {
        self.rejections += 1;
        let wait = if self.constant { 1 } else { retry_after };
        self.events.push(Reverse((now + Duration::from_secs(u64::from(wait)), Event::Arrive(job))));
    }
}

/// Steady work at 12 a second, and the burst.
fn scenario(constant: bool) -> Lane {
    let mut lane = Lane::new(constant);
    for i in 0..END.as_secs() * 12 {
        lane.job(Moment::from_millis(i * 1_000 / 12));
    }
    for i in 0..BURST {
        lane.job(BURST_AT + Duration::from_micros(i as u64));
    }
    lane.run();
    lane
}

#[test]
fn obedient_clients_come_back_one_after_the_other() {
    let lane = scenario(false);
    let peak = lane.returns.values().copied().max().unwrap_or(0);
    let tries = f64::from(lane.tries.iter().sum::<u32>()) / lane.tries.len() as f64;
    assert!(peak <= 2 * SLOTS, "{peak} re-arrivals in one second at a drain of {SLOTS}");
    assert!(tries <= 3.0, "{tries} tries a job");
    let unserved = lane.tries.len() - lane.served;
    assert!(unserved <= 40, "{unserved} of {} not served by the end", lane.tries.len());
}

#[test]
fn a_constant_answer_would_bring_them_back_together() {
    let (ours, constant) = (scenario(false), scenario(true));
    let peak = |lane: &Lane| lane.returns.values().copied().max().unwrap_or(0);
    assert!(peak(&constant) > 300, "{}", peak(&constant));
    assert!(constant.rejections > 5 * ours.rejections, "{} against {}", constant.rejections, ours.rejections);
}
