//! What a demo was: plain data that the JSON output, the verdict and the HTML report are all made from, so that they
//! cannot tell different stories.

use std::collections::BTreeMap;

use serde::Serialize;

use super::script::Scene;

/// The whole run.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Seed of providers and traffic.
    pub seed: u64,
    /// Where an SDK can be pointed.
    pub base_url: String,
    /// One point per scrape, in order.
    pub points: Vec<Point>,
    /// Decisions, in order.
    pub marks: Vec<Mark>,
    /// First tokens in scene `stragglers` as users saw them: (upper bound in ms, share of all in percent).
    pub with: Vec<(f64, f64)>,
    /// The same as primaries alone would have given it.
    pub without: Vec<(f64, f64)>,
    /// Hedge delays at the end of scene `stragglers`: (route, ms).
    pub delays: Vec<(String, f64)>,
    /// The figures.
    pub summary: Summary,
}

/// Everything that one scrape showed. Latencies in ms over the last seconds, rates in percent over the guardrail window.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Seconds since the start.
    pub at_s: f64,
    /// Median as users saw it.
    pub p50: Option<f64>,
    /// 99th percentile as users saw it.
    pub p99: Option<f64>,
    /// Estimate of the 99th percentile without hedging.
    pub p99_without: Option<f64>,
    /// By cohort.
    pub cohorts: Vec<CohortPoint>,
    /// By lane.
    pub lanes: Vec<LanePoint>,
    /// Share of the traffic in percent, by route.
    pub shares: Vec<(String, f64)>,
}

/// One cohort at one moment.
#[derive(Clone, Debug, Default)]
pub struct CohortPoint {
    /// Name.
    pub name: String,
    /// State as in status.
    pub state: String,
    /// Duplicate rate.
    pub duplicates: Option<f64>,
    /// Extra spend.
    pub extra: Option<f64>,
}

/// One lane at one moment.
#[derive(Clone, Debug, Default)]
pub struct LanePoint {
    /// Name.
    pub name: String,
    /// Limit, summed over gateways.
    pub limit: f64,
    /// In flight, summed over gateways.
    pub in_flight: f64,
    /// Shed since the point before.
    pub shed: f64,
}

/// One decision.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Seconds since the start.
    pub at_s: f64,
    /// Cohort.
    pub cohort: String,
    /// State that it went to.
    pub to: String,
    /// In words.
    pub line: String,
}

/// The JSON output of `hedgerow demo --json`. Times in seconds since the start, latencies in ms.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed, sheds aside.
    pub failed: u64,
    /// Hedges sent.
    pub hedged: u64,
    /// Hedges that won.
    pub hedge_wins: u64,
    /// Median first token (complete answer where not streamed) as users saw it.
    pub p50_ms: Option<f64>,
    /// Estimate of the median without hedging.
    pub p50_unhedged_ms: Option<f64>,
    /// 99th percentile as users saw it.
    pub p99_ms: Option<f64>,
    /// Estimate of the 99th percentile without hedging.
    pub p99_unhedged_ms: Option<f64>,
    /// Hedges per enrolled request.
    pub duplicate_percent: f64,
    /// Cost of cancelled losers per cost of all attempts.
    pub lost_race_percent: f64,
    /// What hedging added to the cost of the primaries alone.
    pub extra_spend_percent: f64,
    /// Requests refused with 429, by lane.
    pub shed: BTreeMap<String, u64>,
    /// Scene by scene.
    pub scenes: Vec<SceneSummary>,
    /// The guardrail's trip, absent when there was none.
    pub guardrail: Option<Trip>,
    /// What is still held after the last answer.
    pub leaks: Leaks,
    /// Path of the HTML report.
    pub report: String,
}

/// One scene.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SceneSummary {
    /// Name, see [`Scene::name`].
    pub name: &'static str,
    /// Start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed, sheds aside.
    pub failed: u64,
    /// Hedges sent.
    pub hedged: u64,
    /// As in [`Summary`].
    pub p50_ms: Option<f64>,
    /// As in [`Summary`].
    pub p50_unhedged_ms: Option<f64>,
    /// As in [`Summary`].
    pub p99_ms: Option<f64>,
    /// As in [`Summary`].
    pub p99_unhedged_ms: Option<f64>,
    /// As in [`Summary`].
    pub duplicate_percent: f64,
    /// As in [`Summary`].
    pub lost_race_percent: f64,
    /// Refused with 429, by lane.
    pub shed: BTreeMap<String, u64>,
}

/// The guardrail's trip and recovery.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trip {
    /// Cohort.
    pub cohort: String,
    /// First look at which the short window was over the limit.
    pub breached_at: Option<f64>,
    /// When hedging was switched off.
    pub tripped_at: f64,
    /// Which guardrail.
    pub signal: String,
    /// Its value in percent.
    pub value: Option<f64>,
    /// When hedging was back in full.
    pub recovered_at: Option<f64>,
}

/// What is still held after the last answer; all must be 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaks {
    /// Lane and route permits.
    pub permits: u64,
    /// Attempts.
    pub attempts: u64,
    /// Budget tokens, in 1/1000.
    pub budget: u64,
}

impl Summary {
    /// The scene's figures.
    pub fn scene(&self, scene: Scene) -> Option<&SceneSummary> {
        self.scenes.iter().find(|summary| summary.name == scene.name())
    }
}
