//! What each delay would have done to one cohort, from its curves.
//!
//! `delay::plan` gives delay and probability under the policy's own bounds, `delay::predict` the tail (SingleR). A row for
//! p80 allows 20 % duplicates: the question is what that delay costs, and the guardrail answers whether it may last.

use std::time::Duration;

use hedgerow_policy::{
    delay::{self, Strategy, predict},
    latency::{Curve, Decayed, Quantile, win_probability},
    ledger::{self, Prices, Usage},
};

use super::{
    fit::{Cohort, Route},
    terms::Given,
};
use crate::replay::model::terms::delay_rule;

/// Samples below which a cohort is told of, and nothing more.
const LEAST: f64 = 200.0;
/// Gain at p99 below which hedging does not pay, as a share.
const WORTH: f64 = 0.10;

/// What one delay would have done.
#[derive(Clone, Debug)]
pub struct Line {
    /// `off`, `p80` and so on, `optimal`.
    pub name: &'static str,
    /// Delay of the busiest route; none for `off`.
    pub delay: Option<Duration>,
    /// 50th, 95th and 99th percentile, in seconds.
    pub at: [f64; 3],
    /// Duplicates as a share of originals.
    pub duplicates: f64,
    /// Extra spend as a share of that of the primaries.
    pub extra: f64,
    /// By route: delay and probability.
    pub plans: Vec<(String, Duration, f64)>,
    /// Times that the guardrail trips.
    pub trips: u32,
}

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

/// One cohort's forecast.
pub struct Forecast {
    /// Name.
    pub name: String,
    /// Originals.
    pub originals: u64,
    /// The table.
    pub lines: Vec<Line>,
    /// What makes the tail.
    pub tail: Tail,
    /// In words.
    pub because: String,
    /// Place of the recommended line.
    pub recommended: usize,
    /// Extra spend is in tokens: no prices.
    pub in_tokens: bool,
    /// P(a hedge wins).
    pub win: f64,
    /// The guardrails.
    pub rules: hedgerow_policy::guardrail::Rules,
    /// Cost of an original, in tokens or 1e-12 of the currency, and of its input alone.
    pub cost: (f64, f64),
}

/// A route with its curve and its share of the originals.
struct Part<'a> {
    name: &'a str,
    share: f64,
    curve: Curve,
}

impl Forecast {
    /// Of a cohort.
    pub fn of(name: &str, cohort: &Cohort, given: &Given) -> Self {
        let total = cohort.originals.max(1) as f64;
        let parts: Vec<Part<'_>> = cohort
            .routes
            .iter()
            .map(|(name, route)| Part {
                name,
                share: route.originals as f64 / total,
                curve: Curve::new(&Decayed::from(&route.counts), &[]),
            })
            .collect();
        let (cost, in_tokens) = cost(cohort, given);
        let rule = delay_rule(&given.policy, cohort.streaming());
        let strategies = [
            ("off", None),
            ("p80", Some((Strategy::Quantile, 80))),
            ("p90", Some((Strategy::Quantile, 90))),
            ("p95", Some((Strategy::Quantile, 95))),
            ("p99", Some((Strategy::Quantile, 99))),
            ("optimal", Some((Strategy::Optimal, 100 - rule.duplicate_target_percent))),
        ];
        let lines: Vec<Line> = strategies
            .into_iter()
            .map(|(name, strategy)| {
                let rule = strategy.map(|(strategy, quantile)| delay::Rule {
                    strategy,
                    quantile_percent: quantile,
                    duplicate_target_percent: 100 - quantile,
                    ..rule
                });
                line(name, rule.as_ref(), &parts, cost)
            })
            .collect();
        let win = parts.iter().map(|part| part.share * win(part, &parts, rule.min)).sum();
        let mut forecast = Self {
            name: name.to_owned(),
            originals: cohort.originals,
            lines,
            tail: Tail::Unknown,
            because: String::new(),
            recommended: 0,
            in_tokens,
            win,
            rules: crate::domain::guardrail::rules(&given.policy),
            cost,
        };
        (forecast.tail, forecast.because) = forecast.diagnose(cohort, &parts);
        forecast
    }

    /// Chooses, once trips are known: the best tail of what never trips, the cheaper of two that are within 2 %.
    pub fn recommend(&mut self) {
        self.recommended = 0;
        if !matches!(self.tail, Tail::Stragglers) {
            return;
        }
        let calm = || self.lines.iter().enumerate().skip(1).filter(|(_, line)| line.trips == 0);
        let best = calm().map(|(_, line)| line.at[2]).fold(f64::INFINITY, f64::min);
        let good = calm().filter(|(_, line)| line.at[2] <= best * 1.02);
        self.recommended =
            good.min_by(|(_, a), (_, b)| a.extra.total_cmp(&b.extra)).map_or(0, |(place, _)| place);
    }

    fn diagnose(&self, cohort: &Cohort, parts: &[Part<'_>]) -> (Tail, String) {
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
        if cohort.hedges.0 >= 50 && won < 0.5 * self.win {
            return (
                Tail::Correlated,
                format!(
                    "{:.0} % of its hedges won where independent routes would give {:.0} %",
                    won * 100.0,
                    self.win * 100.0
                ),
            );
        }
        let off = self.lines[0].at[2];
        let best = self.lines[1..].iter().map(|line| line.at[2]).fold(f64::INFINITY, f64::min);
        if best > off * (1.0 - WORTH) {
            let gain = (1.0 - best / off) * 100.0;
            return (Tail::Short, format!("the best delay takes {gain:.0} % off p99"));
        }
        (Tail::Stragglers, String::new())
    }
}

/// Share and curve of a route's primaries, and their hedge: curve, delay, probability.
type Leg<'a> = (f64, &'a Curve, Option<(&'a Curve, Duration, f64)>);

/// One line of the table.
fn line(name: &'static str, rule: Option<&delay::Rule>, parts: &[Part<'_>], cost: (f64, f64)) -> Line {
    let mut plans = Vec::new();
    let mut legs: Vec<Leg<'_>> = Vec::new();
    let (mut duplicates, mut busiest) = (0.0, (0.0, None));
    for part in parts {
        let hedge = rule.zip(alternate(part, parts)).map(|(rule, other)| {
            let inputs = delay::Inputs {
                primary: Some(&part.curve),
                alternate: Some(other),
                ..delay::Inputs::default()
            };
            let plan = delay::plan(rule, &inputs);
            let send = if plan.not_in_tail { 0.0 } else { f64::from(plan.send_per_mille) / 1_000.0 };
            duplicates += part.share * send * part.curve.survival(plan.delay);
            if part.share > busiest.0 {
                busiest = (part.share, Some(plan.delay));
            }
            plans.push((part.name.to_owned(), plan.delay, send));
            (other, plan.delay, send)
        });
        legs.push((part.share, &part.curve, hedge));
    }
    let survival = |t: f64| {
        let t = Duration::from_secs_f64(t);
        let of = |(share, curve, hedge): &Leg<'_>| {
            share
                * hedge.map_or_else(
                    || curve.survival(t),
                    |(other, delay, send)| predict::survival(curve, other, delay, send, t),
                )
        };
        legs.iter().map(of).sum::<f64>()
    };
    let at = [0.5, 0.95, 0.99].map(|p| crate::replay::model::chance::bisect(|t| survival(t) <= 1.0 - p));
    // Whichever leg loses has paid its input and no output.
    let extra = if cost.0 > 0.0 { duplicates * cost.1 / cost.0 } else { 0.0 };
    Line { name, delay: busiest.1, at, duplicates, extra, plans, trips: 0 }
}

/// The curve of the fastest other route.
fn alternate<'a>(part: &Part<'_>, parts: &'a [Part<'_>]) -> Option<&'a Curve> {
    let p95 = |curve: &Curve| curve.quantile(0.95).map(Quantile::bound);
    parts
        .iter()
        .filter(|other| other.name != part.name)
        .filter_map(|other| Some((&other.curve, p95(&other.curve)?)))
        .min_by_key(|(_, p95)| *p95)
        .map(|(curve, _)| curve)
}

fn win(part: &Part<'_>, parts: &[Part<'_>], min: Duration) -> f64 {
    let age = part.curve.quantile(0.95).map_or(min, |quantile| quantile.bound().max(min));
    alternate(part, parts).and_then(|other| win_probability(&part.curve, other, age)).unwrap_or(0.0)
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
            crate::domain::figure::latency(own),
            crate::domain::figure::latency(best),
            share * 100.0
        )
    })
}

/// Mean cost of an original and of its input; in 1e-12 of the currency, or in tokens where a price is missing.
fn cost(cohort: &Cohort, given: &Given) -> ((f64, f64), bool) {
    let priced = |(name, route): (&String, &Route)| -> Option<(f64, f64)> {
        let prices: Prices = given.price(name, &route.model)?;
        let of = |input: u64, output: u64| {
            ledger::cost(&Usage { input_uncached: input, output, ..Usage::default() }, &prices).0 as f64
        };
        Some((of(route.tokens.0, route.tokens.1), of(route.tokens.0, 0)))
    };
    let sums: Option<Vec<(f64, f64)>> = cohort.routes.iter().map(priced).collect();
    let answered = cohort.answered.max(1) as f64;
    let mean = |pairs: &[(f64, f64)]| {
        let sum = pairs.iter().fold((0.0, 0.0), |(all, input), pair| (all + pair.0, input + pair.1));
        (sum.0 / answered, sum.1 / answered)
    };
    if let Some(sums) = sums.filter(|sums| !sums.is_empty()) {
        return (mean(&sums), false);
    }
    let tokens: Vec<(f64, f64)> = cohort
        .routes
        .values()
        .map(|route| ((route.tokens.0 + route.tokens.1) as f64, route.tokens.0 as f64))
        .collect();
    (mean(&tokens), true)
}
