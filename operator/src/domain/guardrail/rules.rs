//! Guardrails of a policy's spec as rules of `hedgerow_policy::guardrail`.
//!
//! Only units change here. Every default is in the resource; a value out of its bounds cannot come here, because such an
//! object is not accepted, and is clamped all the same.

use std::time::Duration;

use hedgerow_crds::{
    units::DurationText,
    v1alpha1::hedge_policy::{BlindAction, Guardrails, HedgePolicySpec, Recovery},
};
use hedgerow_policy::guardrail::{self, Rules};

/// The rules that a policy's cohorts are held to.
pub fn rules(spec: &HedgePolicySpec) -> Rules {
    let rails: &Guardrails = &spec.guardrails;
    Rules {
        window: span(&rails.window),
        min_requests: unsigned(rails.min_requests),
        duplicate_rate: guardrail::Maximum {
            trip_percent: percent(rails.duplicate_rate.trip_percent),
            rearm_percent: percent(rails.duplicate_rate.rearm_percent),
        },
        extra_spend: guardrail::Maximum {
            trip_percent: percent(rails.extra_spend.trip_percent),
            rearm_percent: percent(rails.extra_spend.rearm_percent),
        },
        win_rate: guardrail::WinRate {
            min_percent: percent(rails.win_rate.min_percent),
            min_hedges: unsigned(rails.win_rate.min_hedges),
        },
        late_completions: percent(rails.late_completions.trip_percent),
        error_rate: guardrail::ErrorRate {
            factor_percent: narrow(rails.error_rate.factor_percent),
            min_points: percent(rails.error_rate.min_points),
        },
        tail_gain_min_percent: percent(rails.tail_gain.min_percent),
        median_shift_trip_percent: narrow(rails.median_shift.trip_percent),
        daily_spend_micros: rails.daily_spend_micros.map(unsigned),
        recovery: match rails.recovery {
            Recovery::Automatic => guardrail::Recovery::Automatic,
            Recovery::Manual => guardrail::Recovery::Manual,
        },
        cooldown: span(&rails.cooldown),
        max_cooldown: span(&rails.max_cooldown),
        trial_for: span(&rails.trial_for),
        max_trips_per_day: narrow(rails.max_trips_per_day),
        ramp: guardrail::Ramp {
            start_percent: percent(spec.ramp.start_percent),
            grow_percent: narrow(spec.ramp.grow_percent),
            every: span(&spec.ramp.every),
        },
        blind_after: span(&rails.blind.after),
        blind_action: match rails.blind.action {
            BlindAction::Suspend => guardrail::BlindAction::Suspend,
            BlindAction::Continue => guardrail::BlindAction::Continue,
        },
        ..Rules::default()
    }
}

fn span(text: &DurationText) -> Duration {
    text.parse().unwrap_or_default()
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn percent(value: i32) -> u8 {
    u8::try_from(value.clamp(0, 255)).unwrap_or(u8::MAX)
}

fn narrow<T: TryFrom<i32> + Default>(value: i32) -> T {
    T::try_from(value.max(0)).unwrap_or_default()
}
