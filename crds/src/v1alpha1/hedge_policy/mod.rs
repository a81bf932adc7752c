//! `HedgePolicy`: which requests may be hedged, when, at what cost, and what switches it off.
//!
//! Input: what a team writes. Output: a spec with every constant default in place; the cohorts' own are
//! in [`crate::effective`]. Invariant, kept by the rules: duplicate target < rearm < trip, so that a policy
//! that does what it aims for never trips. It refuses to express hedging of provider-run tools.
//! The duplicate target of 5 % is that of Dean and Barroso, The Tail at Scale (2013).

mod cohort;
mod cohort_status;
mod contract;
mod cost;
mod delay;
mod guardrail;
mod status;

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use cohort::{Cohort, CohortMatch, HedgeTo, Objective, ToolUse};
pub use cohort_status::{
    CohortState, CohortStatus, Diagnosis, DiagnosisKind, Evidence, FirstToken, Hold, NotHedged,
    Recommendation, RouteDelay, WithoutHedging,
};
pub use contract::Contract;
pub use cost::{ActionLimits, Budget, Ramp, Retry};
pub use delay::{Deadline, Delay, DelayStrategy};
pub use guardrail::{
    Blind, BlindAction, DuplicateRate, ErrorRate, ExtraSpend, Guardrails, LateCompletions, MedianShift,
    Recovery, TailGain, WinRate,
};
pub use status::{EffectivePolicy, HedgePolicyStatus, PolicySummary, Spend};

use super::rule;
use crate::{text::FleetName, units::Percent};

/// Whether hedges are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = rule::undescribed)]
pub enum Mode {
    /// Neither decide nor count.
    Disabled,
    /// Decide and count, send nothing.
    #[default]
    Observe,
    /// Send hedges.
    Enforce,
}

/// Which requests may be hedged, when, within which budgets, and the guardrails that switch hedging
/// off.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hedgerow.dev",
    version = "v1alpha1",
    kind = "HedgePolicy",
    plural = "hedgepolicies",
    shortname = "hp",
    category = "hedgerow",
    namespaced,
    cel,
    doc = "Which requests may be hedged, when, within which budgets, and the guardrails that switch hedging off.",
    status = "HedgePolicyStatus",
    derive = "PartialEq",
    selectable = ".spec.gateway",
    selectable = ".spec.mode",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Cohorts", type_ = "string", json_path = ".status.summary.cohorts"),
    printcolumn(name = "Guardrail", type_ = "string", json_path = ".status.summary.guardrail"),
    printcolumn(name = "P99", type_ = "string", json_path = ".status.summary.p99"),
    printcolumn(name = "Saved", type_ = "string", json_path = ".status.summary.saved"),
    printcolumn(name = "Dup%", type_ = "string", json_path = ".status.summary.duplicatePercent"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Extra%", type_ = "string", priority = 1, json_path = ".status.summary.extraPercent"),
    printcolumn(name = "Reason", type_ = "string", priority = 1, json_path = ".status.summary.reason")
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules)]
pub struct HedgePolicySpec {
    /// Fleet whose requests this policy is about. Immutable. Default: default.
    #[serde(default)]
    #[schemars(transform = rule::immutable_gateway)]
    pub gateway: FleetName,
    /// Policies are asked from the highest priority down, at equal priority by name. Default: 500.
    #[serde(default = "default_priority")]
    #[schemars(range(min = 0, max = 1000))]
    pub priority: i32,
    /// Disabled, Observe (decide and count, send nothing) or Enforce. A cohort may set its own.
    /// Default: Observe.
    #[serde(default)]
    pub mode: Mode,
    /// Classes of requests. The first that matches, over all policies in order, decides; a request that
    /// matches none is never hedged. Required, 1 to 32.
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub cohorts: Vec<Cohort>,
    /// When a hedge is due. Default: at the 95th percentile of the first token, between 1s and 8s.
    #[serde(default)]
    pub delay: Delay,
    /// How long a user action may take. Default: stream 120s, complete 600s, total 30m.
    #[serde(default)]
    pub deadline: Deadline,
    /// What retries and hedges may cost together, in attempts. Default: 10 percent of originals.
    #[serde(default)]
    pub budget: Budget,
    /// Limits of one user action. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionLimits>,
    /// How fast the hedging share grows when it is switched on. Default: from 25 percent, by half every
    /// 15m.
    #[serde(default)]
    pub ramp: Ramp,
    /// Share of enrolled requests that delay and thinning aim to hedge, in percent. Default: 5.
    #[serde(default = "default_share")]
    #[schemars(range(min = 1, max = 98))]
    pub duplicate_target_percent: Percent,
    /// Share of due hedges that are withheld on purpose, the control group, in percent. Default: 5.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0, max = 100))]
    pub holdout_percent: Percent,
    /// Retries. Default: 2 attempts in all.
    #[serde(default)]
    pub retry: Retry,
    /// What a complete answer must look like to win. Default: it carries a finish reason.
    #[serde(default)]
    pub contract: Contract,
    /// Limits on measured behaviour; a breach suspends hedging of that cohort, never requests.
    #[serde(default)]
    pub guardrails: Guardrails,
    /// Same as mode: Disabled, without editing mode. Default: false.
    #[serde(default)]
    pub suspend: bool,
}

/// Middle of the range, so that later policies fit before and after.
fn default_priority() -> i32 {
    500
}

/// Duplicate target and control group: one in twenty.
fn default_share() -> Percent {
    5
}

fn rules(schema: &mut Schema) {
    let room = "self.guardrails.duplicateRate.tripPercent >= self.duplicateTargetPercent + 2";
    rule::attach(
        schema,
        [
            rule::computed(
                room,
                "guardrails.duplicateRate.tripPercent",
                "'tripPercent (%d) is too close to duplicateTargetPercent (%d): the guardrail would trip in normal \
                 operation; use at least %d (target < rearm < trip)'.format([\
                 self.guardrails.duplicateRate.tripPercent, self.duplicateTargetPercent, \
                 self.duplicateTargetPercent + 2])",
            ),
            rule::computed(
                format!(
                    "!({room}) || (self.duplicateTargetPercent < self.guardrails.duplicateRate.rearmPercent && \
                     self.guardrails.duplicateRate.rearmPercent < self.guardrails.duplicateRate.tripPercent)"
                ),
                "guardrails.duplicateRate.rearmPercent",
                "'rearmPercent (%d) must lie between duplicateTargetPercent (%d) and tripPercent (%d), both \
                 excluded'.format([self.guardrails.duplicateRate.rearmPercent, self.duplicateTargetPercent, \
                 self.guardrails.duplicateRate.tripPercent])",
            ),
        ],
    );
}
