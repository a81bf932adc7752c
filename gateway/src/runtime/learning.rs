//! Delays learnt from latency cells.
//!
//! Inputs: cumulative samples of all cells and ages of attempts in flight. Outputs: a new [`Learnt`] in each cell.
//! Memory decays every 30 s (`policy::latency::TICK`, half-life 58 s). Delays and thinning are recomputed every second from that
//! memory plus the samples since: a deviation from the 30 s of the specification, so that a cold cell gets its first
//! delay as soon as it has samples, and a route that turns slow is thinned at once instead of hedging everything for 30 s; the 25 % bound on steps still counts from the delay at the last 30 s tick, so an established
//! delay moves no faster than specified.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use hedgerow_policy::{
    delay,
    latency::{Counts, Curve, Decayed, Quantile},
    time::Moment,
};

use super::{
    Runtime,
    cell::{CellId, CellRuntime, Learnt},
    cohort::CohortRuntime,
    fleet::FleetView,
    snapshot::Snapshot,
};

/// Effective samples below which a delay is not yet the base of the 25 % bound.
const ESTABLISHED: f64 = 100.0;
/// Upward leak of a cell's baseline per second: 1 % in 30 s, so a doubling takes 35 min and an incident does not become
/// normal.
const LEAK: f64 = 1.000_332;
/// Own samples from which a cell's median says what is normal: as many as a breaker wants for a verdict.
const KNOWN: f64 = 20.0;
/// Weight of the fleet's samples in a cell that has none (research: warm start).
const WARM_WEIGHT: f64 = 0.5;

/// What one pass over a cell found.
struct Reading {
    cell: Arc<CellRuntime>,
    primary: Decayed,
    hedge: Decayed,
    ages: Vec<Duration>,
}

/// Recomputes all cells; `decay` = 30 s have passed since the last decay.
pub fn learn(runtime: &Runtime, decay: bool) {
    let Some(snapshot) = runtime.snapshot() else { return };
    let (now, fleet) = (runtime.clock.now(), runtime.fleet());
    let readings: Vec<_> =
        runtime.cells.all().into_iter().map(|cell| read(cell, now, decay, &fleet)).collect();
    let parents = Parents::of(&readings);
    let curves: HashMap<CellId, Curve> =
        readings.iter().filter_map(|reading| Some((reading.cell.id, parents.curve(reading)?))).collect();
    for reading in &readings {
        let cohort = snapshot.cohorts.iter().find(|cohort| cohort.id == reading.cell.id.cohort);
        let alternate = best_alternate(&snapshot, cohort, reading.cell.id, &curves, now);
        publish(reading, cohort.map(Arc::as_ref), curves.get(&reading.cell.id), alternate, decay);
    }
    runtime.cells.retain(|cell| {
        let known = |id: u16| id == 0 || snapshot.cohorts.iter().any(|cohort| cohort.id == id);
        known(cell.id.cohort) && snapshot.routes.iter().any(|route| route.state.id == cell.id.route)
    });
}

/// Takes the deltas of one cell.
fn read(cell: Arc<CellRuntime>, now: Moment, decay: bool, fleet: &FleetView) -> Reading {
    let ages = cell.ages(now);
    let mut memory = cell.memory.lock().unwrap_or_else(PoisonError::into_inner);
    if memory.primary_seen.total() == 0
        && memory.primary.samples() == 0.0
        && let Some(counts) = fleet.warm(&cell.key, &cell.identity)
    {
        memory.primary.add(&counts, WARM_WEIGHT);
    }
    let (primary, hedge) = (cell.primary.counts(), cell.hedge.counts());
    let primary_delta = primary.delta_since(&memory.primary_seen).unwrap_or_default();
    let hedge_delta = hedge.delta_since(&memory.hedge_seen).unwrap_or_default();
    let with = |memory: &Decayed, delta: &Counts| {
        let mut sum = memory.clone();
        sum.add(delta, 1.0);
        sum
    };
    let reading = (with(&memory.primary, &primary_delta), with(&memory.hedge, &hedge_delta));
    if decay {
        memory.primary.tick(&primary_delta);
        memory.hedge.tick(&hedge_delta);
        memory.primary_seen = primary;
        memory.hedge_seen = hedge;
    }
    drop(memory);
    Reading { cell, primary: reading.0, hedge: reading.1, ages }
}

/// Sums from which cells with few samples borrow.
struct Parents {
    route_and_model: HashMap<(u16, u16, bool), Decayed>,
    route: HashMap<(u16, bool), Decayed>,
    cohort: HashMap<(u16, bool), Decayed>,
}

impl Parents {
    fn of(readings: &[Reading]) -> Self {
        let mut sums =
            Self { route_and_model: HashMap::new(), route: HashMap::new(), cohort: HashMap::new() };
        for reading in readings {
            let id = reading.cell.id;
            let own = &reading.primary;
            sums.route_and_model.entry((id.route, id.model, id.stream)).or_default().merge(own, 1.0);
            sums.route.entry((id.route, id.stream)).or_default().merge(own, 1.0);
            sums.cohort.entry((id.cohort, id.stream)).or_default().merge(own, 1.0);
        }
        sums
    }

    /// The cell's curve, filled up from its parents; `None` when nobody has a sample.
    fn curve(&self, reading: &Reading) -> Option<Curve> {
        let id = reading.cell.id;
        let levels: Vec<&Decayed> = [
            Some(&reading.primary),
            self.route_and_model.get(&(id.route, id.model, id.stream)),
            self.route.get(&(id.route, id.stream)),
            self.cohort.get(&(id.cohort, id.stream)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let curve = Curve::blended(&levels, &reading.ages);
        (curve.effective_samples() > 0.0).then_some(curve)
    }
}

/// The curve of the alternate with the smallest p95: same cohort, model, streaming and band on a usable route of another
/// failure domain and the same data boundary.
fn best_alternate<'a>(
    snapshot: &Snapshot,
    cohort: Option<&Arc<CohortRuntime>>,
    id: CellId,
    curves: &'a HashMap<CellId, Curve>,
    now: Moment,
) -> Option<&'a Curve> {
    let own = snapshot.routes.iter().find(|route| route.state.id == id.route)?;
    snapshot
        .routes
        .iter()
        .filter(|route| {
            route.config.failure_domain != own.config.failure_domain
                && route.config.data_boundary == own.config.data_boundary
                && !route.config.suspend
                && cohort.is_none_or(|cohort| {
                    super::cohort::allows_hedge_to(&cohort.config.hedge_to, &route.config.failure_domain)
                })
                && route.state.breaker(|breaker| breaker.usable(now)).is_ok()
        })
        .filter_map(|route| curves.get(&CellId { route: route.state.id, ..id }))
        .filter_map(|curve| Some((curve, curve.quantile(0.95)?.bound())))
        .min_by_key(|(_, p95)| *p95)
        .map(|(curve, _)| curve)
}

fn publish(
    reading: &Reading,
    cohort: Option<&CohortRuntime>,
    curve: Option<&Curve>,
    alternate: Option<&Curve>,
    decay: bool,
) {
    let cell = &reading.cell;
    let Some(curve) = curve else { return };
    let mut memory = cell.memory.lock().unwrap_or_else(PoisonError::into_inner);
    let fallback = delay::Rule { streaming: cell.id.stream, ..delay::Rule::default() };
    let rule = cohort.map_or(&fallback, |cohort| cohort.delay_rule(cell.id.stream));
    let inputs = delay::Inputs { primary: Some(curve), alternate, previous: memory.previous, baseline: None };
    let plan = delay::plan(rule, &inputs);
    let p50 = curve.quantile(0.5).map(Quantile::bound);
    let own_samples = reading.primary.samples();
    if decay && own_samples >= ESTABLISHED {
        memory.previous = Some(plan.delay);
    }
    memory.baseline = match (memory.baseline, p50.filter(|_| own_samples >= KNOWN)) {
        (Some(before), Some(now)) => Some(before.mul_f64(LEAK).min(now)),
        (before, now) => before.or(now),
    };
    let expected = memory.baseline;
    let hedge_curve = (reading.hedge.samples() > 0.0).then(|| Curve::new(&reading.hedge, &[]));
    let outputs = Curve::new(&Decayed::from(&cell.output.counts()), &[]);
    cell.learnt.store(Some(Arc::new(Learnt {
        plan,
        p50,
        p95: curve.quantile(0.95).map(Quantile::bound),
        curve: curve.clone(),
        hedge_curve,
        expected,
        output_p95: outputs
            .quantile(0.95)
            .map(|tokens| u64::try_from(tokens.bound().as_millis()).unwrap_or(u64::MAX)),
    })));
}
