//! The gateway's metrics, in OpenMetrics form.
//!
//! Inputs: events of the race, lanes and ledger. Outputs: the text of `/metrics`. Names come from
//! [`hedgerow_config::metric`], because the operator and the dashboards read them. Invariants: handles are resolved when
//! a configuration is loaded and cost an atomic add in a request; label values are configured names or members of
//! closed lists, never anything a client or a provider wrote; money is added exactly and rounded only when shown.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use hedgerow_config::metric;
use hedgerow_policy::{
    breaker::State,
    gate::Reason,
    ledger::{Basis, Cost, Kind, Role},
    quota,
};
use prometheus_client::{
    encoding::text,
    metrics::{TypedMetric, counter, gauge, histogram::Histogram as Buckets},
    registry::{Metric, Registry},
};

use super::{
    catalog,
    family::{Bounded, Slots},
};
use crate::{
    settle::record::{Outcome, StatusClass},
    wire::contract::Breach,
};

/// Counts events.
pub type Counter = counter::Counter;
/// Goes up and down.
pub type Gauge = gauge::Gauge;
/// Goes up and down, not whole.
pub type Level = gauge::Gauge<f64, AtomicU64>;
/// Observes seconds or tokens.
pub type Histogram = Buckets;
type Money = counter::Counter<u64, Picos>;

const OUTCOMES: usize = Outcome::ALL.len();
const KINDS: usize = Kind::ALL.len();
const REASONS: usize = Reason::ALL.len();
const CLASSES: usize = StatusClass::ALL.len();
const ROLES: usize = Role::ALL.len();
const BASES: usize = Basis::ALL.len();

/// Tokens of one attempt: powers of four, as the semantic conventions advise.
const TOKEN_BUCKETS: [f64; 13] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// 1e-12 units inside, micro-units outside, rounded half up. 64 bits hold 18 million units of the currency per pod life.
#[derive(Debug, Default)]
pub struct Picos(AtomicU64);

impl counter::Atomic<u64> for Picos {
    fn inc(&self) -> u64 {
        self.inc_by(1)
    }

    fn inc_by(&self, picos: u64) -> u64 {
        self.0.fetch_add(picos, Ordering::Relaxed)
    }

    fn get(&self) -> u64 {
        hedgerow_config::money::Picos(u128::from(self.0.load(Ordering::Relaxed))).to_micros()
    }
}

/// All metrics of the process.
pub struct Metrics {
    registry: Mutex<Registry>,
    first_token: Bounded<Histogram>,
    tokens: Bounded<Histogram>,
    attempts: Bounded<Counter>,
    attempts_in_flight: Bounded<Gauge>,
    breaker: Bounded<Gauge>,
    in_flight: Bounded<Gauge>,
    queued: Bounded<Gauge>,
    limit: Bounded<Gauge>,
    shed: Bounded<Counter>,
    budget: Bounded<Level>,
    hedges: Bounded<Counter>,
    suppressed: Bounded<Counter>,
    actions: Bounded<Counter>,
    breaches: Bounded<Counter>,
    quota_left: Bounded<Gauge>,
    spend: Arc<Slots<Money, { ROLES * BASES }>>,
    /// Configurations refused.
    pub config_rejected: Counter,
    /// 1 while the certificate mounted for the traffic port cannot be served.
    pub certificate_unusable: Gauge,
    /// TLS handshakes of clients that came to nothing.
    pub handshakes_failed: Counter,
    /// Records lost.
    pub records_dropped: Counter,
    /// Spans lost.
    pub spans_dropped: Counter,
}

impl Metrics {
    /// Registers everything, once per process.
    pub fn new() -> Arc<Self> {
        let mut registry = Registry::default();
        let own = &mut registry;
        let first_token = family(own, metric::TIME_TO_FIRST_TOKEN, seconds);
        let tokens = family(own, metric::TOKEN_USAGE, token_buckets);
        let attempts = family(own, metric::ATTEMPTS, Counter::default);
        let attempts_in_flight = family(own, metric::ATTEMPTS_IN_FLIGHT, Gauge::default);
        let breaker = family(own, metric::BREAKER_STATE, Gauge::default);
        let in_flight = family(own, metric::IN_FLIGHT, Gauge::default);
        let queued = family(own, metric::QUEUED, Gauge::default);
        let limit = family(own, metric::LANE_LIMIT, Gauge::default);
        let shed = family(own, metric::SHED, Counter::default);
        let budget = family(own, metric::BUDGET_TOKENS, Level::default);
        let hedges = family(own, metric::HEDGES, Counter::default);
        let suppressed = family(own, metric::HEDGE_SUPPRESSED, Counter::default);
        let actions = family(own, metric::ACTIONS, Counter::default);
        let breaches = family(own, metric::CONTRACT_BREACHES, Counter::default);
        let quota_left = family(own, metric::QUOTA_LEFT, Gauge::default);
        let spend: Bounded<Money> = family(own, metric::SPEND_MICROS, Money::default);
        let config_rejected = single(own, metric::CONFIG_REJECTED);
        let certificate_unusable = single(own, metric::CERTIFICATE_UNUSABLE);
        let handshakes_failed = single(own, metric::HANDSHAKES_FAILED);
        let records_dropped = single(own, metric::RECORDS_DROPPED);
        let spans_dropped = single(own, metric::SPANS_DROPPED);
        let spend = Slots::new(move |at| {
            let (role, basis) = (Role::ALL[at / BASES], Basis::ALL[at % BASES]);
            spend.with(&[("role", role.as_str()), ("basis", basis.as_str())])
        });
        Arc::new(Self {
            registry: Mutex::new(registry),
            first_token,
            tokens,
            attempts,
            attempts_in_flight,
            breaker,
            in_flight,
            queued,
            limit,
            shed,
            budget,
            hedges,
            suppressed,
            actions,
            breaches,
            quota_left,
            spend,
            config_rejected,
            certificate_unusable,
            handshakes_failed,
            records_dropped,
            spans_dropped,
        })
    }

    /// The text of `/metrics`.
    pub fn encode(&self) -> String {
        let mut written = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if text::encode(&mut written, &registry).is_err() {
            tracing::error!("metrics cannot be written");
        }
        written
    }

    /// Handles of a route.
    pub fn route(&self, route: &str) -> RouteMetrics {
        let (name, family): (Arc<str>, _) = (Arc::from(route), self.attempts.clone());
        let attempts = Slots::new(move |at| {
            let (kind, outcome) = (Kind::ALL[at / OUTCOMES], Outcome::ALL[at % OUTCOMES]);
            family.with(&[("route", &name), ("kind", kind.as_str()), ("outcome", outcome.as_str())])
        });
        let gauge = |state: State| self.breaker.with(&[("route", route), ("state", state.as_str())]);
        RouteMetrics {
            route: Arc::from(route),
            breaches: self.breaches.clone(),
            quota_left: self.quota_left.clone(),
            in_flight: self.attempts_in_flight.with(&[("route", route)]),
            attempts,
            breaker: State::ALL.map(|state| (state, gauge(state))),
        }
    }

    /// Handles of one model on one route.
    pub fn model(&self, route: &str, model: &str) -> ModelMetrics {
        let labels = [("route", route), ("gen_ai_request_model", model)];
        let tokens = |kind| self.tokens.with(&[labels[0], labels[1], ("gen_ai_token_type", kind)]);
        ModelMetrics {
            first_token: self.first_token.with(&labels),
            input_tokens: tokens("input"),
            output_tokens: tokens("output"),
        }
    }

    /// Handles of a lane.
    pub fn lane(&self, lane: &str) -> LaneMetrics {
        let labels = [("lane", lane)];
        LaneMetrics {
            in_flight: self.in_flight.with(&labels),
            queued: self.queued.with(&labels),
            limit: self.limit.with(&labels),
            lane: Arc::from(lane),
            shed: self.shed.clone(),
        }
    }

    /// Handles of a cohort.
    pub fn cohort(&self, cohort: &str) -> CohortMetrics {
        let (name, hedges, suppressed): (Arc<str>, _, _) =
            (Arc::from(cohort), self.hedges.clone(), self.suppressed.clone());
        let same = name.clone();
        CohortMetrics {
            hedges: Slots::new(move |at| {
                hedges.with(&[("cohort", &same), ("outcome", Outcome::ALL[at].as_str())])
            }),
            suppressed: Slots::new(move |at| {
                suppressed.with(&[("cohort", &name), ("reason", Reason::ALL[at].as_str())])
            }),
        }
    }

    /// Handles of the user actions of one cohort in one lane.
    pub fn actions(&self, cohort: &str, lane: &str) -> ActionMetrics {
        let (cohort, lane, family): (Arc<str>, Arc<str>, _) =
            (Arc::from(cohort), Arc::from(lane), self.actions.clone());
        ActionMetrics(Slots::new(move |at| {
            let class = StatusClass::ALL[at].as_str();
            family.with(&[("cohort", &cohort), ("lane", &lane), ("status_class", class)])
        }))
    }

    /// Balance of a model's budget, in tokens.
    pub fn budget(&self, model: &str) -> Level {
        self.budget.with(&[("model", model)])
    }

    /// Adds what an attempt cost.
    pub fn spend(&self, role: Role, basis: Basis, cost: Cost) {
        let role = Role::ALL.iter().position(|known| *known == role).unwrap_or_default();
        let basis = Basis::ALL.iter().position(|known| *known == basis).unwrap_or_default();
        self.spend.get(role * BASES + basis).inc_by(u64::try_from(cost.0).unwrap_or(u64::MAX));
    }
}

/// Handles of a route.
#[derive(Clone)]
pub struct RouteMetrics {
    /// Attempts in flight.
    pub in_flight: Gauge,
    route: Arc<str>,
    breaches: Bounded<Counter>,
    quota_left: Bounded<Gauge>,
    attempts: Arc<Slots<Counter, { KINDS * OUTCOMES }>>,
    breaker: [(State, Gauge); State::ALL.len()],
}

impl RouteMetrics {
    /// Counts an attempt at its end.
    pub fn attempt(&self, kind: Kind, outcome: Outcome) {
        let kind = Kind::ALL.iter().position(|known| *known == kind).unwrap_or_default();
        self.attempts.get(kind * OUTCOMES + outcome as usize).inc();
    }

    /// Counts an answer that broke its contract: rare, so its series is looked up each time.
    pub fn breach(&self, breach: &Breach) {
        self.breaches.with(&[("route", &self.route), ("breach", breach.word())]).inc();
    }

    /// Shows what is left of the provider's limits for a model; what nobody knows is not shown.
    pub fn quota(&self, model: &str, left: &quota::Report) {
        for (unit, left) in [("requests", left.requests), ("tokens", left.tokens)] {
            let labels = [("route", &*self.route), ("gen_ai_request_model", model), ("unit", unit)];
            match left {
                Some(told) => {
                    self.quota_left.with(&labels).set(i64::try_from(told.left).unwrap_or(i64::MAX));
                }
                None => self.quota_left.forget(&labels),
            }
        }
    }

    /// Shows the state that the breaker is in.
    pub fn breaker(&self, now: State) {
        for (state, gauge) in &self.breaker {
            gauge.set(i64::from(*state == now));
        }
    }
}

/// Handles of one model on one route.
#[derive(Clone)]
pub struct ModelMetrics {
    /// First token or complete answer, in seconds.
    pub first_token: Histogram,
    /// Input tokens of an attempt.
    pub input_tokens: Histogram,
    /// Output tokens of an attempt.
    pub output_tokens: Histogram,
}

/// Handles of a lane.
#[derive(Clone)]
pub struct LaneMetrics {
    /// User actions in flight.
    pub in_flight: Gauge,
    /// User actions waiting.
    pub queued: Gauge,
    /// Limit now.
    pub limit: Gauge,
    lane: Arc<str>,
    shed: Bounded<Counter>,
}

impl LaneMetrics {
    /// Counts a user action that was shed; `reason` is a word of a closed list.
    pub fn shed(&self, reason: &'static str) {
        self.shed.with(&[("lane", &self.lane), ("reason", reason)]).inc();
    }
}

/// Handles of a cohort.
#[derive(Clone)]
pub struct CohortMetrics {
    hedges: Arc<Slots<Counter, OUTCOMES>>,
    suppressed: Arc<Slots<Counter, REASONS>>,
}

impl CohortMetrics {
    /// Counts a hedge at its end.
    pub fn hedge(&self, outcome: Outcome) {
        self.hedges.get(outcome as usize).inc();
    }

    /// Counts a timer firing that sent none.
    pub fn suppressed(&self, reason: Reason) {
        let at = Reason::ALL.iter().position(|known| *known == reason).unwrap_or_default();
        self.suppressed.get(at).inc();
    }
}

/// Handles of the user actions of one cohort in one lane.
#[derive(Clone)]
pub struct ActionMetrics(Arc<Slots<Counter, CLASSES>>);

impl ActionMetrics {
    /// Counts a user action at its end.
    pub fn ended(&self, class: StatusClass) {
        self.0.get(class as usize).inc();
    }
}

fn seconds() -> Histogram {
    Histogram::new(metric::FIRST_TOKEN_BUCKETS)
}

fn token_buckets() -> Histogram {
    Histogram::new(TOKEN_BUCKETS)
}

fn family<M>(registry: &mut Registry, name: &str, constructor: fn() -> M) -> Bounded<M>
where
    M: Metric + TypedMetric + Clone,
{
    let bounded = Bounded::new(constructor);
    register(registry, name, bounded.family());
    bounded
}

fn single<M: Metric + Clone + Default>(registry: &mut Registry, name: &str) -> M {
    let metric = M::default();
    register(registry, name, metric.clone());
    metric
}

/// The writer adds `_total` to counters by itself.
fn register(registry: &mut Registry, name: &str, metric: impl Metric) {
    registry.register(name.strip_suffix("_total").unwrap_or(name), catalog::help(name), metric);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixed_name_appears_as_the_contract_spells_it() {
        let metrics = Metrics::new();
        let route = metrics.route("openai-eu");
        route.attempt(Kind::Hedge, Outcome::Won);
        route.in_flight.inc();
        route.breaker(State::Open);
        route.breach(&Breach::Missing("/city".into()));
        let left = quota::Left { limit: 500, left: 60, reset: std::time::Duration::from_secs(30) };
        route.quota("gpt", &quota::Report { requests: Some(left), tokens: None });
        let model = metrics.model("openai-eu", "gpt");
        model.first_token.observe(0.3);
        model.output_tokens.observe(12.0);
        let lane = metrics.lane("interactive");
        lane.limit.set(20);
        lane.shed("LaneFull");
        let cohort = metrics.cohort("chat");
        cohort.hedge(Outcome::LoserCancelled);
        cohort.suppressed(Reason::Thinned);
        metrics.actions("chat", "interactive").ended(StatusClass::Success);
        metrics.budget("gpt").set(4.5);
        metrics.spend(Role::Loser, Basis::LowerBound, Cost(1_499_999));
        metrics.spend(Role::Loser, Basis::LowerBound, Cost(1));
        let text = metrics.encode();
        for line in [
            r#"hedgerow_attempts_total{route="openai-eu",kind="hedge",outcome="won"} 1"#,
            r#"hedgerow_attempts_in_flight{route="openai-eu"} 1"#,
            r#"hedgerow_breaker_state{route="openai-eu",state="Open"} 1"#,
            r#"hedgerow_breaker_state{route="openai-eu",state="Closed"} 0"#,
            r#"gen_ai_server_time_to_first_token_seconds_bucket{le="0.35",route="openai-eu",gen_ai_request_model="gpt"} 1"#,
            r#"gen_ai_client_token_usage_sum{route="openai-eu",gen_ai_request_model="gpt",gen_ai_token_type="output"} 12.0"#,
            r#"hedgerow_lane_limit{lane="interactive"} 20"#,
            r#"hedgerow_in_flight{lane="interactive"} 0"#,
            r#"hedgerow_queued{lane="interactive"} 0"#,
            r#"hedgerow_shed_total{lane="interactive",reason="LaneFull"} 1"#,
            r#"hedgerow_hedges_total{cohort="chat",outcome="loser_canceled"} 1"#,
            r#"hedgerow_hedge_suppressed_total{cohort="chat",reason="Thinned"} 1"#,
            r#"hedgerow_user_actions_total{cohort="chat",lane="interactive",status_class="success"} 1"#,
            r#"hedgerow_budget_tokens{model="gpt"} 4.5"#,
            r#"hedgerow_spend_micros_total{role="loser",basis="lowerBound"} 2"#,
            r#"hedgerow_quota_left{route="openai-eu",gen_ai_request_model="gpt",unit="requests"} 60"#,
            r#"hedgerow_contract_breaches_total{route="openai-eu",breach="pointer"} 1"#,
            "hedgerow_config_rejected_total 0",
            "hedgerow_records_dropped_total 0",
            "hedgerow_spans_dropped_total 0",
        ] {
            assert!(text.contains(line), "missing {line} in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        for entry in catalog::CATALOG {
            let family = entry.name.strip_suffix("_total").unwrap_or(entry.name);
            assert!(text.contains(&format!("# HELP {family} {}.\n", entry.help)), "{family} in\n{text}");
            assert!(text.contains(&format!("# TYPE {family} {}\n", entry.kind)), "{family} in\n{text}");
        }
    }
}
