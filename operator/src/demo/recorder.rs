//! Turns what happens into the [`Story`]: outcomes of requests and views of the controller in, figures out.
//!
//! Requests, failures and sheds are counted by the generator (by the moment a request was due); latencies, with and
//! without hedging (of the cohorts: batch is never hedged), duplicates and spend are the controller's own figures over exactly the scrapes of a scene, so that
//! both sides of a comparison have seen the same requests with the same resolution.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hedgerow_sim::traffic::{Outcome, Verdict};

use super::{
    script::Scene,
    story::{CohortPoint, LanePoint, Leaks, Mark, Point, SceneSummary, Story, Summary, Trip},
};
use crate::{
    scrape::Cumulative,
    standalone::{FleetView, Totals, View},
};

/// Views behind the latencies of one point: a few seconds.
const POINT_VIEWS: usize = 4;
/// The fleet of the demo.
pub(crate) const FLEET: &str = "default";

/// State of the recording.
pub(crate) struct Recorder {
    story: Story,
    started_unix_ms: u64,
    scenes: Vec<Span>,
    recent: Vec<Arc<Cumulative>>,
    sheds_before: BTreeMap<String, u64>,
    counts: Vec<Count>,
}

/// One scene while it is recorded.
struct Span {
    scene: Scene,
    from: Duration,
    to: Duration,
    before: Snapshot,
    after: Snapshot,
}

/// Totals of a fleet at one moment.
#[derive(Clone)]
struct Snapshot {
    totals: Totals,
    cumulative: Arc<Cumulative>,
}

/// What the generator saw of one request.
struct Count {
    due: Duration,
    failed: bool,
    shed_in: Option<&'static str>,
}

impl Snapshot {
    fn of(fleet: &FleetView) -> Self {
        Self { totals: fleet.totals.clone(), cumulative: Arc::clone(&fleet.cumulative) }
    }
}

impl Recorder {
    /// A recording that starts now.
    pub(crate) fn new(seed: u64, base_url: String, started_unix_ms: u64) -> Self {
        let story = Story { seed, base_url, ..Story::default() };
        Self {
            story,
            started_unix_ms,
            scenes: Vec::new(),
            recent: Vec::new(),
            sheds_before: BTreeMap::new(),
            counts: Vec::new(),
        }
    }

    /// A scene starts at `at`, with what `view` shows as its base line.
    pub(crate) fn begin(&mut self, scene: Scene, at: Duration, view: &View) {
        let Some(fleet) = view.fleet(FLEET) else { return };
        if let Some(last) = self.scenes.last_mut() {
            last.to = at;
            last.after = Snapshot::of(fleet);
        }
        let snapshot = Snapshot::of(fleet);
        self.scenes.push(Span { scene, from: at, to: at, before: snapshot.clone(), after: snapshot });
    }

    /// One request ended.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        let lane = if &*outcome.class == "batch" { "batch" } else { "interactive" };
        let failed = matches!(outcome.verdict, Verdict::Failed(_)) || outcome.integrity.mixed;
        let shed = matches!(outcome.verdict, Verdict::Shed);
        self.counts.push(Count { due: outcome.intended, failed, shed_in: shed.then_some(lane) });
    }

    /// One scrape; returns the point that it became.
    pub(crate) fn view(&mut self, view: &View) -> Option<&Point> {
        let fleet = view.fleet(FLEET)?;
        let at_s = self.seconds(view.at_unix_ms);
        if let Some(last) = self.scenes.last_mut() {
            last.to = Duration::from_secs_f64(at_s.max(0.0));
            last.after = Snapshot::of(fleet);
        }
        self.story.marks = view
            .decisions
            .iter()
            .map(|entry| Mark {
                at_s: self.seconds(entry.at_unix_ms),
                cohort: entry.cohort.clone(),
                to: entry.to.clone(),
                line: entry.line.clone(),
            })
            .collect();
        if self.scenes.last().is_some_and(|span| span.scene == Scene::Stragglers) {
            let delays = fleet.cohorts.first().map(|cohort| cohort.delays.as_slice()).unwrap_or_default();
            self.story.delays = delays.iter().map(|(route, delay)| (route.clone(), ms(*delay))).collect();
        }
        let point = self.point(fleet, at_s);
        self.story.points.push(point);
        self.story.points.last()
    }

    /// The guardrail has switched a cohort off since the scene began.
    pub(crate) fn tripped(&self) -> bool {
        self.scenes.last().is_some_and(|span| {
            self.story.marks.iter().any(|mark| mark.to == "Suspended" && mark.at_s >= span.from.as_secs_f64())
        })
    }

    /// Every cohort that was switched off is back in full.
    pub(crate) fn recovered(&self) -> bool {
        self.story
            .points
            .last()
            .is_some_and(|point| point.cohorts.iter().all(|cohort| cohort.state == "Active"))
    }

    /// Requests sent, failed and shed so far.
    pub(crate) fn counted(&self) -> (u64, u64, BTreeMap<String, u64>) {
        let failed = self.counts.iter().filter(|count| count.failed).count();
        (self.counts.len() as u64, failed as u64, self.shed(Duration::ZERO, Duration::MAX))
    }

    /// The whole story, with `view` as its last word.
    pub(crate) fn finish(mut self, view: &View, report: String) -> Story {
        let mut summary = Summary { report, ..Summary::default() };
        (summary.requests, summary.failed, summary.shed) = self.counted();
        if let Some(fleet) = view.fleet(FLEET) {
            if let Some(last) = self.scenes.last_mut() {
                last.after = Snapshot::of(fleet);
            }
            summary.leaks = Leaks {
                permits: fleet.leaks.lane_permits + fleet.leaks.route_permits,
                attempts: fleet.leaks.attempts,
                budget: fleet.leaks.budget_reserved_milli,
            };
            self.whole(&mut summary, fleet);
        }
        summary.scenes = self.scenes.iter().map(|span| self.scene(span)).collect();
        summary.guardrail = self.trip(view);
        self.distributions();
        self.story.summary = summary;
        self.story
    }

    fn whole(&self, summary: &mut Summary, fleet: &FleetView) {
        let Some(first) = self.scenes.first() else { return };
        let totals = fleet.totals.since(&first.before.totals);
        let span = hedgeable(&fleet.cumulative, &first.before.cumulative);
        let (with, without) = (span.first_token(None), span.without_hedging(None));
        (summary.hedged, summary.hedge_wins) = (totals.hedges, totals.wins);
        (summary.p50_ms, summary.p99_ms) = (with.p50.map(ms), with.p99.map(ms));
        (summary.p50_unhedged_ms, summary.p99_unhedged_ms) = (without.p50.map(ms), without.p99.map(ms));
        summary.duplicate_percent = totals.hedged_percent();
        summary.lost_race_percent = totals.lost_percent();
        summary.extra_spend_percent = totals.extra_percent();
    }

    fn scene(&self, span: &Span) -> SceneSummary {
        let totals = span.after.totals.since(&span.before.totals);
        let latency = hedgeable(&span.after.cumulative, &span.before.cumulative);
        let (with, without) = (latency.first_token(None), latency.without_hedging(None));
        let due = |count: &&Count| (span.from..span.to).contains(&count.due);
        SceneSummary {
            name: span.scene.name(),
            from_s: span.from.as_secs_f64(),
            to_s: span.to.as_secs_f64(),
            requests: self.counts.iter().filter(due).count() as u64,
            failed: self.counts.iter().filter(due).filter(|count| count.failed).count() as u64,
            hedged: totals.hedges,
            p50_ms: with.p50.map(ms),
            p50_unhedged_ms: without.p50.map(ms),
            p99_ms: with.p99.map(ms),
            p99_unhedged_ms: without.p99.map(ms),
            duplicate_percent: totals.hedged_percent(),
            lost_race_percent: totals.lost_percent(),
            shed: self.shed(span.from, span.to),
        }
    }

    fn shed(&self, from: Duration, to: Duration) -> BTreeMap<String, u64> {
        let mut shed = BTreeMap::from([("batch".to_owned(), 0), ("interactive".to_owned(), 0)]);
        for lane in self
            .counts
            .iter()
            .filter(|count| (from..to).contains(&count.due))
            .filter_map(|count| count.shed_in)
        {
            *shed.entry(lane.to_owned()).or_default() += 1;
        }
        shed
    }

    fn trip(&self, view: &View) -> Option<Trip> {
        let entry = view.decisions.iter().find(|entry| entry.to == "Suspended")?;
        let recovered = view.decisions.iter().find(|later| {
            later.at_unix_ms > entry.at_unix_ms && later.cohort == entry.cohort && later.to == "Active"
        });
        Some(Trip {
            cohort: entry.cohort.clone(),
            breached_at: entry.breached_unix_ms.map(|at| self.seconds(at)),
            tripped_at: self.seconds(entry.at_unix_ms),
            signal: entry.signal.clone().unwrap_or_default(),
            value: entry.value_per_mille.map(|value| f64::from(value) / 10.0),
            recovered_at: recovered.map(|later| self.seconds(later.at_unix_ms)),
        })
    }

    fn point(&mut self, fleet: &FleetView, at_s: f64) -> Point {
        self.recent.push(Arc::clone(&fleet.cumulative));
        if self.recent.len() > POINT_VIEWS {
            self.recent.remove(0);
        }
        let latency = hedgeable(&fleet.cumulative, &self.recent[0]);
        let (with, without) = (latency.first_token(None), latency.without_hedging(None));
        let mut lanes = Vec::new();
        for lane in &fleet.lanes {
            let before = self.sheds_before.insert(lane.name.clone(), lane.shed).unwrap_or(lane.shed);
            lanes.push(LanePoint {
                name: lane.name.clone(),
                limit: f64::from(lane.limit),
                in_flight: lane.in_flight as f64,
                shed: lane.shed.saturating_sub(before) as f64,
            });
        }
        let cohorts = fleet.cohorts.iter().map(|cohort| CohortPoint {
            name: cohort.name.clone(),
            state: cohort.state.clone(),
            duplicates: cohort.duplicate_percent,
            extra: cohort.extra_percent,
        });
        let shares = fleet.routes.iter().map(|route| (route.name.clone(), f64::from(route.share_percent)));
        Point {
            at_s,
            p50: with.p50.map(ms),
            p99: with.p99.map(ms),
            p99_without: without.p99.map(ms),
            cohorts: cohorts.collect(),
            lanes,
            shares: shares.collect(),
        }
    }

    fn distributions(&mut self) {
        let Some(span) = self.scenes.iter().find(|span| span.scene == Scene::Stragglers) else { return };
        let latency = hedgeable(&span.after.cumulative, &span.before.cumulative);
        let percentiles = (1..=199).map(|step| f64::from(step) / 200.0).chain([0.9975, 0.999]);
        for share in percentiles {
            if let Some(at) = latency.quantile(None, share) {
                self.story.with.push((ms(at), share * 100.0));
            }
            if let Some(at) = latency.quantile_without_hedging(None, share) {
                self.story.without.push((ms(at), share * 100.0));
            }
        }
    }

    fn seconds(&self, unix_ms: u64) -> f64 {
        (unix_ms as f64 - self.started_unix_ms as f64) / 1000.0
    }
}

/// What happened between two copies to requests that may be hedged: batch is in no cohort, so its stragglers stay.
fn hedgeable(later: &Cumulative, earlier: &Cumulative) -> Cumulative {
    let mut between = later.since(earlier);
    between.cohorts.remove("");
    between
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
