//! The second reading: would the guardrail have let it last?
//!
//! Every delay of a cohort goes through the records in their own time. A row that outlived the delay counts as a hedge with
//! the plan's probability; costs follow. Every ten seconds the windows are judged and the latch takes a step, exactly as the
//! operator does it. While suspended nothing is hedged, and the trial follows.

use std::collections::BTreeSet;

use hedgerow_policy::{
    gate::Mode,
    guardrail::{Context, Latch, Ring, State, Tally, Wish, evaluate, step, windows},
    time::Moment,
};

use super::{
    course::Course,
    fit::{Cohort, waited},
    forecast::{Forecast, Line},
    rows::{BACKWARDS, Row},
    spend::Spend,
};

/// One cohort's guardrails, one per delay.
pub struct Guard<'a> {
    cohort: &'a Cohort,
    rules: hedgerow_policy::guardrail::Rules,
    spend: Spend,
    win: f64,
    watches: Vec<Watch>,
}

struct Watch {
    line: Line,
    ring: Ring,
    latch: Latch,
    bucket: u64,
    /// Parts of hedges that are not yet whole ones.
    rest: f64,
    wins: f64,
    trips: u32,
    tripped_by: BTreeSet<&'static str>,
    course: Course,
}

impl<'a> Guard<'a> {
    /// Nothing read yet.
    pub fn of(cohort: &'a Cohort, forecast: &Forecast, span: Option<(Moment, Moment)>) -> Self {
        let watch = |line: &Line| Watch {
            line: line.clone(),
            ring: Ring::new(),
            latch: long_on(),
            bucket: 0,
            rest: 0.0,
            wins: 0.0,
            trips: 0,
            tripped_by: BTreeSet::new(),
            course: Course::over(span),
        };
        Self {
            cohort,
            rules: forecast.rules.clone(),
            spend: forecast.spend,
            win: forecast.win,
            watches: forecast.lines.iter().skip(1).map(watch).collect(),
        }
    }

    /// One row of its cohort.
    pub fn add(&mut self, row: &Row) {
        if row.hedge.is_some() {
            return;
        }
        let route = self.cohort.place(&row.route);
        for watch in &mut self.watches {
            watch.turn(row.at, &self.rules);
            watch.count(row, route, self.spend, self.win);
        }
    }

    /// Writes the trips where they belong, and chooses.
    pub fn tell(&self, forecast: &mut Forecast) {
        for (line, watch) in forecast.lines.iter_mut().skip(1).zip(&self.watches) {
            line.trips = watch.trips;
            line.tripped_by = watch.tripped_by.iter().copied().collect();
            line.course = watch.course.clone();
        }
        forecast.recommend();
    }
}

/// Hedging was on for long: the ramp is over.
fn long_on() -> Latch {
    Latch { state: State::Active, ..Latch::default() }
}

impl Watch {
    /// A new bucket: the one before is judged.
    fn turn(&mut self, at: Moment, rules: &hedgerow_policy::guardrail::Rules) {
        let bucket = Ring::index(at);
        if bucket + Ring::index(Moment::ZERO + BACKWARDS) < self.bucket {
            // Another log begins: what led up to it is not known.
            (self.ring, self.latch, self.bucket) = (Ring::new(), long_on(), bucket);
        }
        if bucket <= self.bucket {
            return;
        }
        self.bucket = bucket;
        let from = if self.latch.state == State::Trial { self.latch.since } else { Moment::ZERO };
        let mut ring = Ring::new();
        let since = self.ring.iter().filter(|(index, _)| *index >= Ring::index(from));
        since.for_each(|(index, tally)| ring.merge(index, tally));
        let evaluation = evaluate(rules, &windows(&ring, at, rules), &Context::default());
        let wish = Wish { mode: Mode::Enforce, ..Wish::default() };
        let (latch, transition) = step(&self.latch, rules, &wish, &evaluation, at);
        self.latch = latch;
        if let Some(transition) = transition.filter(|transition| transition.to == State::Suspended) {
            self.trips += 1;
            self.tripped_by.extend(transition.reading.map(|reading| reading.signal.as_str()));
            // What led to the trip does not count against what follows.
            self.ring = Ring::new();
        }
    }

    fn count(&mut self, row: &Row, route: &str, spend: Spend, win: f64) {
        let plan = self.line.plans.iter().find(|(name, ..)| name == route);
        let fires = plan.is_some_and(|(_, delay, _)| waited(row) > *delay);
        let share = f64::from(self.latch.share_percent()) / 100.0;
        let send = plan.filter(|_| fires).map_or(0.0, |(_, _, send)| send * share);
        self.rest += send * f64::from(row.weight);
        self.wins += send * f64::from(row.weight) * win;
        let (hedges, wins) = (self.rest.floor(), self.wins.floor());
        self.rest -= hedges;
        self.wins -= wins;
        let alone = (spend.original * f64::from(row.weight)) as u128;
        let tally = Tally {
            originals: u64::from(row.weight),
            hedges: hedges as u64,
            hedge_wins: wins as u64,
            primaries_cost: alone + (hedges * spend.input) as u128,
            primaries_alone_cost: alone,
            ..Tally::default()
        };
        self.course.count(row.at, tally.originals, tally.hedges, self.latch.state == State::Suspended);
        *self.ring.at(row.at) += &tally;
    }
}
