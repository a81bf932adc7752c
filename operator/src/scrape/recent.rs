//! Recent samples of a fleet: what the store counted, decayed in ticks of 30 s (half-life 58 s).
//!
//! Between two ticks the counts since the last one enter in full, so figures are never older than the last read.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_config::state::CellKey;
use hedgerow_policy::{
    latency::{Counts, Curve, Decayed, TICK},
    time::Moment,
};

use super::{
    Cumulative,
    curve::{Estimate, Percentiles, Strata},
};

/// Decayed samples by cell, cohort, route and lane.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    ticked: Option<Moment>,
    at_tick: Cumulative,
    cells: Decays<CellKey>,
    users: Decays<String>,
    routes: Decays<String>,
    waits: Decays<String>,
    /// As of the last call of `observe`: the above plus what came since the tick.
    now: Figures,
}

/// What can be asked for.
#[derive(Clone, Debug, Default)]
struct Figures {
    cells: Decays<CellKey>,
    users: Decays<String>,
    routes: Decays<String>,
    waits: Decays<String>,
    in_flight: BTreeMap<CellKey, Vec<Duration>>,
}

type Decays<K> = BTreeMap<K, Decayed>;

/// Below this many samples a curve is forgotten.
const FORGOTTEN: f64 = 0.01;

impl Recent {
    /// Takes in what the store has counted by `now`, and the ages of attempts in flight.
    pub fn observe(
        &mut self,
        counted: &Cumulative,
        in_flight: BTreeMap<CellKey, Vec<Duration>>,
        now: Moment,
    ) {
        let ticked = *self.ticked.get_or_insert(now);
        let ticks = now.since(ticked).as_nanos() / TICK.as_nanos();
        let new = counted.since(&self.at_tick);
        if ticks > 0 {
            // Everything since the last tick enters with the first of them; the rest only decays.
            self.tick(&new);
            for _ in 1..ticks.min(100) {
                self.tick(&Cumulative::default());
            }
            self.at_tick = counted.clone();
            self.ticked = Some(ticked + TICK * u32::try_from(ticks).unwrap_or(u32::MAX));
        }
        let since = if ticks > 0 { Cumulative::default() } else { new };
        self.now = Figures {
            cells: with(&self.cells, cells(&since)),
            users: with(&self.users, users(&since)),
            routes: with(&self.routes, routes(&since)),
            waits: with(&self.waits, waits(&since)),
            in_flight,
        };
    }

    /// First tokens as users saw them; of all requests if `cohort` is `None`.
    pub fn first_token(&self, cohort: Option<&str>) -> Percentiles {
        let mut sum = Decayed::new();
        for (name, users) in &self.now.users {
            if cohort.is_none_or(|wanted| wanted == name) {
                sum.merge(users, 1.0);
            }
        }
        Percentiles::of(&sum)
    }

    /// What first tokens would have been with primaries alone.
    pub fn without_hedging(&self, cohort: Option<&str>) -> Estimate {
        self.strata(cohort).estimate()
    }

    /// The same as a curve for each of a cohort's routes.
    pub fn routes(&self, cohort: &str) -> Vec<(String, Curve)> {
        self.strata(Some(cohort)).routes()
    }

    fn strata(&self, cohort: Option<&str>) -> Strata {
        let mut strata = Strata::default();
        for (key, primaries) in &self.now.cells {
            if cohort.is_none_or(|wanted| wanted == key.cohort) {
                let ages = self.now.in_flight.get(key).map_or(&[][..], Vec::as_slice);
                strata.add(key, primaries, ages);
            }
        }
        strata
    }

    /// Primaries by cell, the most used first, at least `least` samples each.
    pub fn busiest(&self, least: f64) -> Vec<(&CellKey, &Decayed)> {
        let mut cells: Vec<_> =
            self.now.cells.iter().filter(|(_, primaries)| primaries.samples() >= least).collect();
        cells.sort_by(|a, b| b.1.samples().total_cmp(&a.1.samples()));
        cells
    }

    /// First tokens of a route's primaries.
    pub fn route(&self, route: &str) -> Percentiles {
        self.now.routes.get(route).map(Percentiles::of).unwrap_or_default()
    }

    /// Waits in a lane's queue.
    pub fn wait(&self, lane: &str) -> Percentiles {
        self.now.waits.get(lane).map(Percentiles::of).unwrap_or_default()
    }

    fn tick(&mut self, new: &Cumulative) {
        decay(&mut self.cells, cells(new));
        decay(&mut self.users, users(new));
        decay(&mut self.routes, routes(new));
        decay(&mut self.waits, waits(new));
    }
}

fn cells(from: &Cumulative) -> BTreeMap<CellKey, &Counts> {
    from.cohorts
        .values()
        .flat_map(|cohort| &cohort.cells)
        .map(|(key, counts)| (key.clone(), counts))
        .collect()
}

fn users(from: &Cumulative) -> BTreeMap<String, &Counts> {
    from.cohorts.iter().map(|(name, cohort)| (name.clone(), &cohort.users)).collect()
}

fn routes(from: &Cumulative) -> BTreeMap<String, &Counts> {
    from.routes.iter().map(|(name, route)| (name.clone(), &route.first_token)).collect()
}

fn waits(from: &Cumulative) -> BTreeMap<String, &Counts> {
    from.lanes.iter().map(|(name, lane)| (name.clone(), &lane.wait)).collect()
}

fn decay<K: Ord>(decays: &mut Decays<K>, new: BTreeMap<K, &Counts>) {
    let nothing = Counts::new();
    for (key, decayed) in decays.iter_mut() {
        if !new.contains_key(key) {
            decayed.tick(&nothing);
        }
    }
    for (key, counts) in new {
        decays.entry(key).or_default().tick(counts);
    }
    decays.retain(|_, decayed| decayed.samples() > FORGOTTEN);
}

fn with<K: Ord + Clone>(decays: &Decays<K>, new: BTreeMap<K, &Counts>) -> Decays<K> {
    let mut sum = decays.clone();
    for (key, counts) in new {
        if counts.total() > 0 {
            sum.entry(key).or_default().add(counts, 1.0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrape::CohortCumulative;

    fn counted(slow: u64, fast: u64) -> Cumulative {
        let mut users = Counts::new();
        (0..slow).for_each(|_| users.event(Duration::from_secs(8)));
        (0..fast).for_each(|_| users.event(Duration::from_millis(500)));
        let cohort = CohortCumulative { users, ..CohortCumulative::default() };
        Cumulative { cohorts: BTreeMap::from([("chat".to_owned(), cohort)]), ..Cumulative::default() }
    }

    fn median(recent: &Recent) -> Duration {
        recent.first_token(Some("chat")).p50.unwrap()
    }

    #[test]
    fn new_samples_count_at_once_and_old_ones_fade() {
        let mut recent = Recent::default();
        let at = |seconds: u64| Moment::from_secs(1_000 + seconds);
        recent.observe(&counted(100, 0), BTreeMap::new(), at(0));
        assert!(median(&recent) > Duration::from_secs(7), "seen before the first tick");
        recent.observe(&counted(100, 60), BTreeMap::new(), at(1));
        assert!(median(&recent) > Duration::from_secs(7), "the slow ones are still the majority");
        recent.observe(&counted(100, 60), BTreeMap::new(), at(90));
        recent.observe(&counted(100, 110), BTreeMap::new(), at(91));
        assert!(median(&recent) < Duration::from_secs(1), "half of the slow ones is forgotten");
    }

    #[test]
    fn an_idle_hour_forgets_everything() {
        let mut recent = Recent::default();
        recent.observe(&counted(100, 0), BTreeMap::new(), Moment::from_secs(1));
        recent.observe(&counted(100, 0), BTreeMap::new(), Moment::from_secs(3_600));
        assert_eq!(recent.first_token(None), Percentiles::default());
        assert!(recent.users.is_empty(), "an idle name keeps no memory");
    }
}
