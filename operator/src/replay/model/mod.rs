//! What a replay simulates: providers, pods, lanes, traffic, and the arm that decides.
//!
//! A [`Model`] is the world and the same for every arm; an [`Arm`] is what is compared. Values only; the engine makes them
//! move.

pub mod chance;
pub mod provider;
pub mod sdk;
pub mod terms;
pub mod traffic;

use std::sync::Arc;

use hedgerow_crds::v1alpha1::hedge_policy::HedgePolicySpec;
use hedgerow_policy::{breaker, lane};

use super::baseline::{Concurrency, Rival};
pub use provider::{Provider, Weather};
pub use traffic::Traffic;

/// The world.
#[derive(Clone)]
pub struct Model {
    /// Length in seconds of virtual time.
    pub seconds: f64,
    /// First and last second of every pod.
    pub pods: Vec<(f64, f64)>,
    /// Providers; each is a route, a failure domain and a quota group of its own. At most 8.
    pub providers: Vec<Provider>,
    /// Lanes of every pod.
    pub lanes: Vec<lane::Rule>,
    /// Most user actions of a pod.
    pub max_in_flight: u32,
    /// Share of the prompts whose first token takes the same time everywhere: how much legs correlate, 0 to 1.
    pub correlation: f64,
    /// Traffic.
    pub traffic: Vec<Traffic>,
    /// Cohorts; the engine gives them numbers.
    pub cohorts: usize,
    /// Parts of the time that figures are told for.
    pub spans: Vec<Span>,
    /// The operator looks from this second on. A cold fleet begins with a ramp, whose first share bounds what cells without
    /// samples send; scenarios begin when that is long over, so what cells send while they learn is not judged.
    pub watched_from: f64,
    /// New pods start from the fleet's lane limits.
    pub warm_start: bool,
    /// A user who waits longer than so many seconds for the first token is in the tail.
    pub tail: f64,
}

/// A named part of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Name.
    pub name: &'static str,
    /// First second.
    pub from: f64,
    /// Last second.
    pub to: f64,
}

impl Model {
    /// Two pods, one lane without bounds that matter, one cohort; the first tenth is not measured.
    pub fn new(seconds: f64, providers: Vec<Provider>, traffic: Vec<Traffic>) -> Self {
        Self {
            seconds,
            pods: vec![(0.0, f64::INFINITY); 2],
            providers,
            lanes: vec![roomy()],
            max_in_flight: 5_000,
            correlation: 0.0,
            traffic,
            cohorts: 1,
            spans: vec![Span { name: "steady", from: seconds / 10.0, to: seconds }],
            watched_from: 60.0,
            warm_start: true,
            tail: 8.0,
        }
    }
}

/// A lane that never refuses at the loads of a scenario that is not about lanes.
pub fn roomy() -> lane::Rule {
    let limiter = hedgerow_policy::limiter::Rule {
        algorithm: hedgerow_policy::limiter::Algorithm::Fixed,
        initial: 5_000,
        max: 5_000,
        ..hedgerow_policy::limiter::Rule::default()
    };
    lane::Rule { limiter, ..lane::Rule::default() }
}

/// What is compared.
#[derive(Clone)]
pub struct Arm {
    /// Name in reports.
    pub name: &'static str,
    /// Who decides on hedges.
    pub hedging: Hedging,
    /// Breaker of every route.
    pub breaker: breaker::Rule,
    /// Who decides how many run; `None` = the model's lanes.
    pub limiter: Option<fn() -> Box<dyn Concurrency>>,
    /// Lanes instead of the model's.
    pub lanes: Option<Vec<lane::Rule>>,
    /// Whether the operator's guardrails act.
    pub guarded: bool,
    /// `Retry-After` of sheds in seconds by another rule than the lanes' reservation.
    pub retry_after: Option<fn(f64, u32) -> f64>,
}

/// Who decides on hedges.
#[derive(Clone)]
pub enum Hedging {
    /// The shipped policy under this spec.
    Policy(Arc<HedgePolicySpec>),
    /// Another system's rule.
    Rival(fn() -> Box<dyn Rival>),
}

impl Arm {
    /// The shipped policy.
    pub fn policy(name: &'static str, spec: HedgePolicySpec) -> Self {
        Self {
            name,
            hedging: Hedging::Policy(Arc::new(spec)),
            breaker: breaker::Rule::default(),
            limiter: None,
            lanes: None,
            guarded: true,
            retry_after: None,
        }
    }

    /// No hedges; everything else as shipped.
    pub fn none() -> Self {
        Self::policy("none", terms::policy(&serde_json::json!({ "mode": "Disabled" })))
    }

    /// Another system's hedges over the same lanes, budgets of its own, and a breaker without ejection of slow routes.
    pub fn rival(name: &'static str, rival: fn() -> Box<dyn Rival>) -> Self {
        Self {
            hedging: Hedging::Rival(rival),
            breaker: breaker::Rule { slow_percent: 0, ..breaker::Rule::default() },
            ..Self { name, ..Self::none() }
        }
    }

    /// The same without ejection of slow routes.
    pub fn without_ejection(self) -> Self {
        Self { breaker: breaker::Rule { slow_percent: 0, ..self.breaker }, ..self }
    }

    /// Its lanes in a model.
    pub fn lanes<'a>(&'a self, model: &'a Model) -> &'a [lane::Rule] {
        self.lanes.as_ref().unwrap_or(&model.lanes)
    }

    /// The same without guardrails.
    pub fn unguarded(self) -> Self {
        Self { guarded: false, ..self }
    }
}
