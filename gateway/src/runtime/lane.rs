//! The lanes at run time: who may start, who waits, who is shed.
//!
//! `policy::lane` decides; this module gives its decisions a place to happen: one short mutex for all lanes of the pod,
//! wakers for user actions that wait, and a [`LanePermit`] that is given back by `Drop` wherever the user action ends.
//! No lock is held across an await.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use hedgerow_config as config;
use hedgerow_policy::{
    gauge::{Gauge, Held},
    lane::{self, Arrival, LaneId, Lanes, Permit, Request, Shed, Ticket, Wake},
    latency::Recorder,
    limiter,
    time::Moment,
};

use super::clock::Clock;
use crate::telemetry::metrics::LaneMetrics;

/// A lane in one snapshot.
pub struct LaneRuntime {
    /// As configured.
    pub config: config::Lane,
    /// Place in the snapshot.
    pub place: usize,
    /// What outlives this snapshot.
    pub state: Arc<LaneState>,
    /// Resolved metric handles.
    pub metrics: LaneMetrics,
}

/// What a lane carries from one snapshot to the next.
pub struct LaneState {
    /// Its number in `policy::lane`.
    pub id: LaneId,
    /// User actions admitted.
    pub admitted: AtomicU64,
    /// Those of them that ended in an error of the provider or the gateway.
    pub failed: AtomicU64,
    /// Waits of those that were queued.
    pub wait: Recorder,
    /// Last Retry-After sent, in seconds.
    pub last_retry_after: AtomicU32,
    shed: Mutex<BTreeMap<&'static str, u64>>,
}

impl LaneState {
    /// A lane seen for the first time.
    pub fn new(id: LaneId) -> Self {
        Self {
            id,
            admitted: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            wait: Recorder::new(),
            last_retry_after: AtomicU32::new(0),
            shed: Mutex::default(),
        }
    }

    /// Counts a shed user action.
    pub fn count_shed(&self, reason: &'static str, retry_after_s: u32) {
        self.last_retry_after.store(retry_after_s, Ordering::Relaxed);
        *self.shed.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    /// Shed user actions by reason.
    pub fn shed(&self) -> BTreeMap<String, u64> {
        let shed = self.shed.lock().unwrap_or_else(PoisonError::into_inner);
        shed.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
    }
}

/// All lanes of the pod.
pub struct LaneDesk {
    clock: Clock,
    desk: Mutex<Desk>,
    /// Permits held.
    pub permits: Gauge,
}

struct Desk {
    lanes: Lanes,
    waiting: HashMap<Ticket, Waiter>,
}

#[derive(Default)]
struct Waiter {
    waker: Option<Waker>,
    verdict: Option<Result<Permit, Shed>>,
}

impl LaneDesk {
    /// A desk without lanes.
    pub fn new(clock: Clock, max_in_flight: u32) -> Self {
        let desk = Desk { lanes: Lanes::new(max_in_flight), waiting: HashMap::new() };
        Self { clock, desk: Mutex::new(desk), permits: Gauge::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` on the lanes and wakes whoever it let in.
    pub fn with<R>(&self, f: impl FnOnce(&mut Lanes) -> R) -> R {
        let mut desk = self.lock();
        let result = f(&mut desk.lanes);
        desk.dispatch();
        result
    }

    /// Asks for a place in `lane`; waits if the lane lets it wait, at most `patience`.
    pub async fn admit(
        self: &Arc<Self>,
        lane: &LaneRuntime,
        tenant: u64,
        returning: bool,
        patience: Duration,
    ) -> Result<LanePermit, Shed> {
        let request = Request { lane: lane.state.id, tenant, returning, patience };
        let arrival = {
            let mut desk = self.lock();
            let arrival = desk.lanes.arrive(self.clock.now(), request);
            if let Arrival::Queue(ticket) = &arrival {
                desk.waiting.insert(*ticket, Waiter::default());
            }
            desk.dispatch();
            arrival
        };
        let permit = match arrival {
            Arrival::Admit(permit) => permit,
            Arrival::Shed(shed) => return Err(shed),
            Arrival::Queue(ticket) => {
                lane.metrics.queued.inc();
                let queued = Queued { desk: self, ticket, gauge: &lane.metrics.queued };
                let permit = queued.await?;
                lane.state.wait.event(permit.waited());
                permit
            }
        };
        lane.state.admitted.fetch_add(1, Ordering::Relaxed);
        lane.metrics.in_flight.inc();
        Ok(LanePermit {
            desk: self.clone(),
            permit: Some(permit),
            in_flight: lane.metrics.in_flight.clone(),
            _held: self.permits.hold(1),
        })
    }
}

impl Desk {
    /// Hands verdicts to those who wait.
    fn dispatch(&mut self) {
        while let Some(wake) = self.lanes.next_wake() {
            let (ticket, verdict) = match wake {
                Wake::Admitted(ticket, permit) => (ticket, Ok(permit)),
                Wake::Shed(ticket, shed) => (ticket, Err(shed)),
            };
            if let Some(waiter) = self.waiting.get_mut(&ticket) {
                waiter.verdict = Some(verdict);
                if let Some(waker) = waiter.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

/// Waits for a verdict; dropping it leaves the queue.
struct Queued<'a> {
    desk: &'a Arc<LaneDesk>,
    ticket: Ticket,
    gauge: &'a crate::telemetry::metrics::Gauge,
}

impl Future for Queued<'_> {
    type Output = Result<Permit, Shed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut desk = self.desk.lock();
        let waiter = desk.waiting.entry(self.ticket).or_default();
        if let Some(verdict) = waiter.verdict.take() {
            desk.waiting.remove(&self.ticket);
            return Poll::Ready(verdict);
        }
        waiter.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.gauge.dec();
        let now = self.desk.clock.now();
        let mut desk = self.desk.lock();
        let Some(waiter) = desk.waiting.remove(&self.ticket) else { return };
        let permit = match waiter.verdict {
            Some(Ok(permit)) => Some(permit),
            Some(Err(_)) => None,
            None => desk.lanes.abandon(self.ticket),
        };
        if let Some(permit) = permit {
            desk.lanes.release(now, permit);
        }
        desk.dispatch();
    }
}

/// A user action's place in its lane; dropping gives it back.
#[must_use = "dropping it gives the place back"]
pub struct LanePermit {
    desk: Arc<LaneDesk>,
    permit: Option<Permit>,
    in_flight: crate::telemetry::metrics::Gauge,
    _held: Held,
}

impl LanePermit {
    /// Tells the lane's limiter what a primary's first token took, or that the last usable route was overloaded.
    pub fn sample(&self, sample: limiter::Sample) {
        if let Some(permit) = &self.permit {
            self.desk.lock().lanes.sample(permit, sample);
        }
    }
}

impl Drop for LanePermit {
    fn drop(&mut self) {
        self.in_flight.dec();
        if let Some(permit) = self.permit.take() {
            let now = self.desk.clock.now();
            self.desk.with(|lanes| lanes.release(now, permit));
        }
    }
}

/// The rule of a configured lane; tenants are known by their hash.
pub fn rule(lane: &config::Lane, hash: impl Fn(&str) -> u64) -> lane::Rule {
    let percent = |value: u32| u8::try_from(value.min(100)).unwrap_or(100);
    let concurrency = &lane.concurrency;
    lane::Rule {
        priority: u16::try_from(lane.priority).unwrap_or(u16::MAX),
        guaranteed_percent: percent(lane.share.guaranteed_percent),
        ceiling_percent: percent(lane.share.ceiling_percent),
        limiter: limiter::Rule {
            algorithm: match concurrency.algorithm {
                config::lane::Algorithm::Aimd => limiter::Algorithm::Aimd,
                config::lane::Algorithm::Fixed => limiter::Algorithm::Fixed,
            },
            initial: concurrency.initial,
            min: concurrency.min,
            max: concurrency.max,
            decrease_percent: percent(concurrency.decrease_percent),
            increase_percent: percent(concurrency.increase_percent),
            target_first_token: concurrency.target_first_token_ms.map(Duration::from_millis),
        },
        tenant_max_share_percent: percent(lane.tenants.max_share_percent),
        weights: lane.tenants.weights.iter().map(|(tenant, weight)| (hash(tenant), *weight)).collect(),
        deny: lane.tenants.deny.iter().map(|tenant| hash(tenant)).collect(),
        max_wait: Duration::from_millis(lane.queue.max_wait_ms),
        max_depth_percent: percent(lane.queue.max_depth_percent),
        retry_after_min: Duration::from_millis(lane.retry_after.min_ms),
        retry_after_max: Duration::from_millis(lane.retry_after.max_ms),
    }
}

/// What a new pod takes over from the fleet's mean.
pub fn warm(mean: &config::fleet_file::LaneMean, now_unix_ms: u64) -> limiter::Warm {
    let age = Duration::from_millis(now_unix_ms.saturating_sub(mean.at_unix_ms));
    limiter::Warm { limit: mean.limit, baseline_per_mille: mean.baseline_per_mille, age }
}

/// The time of the next tick that the lanes need.
pub fn next_tick(queued: bool, now: Moment) -> Moment {
    now + if queued { Duration::from_millis(50) } else { Duration::from_millis(500) }
}
