//! Everything that the live screen, the demo and tests show, as plain values. Made anew after each read of the pods.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use hedgerow_config::{cohort::Mode, money::Picos, state::InFlight};

use crate::scrape::{Cumulative, Estimate, Percentiles};

/// The whole picture.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// When it was taken, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Start of standalone, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Fleets by name.
    pub fleets: Vec<FleetView>,
    /// Guardrail decisions, oldest first, the newest 500.
    pub decisions: Vec<Entry>,
    /// What is wrong at present: broken files, missing keys, dead gateways.
    pub problems: Vec<String>,
}

impl View {
    /// The fleet of that name.
    pub fn fleet(&self, name: &str) -> Option<&FleetView> {
        self.fleets.iter().find(|fleet| fleet.name == name)
    }
}

/// One fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetView {
    /// Name.
    pub name: String,
    /// Where to point clients, without `/v1`.
    pub base_url: String,
    /// Digest of the configuration that the gateways should run.
    pub digest: String,
    /// Gateways.
    pub pods: Vec<PodView>,
    /// Counts since the start.
    pub totals: Totals,
    /// Hedges per enrolled request that cohorts which observe would have sent since the start, in percent; `None` where
    /// none observes or nothing came.
    pub would_hedge_percent: Option<f64>,
    /// First token as users saw it, recent (half-life 58 s).
    pub first_token: Percentiles,
    /// First token with primaries alone, recent estimate.
    pub without: Estimate,
    /// Cohorts in matching order.
    pub cohorts: Vec<CohortView>,
    /// Routes by name.
    pub routes: Vec<RouteView>,
    /// Lanes by priority.
    pub lanes: Vec<LaneView>,
    /// What must be zero when nobody is asking, summed over gateways.
    pub leaks: InFlight,
    /// For figures of a span of time: `later.cumulative.since(&earlier.cumulative)`.
    pub cumulative: Arc<Cumulative>,
}

/// One gateway.
#[derive(Clone, Debug)]
pub struct PodView {
    /// Name.
    pub uid: String,
    /// Admin port; `None` before the first start.
    pub admin: Option<SocketAddr>,
    /// Takes traffic.
    pub ready: bool,
    /// Digest of the configuration in force.
    pub digest: String,
    /// Times it died.
    pub restarts: u32,
    /// Last successful read, in milliseconds since 1970.
    pub scraped_unix_ms: Option<u64>,
}

/// Counts of a fleet or cohort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// User actions, shed ones included.
    pub requests: u64,
    /// Shed user actions.
    pub shed: u64,
    /// User actions in flight now.
    pub in_flight: u64,
    /// Enrolled user actions, client retries aside.
    pub originals: u64,
    /// User actions of a cohort that are not enrolled.
    pub not_enrolled: u64,
    /// User actions that ended in an error of the provider or the gateway; of a cohort only enrolled ones.
    pub failed: u64,
    /// Hedges sent; what cohorts only decided while they observed is in no figure of hedging.
    pub hedges: u64,
    /// Hedges that won.
    pub wins: u64,
    /// Timer firings withheld as control group.
    pub withheld: u64,
    /// Timer firings withheld by thinning.
    pub thinned: u64,
    /// Cost of primaries and hedges.
    pub cost: Picos,
    /// Estimated cost of the primaries alone.
    pub cost_without: Picos,
    /// Cost of losers.
    pub cost_lost: Picos,
    /// Cost of retries.
    pub cost_retries: Picos,
}

impl Totals {
    /// Hedges per enrolled request, in percent: the duplicates.
    pub fn hedged_percent(&self) -> f64 {
        percent(self.hedges, self.originals)
    }

    /// Hedges that won, in percent.
    pub fn win_percent(&self) -> f64 {
        percent(self.wins, self.hedges)
    }

    /// What hedging added to the cost of the primaries alone, in percent; negative if it saved money.
    pub fn extra_percent(&self) -> f64 {
        if self.cost_without.0 == 0 {
            return 0.0;
        }
        (self.cost.0 as f64 / self.cost_without.0 as f64 - 1.0) * 100.0
    }

    /// Cost of losers per cost of all attempts, in percent.
    pub fn lost_percent(&self) -> f64 {
        let all = self.cost + self.cost_retries;
        if all.0 == 0 { 0.0 } else { self.cost_lost.0 as f64 / all.0 as f64 * 100.0 }
    }

    /// What happened since `earlier`; `in_flight` stays that of now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            shed: self.shed.saturating_sub(earlier.shed),
            in_flight: self.in_flight,
            originals: self.originals.saturating_sub(earlier.originals),
            not_enrolled: self.not_enrolled.saturating_sub(earlier.not_enrolled),
            failed: self.failed.saturating_sub(earlier.failed),
            hedges: self.hedges.saturating_sub(earlier.hedges),
            wins: self.wins.saturating_sub(earlier.wins),
            withheld: self.withheld.saturating_sub(earlier.withheld),
            thinned: self.thinned.saturating_sub(earlier.thinned),
            cost: self.cost.saturating_sub(earlier.cost),
            cost_without: self.cost_without.saturating_sub(earlier.cost_without),
            cost_lost: self.cost_lost.saturating_sub(earlier.cost_lost),
            cost_retries: self.cost_retries.saturating_sub(earlier.cost_retries),
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// One cohort.
#[derive(Clone, Debug)]
pub struct CohortView {
    /// Policy.
    pub policy: String,
    /// Cohort.
    pub name: String,
    /// Mode after all switches.
    pub mode: Mode,
    /// State in the words of the status: Active, Suspended, Trial and so on.
    pub state: String,
    /// Reason of the state, such as ExtraSpendExceeded.
    pub reason: Option<String>,
    /// Reason and next step, such as `ExtraSpendExceeded, trial in 6s`; empty when there is nothing to say.
    pub why: String,
    /// Since when, in milliseconds since 1970.
    pub since_unix_ms: u64,
    /// When the next step is due, in milliseconds since 1970.
    pub until_unix_ms: Option<u64>,
    /// Number of the latest transition.
    pub transition: u64,
    /// Share of enrolled requests that may be hedged now.
    pub share_percent: u32,
    /// Duplicates in the long window; `None` = no data.
    pub duplicate_percent: Option<f64>,
    /// Extra spend in the long window; `None` while hedges are only decided, as for the next two.
    pub extra_percent: Option<f64>,
    /// Lost-race spend in the long window.
    pub lost_percent: Option<f64>,
    /// Win rate in the long window.
    pub win_percent: Option<f64>,
    /// Length of the long window.
    pub window: Duration,
    /// First token as users saw it, recent.
    pub first_token: Percentiles,
    /// First token with primaries alone, recent estimate.
    pub without: Estimate,
    /// Counts since the start.
    pub totals: Totals,
    /// Timer firings that sent no hedge since the start, by reason.
    pub not_hedged: BTreeMap<String, u64>,
    /// Delay in force by the primary's route.
    pub delays: Vec<(String, Duration)>,
}

/// One route.
#[derive(Clone, Debug, Default)]
pub struct RouteView {
    /// Name.
    pub name: String,
    /// Provider.
    pub provider: String,
    /// Region.
    pub region: String,
    /// Whether it speaks Anthropic's dialect, else OpenAI's.
    pub anthropic: bool,
    /// Share of its configured weight, mean over gateways.
    pub weight_percent: u32,
    /// Share of the traffic of its tier that it should get now.
    pub share_percent: u32,
    /// Attempts in flight.
    pub in_flight: u32,
    /// Median first token of primaries, recent.
    pub p50: Option<Duration>,
    /// 95th percentile of it.
    pub p95: Option<Duration>,
    /// State of the breaker in the gateway that trusts it least.
    pub breaker: String,
    /// Why it takes no traffic; empty = it does.
    pub blocked: String,
    /// Pushback until then, in milliseconds since 1970; 0 = none.
    pub throttled_until_unix_ms: u64,
    /// Attempts ended, by outcome.
    pub outcomes: BTreeMap<String, u64>,
}

/// One lane.
#[derive(Clone, Debug, Default)]
pub struct LaneView {
    /// Name.
    pub name: String,
    /// Priority.
    pub priority: u32,
    /// Limit, summed over gateways.
    pub limit: u32,
    /// User actions in flight.
    pub in_flight: u32,
    /// User actions waiting.
    pub queued: u32,
    /// Admitted since the start.
    pub admitted: u64,
    /// Shed since the start.
    pub shed: u64,
    /// The same by reason.
    pub shed_reasons: BTreeMap<String, u64>,
    /// Last Retry-After, in seconds; 0 = none yet.
    pub last_retry_after_s: u32,
    /// 95th percentile of the wait in the queue, recent.
    pub wait_p95: Option<Duration>,
}

/// One guardrail decision on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Fleet.
    pub fleet: String,
    /// Policy.
    pub policy: String,
    /// Cohort.
    pub cohort: String,
    /// State before.
    pub from: String,
    /// State after.
    pub to: String,
    /// Reason, such as ExtraSpendExceeded.
    pub reason: String,
    /// Signal that tripped, such as extraSpend.
    pub signal: Option<String>,
    /// Its value in the short window, in 1/1000.
    pub value_per_mille: Option<u32>,
    /// Its limit, in 1/1000.
    pub threshold_per_mille: Option<u32>,
    /// First read at which the short window was at or over the limit, in milliseconds since 1970.
    pub breached_unix_ms: Option<u64>,
    /// The decision in words.
    pub line: String,
}
