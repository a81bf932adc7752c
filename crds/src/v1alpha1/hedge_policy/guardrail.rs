//! Guardrails: limits on a cohort's measured behaviour. A breach suspends hedging, never requests.
//!
//! Two windows, as in the multi-window burn-rate alerts of the SRE Workbook (2018, chapter 5): the short
//! one says that it is still going on, the long one that it matters. Tripping and re-arming have limits of
//! their own (hysteresis), so that a rate near the limit does not flap.
//!
//! Each guardrail has a struct of its own even where the fields are the same: defaults nest in the
//! schema, and theirs differ.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;
use crate::units::{DurationText, Micros, Percent};

/// Limits on a cohort's measured behaviour. All are on by default except lateCompletions;
/// duplicateRate and extraSpend can't be switched off, any other is off at 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = rules)]
pub struct Guardrails {
    /// Long window; the short one is max(window / 5, 10s). With little traffic both widen up to 24h.
    /// 30s to 24h. Default: 5m.
    pub window: DurationText,
    /// Enrolled requests below which a window says nothing. Default: 200.
    #[schemars(range(min = 20, max = 1_000_000))]
    pub min_requests: i64,
    /// Hedges per enrolled original. Can't be switched off. Default: trips at 8 percent.
    pub duplicate_rate: DuplicateRate,
    /// What hedging adds to the cost of the primaries alone. Can't be switched off. Default: trips at 6
    /// percent.
    pub extra_spend: ExtraSpend,
    /// Hedges that win. Default: at least 20 percent.
    pub win_rate: WinRate,
    /// Audited losers that had completed anyway. Default: off.
    pub late_completions: LateCompletions,
    /// Errors of enrolled originals against their usual share, that of the last hour. Default: twice as many.
    pub error_rate: ErrorRate,
    /// How much hedging shortens the 99th percentile. Default: at least 5 percent.
    pub tail_gain: TailGain,
    /// How much the median without hedging rose above that of the last hour. Default: trips at 50 percent.
    pub median_shift: MedianShift,
    /// Most that losers may cost in a UTC day, in micro-units of the fleet's currency. Default: no
    /// ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_992_i64))]
    pub daily_spend_micros: Option<Micros>,
    /// Automatic = a trial after the cooldown; Manual = stays off until resumed by hand. Default:
    /// Automatic.
    pub recovery: Recovery,
    /// How long hedging stays off after a trip; doubles with every trip of a series. 5s to 24h.
    /// Default: 60s.
    pub cooldown: DurationText,
    /// Longest cooldown. 5s to 24h. Default: 30m.
    pub max_cooldown: DurationText,
    /// How long a trial lasts; 100 hedges end it earlier. 5s to 24h. Default: 5m.
    pub trial_for: DurationText,
    /// Trips in 24h after which recovery is Manual. Default: 6.
    #[schemars(range(min = 1, max = 1000))]
    pub max_trips_per_day: i32,
    /// What pods do when nobody watches the guardrails. Default: suspend hedging after 30m.
    pub blind: Blind,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self {
            window: "5m".into(),
            min_requests: 200,
            duplicate_rate: DuplicateRate::default(),
            extra_spend: ExtraSpend::default(),
            win_rate: WinRate::default(),
            late_completions: LateCompletions::default(),
            error_rate: ErrorRate::default(),
            tail_gain: TailGain::default(),
            median_shift: MedianShift::default(),
            daily_spend_micros: None,
            recovery: Recovery::default(),
            cooldown: "60s".into(),
            max_cooldown: "30m".into(),
            trial_for: "5m".into(),
            max_trips_per_day: 6,
            blind: Blind::default(),
        }
    }
}

fn rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [
            rule::within("window", "30s", "24h"),
            rule::within("cooldown", "5s", "24h"),
            rule::within("maxCooldown", "5s", "24h"),
            rule::within("trialFor", "5s", "24h"),
            rule::ordered("cooldown", "maxCooldown"),
        ],
    );
}

/// Hedges per enrolled original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DuplicateRate {
    /// Trips when one window is at this value or above, beyond chance, and the other at rearmPercent or above.
    /// Default: 8.
    #[schemars(range(min = 1, max = 100))]
    pub trip_percent: Percent,
    /// A trial must stay below this value; above duplicateTargetPercent and below tripPercent.
    /// Default: 6.
    #[schemars(range(min = 1, max = 100))]
    pub rearm_percent: Percent,
}

impl Default for DuplicateRate {
    fn default() -> Self {
        Self { trip_percent: 8, rearm_percent: 6 }
    }
}

/// (Cost of primaries and hedges - estimated cost of the primaries alone) / the latter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = spend_rules)]
pub struct ExtraSpend {
    /// Trips when one window is at this value or above, beyond chance, and the other at rearmPercent or above.
    /// Default: 6.
    #[schemars(range(min = 1, max = 100))]
    pub trip_percent: Percent,
    /// A trial must stay below this value; below tripPercent.
    /// Default: 4.
    #[schemars(range(min = 0, max = 100))]
    pub rearm_percent: Percent,
}

impl Default for ExtraSpend {
    fn default() -> Self {
        Self { trip_percent: 6, rearm_percent: 4 }
    }
}

fn spend_rules(schema: &mut Schema) {
    rule::attach(
        schema,
        [rule::computed(
            "self.rearmPercent < self.tripPercent",
            "rearmPercent",
            "'rearmPercent (%d) must be below tripPercent (%d): lower rearmPercent or raise \
             tripPercent'.format([self.rearmPercent, self.tripPercent])",
        )],
    );
}

/// Hedges that win.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WinRate {
    /// Trips when both windows are below this value, the long one beyond chance; 0 = off. Default: 20.
    #[schemars(range(min = 0, max = 100))]
    pub min_percent: Percent,
    /// Hedges below which a window says nothing. Default: 50.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_hedges: i64,
}

impl Default for WinRate {
    fn default() -> Self {
        Self { min_percent: 20, min_hedges: 50 }
    }
}

/// Audited losers that had completed anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LateCompletions {
    /// Trips when both windows are at this value or above; 0 = off. Default: 0.
    #[schemars(range(min = 0, max = 100))]
    pub trip_percent: Percent,
}

/// Errors of enrolled originals against their usual share, that of the last hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorRate {
    /// Trips at this percentage of the control group's rate; 0 = off. Default: 200.
    #[schemars(range(min = 0, max = 10_000))]
    pub factor_percent: Percent,
    /// Smallest difference that counts, in percentage points. Default: 2.
    #[schemars(range(min = 0, max = 100))]
    pub min_points: i32,
}

impl Default for ErrorRate {
    fn default() -> Self {
        Self { factor_percent: 200, min_points: 2 }
    }
}

/// How much hedging shortens the 99th percentile. Trips only when the upper 95 % bound is below the
/// limit at 3,000 requests or more, else it advises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TailGain {
    /// Smallest gain, in percent; 0 = off. Default: 5.
    #[schemars(range(min = 0, max = 100))]
    pub min_percent: Percent,
}

impl Default for TailGain {
    fn default() -> Self {
        Self { min_percent: 5 }
    }
}

/// How much the median without hedging rose above that of the last hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MedianShift {
    /// Trips when both windows are at this rise or above, in percent; 0 = off. Default: 50.
    #[schemars(range(min = 0, max = 1000))]
    pub trip_percent: Percent,
}

impl Default for MedianShift {
    fn default() -> Self {
        Self { trip_percent: 50 }
    }
}

/// How a suspended cohort comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Recovery {
    /// Through a trial after the cooldown.
    #[default]
    Automatic,
    /// By hand.
    Manual,
}

/// What pods do on their own when nobody watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum BlindAction {
    /// Hedge no more.
    #[default]
    Suspend,
    /// Go on.
    Continue,
}

/// What pods do when the operator's heartbeat is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = blind_rules)]
pub struct Blind {
    /// Age of the last heartbeat. 10s to 24h. Default: 30m.
    pub after: DurationText,
    /// Suspend or Continue. Default: Suspend.
    pub action: BlindAction,
}

impl Default for Blind {
    fn default() -> Self {
        Self { after: "30m".into(), action: BlindAction::Suspend }
    }
}

fn blind_rules(schema: &mut Schema) {
    rule::attach(schema, [rule::within("after", "10s", "24h")]);
}
