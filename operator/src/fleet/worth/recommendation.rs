//! What other delays would do: the 99th percentile, duplicates and spend of five choices.
//!
//! The quantiles are shown without thinning, because that is what a person compares: the tail that a delay buys and what it
//! costs before anything holds it back. `optimal` is the policy's own search under its duplicate target.

use std::time::Duration;

use hedgerow_crds::v1alpha1::{HedgePolicySpec, hedge_policy::Recommendation};
use hedgerow_policy::{
    delay::{Inputs, Rule, Strategy, plan, predict},
    guardrail::Tally,
    latency::{Curve, Quantile},
};

use super::Tail;
use crate::domain::figure;

/// Hedges from which their own cost is known; below, a duplicate is taken to cost as much as a primary.
const PRICED_HEDGES: u64 = 20;
/// Shares of answers that have come by the delay.
const PERCENTILES: [u8; 4] = [80, 90, 95, 99];

/// What a choice is judged by.
#[derive(Clone, Debug)]
pub struct Terms {
    rule: Rule,
    /// What a duplicate adds, as a share of what a primary costs.
    cost: f64,
}

impl Terms {
    /// Those of a policy, with what its hedges have cost lately.
    pub fn of(spec: &HedgePolicySpec, streaming: bool, window: &Tally) -> Self {
        let share = |percent: i32| u8::try_from(percent.clamp(0, 100)).unwrap_or(100);
        let defaults = Rule::default();
        let rule = Rule {
            strategy: Strategy::Optimal,
            min: spec.delay.min.parse().unwrap_or(defaults.min),
            max: spec.delay.max.parse().unwrap_or(defaults.max),
            streaming,
            duplicate_target_percent: share(spec.duplicate_target_percent),
            holdout_percent: share(spec.holdout_percent),
            ..defaults
        };
        Self { rule, cost: cost(window) }
    }

    /// Share of firings that hedge when nothing is thinned.
    fn unthinned(&self) -> f64 {
        1.0 - f64::from(self.rule.holdout_percent) / 100.0
    }
}

/// What a hedge adds over what a primary costs, measured where there were enough of both.
fn cost(window: &Tally) -> f64 {
    let alone = window.primaries_alone_cost as f64 / window.originals.max(1) as f64;
    let all = window.primaries_cost.saturating_add(window.hedges_cost);
    let added = all.saturating_sub(window.primaries_alone_cost) as f64 / window.hedges.max(1) as f64;
    if window.hedges < PRICED_HEDGES || alone <= 0.0 { 1.0 } else { added / alone }
}

/// The table; empty without a second route or with too few samples.
pub fn recommend(tail: &Tail, terms: &Terms) -> Vec<Recommendation> {
    let Some((primary, alternate)) = tail.all().zip(tail.alternate()) else { return Vec::new() };
    let mut table = Vec::new();
    for percentile in PERCENTILES {
        let Some(Quantile::At(delay)) = primary.quantile(f64::from(percentile) / 100.0) else { continue };
        table.push(row(&format!("p{percentile}"), (&primary, alternate), delay, terms.unthinned(), terms));
    }
    let inputs = Inputs { primary: Some(&primary), alternate: Some(alternate), ..Inputs::default() };
    let best = plan(&terms.rule, &inputs);
    let send = f64::from(best.send_per_mille) / 1_000.0;
    table.push(row("optimal", (&primary, alternate), best.delay, send, terms));
    table
}

fn row(
    name: &str,
    (primary, alternate): (&Curve, &Curve),
    delay: Duration,
    send: f64,
    terms: &Terms,
) -> Recommendation {
    let duplicates = primary.survival(delay) * send;
    let percent = |share: f64| figure::percent((share * 1_000.0).round().clamp(0.0, 1e6) as u32);
    Recommendation {
        percentile: name.to_owned(),
        delay: figure::latency(delay),
        p99: figure::latency(predict::quantile(primary, alternate, delay, send, 0.99).bound()),
        duplicates: percent(duplicates),
        spend: percent(duplicates * terms.cost),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::curve, *};

    fn tail() -> Tail {
        let stragglers = [(300, 400), (600, 400), (1_000, 150), (9_000, 50)];
        Tail::new([("east".to_owned(), curve(&stragglers)), ("west".to_owned(), curve(&stragglers))])
    }

    fn terms(window: &Tally) -> Terms {
        let spec = serde_json::from_value(serde_json::json!({
            "cohorts": [{ "name": "chat" }], "delay": { "min": "100ms", "max": "8s", "coldStart": "1s" },
        }));
        Terms::of(&spec.unwrap(), true, window)
    }

    fn number(text: &str) -> f64 {
        text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
    }

    #[test]
    fn an_earlier_delay_buys_tail_with_duplicates_and_the_optimum_keeps_the_target() {
        let table = recommend(&tail(), &terms(&Tally::default()));
        let names: Vec<&str> = table.iter().map(|row| row.percentile.as_str()).collect();
        assert_eq!(names, ["p80", "p90", "p95", "p99", "optimal"]);
        let duplicates: Vec<f64> = table.iter().map(|row| number(&row.duplicates)).collect();
        assert!(duplicates[0] > duplicates[1] && duplicates[1] > duplicates[3], "{table:#?}");
        assert!((4.0..=5.0).contains(&duplicates[4]), "the target is 5 %: {table:#?}");
        assert!(number(&table[1].p99) < 0.5 * number(&table[3].p99), "{table:#?}");
    }

    #[test]
    fn spend_follows_what_hedges_have_cost() {
        let window = Tally {
            originals: 1_000,
            hedges: 50,
            primaries_cost: 1_000_000,
            hedges_cost: 25_000,
            primaries_alone_cost: 1_000_000,
            ..Tally::default()
        };
        let (full, half) =
            (recommend(&tail(), &terms(&Tally::default())), recommend(&tail(), &terms(&window)));
        assert_eq!(full[0].spend, full[0].duplicates);
        assert!((number(&half[0].spend) - number(&full[0].spend) / 2.0).abs() < 0.1, "{half:#?}");
    }

    #[test]
    fn one_route_or_few_samples_recommend_nothing() {
        let few = [("east".to_owned(), curve(&[(300, 50)])), ("west".to_owned(), curve(&[(300, 50)]))];
        assert!(recommend(&Tail::new(few), &terms(&Tally::default())).is_empty());
        let one = [("east".to_owned(), curve(&[(300, 5_000)]))];
        assert!(recommend(&Tail::new(one), &terms(&Tally::default())).is_empty());
    }
}
