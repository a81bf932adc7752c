//! One latency cell of a pod: what is recorded and what was learnt from it last.

use std::time::Duration;

use hedgerow_config::state::{CellKey, CellState};
use hedgerow_policy::{
    experience::Races,
    latency::Counts,
    learning::{CellId, Counted, Learnt, Memory},
    time::Moment,
};

/// A cell of one cohort and route.
#[derive(Debug)]
pub struct Cell {
    /// Name.
    pub id: CellId,
    /// Primaries.
    pub primary: Counts,
    /// Hedges.
    pub hedge: Counts,
    /// Memory of the learner.
    pub memory: Memory,
    /// Learnt last.
    pub learnt: Option<Learnt>,
    /// What became of hedges sent here.
    pub races: Races,
    input: (u64, u64),
    output: (u64, u64),
    waiting: Vec<Option<Moment>>,
    free: Vec<u32>,
}

impl Cell {
    /// An empty cell.
    pub fn new(id: CellId) -> Self {
        Self {
            id,
            primary: Counts::new(),
            hedge: Counts::new(),
            memory: Memory::default(),
            learnt: None,
            races: Races::default(),
            input: (0, 0),
            output: (0, 0),
            waiting: Vec::new(),
            free: Vec::new(),
        }
    }

    /// An attempt begins to wait for its first token; its place.
    pub fn wait(&mut self, now: Moment) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(None);
            (self.waiting.len() - 1) as u32
        });
        self.waiting[place as usize] = Some(now);
        place
    }

    /// It waits no longer.
    pub fn waited(&mut self, place: u32) {
        self.waiting[place as usize] = None;
        self.free.push(place);
    }

    /// Ages of those that wait.
    pub fn ages(&self, now: Moment) -> Vec<Duration> {
        self.waiting.iter().flatten().map(|start| now.since(*start)).collect()
    }

    /// How many wait for longer than `limit`.
    pub fn stalled(&self, now: Moment, limit: Duration) -> u32 {
        self.waiting.iter().flatten().filter(|start| now.since(**start) > limit).count() as u32
    }

    /// What `/state` says of it.
    pub fn state(&self, cohort: &str, route: &str, now: Moment) -> CellState {
        let mut in_flight = Counts::new();
        for age in self.ages(now) {
            in_flight.event(age);
        }
        CellState {
            key: CellKey {
                cohort: cohort.to_owned(),
                route: route.to_owned(),
                model: "m".to_owned(),
                stream: self.id.stream,
                band: self.id.band,
            },
            generation: 0,
            events: self.primary.events().collect(),
            censored: self.primary.censored().collect(),
            hedge_events: self.hedge.events().collect(),
            hedge_censored: self.hedge.censored().collect(),
            in_flight: in_flight.events().collect(),
            delay_ms: None,
        }
    }

    /// Input of a whole answer of a primary.
    pub fn read(&mut self, total: u64, cached: u64) {
        self.input.0 += total;
        self.input.1 += cached;
        if self.input.0 > 4_000_000 {
            self.input = (self.input.0 / 2, self.input.1 / 2);
        }
    }

    /// Output of a whole answer.
    pub fn wrote(&mut self, tokens: u64) {
        self.output = (self.output.0 + tokens, self.output.1 + 1);
    }

    /// Mean output of whole answers.
    pub fn usual_output(&self) -> Option<u64> {
        self.output.0.checked_div(self.output.1)
    }

    /// Cached share of the input, in 1/1000.
    pub fn cached_per_mille(&self) -> u16 {
        (self.input.1 * 1_000).checked_div(self.input.0).map_or(0, |share| share as u16)
    }

    /// Everything that was counted since it began.
    pub fn counted(&self) -> Counted {
        Counted { primary: self.primary.clone(), hedge: self.hedge.clone(), races: self.races }
    }

    /// What is normal.
    pub fn expected(&self) -> Option<Duration> {
        self.learnt.as_ref().and_then(|learnt| learnt.expected)
    }

    /// 95th percentile.
    pub fn p95(&self) -> Option<Duration> {
        self.learnt.as_ref().and_then(|learnt| learnt.p95)
    }
}
