//! Counters of the last five minutes: a copy every ten seconds, without the latencies.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use hedgerow_policy::time::Moment;

use super::Cumulative;
use crate::domain::counting::Counting;

/// Distance of two copies.
const STEP: Duration = Duration::from_secs(10);
/// Copies kept: five minutes.
const KEPT: usize = 30;

/// Where the counters were.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    points: VecDeque<(Moment, Point)>,
    last: Point,
}

#[derive(Clone, Debug, Default)]
struct Point {
    admitted: BTreeMap<String, u64>,
    shed: BTreeMap<String, BTreeMap<String, u64>>,
    outcomes: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Trail {
    /// Takes in where the counters are now.
    pub fn observe(&mut self, counted: &Cumulative, now: Moment) {
        self.last = Point {
            admitted: counted.lanes.iter().map(|(name, lane)| (name.clone(), lane.admitted)).collect(),
            shed: counted.lanes.iter().map(|(name, lane)| (name.clone(), lane.shed.clone())).collect(),
            outcomes: counted
                .routes
                .iter()
                .map(|(name, route)| (name.clone(), route.outcomes.clone()))
                .collect(),
        };
        if self.points.back().is_none_or(|(at, _)| now.since(*at) >= STEP) {
            self.points.push_back((now, self.last.clone()));
            if self.points.len() > KEPT + 1 {
                self.points.pop_front();
            }
        }
    }

    /// User actions that a lane admitted in the last five minutes.
    pub fn admitted(&self, lane: &str) -> u64 {
        let of = |point: &Point| point.admitted.get(lane).copied().unwrap_or(0);
        of(&self.last).saturating_sub(self.first().map_or(0, of))
    }

    /// User actions that a lane shed in the last five minutes, by reason.
    pub fn shed(&self, lane: &str) -> BTreeMap<String, u64> {
        self.grown(|point| point.shed.get(lane))
    }

    /// Attempts on a route that ended in the last five minutes, by outcome.
    pub fn outcomes(&self, route: &str) -> BTreeMap<String, u64> {
        self.grown(|point| point.outcomes.get(route))
    }

    fn first(&self) -> Option<&Point> {
        self.points.front().map(|(_, point)| point)
    }

    fn grown(&self, of: impl Fn(&Point) -> Option<&BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
        let now = of(&self.last).cloned().unwrap_or_default();
        match self.first().and_then(&of) {
            Some(before) => now.minus(before).unwrap_or_default(),
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrape::LaneCumulative;

    #[test]
    fn what_is_older_than_five_minutes_does_not_count() {
        let counted = |shed: u64| Cumulative {
            lanes: BTreeMap::from([(
                "batch".to_owned(),
                LaneCumulative {
                    admitted: shed * 2,
                    shed: BTreeMap::from([("LaneFull".to_owned(), shed)]),
                    ..LaneCumulative::default()
                },
            )]),
            ..Cumulative::default()
        };
        let mut trail = Trail::default();
        for minute in 0..10 {
            for step in 0..6 {
                trail.observe(&counted(minute + 1), Moment::from_secs(minute * 60 + step * 10));
            }
        }
        assert_eq!(trail.shed("batch")["LaneFull"], 5, "one a minute");
        assert_eq!(trail.admitted("batch"), 10);
        assert!(trail.outcomes("east").is_empty());
    }
}
