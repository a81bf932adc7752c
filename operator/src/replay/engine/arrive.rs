//! Arrivals: calls are born, come to a pod, pass its lane or are refused, and come again.

use fastrand::Rng;
use hedgerow_policy::{
    budget,
    lane::{Arrival, Request, Shed, Wake},
    time::Moment,
};

use super::{
    Engine,
    action::{Call, Fate},
    measure::{Run, secs},
    queue::{Event, Handle},
};
use crate::replay::model::{
    Model,
    chance::{self, Stream, exponential, seconds},
    traffic::Arrivals,
};

/// Generators of the traffic classes.
pub(super) struct Classes {
    arrivals: Vec<Rng>,
    /// Bursty classes: whether in a burst, and until when.
    bursts: Vec<(bool, f64)>,
    client: Rng,
    /// Calls of each class so far.
    numbers: Vec<u64>,
    /// Questions of each session so far, by class.
    asked: Vec<Vec<u64>>,
}

impl Classes {
    pub(super) fn new(model: &Model, seed: u64) -> Self {
        let of = |class| chance::stream(seed, Stream::Arrivals, class as u64);
        Self {
            arrivals: (0..model.traffic.len()).map(of).collect(),
            bursts: vec![(true, 0.0); model.traffic.len()],
            client: chance::stream(seed, Stream::Client, 0),
            numbers: vec![0; model.traffic.len()],
            asked: vec![Vec::new(); model.traffic.len()],
        }
    }
}

impl Classes {
    /// Number of the next call of a class, or of the next question of one of its sessions.
    fn number(&mut self, class: u16, session: Option<u32>) -> u64 {
        let class = usize::from(class);
        let Some(session) = session else {
            self.numbers[class] += 1;
            return self.numbers[class];
        };
        let asked = &mut self.asked[class];
        let place = session as usize;
        if asked.len() <= place {
            asked.resize(place + 1, 0);
        }
        asked[place] += 1;
        asked[place]
    }
}

impl Engine<'_> {
    pub(super) fn begin_traffic(&mut self) {
        for (class, traffic) in self.model.traffic.iter().enumerate() {
            let from = traffic.span.0;
            match &traffic.arrivals {
                Arrivals::Open { .. } | Arrivals::Bursty { .. } => self.next_arrival(class as u16, from),
                Arrivals::Sessions { count, think } => {
                    for session in 0..*count {
                        // Sessions begin at different points of their thinking.
                        let rng = &mut self.classes.arrivals[class];
                        let at = from + think.draw(rng) * rng.f64() + f64::from(session) * 0.01;
                        self.queue.at(Moment::ZERO + seconds(at), Event::Ask(class as u16, session));
                    }
                }
                Arrivals::Burst { at, count } => {
                    for _ in 0..*count {
                        self.queue.at(Moment::ZERO + seconds(*at), Event::Arrival(class as u16));
                    }
                }
            }
        }
    }

    /// Schedules the next arrival of an open class after `at`.
    fn next_arrival(&mut self, class: u16, at: f64) {
        let place = usize::from(class);
        let traffic = &self.model.traffic[place];
        let rng = &mut self.classes.arrivals[place];
        let mut next = at;
        match &traffic.arrivals {
            // Thinning (Lewis and Shedler 1979): candidates at the largest rate, kept in proportion.
            Arrivals::Open { rate, most } => loop {
                next += exponential(rng, *most);
                if next >= traffic.span.1 || rng.f64() * most <= rate(next) {
                    break;
                }
            },
            Arrivals::Bursty { calm, factor, mean_calm, mean_burst } => {
                let (bursting, until) = &mut self.classes.bursts[place];
                loop {
                    let gap = exponential(rng, if *bursting { calm * factor } else { *calm });
                    if next + gap <= *until {
                        next += gap;
                        break;
                    }
                    next = next.max(*until);
                    *bursting = !*bursting;
                    let mean: f64 = if *bursting { *mean_burst } else { *mean_calm };
                    *until = next + exponential(rng, 1.0 / mean.max(0.001));
                }
            }
            Arrivals::Sessions { .. } | Arrivals::Burst { .. } => return,
        }
        if next < traffic.span.1 {
            self.queue.at(Moment::ZERO + seconds(next), Event::Arrival(class));
        }
    }

    pub(super) fn arrival(&mut self, class: u16) {
        if !matches!(self.model.traffic[usize::from(class)].arrivals, Arrivals::Burst { .. }) {
            self.next_arrival(class, secs(self.now));
        }
        let call = self.call(class, None);
        self.try_call(call);
    }

    pub(super) fn ask(&mut self, class: u16, session: u32) {
        if secs(self.now) >= self.model.traffic[usize::from(class)].span.1 {
            return;
        }
        let call = self.call(class, Some(session));
        self.try_call(call);
    }

    fn call(&mut self, class: u16, session: Option<u32>) -> u32 {
        let traffic = &self.model.traffic[usize::from(class)];
        let own = self.classes.number(class, session);
        // By class and session: what one arm does to one client must not shift the draws of the others.
        let number =
            (u64::from(class) << 48) | (session.map_or(0, |session| u64::from(session) + 1) << 32) | own;
        let tenant = match traffic.tenants {
            0 => traffic.first_tenant,
            tenants => traffic.first_tenant + self.classes.arrivals[usize::from(class)].u64(0..tenants),
        };
        let affinity = match (traffic.warm > 0.0, session) {
            (false, _) => 0,
            (true, Some(session)) => u64::from(session) + 1,
            // A conversation asks about eight times.
            (true, None) => own / 8 + 1,
        };
        let call = Call { number, class, session, born: self.now, retries: 0, tenant, affinity };
        self.run.add(self.now, class, |sums| sums.calls += 1);
        if let Some(place) = self.free_calls.pop() {
            self.calls[place as usize] = call;
            return place;
        }
        self.calls.push(call);
        (self.calls.len() - 1) as u32
    }

    /// A call comes to a pod.
    pub(super) fn try_call(&mut self, place: u32) {
        let (now, call) = (self.now, self.calls[place as usize]);
        let traffic = &self.model.traffic[usize::from(call.class)];
        Run::tick(&mut self.run.tries, now);
        self.run.add(call.born, call.class, |sums| sums.tries += 1);
        if self.live.is_empty() {
            self.refused(place, Fate::Failure);
            return;
        }
        let index = self.live[(call.number + u64::from(call.retries)) as usize % self.live.len()];
        let handle = self.actions.add(place, index);
        let pod = &mut self.pods[usize::from(index)];
        if let Some(cohort) = traffic.cohort {
            pod.cohorts[cohort].returning.arrived(now, call.retries > 0);
        }
        let request = Request {
            lane: pod.lane_ids[traffic.lane.min(pod.lane_ids.len() - 1)],
            tenant: call.tenant,
            returning: call.retries > 0,
            patience: self.terms.deadline,
        };
        match pod.lanes.arrive(now, request) {
            Arrival::Admit(permit) => {
                if let Some(action) = self.actions.get(handle) {
                    action.permit = Some(permit);
                }
                self.admitted(handle);
            }
            Arrival::Queue(ticket) => {
                pod.waiting.push((ticket, handle));
                if let Some(action) = self.actions.get(handle) {
                    action.ticket = Some(ticket);
                }
            }
            Arrival::Shed(shed) => self.shed(handle, shed),
        }
        self.wake(index);
    }

    /// Answers to those who wait.
    pub(super) fn wake(&mut self, index: u16) {
        while let Some(wake) = self.pods[usize::from(index)].lanes.next_wake() {
            let waiting = &mut self.pods[usize::from(index)].waiting;
            let ticket = match &wake {
                Wake::Admitted(ticket, _) | Wake::Shed(ticket, _) => *ticket,
            };
            let Some(at) = waiting.iter().position(|(of, _)| *of == ticket) else { continue };
            let (_, handle) = waiting.remove(at);
            match wake {
                Wake::Admitted(_, permit) => {
                    if let Some(action) = self.actions.get(handle) {
                        action.permit = Some(permit);
                        action.ticket = None;
                    }
                    self.admitted(handle);
                }
                Wake::Shed(_, shed) => self.shed(handle, shed),
            }
        }
    }

    fn shed(&mut self, handle: Handle, shed: Shed) {
        let second = self.now.as_secs();
        if self.refused_lately.0 != second {
            self.refused_lately = (second, 0);
        }
        self.refused_lately.1 += 1;
        let named = f64::from(shed.retry_after);
        let hint = self.arm.retry_after.map_or(named, |rule| rule(secs(self.now), self.refused_lately.1));
        let Some(action) = self.actions.get(handle) else { return };
        let call = action.call;
        self.actions.end(handle);
        self.refused(call, Fate::Refusal(Some(hint)));
    }

    /// A try ended without an answer: the client comes again, or gives up.
    pub(super) fn refused(&mut self, place: u32, fate: Fate) {
        let call = &mut self.calls[place as usize];
        let traffic = &self.model.traffic[usize::from(call.class)];
        let hint = match fate {
            Fate::Refusal(hint) => hint,
            Fate::Failure | Fate::Answer => None,
        };
        let (born, class) = (call.born, call.class);
        self.run.add(born, class, |sums| sums.refusals += 1);
        if let Some(wait) = traffic.sdk.wait(call.retries, hint, self.classes.client.f64()) {
            call.retries += 1;
            self.queue.at(self.now + seconds(wait), Event::Again(place));
            return;
        }
        let refusal = matches!(fate, Fate::Refusal(_));
        self.run.add(born, class, |sums| *if refusal { &mut sums.shed } else { &mut sums.failed } += 1);
        self.call_ends(place);
    }

    /// A call is over: its session thinks and asks again.
    pub(super) fn call_ends(&mut self, place: u32) {
        let call = self.calls[place as usize];
        self.free_calls.push(place);
        let traffic = &self.model.traffic[usize::from(call.class)];
        if let (Some(session), Arrivals::Sessions { think, .. }) = (call.session, &traffic.arrivals) {
            let mut rng = chance::stream(self.seed, Stream::Later, call.number ^ (1 << 63));
            self.queue.at(self.now + seconds(think.draw(&mut rng)), Event::Ask(call.class, session));
        }
    }

    /// A user action has its place in the lane.
    pub(super) fn admitted(&mut self, handle: Handle) {
        let now = self.now;
        let Some(action) = self.actions.get(handle) else { return };
        action.started = now;
        let (call, pod) = (action.call, action.pod);
        if self.calls[call as usize].retries == 0 {
            let pod = &mut self.pods[usize::from(pod)];
            budget::deposit(&pod.budgets.0, &pod.budgets.1, now);
            if let Some(rival) = &mut pod.rival {
                rival.original(now);
            }
        }
        self.begin_race(handle);
    }
}
