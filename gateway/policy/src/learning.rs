//! What a pod learns from its latency cells: curves, delays, what is normal.
//!
//! A cell is cohort x route x model x streaming x input band. Inputs: cumulative samples of all cells ([`Counts`]) and ages
//! of attempts in flight. Outputs: a [`Learnt`] per cell. Flow, once a second: [`Memory::read`] of every cell -> [`Parents::of`]
//! -> [`Parents::curve`] -> [`Memory::learn`].
//!
//! Memory decays every 30 s ([`crate::latency::TICK`]); between two decays the samples since the last count in full, so a cold
//! cell has its first delay as soon as it has samples and a route that turns slow is thinned at once. The 25 % bound on
//! steps counts from the delay at the last decay, so an established delay moves no faster than specified.
//!
//! Refuses: to choose the alternate; which routes may be used is the caller's knowledge.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    delay,
    experience::{Experience, Races},
    latency::{Counts, Curve, Decayed, Quantile, win_probability},
};

/// Effective samples below which a delay is not yet the base of the 25 % bound.
const ESTABLISHED: f64 = 100.0;
/// Upward leak of a cell's baseline per second: 1 % in 30 s, so a doubling takes 35 min and an incident does not become
/// normal.
const LEAK: f64 = 1.000_332;
/// Seconds after which what is normal outlives the route's ejection: twice what an ejection takes to come.
const SETTLED: u32 = 60;
/// Own samples from which a cell's median says what is normal: as many as a breaker wants for a verdict.
const KNOWN: f64 = 20.0;
/// Weight of the fleet's samples in a cell that has none (research: warm start).
const WARM_WEIGHT: f64 = 0.5;
/// Samples below which a hedge curve says less than the cell's own.
const HEDGE_SAMPLES: f64 = 20.0;

/// Short form of a cell's name: numbers that are unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId {
    /// Cohort; 0 = no cohort.
    pub cohort: u16,
    /// Route.
    pub route: u16,
    /// Model.
    pub model: u16,
    /// Streaming.
    pub stream: bool,
    /// Input band.
    pub band: u8,
}

/// What is remembered of a cell between two looks.
#[derive(Debug, Default)]
pub struct Memory {
    /// Cumulative counts of primaries at the last decay.
    primary_seen: Counts,
    /// Cumulative counts of hedges at the last decay.
    hedge_seen: Counts,
    primary: Decayed,
    hedge: Decayed,
    /// Cumulative races at the last decay.
    races_seen: Races,
    experience: Experience,
    /// Delay in force at the last decay, the base of the 25 % bound; `None` until learnt from enough samples.
    previous: Option<Duration>,
    normal: Normal,
}

/// What a cell takes for normal: the running minimum of its median, leaking upwards.
#[derive(Clone, Copy, Debug, Default)]
struct Normal {
    first_token: Option<Duration>,
    /// Seconds for which it has been known.
    age: u32,
}

impl Normal {
    /// One look, a second after the one before. A cell that began when its route was already slow has never seen it
    /// otherwise: its calls would vote the route back to full weight. So nothing is normal that was learnt within a minute of
    /// the route's ejection, and nothing is learnt until it is back.
    fn look(&mut self, median: Option<Duration>, route_is_slow: bool) {
        if route_is_slow && self.age < SETTLED {
            *self = Self::default();
            return;
        }
        self.age = self.age.saturating_add(u32::from(self.first_token.is_some()));
        self.first_token = match (self.first_token, median) {
            (Some(before), Some(now)) => Some(before.mul_f64(LEAK).min(now)),
            (before, now) => before.or(now),
        };
    }
}

/// What one look at a cell found.
#[derive(Debug)]
pub struct Reading {
    /// Which cell.
    pub id: CellId,
    /// Samples of primaries, the decayed ones and those since.
    primary: Decayed,
    hedge: Decayed,
    experience: Experience,
    ages: Vec<Duration>,
}

/// What a cell has counted since it began.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// First tokens of primaries.
    pub primary: Counts,
    /// First tokens of hedges.
    pub hedge: Counts,
    /// What became of the hedges.
    pub races: Races,
}

/// What a cell has learnt.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// Delay and thinning.
    pub plan: delay::Plan,
    /// Curve of primaries, blended with its parents.
    pub curve: Curve,
    /// Curve of hedges sent to this cell, if there are samples.
    pub hedge_curve: Option<Curve>,
    /// Samples of primaries of its own.
    pub own_samples: f64,
    /// What became of hedges sent to this cell.
    pub experience: Experience,
    /// Median first token.
    pub p50: Option<Duration>,
    /// 95th percentile of the first token, or the longest seen.
    pub p95: Option<Duration>,
    /// What is normal for this cell: the base of "slow" and of congestion.
    pub expected: Option<Duration>,
    /// 95th percentile of output tokens.
    pub output_p95: Option<u64>,
    /// Mean of the output tokens.
    pub output_mean: Option<u64>,
}

impl Memory {
    /// Whether nothing was ever recorded.
    pub fn is_cold(&self) -> bool {
        self.primary_seen.total() == 0 && self.primary.samples() == 0.0
    }

    /// Takes over what the fleet knows of a cell, at half weight.
    pub fn warm(&mut self, counts: &Counts) {
        self.primary.add(counts, WARM_WEIGHT);
    }

    /// One look at cumulative counts; `decay` = 30 s have passed since the last decay.
    pub fn read(&mut self, id: CellId, counted: Counted, ages: Vec<Duration>, decay: bool) -> Reading {
        let Counted { primary, hedge, races } = counted;
        let primary_delta = primary.delta_since(&self.primary_seen).unwrap_or_default();
        let hedge_delta = hedge.delta_since(&self.hedge_seen).unwrap_or_default();
        let with = |memory: &Decayed, delta: &Counts| {
            let mut sum = memory.clone();
            sum.add(delta, 1.0);
            sum
        };
        let sums = (with(&self.primary, &primary_delta), with(&self.hedge, &hedge_delta));
        let experience = self.experience.with(races - self.races_seen);
        if decay {
            (self.experience, self.races_seen) = (experience.aged(), races);
            self.primary.tick(&primary_delta);
            self.hedge.tick(&hedge_delta);
            self.primary_seen = primary;
            self.hedge_seen = hedge;
        }
        Reading { id, primary: sums.0, hedge: sums.1, experience, ages }
    }

    /// Delay, thinning and what is normal, from the cell's curve and that of its best alternate. `route_is_slow`: the route
    /// has lost weight for being slow.
    pub fn learn(
        &mut self,
        reading: &Reading,
        rule: &delay::Rule,
        curve: &Curve,
        alternate: Option<&Curve>,
        decay: bool,
        route_is_slow: bool,
    ) -> Learnt {
        let inputs =
            delay::Inputs { primary: Some(curve), alternate, previous: self.previous, baseline: None };
        let plan = delay::plan(rule, &inputs);
        let p50 = curve.quantile(0.5).map(Quantile::bound);
        let own_samples = reading.primary.samples();
        if decay && own_samples >= ESTABLISHED {
            self.previous = Some(plan.delay);
        }
        self.normal.look(p50.filter(|_| own_samples >= KNOWN), route_is_slow);
        Learnt {
            plan,
            p50,
            p95: curve.quantile(0.95).map(Quantile::bound),
            curve: curve.clone(),
            hedge_curve: (reading.hedge.samples() > 0.0).then(|| Curve::new(&reading.hedge, &[])),
            own_samples,
            experience: reading.experience,
            expected: self.normal.first_token,
            output_p95: None,
            output_mean: None,
        }
    }
}

/// Sums from which cells with few samples borrow.
#[derive(Debug, Default)]
pub struct Parents {
    route_and_model: BTreeMap<(u16, u16, bool), Decayed>,
    route: BTreeMap<(u16, bool), Decayed>,
    cohort: BTreeMap<(u16, bool), Decayed>,
}

impl Parents {
    /// Adds up the cells of a pod.
    pub fn of<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Self {
        let mut sums = Self::default();
        for reading in readings {
            let id = reading.id;
            let own = &reading.primary;
            sums.route_and_model.entry((id.route, id.model, id.stream)).or_default().merge(own, 1.0);
            sums.route.entry((id.route, id.stream)).or_default().merge(own, 1.0);
            sums.cohort.entry((id.cohort, id.stream)).or_default().merge(own, 1.0);
        }
        sums
    }

    /// The cell's curve, filled up from its parents; `None` when nobody has a sample.
    pub fn curve(&self, reading: &Reading) -> Option<Curve> {
        let id = reading.id;
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

/// P(a hedge's answer comes before the rest of the primary's wait) at the primary's `age`, in 1/1000. Curve of the
/// alternate: its own primaries where there are enough, for hedges are few and a curve of twenty scatters by a third; else its
/// hedges, its blended primaries, and last the primary's own. What hedges tell beyond that is [`Experience`]'s to say.
pub fn win_per_mille(primary: &Learnt, alternate: Option<&Learnt>, age: Duration) -> Option<u16> {
    let curve = alternate.map(|learnt| match &learnt.hedge_curve {
        Some(hedges) if learnt.own_samples < ESTABLISHED && hedges.effective_samples() >= HEDGE_SAMPLES => {
            hedges
        }
        _ => &learnt.curve,
    });
    let probability = win_probability(&primary.curve, curve.unwrap_or(&primary.curve), age)?;
    Some((probability.clamp(0.0, 1.0) * 1_000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: CellId = CellId { cohort: 1, route: 1, model: 1, stream: true, band: 0 };

    fn counts(seconds: f64, n: usize) -> Counts {
        let mut counts = Counts::new();
        (0..n).for_each(|_| counts.event(Duration::from_secs_f64(seconds)));
        counts
    }

    fn primaries(seconds: f64, n: usize) -> Counted {
        Counted { primary: counts(seconds, n), ..Counted::default() }
    }

    #[test]
    fn samples_since_the_last_decay_count_at_once_and_only_once() {
        let mut memory = Memory::default();
        assert!(memory.is_cold());
        let look = |memory: &mut Memory, n, decay| {
            memory.read(ID, primaries(1.0, n), Vec::new(), decay).primary.samples()
        };
        assert!((look(&mut memory, 10, false) - 10.0).abs() < 1e-9);
        assert!((look(&mut memory, 10, true) - 10.0).abs() < 1e-9);
        assert!((look(&mut memory, 14, false) - 14.0).abs() < 1e-9);
        assert!((look(&mut memory, 14, true) - 14.0).abs() < 1e-9);
        assert!((look(&mut memory, 14, false) - 11.0).abs() < 1e-9, "0.7 x 10 + 4");
        assert!(!memory.is_cold());
    }

    #[test]
    fn a_cell_without_samples_borrows_those_of_its_route() {
        let full = Memory::default().read(ID, primaries(2.0, 500), Vec::new(), false);
        let other = CellId { cohort: 2, ..ID };
        let empty = Memory::default().read(other, Counted::default(), Vec::new(), false);
        let parents = Parents::of([&full, &empty]);
        let curve = parents.curve(&empty).unwrap();
        assert!((curve.effective_samples() - crate::latency::PSEUDO_SAMPLES).abs() < 1e-6);
        let learnt = Memory::default().learn(&empty, &delay::Rule::default(), &curve, None, false, false);
        assert_eq!(learnt.expected, None, "what is normal needs samples of one's own");
        assert!(learnt.plan.delay > Duration::from_secs(1));
    }

    #[test]
    fn a_cell_that_never_saw_its_route_fast_does_not_say_what_is_normal() {
        let seconds = |n: u64| Some(Duration::from_secs(n));
        // (seconds known before the ejection, median then, median in it, what is normal in it and after it)
        for (known, before, during, expected, after) in
            [(59, 9, 9, None, seconds(9)), (60, 1, 9, seconds(1), seconds(1)), (0, 9, 9, None, seconds(9))]
        {
            let mut normal = Normal::default();
            (0..known).for_each(|_| normal.look(seconds(before), false));
            normal.look(seconds(before), false);
            (0..300).for_each(|_| normal.look(seconds(during), true));
            let rounded = |normal: &Normal| normal.first_token.map(|it| Duration::from_secs(it.as_secs()));
            assert_eq!(rounded(&normal), expected, "known for {known} s");
            normal.look(seconds(during), false);
            assert_eq!(rounded(&normal), after, "known for {known} s");
        }
    }
}
