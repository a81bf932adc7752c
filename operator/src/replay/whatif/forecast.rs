//! What each delay would have done to one cohort, from its curves.
//!
//! `delay::plan` gives delay and probability under the policy's own bounds, `delay::predict` the tail (SingleR). A row for
//! p80 allows 20 % duplicates: the question is what that delay costs, and the guardrail answers whether it may last.

use std::time::Duration;

use hedgerow_policy::{
    delay::{self, Strategy, predict},
    latency::{Curve, Decayed, Quantile, win_probability},
};

use super::{
    course::Course,
    diagnosis::{Tail, diagnose},
    fit::Cohort,
    recommendation::recommend,
    spend::Spend,
    terms::Given,
};
use crate::replay::model::{chance::bisect, terms::delay_rule};

/// Points of a line's curve.
const POINTS: usize = 96;

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
    /// Requests that miss the deadline, as a share.
    pub missed: f64,
    /// Share of requests that wait longer, by seconds: what is drawn.
    pub curve: Vec<(f64, f64)>,
    /// Times that the guardrail trips.
    pub trips: u32,
    /// Signals that trip it.
    pub tripped_by: Vec<&'static str>,
    /// Its duplicates and suspensions over the time of the records.
    pub course: Course,
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
    /// Place of the recommended line; 0 = do not hedge.
    pub recommended: usize,
    /// Why, in sentences.
    pub advice: String,
    /// What requests must meet: the objective of the policy's cohort, else the policy's deadline.
    pub deadline: Duration,
    /// P(a hedge wins).
    pub win: f64,
    /// The guardrails.
    pub rules: hedgerow_policy::guardrail::Rules,
    /// What requests cost.
    pub spend: Spend,
}

/// A route with its curve and its share of the originals.
pub struct Part<'a> {
    /// Name.
    pub name: &'a str,
    /// Share, 0 to 1.
    pub share: f64,
    /// First tokens, or whole answers of what does not stream.
    pub curve: Curve,
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
        let spend = Spend::of(cohort, given);
        let rule = delay_rule(&given.policy, cohort.streaming());
        let deadline = given.deadline(name, cohort.streaming());
        let strategies = [
            ("off", None),
            ("p80", Some((Strategy::Quantile, 80))),
            ("p90", Some((Strategy::Quantile, 90))),
            ("p95", Some((Strategy::Quantile, 95))),
            ("p99", Some((Strategy::Quantile, 99))),
            ("optimal", Some((Strategy::Optimal, 100 - rule.duplicate_target_percent))),
        ];
        let rules = strategies.map(|(name, strategy)| {
            let rule = strategy.map(|(strategy, quantile)| delay::Rule {
                strategy,
                quantile_percent: quantile,
                duplicate_target_percent: 100 - quantile,
                ..rule
            });
            (name, rule)
        });
        let lines = lines(&rules, &parts, &spend, deadline);
        let win = parts.iter().map(|part| part.share * win(part, &parts, rule.min)).sum();
        let mut forecast = Self {
            name: name.to_owned(),
            originals: cohort.originals,
            lines,
            tail: Tail::Unknown,
            because: String::new(),
            recommended: 0,
            advice: String::new(),
            deadline,
            win,
            rules: crate::domain::guardrail::rules(&given.policy),
            spend,
        };
        (forecast.tail, forecast.because) = diagnose(&forecast, cohort, &parts);
        forecast
    }

    /// Chooses, once trips are known.
    pub fn recommend(&mut self) {
        (self.recommended, self.advice) = recommend(self);
    }
}

/// Share and curve of a route's primaries, and their hedge: curve, delay, probability.
type Leg<'a> = (f64, &'a Curve, Option<(&'a Curve, Duration, f64)>);

/// The table. All curves are drawn over the same times: to half beyond p99 without hedges.
fn lines(
    rules: &[(&'static str, Option<delay::Rule>)],
    parts: &[Part<'_>],
    spend: &Spend,
    deadline: Duration,
) -> Vec<Line> {
    let mut end = 0.0;
    let of = |(name, rule): &(&'static str, Option<delay::Rule>)| {
        let (mut line, legs) = line(name, rule.as_ref(), parts, spend);
        line.at = [0.5, 0.95, 0.99].map(|p| bisect(|t| survival(&legs, t) <= 1.0 - p));
        line.missed = survival(&legs, deadline.as_secs_f64());
        if rule.is_none() {
            end = line.at[2] * 1.5;
        }
        let times = (0..=POINTS).map(|point| end * point as f64 / POINTS as f64);
        line.curve = times.map(|t| (t, survival(&legs, t))).collect();
        line
    };
    rules.iter().map(of).collect()
}

/// One line of the table without what follows from its curve, and its legs.
fn line<'a>(
    name: &'static str,
    rule: Option<&delay::Rule>,
    parts: &'a [Part<'_>],
    spend: &Spend,
) -> (Line, Vec<Leg<'a>>) {
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
    let line = Line {
        name,
        delay: busiest.1,
        at: [0.0; 3],
        duplicates,
        extra: spend.extra(duplicates),
        plans,
        missed: 0.0,
        curve: Vec::new(),
        trips: 0,
        tripped_by: Vec::new(),
        course: Course::default(),
    };
    (line, legs)
}

/// Share of all requests that wait longer than `t` seconds.
fn survival(legs: &[Leg<'_>], t: f64) -> f64 {
    let t = Duration::from_secs_f64(t);
    let of = |(share, curve, hedge): &Leg<'_>| {
        share
            * hedge.map_or_else(
                || curve.survival(t),
                |(other, delay, send)| predict::survival(curve, other, delay, send, t),
            )
    };
    legs.iter().map(of).sum()
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
