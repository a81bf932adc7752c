//! Delays learnt from latency cells: `policy::learning` over all cells of the pod.
//!
//! Inputs: cumulative samples of all cells and ages of attempts in flight. Outputs: a new [`Learnt`] in each cell. Every
//! second; the specification's 30 s are the decay.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use hedgerow_policy::{
    delay,
    latency::{Curve, Decayed},
    learning::{Parents, Reading},
    time::Moment,
};

use super::{
    Runtime,
    cell::{CellId, CellRuntime, Learnt},
    cohort::CohortRuntime,
    fleet::FleetView,
    snapshot::Snapshot,
};

/// Recomputes all cells; `decay` = 30 s have passed since the last decay.
pub fn learn(runtime: &Runtime, decay: bool) {
    let Some(snapshot) = runtime.snapshot() else { return };
    let (now, fleet) = (runtime.clock.now(), runtime.fleet());
    let readings: Vec<_> = runtime
        .cells
        .all()
        .into_iter()
        .map(|cell| {
            let reading = read(&cell, now, decay, &fleet);
            (cell, reading)
        })
        .collect();
    let parents = Parents::of(readings.iter().map(|(_, reading)| reading));
    let curves: HashMap<CellId, Curve> =
        readings.iter().filter_map(|(cell, reading)| Some((cell.id, parents.curve(reading)?))).collect();
    let slow: Vec<u16> = snapshot
        .routes
        .iter()
        .filter(|route| route.state.breaker(|breaker| breaker.is_slow()))
        .map(|route| route.state.id)
        .collect();
    for (cell, reading) in &readings {
        let cohort = snapshot.cohorts.iter().find(|cohort| cohort.id == cell.id.cohort);
        let alternate = best_alternate(&snapshot, cohort, cell.id, &curves, now);
        let curves = (curves.get(&cell.id), alternate);
        publish(cell, reading, cohort.map(Arc::as_ref), curves, decay, slow.contains(&cell.id.route));
    }
    runtime.cells.retain(|cell| {
        let known = |id: u16| id == 0 || snapshot.cohorts.iter().any(|cohort| cohort.id == id);
        known(cell.id.cohort) && snapshot.routes.iter().any(|route| route.state.id == cell.id.route)
    });
}

/// Takes the deltas of one cell.
fn read(cell: &CellRuntime, now: Moment, decay: bool, fleet: &FleetView) -> Reading {
    let ages = cell.ages(now);
    let mut memory = cell.memory.lock().unwrap_or_else(PoisonError::into_inner);
    if memory.is_cold()
        && let Some(counts) = fleet.warm(&cell.key, &cell.identity)
    {
        memory.warm(&counts);
    }
    memory.read(cell.id, cell.counted(), ages, decay)
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

/// `curves`: the cell's own and its best alternate's.
fn publish(
    cell: &CellRuntime,
    reading: &Reading,
    cohort: Option<&CohortRuntime>,
    curves: (Option<&Curve>, Option<&Curve>),
    decay: bool,
    route_is_slow: bool,
) {
    let (Some(curve), alternate) = curves else { return };
    let fallback = delay::Rule { streaming: cell.id.stream, ..delay::Rule::default() };
    let rule = cohort.map_or(&fallback, |cohort| cohort.delay_rule(cell.id.stream));
    let mut memory = cell.memory.lock().unwrap_or_else(PoisonError::into_inner);
    let learnt = memory.learn(reading, rule, curve, alternate, decay, route_is_slow);
    let outputs = cell.output.counts();
    let tokens = |of: Duration| u64::try_from(of.as_millis()).unwrap_or(u64::MAX);
    let output_mean = outputs.mean().map(tokens);
    let curve = Curve::new(&Decayed::from(&outputs), &[]);
    let output_p95 = curve.quantile(0.95).map(|quantile| tokens(quantile.bound()));
    cell.learnt.store(Some(Arc::new(Learnt { output_p95, output_mean, ..learnt })));
}
