//! What makes a cohort's tail, and so whether hedging can help at all.

use hedgerow_policy::latency::Quantile;

use super::{
    fit::Cohort,
    forecast::{Forecast, Part},
};
use crate::domain::figure;

/// Samples below which a cohort is told of, and nothing more.
const LEAST: f64 = 200.0;
/// Gain at p99 below which hedging does not pay, as a share.
pub const WORTH: f64 = 0.10;

/// What makes the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Too few samples.
    Unknown,
    /// A hedge has nowhere to go.
    OneRoute,
    /// One route is slow.
    SlowRoute,
    /// What takes long is the answer itself.
    LongAnswers,
    /// Hedges of the records win far less often than independent legs would.
    Correlated,
    /// There is little to gain.
    Short,
    /// Independent stragglers.
    Stragglers,
}

impl Tail {
    /// Stable name; those that `status.cohorts[].diagnosis.kind` knows are spelt as there.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "TooLittleData",
            Self::OneRoute => "OneRoute",
            Self::SlowRoute => "SlowRoute",
            Self::LongAnswers => "LongAnswers",
            Self::Correlated => "Correlated",
            Self::Short => "NoTail",
            Self::Stragglers => "IndependentStragglers",
        }
    }

    /// In words.
    pub const fn headline(self) -> &'static str {
        match self {
            Self::Unknown => "TOO LITTLE DATA",
            Self::OneRoute => "ONE ROUTE: no hedging",
            Self::SlowRoute => "SLOW ROUTE: do not hedge it away",
            Self::LongAnswers => "LONG ANSWERS: do not hedge",
            Self::Correlated => "ROUTES CORRELATE: do not hedge",
            Self::Short => "NO TAIL: hedging does not pay",
            Self::Stragglers => "INDEPENDENT STRAGGLERS: hedging pays",
        }
    }

    /// Whether there is a table: something to compare.
    pub const fn compared(self) -> bool {
        !matches!(self, Self::Unknown | Self::OneRoute)
    }
}

/// The finding and its reason in a sentence without its full stop; empty where the headline says it all.
pub fn diagnose(forecast: &Forecast, cohort: &Cohort, parts: &[Part<'_>]) -> (Tail, String) {
    let samples: f64 = parts.iter().map(|part| part.curve.effective_samples()).sum();
    if samples < LEAST {
        return (Tail::Unknown, format!("{samples:.0} samples are too few to say anything"));
    }
    if parts.len() < 2 {
        return (Tail::OneRoute, "a hedge needs a second failure domain".to_owned());
    }
    let generation = cohort.generation.0 / cohort.generation.1.max(f64::MIN_POSITIVE);
    if !cohort.streaming() && generation > 0.7 {
        let share = generation * 100.0;
        return (
            Tail::LongAnswers,
            format!("{share:.0} % of the time of the slowest is generation after the first token"),
        );
    }
    if let Some(because) = slow_route(parts) {
        return (Tail::SlowRoute, because);
    }
    let won = cohort.hedges.1 as f64 / cohort.hedges.0.max(1) as f64;
    if cohort.hedges.0 >= 50 && won < 0.5 * forecast.win {
        let (won, independent) = (won * 100.0, forecast.win * 100.0);
        return (
            Tail::Correlated,
            format!("{won:.0} % of its hedges won where independent routes would give {independent:.0} %"),
        );
    }
    let off = forecast.lines[0].at[2];
    let best = forecast.lines[1..].iter().map(|line| line.at[2]).fold(f64::INFINITY, f64::min);
    if best > off * (1.0 - WORTH) {
        let gain = (1.0 - best / off) * 100.0;
        return (Tail::Short, format!("the best delay takes {gain:.0} % off p99"));
    }
    (Tail::Stragglers, String::new())
}

/// Whether one route makes the tail: its p95 is three times that of the best, and most of what is slow is its own.
fn slow_route(parts: &[Part<'_>]) -> Option<String> {
    let p95 = |part: &Part<'_>| part.curve.quantile(0.95).map(Quantile::bound);
    let best = parts.iter().filter_map(p95).min()?;
    let slow = parts.iter().max_by_key(|part| p95(part))?;
    let own = p95(slow)?;
    let threshold = best * 3;
    let above: f64 = parts.iter().map(|part| part.share * part.curve.survival(threshold)).sum();
    let share = slow.share * slow.curve.survival(threshold) / above.max(f64::MIN_POSITIVE);
    (own > threshold && share > 0.5).then(|| {
        format!(
            "{} has a p95 of {} where the best has {}; {:.0} % of what is slow is its own. Ejection helps there, hedging does not",
            slow.name,
            figure::latency(own),
            figure::latency(best),
            share * 100.0
        )
    })
}
