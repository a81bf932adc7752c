//! The lanes of one pod.

use std::collections::VecDeque;
use std::time::Duration;

use super::reservation::{Flow, Reservation};
use super::state::{Arrival, LaneId, Permit, Request, Rule, Shed, ShedReason, Ticket, View, Wake};
use super::tenant::{Tenants, near};
use crate::limiter::{Limiter, Sample, Warm};
use crate::retry::client_seconds;
use crate::time::Moment;

/// How long after a shed a lane still counts as shedding.
const SHEDDING_FOR: Duration = Duration::from_secs(2);
/// Weight of the newest stream in the typical stream: 1/16.
const STREAM_WEIGHT: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) serial: u64,
    pub(super) tenant: u64,
    pub(super) since: Moment,
    pub(super) until: Moment,
    pub(super) returning: bool,
}

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) rule: Rule,
    pub(super) limiter: Limiter,
    pub(super) in_flight: u32,
    pub(super) queue: VecDeque<Waiter>,
    pub(super) tenants: Tenants,
    pub(super) flow: Flow,
    reservation: Reservation,
    last_shed: Option<Moment>,
    /// How long a user action holds its permit.
    typical_stream: Duration,
    retired: bool,
}

/// All lanes of a pod.
#[derive(Debug)]
pub struct Lanes {
    pub(super) max_in_flight: u32,
    pub(super) in_flight: u32,
    pub(super) queued: usize,
    pub(super) all: Vec<Lane>,
    /// Lane indices, highest priority first.
    pub(super) order: Vec<u16>,
    pub(super) tenants: Tenants,
    pub(super) wakes: VecDeque<Wake>,
    pub(super) contested: u64,
    serial: u64,
}

impl Lanes {
    /// A pod that runs at most `max_in_flight` user actions at once.
    pub fn new(max_in_flight: u32) -> Self {
        Self {
            max_in_flight: max_in_flight.max(1),
            in_flight: 0,
            queued: 0,
            all: Vec::new(),
            order: Vec::new(),
            tenants: Tenants::default(),
            wakes: VecDeque::new(),
            contested: 0,
            serial: 0,
        }
    }

    /// Changes the pod's ceiling; what runs keeps running.
    pub fn set_max_in_flight(&mut self, max_in_flight: u32) {
        self.max_in_flight = max_in_flight.max(1);
    }

    /// A new lane. The place of a retired lane that has emptied is used again.
    pub fn add(&mut self, now: Moment, rule: Rule, warm: Option<Warm>) -> LaneId {
        let limiter = Limiter::new(rule.limiter, now, warm);
        let lane = Lane {
            rule,
            limiter,
            in_flight: 0,
            queue: VecDeque::new(),
            tenants: Tenants::default(),
            flow: Flow::new(),
            reservation: Reservation::default(),
            last_shed: None,
            typical_stream: Duration::ZERO,
            retired: false,
        };
        let free =
            self.all.iter().position(|lane| lane.retired && lane.in_flight == 0 && lane.queue.is_empty());
        let index = free.unwrap_or(self.all.len());
        match self.all.get_mut(index) {
            Some(place) => *place = lane,
            None => self.all.push(lane),
        }
        self.sort();
        LaneId(index as u16)
    }

    /// Takes an edited rule; what runs and waits stays.
    pub fn update(&mut self, id: LaneId, rule: Rule) {
        let lane = &mut self.all[usize::from(id.0)];
        lane.limiter.set_rule(rule.limiter);
        lane.rule = rule;
        self.sort();
    }

    /// Removes a lane: what runs finishes, what waits and arrives is shed.
    pub fn retire(&mut self, now: Moment, id: LaneId) {
        let lane = usize::from(id.0);
        self.all[lane].retired = true;
        while let Some(waiter) = self.all[lane].queue.pop_front() {
            self.leave(lane, &waiter);
            self.shed_waiter(now, lane, &waiter, ShedReason::LaneRetired);
        }
    }

    /// One user action at the door.
    pub fn arrive(&mut self, now: Moment, request: Request) -> Arrival {
        let index = usize::from(request.lane.0);
        if self.queued > 0 {
            self.dispatch(now);
        }
        match self.refusal(index, request.tenant) {
            None => Arrival::Admit(self.start(now, index, request.tenant, request.returning, Duration::ZERO)),
            Some(reason @ (ShedReason::LaneFull | ShedReason::PodFull)) => {
                self.queue(now, index, &request, reason)
            }
            Some(reason) => Arrival::Shed(self.shed(now, index, request.tenant, reason)),
        }
    }

    /// What the user action of this permit says about the load; at its first token, at most once.
    pub fn sample(&mut self, permit: &Permit, sample: Sample) {
        self.all[usize::from(permit.lane.0)].limiter.record(permit.admitted, sample);
    }

    /// The user action has ended, however it ended.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is given back once; taking it says so")]
    pub fn release(&mut self, now: Moment, permit: Permit) {
        let lane = &mut self.all[usize::from(permit.lane.0)];
        lane.in_flight = lane.in_flight.saturating_sub(1);
        lane.tenants.end(permit.tenant);
        lane.flow.drained(now);
        let held = now - permit.admitted;
        lane.typical_stream = if lane.typical_stream.is_zero() {
            held
        } else {
            (lane.typical_stream * (STREAM_WEIGHT - 1) + held) / STREAM_WEIGHT
        };
        self.in_flight = self.in_flight.saturating_sub(1);
        self.tenants.end(permit.tenant);
        if self.queued > 0 {
            self.dispatch(now);
        }
    }

    /// The client of a waiting user action has gone. `Some` when it had just been admitted: release that.
    pub fn abandon(&mut self, ticket: Ticket) -> Option<Permit> {
        let lane = usize::from(ticket.lane.0);
        if let Some(at) = self.all[lane].queue.iter().position(|waiter| waiter.serial == ticket.serial) {
            let waiter = self.all[lane].queue.remove(at)?;
            self.leave(lane, &waiter);
            return None;
        }
        let answered =
            |wake: &Wake| matches!(wake, Wake::Admitted(of, _) | Wake::Shed(of, _) if *of == ticket);
        match self.wakes.iter().position(answered).and_then(|at| self.wakes.remove(at))? {
            Wake::Admitted(_, permit) => Some(permit),
            Wake::Shed(..) => None,
        }
    }

    /// Lets time act: limiter windows end, waiters run out of patience, freed places are given away.
    pub fn tick(&mut self, now: Moment) {
        for index in 0..self.all.len() {
            let lane = &mut self.all[index];
            lane.limiter.tick(now, lane.in_flight, lane.typical_stream);
            while let Some(at) = self.all[index].queue.iter().position(|waiter| waiter.until <= now) {
                let Some(waiter) = self.all[index].queue.remove(at) else { break };
                self.leave(index, &waiter);
                self.shed_waiter(now, index, &waiter, ShedReason::QueueTimeout);
            }
        }
        if self.queued > 0 {
            self.dispatch(now);
        }
    }

    /// The next answer to a ticket. Drain it after every other call.
    pub fn next_wake(&mut self) -> Option<Wake> {
        self.wakes.pop_front()
    }

    /// When the next waiter runs out of patience.
    pub fn next_expiry(&self) -> Option<Moment> {
        self.all.iter().flat_map(|lane| &lane.queue).map(|waiter| waiter.until).min()
    }

    /// Running user actions of the pod.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// One lane as metrics see it.
    pub fn view(&self, now: Moment, id: LaneId) -> View {
        let lane = &self.all[usize::from(id.0)];
        View {
            limit: lane.limiter.limit(),
            effective_limit: self.limit(usize::from(id.0)),
            in_flight: lane.in_flight,
            queued: lane.queue.len() as u32,
            shedding: !lane.queue.is_empty() || lane.last_shed.is_some_and(|at| now - at < SHEDDING_FOR),
            warm: lane.limiter.warm(),
        }
    }

    /// The smaller of the adaptive limit and the ceiling, at least 1.
    pub(super) fn limit(&self, index: usize) -> u32 {
        let lane = &self.all[index];
        let ceiling = percent(self.max_in_flight, lane.rule.ceiling_percent.clamp(1, 100));
        lane.limiter.limit().min(ceiling).max(1)
    }

    /// Why one more of this tenant may not run now.
    pub(super) fn refusal(&self, index: usize, tenant: u64) -> Option<ShedReason> {
        let lane = &self.all[index];
        let limit = self.limit(index);
        let weight = lane.rule.weight(tenant);
        let max_share = lane.rule.tenant_max_share_percent.clamp(1, 100);
        if lane.retired {
            Some(ShedReason::LaneRetired)
        } else if lane.rule.deny.contains(&tenant) {
            Some(ShedReason::TenantDenied)
        } else if self.at_pod_share(lane, tenant, weight)
            || lane.tenants.at_share(tenant, weight, limit, lane.in_flight, max_share)
        {
            Some(ShedReason::TenantShare)
        } else if self.in_flight >= self.max_in_flight {
            Some(ShedReason::PodFull)
        } else if lane.in_flight >= limit {
            Some(ShedReason::LaneFull)
        } else {
            None
        }
    }

    /// Whether one more would pass the tenant's share of a pod that is nearly full. What is guaranteed to a lane is its own,
    /// whatever other lanes have borrowed: below that only tenants of the same lane share.
    fn at_pod_share(&self, lane: &Lane, tenant: u64, weight: u32) -> bool {
        let guaranteed = percent(self.max_in_flight, lane.rule.guaranteed_percent);
        if lane.in_flight >= guaranteed {
            return self.tenants.at_share(tenant, 1, self.max_in_flight, self.in_flight, 100);
        }
        near(self.in_flight, self.max_in_flight)
            && lane.tenants.at_share(tenant, weight, guaranteed, lane.in_flight, 100)
    }

    pub(super) fn start(
        &mut self,
        now: Moment,
        index: usize,
        tenant: u64,
        returning: bool,
        waited: Duration,
    ) -> Permit {
        let lane = &mut self.all[index];
        lane.in_flight += 1;
        lane.limiter.in_flight(lane.in_flight);
        lane.tenants.start(tenant, lane.rule.weight(tenant));
        if !returning {
            lane.flow.admitted(now);
        }
        self.in_flight += 1;
        self.tenants.start(tenant, 1);
        Permit { lane: LaneId(index as u16), tenant, admitted: now, waited }
    }

    /// A waiter has left its queue.
    pub(super) fn leave(&mut self, index: usize, waiter: &Waiter) {
        self.all[index].tenants.leave(waiter.tenant);
        self.tenants.leave(waiter.tenant);
        self.queued -= 1;
    }

    fn queue(&mut self, now: Moment, index: usize, request: &Request, full: ShedReason) -> Arrival {
        let limit = self.limit(index);
        let lane = &mut self.all[index];
        let depth = match lane.rule.max_depth_percent {
            0 => 0,
            share => percent(limit, share).max(1),
        };
        let wait = lane.rule.max_wait.min(request.patience);
        if wait.is_zero() || depth == 0 {
            return Arrival::Shed(self.shed(now, index, request.tenant, full));
        }
        if lane.queue.len() >= depth as usize {
            return Arrival::Shed(self.shed(now, index, request.tenant, ShedReason::QueueFull));
        }
        self.serial += 1;
        let (serial, tenant, returning) = (self.serial, request.tenant, request.returning);
        lane.queue.push_back(Waiter { serial, tenant, since: now, until: now + wait, returning });
        lane.tenants.wait(tenant, lane.rule.weight(tenant));
        self.tenants.wait(tenant, 1);
        self.queued += 1;
        Arrival::Queue(Ticket { lane: request.lane, serial })
    }

    fn shed(&mut self, now: Moment, index: usize, tenant: u64, reason: ShedReason) -> Shed {
        let limit = self.limit(index);
        let lane = &mut self.all[index];
        let bounds = (lane.rule.retry_after_min, lane.rule.retry_after_max);
        let spare = lane.flow.spare(now, limit, lane.typical_stream);
        let own = match reason {
            // Neither has a place in anybody's order: one is never admitted, the other finds another lane.
            ShedReason::TenantDenied => Some(client_seconds(bounds.1)),
            ShedReason::LaneRetired => Some(client_seconds(bounds.0)),
            ShedReason::TenantShare => self.tenants.reserve(tenant, now, spare, bounds),
            _ => {
                lane.last_shed = Some(now);
                None
            }
        };
        let retry_after = own.unwrap_or_else(|| lane.reservation.reserve(now, spare, bounds));
        Shed { reason, retry_after }
    }

    fn shed_waiter(&mut self, now: Moment, index: usize, waiter: &Waiter, reason: ShedReason) {
        let ticket = Ticket { lane: LaneId(index as u16), serial: waiter.serial };
        let shed = self.shed(now, index, waiter.tenant, reason);
        self.wakes.push_back(Wake::Shed(ticket, shed));
    }

    fn sort(&mut self) {
        self.order = (0..self.all.len() as u16).collect();
        let lanes = &self.all;
        self.order.sort_by_key(|index| std::cmp::Reverse(lanes[usize::from(*index)].rule.priority));
    }
}

impl Rule {
    /// Weight of a tenant, at least 1.
    fn weight(&self, tenant: u64) -> u32 {
        self.weights.iter().find(|(of, _)| *of == tenant).map_or(1, |(_, weight)| (*weight).max(1))
    }
}

pub(super) fn percent(of: u32, percent: u8) -> u32 {
    (u64::from(of) * u64::from(percent) / 100) as u32
}
