//! The discrete-event engine: virtual time, one run of one arm under one seed.
//!
//! Inputs: a model, an arm, a seed. Output: a [`Run`]. The shell around `hedgerow_policy` and `domain::guardrail` that the
//! gateway and the controller are in real time; it decides nothing that they decide. Steps of a user action are those of
//! ARCHITECTURE.md: lane, plan, race, settle.
//!
//! Invariants: a run is a function of (model, arm, seed), byte for byte; at most two attempts of a user action are in
//! flight; exactly one commits; what was taken (permits, breaker passes, places) is given back by the end of the run.
//!
//! Refuses: to read a clock, to use threads (runs are independent; the caller may run many), to log.

mod action;
mod arrive;
mod cell;
mod hedge;
mod measure;
mod plan;
mod pod;
mod queue;
mod race;
mod settle;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use hedgerow_policy::{
    latency::{self, Curve, Decayed, Quantile},
    limiter::Warm,
    time::Moment,
};

use self::{
    action::{Actions, Call},
    arrive::Classes,
    pod::Pod,
    queue::{Event, Queue},
};
use super::model::{
    Arm, Hedging, Model,
    chance::seconds,
    provider::Serving,
    terms::{self, Terms},
};
pub use measure::{Frame, Run, Sample, Sums, Turn};
pub use pod::{cohort_name, count, report};
pub use watch::{INTERVAL, Watch};

/// Lanes tick this often, and this often while somebody waits; as in the gateway.
const LANES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(50));
/// Interval of frames.
const FRAME: u64 = 10;

/// One run in progress.
pub struct Engine<'a> {
    model: &'a Model,
    arm: &'a Arm,
    terms: Terms,
    seed: u64,
    now: Moment,
    queue: Queue,
    providers: Vec<Serving>,
    pods: Vec<Pod>,
    live: Vec<u16>,
    actions: Actions,
    calls: Vec<Call>,
    free_calls: Vec<u32>,
    classes: Classes,
    watch: Watch,
    run: Run,
    last_decay: Moment,
    /// Lane means as the operator last saw them.
    means: Vec<Warm>,
    refused_lately: (u64, u32),
}

/// Runs an arm in a model under a seed.
pub fn run(model: &Model, arm: &Arm, seed: u64) -> Run {
    let mut engine = Engine::new(model, arm, seed);
    engine.start();
    let end = Moment::ZERO + seconds(model.seconds);
    while let Some((at, event)) = engine.queue.next() {
        if at > end {
            break;
        }
        engine.now = at;
        engine.run.events += 1;
        engine.happen(event);
    }
    engine.finish()
}

impl<'a> Engine<'a> {
    fn new(model: &'a Model, arm: &'a Arm, seed: u64) -> Self {
        let spec = match &arm.hedging {
            Hedging::Policy(spec) => spec.clone(),
            // Retries, budgets and deadlines of everybody else are those of the defaults.
            Hedging::Rival(_) => Arc::new(terms::policy(&serde_json::json!({ "mode": "Disabled" }))),
        };
        Self {
            model,
            arm,
            terms: Terms::of(&spec),
            seed,
            now: Moment::ZERO,
            queue: Queue::default(),
            providers: model.providers.iter().cloned().map(Serving::new).collect(),
            pods: Vec::new(),
            live: Vec::new(),
            actions: Actions::default(),
            calls: Vec::new(),
            free_calls: Vec::new(),
            classes: Classes::new(model, seed),
            watch: Watch::new(spec, model.cohorts),
            run: Run::new(model),
            last_decay: Moment::ZERO,
            means: Vec::new(),
            refused_lately: (0, 0),
        }
    }

    fn start(&mut self) {
        for (index, (from, until)) in self.model.pods.iter().enumerate() {
            self.queue.at(Moment::ZERO + seconds(*from), Event::Up(index as u16));
            if until.is_finite() {
                self.queue.at(Moment::ZERO + seconds(*until), Event::Down(index as u16));
            }
        }
        self.begin_traffic();
        self.queue.at(Moment::from_secs(1), Event::Second);
        self.queue.at(Moment::from_secs(1), Event::Scrape);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival(class) => self.arrival(class),
            Event::Ask(class, session) => self.ask(class, session),
            Event::Again(call) => self.try_call(call),
            Event::First(handle, number) => self.first_token(handle, number),
            Event::Fail(handle, number) => self.leg_fails(handle, number),
            Event::Fire(handle) => self.fire(handle),
            Event::Retry(handle) => self.retry_now(handle),
            Event::End(handle) => self.answer_ends(handle),
            Event::Gone(provider) => self.providers[usize::from(provider)].end(),
            Event::Lanes(pod) => self.tick_lanes(pod),
            Event::Second => self.second(),
            Event::Scrape => self.scrape(),
            Event::Apply => self.apply(),
            Event::Up(pod) => self.up(pod),
            Event::Down(pod) => self.down(pod),
        }
    }

    fn up(&mut self, index: u16) {
        let warm = (self.model.warm_start && !self.means.is_empty()).then_some(self.means.as_slice());
        let pod = Pod::new(self.model, self.arm, &self.terms, usize::from(index), self.seed, self.now, warm);
        // Pods come in the order of their numbers: see `Model::pods`.
        self.pods.push(pod);
        self.replicas_changed();
        self.queue.at(self.now + LANES.0, Event::Lanes(index));
    }

    fn down(&mut self, index: u16) {
        if let Some(pod) = self.pods.get_mut(usize::from(index)) {
            pod.live = false;
            pod.draining = true;
        }
        self.replicas_changed();
    }

    fn replicas_changed(&mut self) {
        self.live = (0..self.pods.len() as u16).filter(|index| self.pods[usize::from(*index)].live).collect();
        let replicas = self.live.len() as u32;
        for pod in &mut self.pods {
            pod.share(&self.terms, replicas);
        }
    }

    fn tick_lanes(&mut self, index: u16) {
        let now = self.now;
        let pod = &mut self.pods[usize::from(index)];
        pod.lanes.tick(now);
        let wait = if pod.lanes.next_expiry().is_some() { LANES.1 } else { LANES.0 };
        self.queue.at(now + wait, Event::Lanes(index));
        self.wake(index);
    }

    fn second(&mut self) {
        let decay = self.now - self.last_decay >= latency::TICK;
        if decay {
            self.last_decay = self.now;
        }
        for (index, pod) in self.pods.iter_mut().enumerate().filter(|(_, pod)| pod.live) {
            pod.second(&self.terms, self.now, decay);
            for (route, (seen, breaker)) in pod.seen.iter_mut().zip(&pod.breakers).enumerate() {
                let state = breaker.state(self.now);
                if state != *seen {
                    *seen = state;
                    let at = measure::secs(self.now);
                    self.run.breakers.push((at, index as u16, route as u8, state.as_str()));
                }
            }
        }
        if self.now.as_secs().is_multiple_of(FRAME) {
            self.frame();
        }
        self.queue.at(self.now + Duration::from_secs(1), Event::Second);
    }

    fn frame(&mut self) {
        let lanes = self.arm.lanes(self.model).len();
        let mut frame = Frame {
            at: measure::secs(self.now),
            limits: vec![0; lanes],
            in_flight: vec![0; lanes],
            in_service: self.providers.iter().map(|provider| provider.in_service).collect(),
            received: self.providers.iter().map(|provider| provider.attempts).collect(),
            state: self.watch.state(0),
            delay: self.mean_delay(),
            by_pod: Vec::with_capacity(self.pods.len()),
        };
        for pod in &self.pods {
            for (lane, id) in pod.lane_ids.iter().enumerate() {
                let view = pod.lanes.view(self.now, *id);
                frame.in_flight[lane] += view.in_flight;
                if pod.live {
                    frame.limits[lane] += view.limit;
                }
                if lane == 0 {
                    frame.by_pod.push(if pod.live { view.limit } else { 0 });
                }
            }
        }
        self.run.frames.push(frame);
    }

    fn mean_delay(&self) -> f64 {
        let cells = self.pods.iter().filter(|pod| pod.live).flat_map(|pod| {
            let first = pod.cell(Some(0), 0).min(pod.cells.len());
            &pod.cells[first..(first + pod.breakers.len()).min(pod.cells.len())]
        });
        let delays =
            cells.filter_map(|cell| cell.learnt.as_ref()).map(|learnt| learnt.plan.delay.as_secs_f64());
        let (sum, count) = delays.fold((0.0, 0.0), |(sum, count), delay| (sum + delay, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// As the operator estimates it (`scrape::curve`): one curve per route over all pods, mixed by use. Without decay.
    fn alone_p99(&self) -> (f64, f64, f64) {
        let curve = |route: usize| {
            let mut sum = Decayed::new();
            let mut ages = Vec::new();
            for pod in &self.pods {
                if let Some(cell) = pod.cells.get(pod.cell(Some(0), route as u8)) {
                    sum.add(&cell.primary, 1.0);
                    ages.extend(cell.ages(self.now));
                }
            }
            Curve::new(&sum, &ages)
        };
        let curves: Vec<Curve> = (0..self.providers.len()).map(curve).collect();
        let parts: Vec<(f64, &Curve)> =
            curves.iter().map(|curve| (curve.effective_samples(), curve)).collect();
        let at = |quantile: Quantile| quantile.bound().as_secs_f64();
        Curve::mixed(&parts).interval(0.99).map_or((f64::NAN, f64::NAN, f64::NAN), |interval| {
            (at(interval.low), at(interval.at), at(interval.high))
        })
    }

    fn finish(mut self) -> Run {
        self.run.alone_p99 = self.alone_p99();
        self.run.unfinished = self.actions.alive() as u64;
        let held: u64 = self.pods.iter().map(|pod| u64::from(pod.lanes.in_flight())).sum();
        let waiting: u64 = self.pods.iter().map(|pod| pod.waiting.len() as u64).sum();
        self.run.leaks = held.abs_diff(self.run.unfinished - waiting.min(self.run.unfinished));
        self.run.peaks = self.providers.iter().map(|provider| provider.peak).collect();
        self.run
    }
}
