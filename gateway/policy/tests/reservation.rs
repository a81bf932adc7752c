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
    returns: Vec<Moment>,
    last_served: Moment,
    stream: Duration,
    constant: bool,
}

impl Lane {
    fn new(stream: Duration, constant: bool) -> Self {
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
            returns: Vec::new(),
            last_served: Moment::ZERO,
            stream,
            constant,
        }
    }

    fn job(&mut self, at: Moment) {
        self.events.push(Reverse((at, Event::Arrive(self.tries.len()))));
        self.tries.push(0);
    }

    fn burst(&mut self) {
        for i in 0..BURST {
            self.job(BURST_AT + Duration::from_micros(i as u64));
        }
    }

    /// The most that came back within any second.
    fn peak(&self) -> usize {
        let second = Duration::from_secs(1);
        let within = |(at, from): (usize, &Moment)| {
            self.returns[at..].iter().take_while(|moment| **moment < *from + second).count()
        };
        self.returns.iter().enumerate().map(within).max().unwrap_or(0)
    }

    fn tries_per_job(&self) -> f64 {
        f64::from(self.tries.iter().sum::<u32>()) / self.tries.len() as f64
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
                    self.last_served = now;
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
            self.returns.push(now);
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
        self.events.push(Reverse((now + self.stream, Event::Done(job))));
    }

    fn refuse(&mut self, now: Moment, job: usize, retry_after: u32) {
        self.rejections += 1;
        let wait = if self.constant { 1 } else { retry_after };
        self.events.push(Reverse((now + Duration::from_secs(u64::from(wait)), Event::Arrive(job))));
    }
}

/// Steady work at 12 a second, and the burst.
fn scenario(constant: bool) -> Lane {
    let mut lane = Lane::new(Duration::from_secs(1), constant);
    for i in 0..END.as_secs() * 12 {
        lane.job(Moment::from_millis(i * 1_000 / 12));
    }
    lane.burst();
    lane.run();
    lane
}

#[test]
fn obedient_clients_come_back_one_after_the_other() {
    let lane = scenario(false);
    let (peak, tries) = (lane.peak(), lane.tries_per_job());
    assert!(peak <= 2 * SLOTS as usize, "{peak} re-arrivals in one second at a drain of {SLOTS}");
    assert!(tries <= 3.0, "{tries} tries a job");
    let unserved = lane.tries.len() - lane.served;
    assert!(unserved <= 40, "{unserved} of {} not served by the end", lane.tries.len());
}

#[test]
fn a_constant_answer_would_bring_them_back_together() {
    let (ours, constant) = (scenario(false), scenario(true));
    assert!(constant.peak() > 300, "{}", constant.peak());
    assert!(constant.rejections > 5 * ours.rejections, "{} against {}", constant.rejections, ours.rejections);
}

#[test]
fn a_burst_of_twenty_times_the_slots_is_served_in_a_minute_and_a_half() {
    for warm in [false, true] {
        let mut lane = Lane::new(Duration::from_secs(2), false);
        // A lane that has seen work knows how long a stream lasts; one that has just started does not.
        let before = if warm { BURST_AT.as_secs() * 5 } else { 0 };
        (0..before).for_each(|i| lane.job(Moment::from_millis(i * 200)));
        lane.burst();
        lane.run();
        let (peak, tries, drain) = (lane.peak(), lane.tries_per_job(), SLOTS as usize / 2);
        assert!(peak <= 2 * drain, "warm {warm}: {peak} came back within a second at a drain of {drain}");
        assert!(tries <= 3.0, "warm {warm}: {tries} tries a job");
        assert_eq!(lane.served, lane.tries.len(), "warm {warm}");
        let took = lane.last_served.since(BURST_AT);
        assert!(took <= Duration::from_secs(90), "warm {warm}: the last was served after {took:?}");
    }
}
