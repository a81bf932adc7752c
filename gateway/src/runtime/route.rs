//! One upstream at run time: its configuration in one snapshot, and the state that outlives snapshots.
//!
//! [`RouteRuntime`] belongs to a snapshot and never changes. [`RouteState`] is shared by all snapshots in which a route
//! of the same uid exists: breaker, attempts in flight, counts, ramp. The breaker sits behind a short mutex that is never
//! held across an await.
//!
//! Refuses: to hold credentials (they are looked up when an attempt is made) and to know other routes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use hedgerow_config as config;
use hedgerow_policy::{
    breaker::{self, Breaker},
    gauge::Gauge,
    latency::Recorder,
    ledger::Prices,
    quota::{Mark, Quota, Report},
    time::Moment,
};

use super::{target::Address, trust::Trust};
use crate::{
    race::transport::Transport,
    settle::record::Outcome,
    telemetry::metrics::{ModelMetrics, RouteMetrics},
    wire::dialect::Dialect,
};

/// A route in one snapshot.
pub struct RouteRuntime {
    /// As configured.
    pub config: config::Route,
    /// Where and how attempts are addressed.
    pub address: Address,
    /// Models in configured order.
    pub models: Vec<ModelRuntime>,
    /// The connection pool.
    pub transport: ArcSwap<Arc<dyn Transport>>,
    /// The authorities that it was set up with.
    pub trust: Mutex<Trust>,
    /// What outlives this snapshot.
    pub state: Arc<RouteState>,
    /// Resolved metric handles.
    pub metrics: RouteMetrics,
}

/// One model of a route.
pub struct ModelRuntime {
    /// As configured.
    pub config: config::route::Model,
    /// Prices; `None` = unpriced.
    pub prices: Option<Prices>,
    /// Identity of endpoint, api and upstream name: a new one starts the cells again from zero.
    pub identity: String,
    /// Resolved metric handles.
    pub metrics: ModelMetrics,
}

/// What a route carries from one snapshot to the next.
pub struct RouteState {
    /// Small number of the route, unique in the process.
    pub id: u16,
    /// Identity over all models; a new one resets the breaker and starts the ramp again.
    identity: Mutex<String>,
    /// Circuit breaker.
    pub breaker: Mutex<Breaker>,
    /// Attempts in flight; the same number as the permits held.
    pub in_flight: Gauge,
    /// Starts of this minute, for `requestsPerMinute` and `tokensPerMinute`.
    pub minute: Mutex<Minute>,
    /// What the provider says is left of its own limits, by configured model.
    quotas: Mutex<Vec<(String, Quota)>>,
    /// First tokens of primaries.
    pub first_token: Recorder,
    /// When the ramp began, in nanoseconds of the monotonic clock; 0 = it is over.
    ramp_from: AtomicU64,
    /// Attempts by outcome.
    outcomes: [AtomicU64; Outcome::ALL.len()],
    /// Our own credential was refused: no traffic until then, in nanoseconds of the monotonic clock.
    pub credentials_rejected: AtomicU64,
    /// Whether the configuration in force suspends it. User actions go on with the snapshot that they began with, and still
    /// send nothing more to a route that somebody has suspended since.
    suspended: AtomicBool,
}

/// Attempts and tokens started in the running minute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Minute {
    index: u64,
    requests: u64,
    tokens: u64,
}

impl Minute {
    /// Counts one attempt of `tokens` if both shares allow it.
    pub fn take(
        &mut self,
        now: Moment,
        tokens: u64,
        requests_limit: Option<u64>,
        tokens_limit: Option<u64>,
    ) -> bool {
        let index = now.as_secs() / 60;
        if index != self.index {
            *self = Self { index, ..Self::default() };
        }
        let fits = requests_limit.is_none_or(|limit| self.requests < limit)
            && tokens_limit.is_none_or(|limit| self.tokens == 0 || self.tokens + tokens <= limit);
        if fits {
            self.requests += 1;
            self.tokens += tokens;
        }
        fits
    }
}

impl RouteState {
    /// State of a route seen for the first time. `ramp` = it comes into a fleet that already runs.
    pub fn new(id: u16, identity: String, rule: breaker::Rule, now: Moment, ramp: bool) -> Self {
        Self {
            id,
            identity: Mutex::new(identity),
            breaker: Mutex::new(Breaker::new(rule)),
            in_flight: Gauge::default(),
            minute: Mutex::default(),
            quotas: Mutex::default(),
            first_token: Recorder::new(),
            ramp_from: AtomicU64::new(if ramp { now.as_nanos().max(1) } else { 0 }),
            outcomes: std::array::from_fn(|_| AtomicU64::new(0)),
            credentials_rejected: AtomicU64::new(0),
            suspended: AtomicBool::new(false),
        }
    }

    /// As the configuration that is in force from now on says.
    pub fn set_suspended(&self, suspended: bool) {
        self.suspended.store(suspended, Ordering::Relaxed);
    }

    /// Whether no attempt may begin.
    pub fn suspended(&self) -> bool {
        self.suspended.load(Ordering::Relaxed)
    }

    /// Takes over an edit: another endpoint, api or upstream model is another upstream, so what the breaker has learnt is
    /// forgotten and the route ramps up again. Attempts in flight stay counted.
    pub fn edit(&self, identity: &str, rule: breaker::Rule, now: Moment) {
        let mut known = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == identity {
            self.breaker(|breaker| breaker.set_rule(rule));
        } else {
            identity.clone_into(&mut known);
            self.breaker(|breaker| *breaker = Breaker::new(rule));
            self.restart_ramp(now);
        }
    }

    /// Starts the ramp again: the route was resumed.
    pub fn restart_ramp(&self, now: Moment) {
        self.ramp_from.store(now.as_nanos().max(1), Ordering::Relaxed);
    }

    /// The provider refused our own credential: other routes are tried for 10 s, or until the secret changes.
    pub fn reject_credentials(&self, now: Moment) {
        self.credentials_rejected.store((now + Duration::from_secs(10)).as_nanos(), Ordering::Relaxed);
    }

    /// Whether the provider refused our credential a moment ago.
    pub fn credentials_rejected(&self, now: Moment) -> bool {
        self.credentials_rejected.load(Ordering::Relaxed) > now.as_nanos()
    }

    /// Runs `f` on the breaker.
    pub fn breaker<R>(&self, f: impl FnOnce(&mut Breaker) -> R) -> R {
        f(&mut self.breaker.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether one more attempt of `tokens` fits into one of `shares` parts of what the provider says is left for a model.
    pub fn quota_fits(&self, model: &str, now: Moment, tokens: u64, shares: u32) -> bool {
        self.quota(model, |quota| quota.fits(now, tokens, shares))
    }

    /// Counts an attempt of `tokens` towards that.
    pub fn quota_start(&self, model: &str, now: Moment, tokens: u64) -> Mark {
        self.quota(model, |quota| quota.start(now, tokens))
    }

    /// The answer to that attempt tells what is left.
    pub fn quota_report(&self, model: &str, mark: Mark, report: &Report) {
        self.quota(model, |quota| quota.report(mark, report));
    }

    /// What is left by now for each model that was asked for; nothing where nobody knows.
    pub fn quotas_left(&self, now: Moment) -> Vec<(String, Report)> {
        let quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        quotas.iter().map(|(model, quota)| (model.clone(), quota.left(now))).collect()
    }

    /// Runs `f` on the quota of a configured model.
    fn quota<R>(&self, model: &str, f: impl FnOnce(&mut Quota) -> R) -> R {
        let mut quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, quota)) = quotas.iter_mut().find(|(name, _)| name == model) {
            return f(quota);
        }
        let mut quota = Quota::default();
        let result = f(&mut quota);
        quotas.push((model.to_owned(), quota));
        result
    }

    /// Counts an ended attempt.
    pub fn count(&self, outcome: Outcome) {
        if let Some(place) = Outcome::ALL.iter().position(|known| *known == outcome) {
            self.outcomes[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ended attempts by outcome, zeros left out.
    pub fn outcomes(&self) -> BTreeMap<String, u64> {
        Outcome::ALL
            .iter()
            .zip(&self.outcomes)
            .map(|(outcome, count)| (outcome.as_str().to_owned(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

impl RouteRuntime {
    /// Dialect family of the requests that it takes.
    pub fn dialect(&self) -> Dialect {
        match self.config.api {
            config::route::Api::OpenAI | config::route::Api::AzureOpenAI => Dialect::OpenAi,
            config::route::Api::Anthropic => Dialect::Anthropic,
        }
    }

    /// Whether `tenant` may use it.
    pub fn admits(&self, tenant: &str) -> bool {
        self.config.tenants.is_empty() || self.config.tenants.iter().any(|allowed| allowed == tenant)
    }

    /// Share of the configured weight in force, in 1/1000: breaker ramp and slow ejection times the ramp of new routes.
    pub fn share_per_mille(&self, now: Moment) -> u32 {
        let breaker = u32::from(self.state.breaker(|breaker| breaker.weight_per_mille(now)));
        breaker * self.ramp_per_mille(now) / 1_000
    }

    fn ramp_per_mille(&self, now: Moment) -> u32 {
        let from = self.state.ramp_from.load(Ordering::Relaxed);
        if from == 0 {
            return 1_000;
        }
        let rule = breaker::RampUp {
            start_percent: u8::try_from(self.config.ramp_up.start_percent).unwrap_or(100),
            every: Duration::from_millis(self.config.ramp_up.every_ms),
        };
        let share = u32::from(rule.share_per_mille(Moment::from_nanos(from), now));
        if share >= 1_000 {
            self.state.ramp_from.store(0, Ordering::Relaxed);
        }
        share.min(1_000)
    }

    /// Attempts that this pod may have in flight here, out of the fleet's; `None` = no limit.
    pub fn concurrency(&self, replicas: u32) -> Option<u64> {
        self.config.limits.max_concurrent.map(|limit| (limit / u64::from(replicas.max(1))).max(1))
    }

    /// Attempts in flight over the limit, or what is used of what the provider says is left for `model`, whichever is
    /// more, in 1/1000; 0 without a limit.
    pub fn busy_per_mille(&self, model: &str, now: Moment, replicas: u32) -> u16 {
        let own = self.concurrency(replicas).map_or(0, |limit| {
            u16::try_from(self.state.in_flight.get().saturating_mul(1_000) / limit).unwrap_or(u16::MAX)
        });
        own.max(self.state.quota(model, |quota| quota.used_per_mille(now, replicas)))
    }

    /// The first-token timer of `model`, for streams.
    pub fn first_token_timeout(&self, model: usize) -> Duration {
        let own = self.models.get(model).and_then(|model| model.config.first_token_timeout_ms);
        Duration::from_millis(own.unwrap_or(self.config.timeouts.first_token_ms))
    }
}

/// The breaker rule of a configured route.
pub fn breaker_rule(config: &config::route::Breaker) -> breaker::Rule {
    let percent = |value: u32| u8::try_from(value.min(100)).unwrap_or(100);
    breaker::Rule {
        consecutive_failures: config.consecutive_failures,
        failure_percent: percent(config.failure_percent),
        slow_percent: percent(config.slow_percent),
        slow_factor_percent: u16::try_from(config.slow_factor_percent).unwrap_or(u16::MAX),
        min_requests: config.min_requests,
        window: Duration::from_millis(config.window_ms),
        open_for: Duration::from_millis(config.open_for_ms),
        max_open_for: Duration::from_millis(config.max_open_for_ms),
    }
}

/// Prices of a model, with the documented fall-backs for cached input.
pub fn prices(pricing: &config::route::Pricing) -> Prices {
    Prices {
        input: pricing.input_micros_per_million,
        cache_read: pricing.cached_input_micros_per_million.unwrap_or(pricing.input_micros_per_million),
        cache_write: pricing.cache_write_micros_per_million.unwrap_or(pricing.input_micros_per_million),
        output: pricing.output_micros_per_million,
    }
}
