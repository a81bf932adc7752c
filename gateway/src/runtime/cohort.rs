//! One cohort at run time: its configuration in one snapshot, and the counts and switches that outlive snapshots.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hedgerow_config::{
    self as config,
    cohort::{BlindAction, DelayStrategy, Mode},
};
use hedgerow_policy::{
    delay,
    gate::{self, Reason, Returning},
    latency::Recorder,
    time::Moment,
};

use crate::{settle::ring::CohortRing, telemetry::metrics::CohortMetrics};

/// A cohort in one snapshot.
pub struct CohortRuntime {
    /// As configured; `decision` is the newest one seen, not necessarily that of the file.
    pub config: config::Cohort,
    /// Place in the snapshot.
    pub place: usize,
    /// Small number of the cohort, unique in the process, never 0.
    pub id: u16,
    /// Delay rule for streams and for complete answers.
    pub delay: [delay::Rule; 2],
    /// What outlives this snapshot.
    pub state: std::sync::Arc<CohortState>,
    /// Resolved metric handles.
    pub metrics: CohortMetrics,
}

/// What a cohort carries from one snapshot to the next.
pub struct CohortState {
    /// The last 10 min and the sums since the start.
    pub ring: Mutex<CohortRing>,
    /// First token as users saw it.
    pub user_latency: Recorder,
    /// The same for the control group.
    pub control_latency: Recorder,
    /// Newest decision seen.
    pub decision: Mutex<config::cohort::Decision>,
    suppressed: Box<[AtomicU64]>,
    pushback_until: AtomicU64,
    returning: Mutex<Returning>,
}

impl CohortState {
    /// A cohort seen for the first time.
    pub fn new(decision: config::cohort::Decision) -> Self {
        Self {
            ring: Mutex::default(),
            user_latency: Recorder::new(),
            control_latency: Recorder::new(),
            decision: Mutex::new(decision),
            suppressed: Reason::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            pushback_until: AtomicU64::new(0),
            returning: Mutex::default(),
        }
    }

    /// The newer of `found` and what was seen before: a smaller transition is ignored.
    pub fn newest(&self, found: &config::cohort::Decision) -> config::cohort::Decision {
        let mut seen = self.decision.lock().unwrap_or_else(PoisonError::into_inner);
        if found.transition >= seen.transition {
            seen.clone_from(found);
        }
        seen.clone()
    }

    /// Runs `f` on the ring.
    pub fn ring<R>(&self, f: impl FnOnce(&mut CohortRing) -> R) -> R {
        f(&mut self.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a timer firing that sent no hedge.
    pub fn suppress(&self, reason: Reason) {
        if let Some(count) =
            Reason::ALL.iter().position(|known| *known == reason).and_then(|at| self.suppressed.get(at))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Firings without a hedge by reason, zeros left out.
    pub fn suppressed(&self) -> BTreeMap<String, u64> {
        Reason::ALL
            .iter()
            .zip(&self.suppressed)
            .map(|(reason, count)| (reason.as_str().to_owned(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// No hedges until then: a provider asked to slow down.
    pub fn push_back(&self, until: Moment) {
        self.pushback_until.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }

    /// Whether a pushback is in force.
    pub fn pushed_back(&self, now: Moment) -> bool {
        self.pushback_until.load(Ordering::Relaxed) > now.as_nanos()
    }

    /// Counts an arrival for the share of client retries.
    pub fn arrived(&self, now: Moment, client_retry: bool) {
        self.returning.lock().unwrap_or_else(PoisonError::into_inner).arrived(now, client_retry);
    }

    /// Client retries over originals of the last one to two minutes, in 1/1000; 0 below 20 arrivals.
    pub fn client_retry_per_mille(&self) -> u16 {
        self.returning.lock().unwrap_or_else(PoisonError::into_inner).per_mille()
    }
}

impl CohortRuntime {
    /// Mode as the gate asks for it.
    pub fn mode(&self) -> gate::Mode {
        match self.config.mode {
            Mode::Disabled => gate::Mode::Disabled,
            Mode::Observe => gate::Mode::Observe,
            Mode::Enforce => gate::Mode::Enforce,
        }
    }

    /// Whether the pod must act because nobody has watched since `heartbeat`.
    pub fn blind(&self, now: Moment, heartbeat: Moment) -> bool {
        self.config.blind.action == BlindAction::Suspend
            && now.since(heartbeat) > Duration::from_millis(self.config.blind.after_ms)
    }

    /// min(enrolled share, ramp), in 1/1000.
    pub fn share_per_mille(&self) -> u16 {
        let ramp = match self.config.decision.state {
            config::cohort::DecisionState::Observing => 100,
            _ => self.config.decision.hedging_percent,
        };
        (self.config.share_percent.min(ramp).min(100) * 10) as u16
    }

    /// The delay rule of streams or of complete answers.
    pub fn delay_rule(&self, stream: bool) -> &delay::Rule {
        &self.delay[usize::from(!stream)]
    }
}

/// The delay rule of a cohort.
pub fn delay_rule(config: &config::Cohort, streaming: bool) -> delay::Rule {
    let percent = |value: u32| u8::try_from(value.min(100)).unwrap_or(100);
    let ms = Duration::from_millis;
    let strategy = match (config.delay.strategy, config.delay.fixed_ms) {
        (DelayStrategy::Fixed, Some(fixed)) => delay::Strategy::Fixed(ms(fixed)),
        (DelayStrategy::Optimal, _) => delay::Strategy::Optimal,
        _ => delay::Strategy::Quantile,
    };
    delay::Rule {
        strategy,
        quantile_percent: percent(config.delay.quantile_percent),
        min: ms(config.delay.min_ms),
        max: ms(config.delay.max_ms),
        cold_start: ms(config.delay.cold_start_ms),
        streaming,
        duplicate_target_percent: percent(config.duplicate_target_percent),
        holdout_percent: percent(config.holdout_percent),
    }
}

/// Whether a cohort may hedge to a failure domain; empty lists allow all.
pub fn allows_hedge_to(rule: &config::cohort::HedgeTo, domain: &config::route::FailureDomain) -> bool {
    let listed = |list: &[String], value: &String| list.is_empty() || list.contains(value);
    listed(&rule.providers, &domain.provider) && listed(&rule.regions, &domain.region)
}
