//! Floods: what one tenant or one lane sends too much costs nobody else anything.
//!
//! Virtual time, the pod's real lanes, clients who come back when they are told to. A user action takes what its provider
//! takes; what is compared is the time from the first try to the end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use fastrand::Rng;
use hedgerow_policy::lane::{Arrival, LaneId, Lanes, Permit, Request, Rule, Ticket, Wake};
use hedgerow_policy::limiter::{self, Algorithm};
use hedgerow_policy::time::Moment;

const END: Moment = Moment::from_secs(120);
/// Clients give up after so many tries, as SDKs do.
const TRIES: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    Done(usize),
    Arrive(usize),
}

struct Job {
    lane: LaneId,
    tenant: u64,
    source: u64,
    first: Moment,
    takes: Duration,
    tries: u32,
}

/// What became of the jobs of one source.
#[derive(Default)]
struct Fate {
    /// From the first try to the end.
    took: Vec<Duration>,
    shed: u32,
}

impl Fate {
    fn p99(&self) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        took[took.len() * 99 / 100]
    }
}

struct Pod {
    lanes: Lanes,
    rng: Rng,
    jobs: Vec<Job>,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    running: HashMap<usize, Permit>,
    waiting: HashMap<Ticket, usize>,
    fates: BTreeMap<u64, Fate>,
}

impl Pod {
    fn new(max_in_flight: u32) -> Self {
        Self {
            lanes: Lanes::new(max_in_flight),
            rng: Rng::with_seed(5),
            jobs: Vec::new(),
            events: BinaryHeap::new(),
            running: HashMap::new(),
            waiting: HashMap::new(),
            fates: BTreeMap::new(),
        }
    }

    fn lane(&mut self, limit: u32, rule: Rule) -> LaneId {
        let limiter =
            limiter::Rule { algorithm: Algorithm::Fixed, initial: limit, ..limiter::Rule::default() };
        self.lanes.add(Moment::ZERO, Rule { limiter, ..rule }, None)
    }

    /// Poisson arrivals of one source; each takes half a second to one and a half.
    fn traffic(&mut self, lane: LaneId, source: u64, tenant: u64, per_second: f64) {
        // Each source draws for itself, so that its work is the same whoever else is there.
        let mut rng = Rng::with_seed(source);
        let mut at = Moment::ZERO;
        loop {
            at += Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / per_second);
            if at >= END {
                return;
            }
            let takes = Duration::from_millis(rng.u64(500..1_500));
            self.events.push(Reverse((at, Event::Arrive(self.jobs.len()))));
            self.jobs.push(Job { lane, tenant, source, first: at, takes, tries: 0 });
        }
    }

    fn run(mut self) -> BTreeMap<u64, Fate> {
        self.events.push(Reverse((Moment::ZERO, Event::Tick)));
        while let Some(Reverse((now, event))) = self.events.pop() {
            match event {
                Event::Tick if now > END => {}
                Event::Tick => {
                    self.lanes.tick(now);
                    self.events.push(Reverse((now + Duration::from_millis(50), Event::Tick)));
                }
                Event::Done(job) => {
                    if let Some(permit) = self.running.remove(&job) {
                        self.lanes.release(now, permit);
                    }
                    let done = &self.jobs[job];
                    self.fates.entry(done.source).or_default().took.push(now - done.first);
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
        self.fates
    }

    fn arrive(&mut self, now: Moment, at: usize) {
        let job = &mut self.jobs[at];
        job.tries += 1;
        let (lane, tenant, returning) = (job.lane, job.tenant, job.tries > 1);
        match self.lanes.arrive(now, Request { lane, tenant, returning, patience: Duration::from_secs(10) }) {
            Arrival::Admit(permit) => self.start(now, at, permit),
            Arrival::Queue(ticket) => {
                self.waiting.insert(ticket, at);
            }
            Arrival::Shed(shed) => self.refuse(now, at, shed.retry_after),
        }
    }

    fn start(&mut self, now: Moment, job: usize, permit: Permit) {
        self.running.insert(job, permit);
        self.events.push(Reverse((now + self.jobs[job].takes, Event::Done(job))));
    }

    fn refuse(&mut self, now: Moment, at: usize, retry_after: u32) {
        let job = &self.jobs[at];
        self.fates.entry(job.source).or_default().shed += 1;
        if job.tries < TRIES {
            // SDKs add up to a quarter to what they are told.
            let wait = f64::from(retry_after) * (1.0 + self.rng.f64() / 4.0);
            self.events.push(Reverse((now + Duration::from_secs_f64(wait), Event::Arrive(at))));
        }
    }
}

const FLOODER: u64 = 1;

/// Nine tenants with two requests a second each, and a tenth with `per_second`.
fn neighbours(per_second: f64) -> BTreeMap<u64, Fate> {
    let mut pod = Pod::new(900);
    let lane = pod.lane(40, Rule::default());
    (2..=10).for_each(|tenant| pod.traffic(lane, tenant, tenant, 2.0));
    pod.traffic(lane, FLOODER, FLOODER, per_second);
    pod.run()
}

#[test]
fn a_tenant_that_sends_a_hundred_times_as_much_slows_nobody_else_down() {
    let (calm, flooded) = (neighbours(2.0), neighbours(200.0));
    for tenant in 2..=10 {
        let (before, after) = (&calm[&tenant], &flooded[&tenant]);
        assert_eq!(after.took.len(), before.took.len(), "tenant {tenant}: all its work was done");
        let (alone, beside) = (before.p99(), after.p99());
        assert!(beside * 10 <= alone * 12, "tenant {tenant}: p99 {alone:?} became {beside:?}");
    }
    let flooder = &flooded[&FLOODER];
    assert!(
        flooder.shed > 10_000 && flooder.took.len() > 500,
        "{} shed, {} served",
        flooder.shed,
        flooder.took.len()
    );
}

#[test]
fn a_batch_flood_sheds_batch_alone_and_still_gets_its_twentieth() {
    let (chat, batch) = (1, 2);
    let mut pod = Pod::new(50);
    let interactive = pod.lane(900, Rule { priority: 900, guaranteed_percent: 60, ..Rule::default() });
    let flood = pod.lane(900, Rule { priority: 100, ceiling_percent: 70, ..Rule::default() });
    // A user action takes a second on average, so the pod's capacity is 50 a second: 140 % of it.
    pod.traffic(interactive, chat, 0, 25.0);
    pod.traffic(flood, batch, 0, 45.0);
    let fates = pod.run();
    assert_eq!(fates[&chat].shed, 0, "interactive shed");
    assert!(fates[&batch].shed > 0, "batch was not shed: the flood was none");
    let served = |source: u64| fates[&source].took.len();
    let all = served(chat) + served(batch);
    assert!(served(batch) * 20 >= all, "batch got {} of {all}", served(batch));
}
