//! Why a cohort's tail is slow, as one finding.
//!
//! Asked in this order, the first that holds is the finding: the provider slows us down; slow answers are long ones; one
//! route explains the tail; slow calls come together, so that a second draw wins much less than independent ones would; else
//! single calls are slow. Long answers are looked for where whole answers are waited for: of streams the first token counts,
//! which does not know how many will follow.

use std::time::Duration;

use hedgerow_crds::v1alpha1::hedge_policy::{Diagnosis, DiagnosisKind};
use hedgerow_policy::{
    guardrail::Tally,
    latency::{Curve, Quantile, win_probability},
};

use super::Tail;
use crate::domain::figure;

/// A tail is slow where the 99th percentile is so many medians.
const SLOW: u32 = 3;
/// Share of attempts that a provider may slow down before that is the finding, percent.
const THROTTLED_PERCENT: u64 = 5;
/// A route explains the tail from this share of the requests above the 95th percentile on, percent.
const EXPLAINS_PERCENT: f64 = 50.0;
/// Hedges from which their wins say something.
const HEDGES: u64 = 50;
/// Slow answers from which their length says something.
const SLOW_ANSWERS: u64 = 20;
/// Slow answers are long ones where they have this share of the tokens that would explain their time, percent. (Time is a
/// constant and so much a token: with nothing else the tokens explain more than all of it.)
const LENGTH_PERCENT: f64 = 70.0;
/// Wins below this share of those that were predicted speak of routes that are slow together, percent.
const TOGETHER_PERCENT: f64 = 50.0;

/// What a finding is made from beside the curves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    /// Attempts of the last minutes on the cohort's routes.
    pub attempts: u64,
    /// Those that a provider asked to slow down.
    pub throttled: u64,
    /// Hedges in the long window.
    pub hedges: u64,
    /// Those that won.
    pub wins: u64,
    /// The shortest delay in force.
    pub delay: Option<Duration>,
    /// Time and length of whole answers in the long window.
    pub lengths: Lengths,
}

/// Whole answers by primaries, all and those past the delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lengths {
    all: Means,
    slow: Means,
    slow_answers: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Means {
    millis: f64,
    tokens: f64,
}

impl Lengths {
    /// Of a window.
    pub fn of(tally: &Tally) -> Self {
        let means = |answers: u64, millis: u64, tokens: u64| {
            let answers = answers.max(1) as f64;
            Means { millis: millis as f64 / answers, tokens: tokens as f64 / answers }
        };
        Self {
            all: means(tally.answers, tally.answers_ms, tally.answers_tokens),
            slow: means(tally.slow_answers, tally.slow_answers_ms, tally.slow_answers_tokens),
            slow_answers: tally.slow_answers,
        }
    }
}

/// The finding; `None` where the tail is not slow or too little is known.
pub fn diagnose(tail: &Tail, signs: &Signs) -> Option<Diagnosis> {
    let all = tail.all()?;
    let at = |p| all.quantile(p).map(Quantile::bound);
    let (p50, p95, p99) = (at(0.5)?, at(0.95)?, at(0.99)?);
    if p99 < p50 * SLOW {
        return None;
    }
    let finding = throttled(signs)
        .or_else(|| long_answers(&signs.lengths))
        .or_else(|| slow_route(tail, &all, p95))
        .or_else(|| together(tail, &all, signs))
        .unwrap_or_else(|| {
            let message = format!(
                "single calls are slow on every route, independently: the median is {}, the 99th percentile without hedging {}; \
                 hedging helps",
                figure::latency(p50),
                figure::latency(p99)
            );
            (DiagnosisKind::IndependentStragglers, message)
        });
    Some(Diagnosis { kind: finding.0, message: finding.1 })
}

type Finding = (DiagnosisKind, String);

fn throttled(signs: &Signs) -> Option<Finding> {
    let many = signs.throttled * 100 >= signs.attempts.max(1) * THROTTLED_PERCENT;
    many.then(|| {
        let share = u32::try_from(signs.throttled * 1_000 / signs.attempts.max(1)).unwrap_or(1_000);
        let message = format!(
            "providers asked to slow down for {} of the attempts of the last minutes: hedges would make it worse and are held \
             back; ask for more quota or send less",
            figure::percent(share)
        );
        (DiagnosisKind::Throttled, message)
    })
}

fn long_answers(lengths: &Lengths) -> Option<Finding> {
    let Lengths { all, slow, slow_answers } = lengths;
    let (slower, longer) =
        (slow.millis / all.millis.max(f64::MIN_POSITIVE), slow.tokens / all.tokens.max(f64::MIN_POSITIVE));
    let explained =
        *slow_answers >= SLOW_ANSWERS && longer > 1.0 && longer * 100.0 >= slower * LENGTH_PERCENT;
    explained.then(|| {
        let message = format!(
            "slow answers are long ones: {:.0} tokens in {:.1}s where all have {:.0} in {:.1}s, and a hedge would take as \
             long; ask for shorter answers (max_tokens), or stream them",
            slow.tokens,
            slow.millis / 1_000.0,
            all.tokens,
            all.millis / 1_000.0
        );
        (DiagnosisKind::LongAnswers, message)
    })
}

/// The route that has most of the slow requests and far more of them than of all requests.
fn slow_route(tail: &Tail, all: &Curve, p95: Duration) -> Option<Finding> {
    let total = all.effective_samples();
    let above = |curve: &Curve| curve.effective_samples() * curve.survival(p95);
    let sum: f64 = tail.routes.iter().map(|(_, curve)| above(curve)).sum();
    let (route, curve) = tail.routes.iter().max_by(|a, b| above(&a.1).total_cmp(&above(&b.1)))?;
    let (of_slow, of_all) =
        (100.0 * above(curve) / sum.max(f64::MIN_POSITIVE), 100.0 * curve.effective_samples() / total);
    let alone = tail.routes.len() > 1 && of_slow >= EXPLAINS_PERCENT && of_slow >= 2.0 * of_all;
    alone.then(|| {
        let message = format!(
            "{route} alone explains {of_slow:.0} % of the requests above the 95th percentile, with {of_all:.0} % of all \
             requests: ejection helps, and takes it out by itself where slow-call ejection is on"
        );
        (DiagnosisKind::SlowRoute, message)
    })
}

fn together(tail: &Tail, all: &Curve, signs: &Signs) -> Option<Finding> {
    let predicted = 100.0 * win_probability(all, tail.alternate()?, signs.delay?)?;
    let won = 100.0 * signs.wins as f64 / signs.hedges.max(1) as f64;
    (signs.hedges >= HEDGES && won * 100.0 < predicted * TOGETHER_PERCENT).then(|| {
        let message = format!(
            "routes are slow at the same time: {won:.0} % of the hedges won where {predicted:.0} % would if routes were \
             independent; a route of another provider would help more than another delay"
        );
        (DiagnosisKind::Correlated, message)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::curve, *};

    const QUIET: [(u64, u64); 2] = [(500, 950), (700, 50)];
    const STRAGGLERS: [(u64, u64); 2] = [(500, 950), (9_000, 50)];

    fn tail(east: &[(u64, u64)], west: &[(u64, u64)]) -> Tail {
        Tail::new([("east".to_owned(), curve(east)), ("west".to_owned(), curve(west))])
    }

    fn kind(tail: &Tail, signs: &Signs) -> Option<DiagnosisKind> {
        diagnose(tail, signs).map(|finding| finding.kind)
    }

    #[test]
    fn each_finding_has_its_own_signs() {
        let usual = Signs { attempts: 2_000, delay: Some(Duration::from_secs(1)), ..Signs::default() };
        let stragglers = tail(&STRAGGLERS, &STRAGGLERS);
        assert_eq!(kind(&tail(&QUIET, &QUIET), &usual), None, "nothing is slow");
        assert_eq!(kind(&stragglers, &usual), Some(DiagnosisKind::IndependentStragglers));
        let pushed_back = Signs { throttled: 100, ..usual };
        assert_eq!(kind(&stragglers, &pushed_back), Some(DiagnosisKind::Throttled));
        let lost = Signs { hedges: 100, wins: 20, ..usual };
        assert_eq!(kind(&stragglers, &lost), Some(DiagnosisKind::Correlated));
        let won = Signs { wins: 90, ..lost };
        assert_eq!(kind(&stragglers, &won), Some(DiagnosisKind::IndependentStragglers));
        let answers = |slow_answers, tokens| Signs {
            lengths: Lengths::of(&Tally {
                answers: 1_000,
                answers_ms: 1_000_000,
                answers_tokens: 200_000,
                slow_answers,
                slow_answers_ms: slow_answers * 6_000,
                slow_answers_tokens: slow_answers * tokens,
                ..Tally::default()
            }),
            ..usual
        };
        let long = diagnose(&stragglers, &answers(20, 840)).unwrap();
        assert_eq!(long.kind, DiagnosisKind::LongAnswers);
        assert!(long.message.contains("840 tokens in 6.0s where all have 200 in 1.0s"), "{}", long.message);
        assert_eq!(kind(&stragglers, &answers(20, 830)), Some(DiagnosisKind::IndependentStragglers));
        assert_eq!(kind(&stragglers, &answers(19, 900)), Some(DiagnosisKind::IndependentStragglers));
        let slow = diagnose(&tail(&QUIET, &[(500, 100), (9_000, 150)]), &usual).unwrap();
        assert_eq!(slow.kind, DiagnosisKind::SlowRoute);
        assert!(slow.message.starts_with("west alone explains 100 %"), "{}", slow.message);
    }

    #[test]
    fn few_samples_are_no_finding() {
        assert_eq!(kind(&tail(&[(500, 50), (9_000, 5)], &[(500, 50)]), &Signs::default()), None);
    }
}
