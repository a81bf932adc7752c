//! What a rule reaches that knows a distribution by samples only: the bound between perfect knowledge and a replay.
//!
//! A cell remembers the samples of the last minutes. The delay that it computes from them scatters, and scatters most where the curve
//! is flat: in the gap between two modes an error of half a percent in the share moves the delay by a second. Whoever waits
//! for that delay waits longer on average than whoever knows it, whatever estimates it, and no number of seeds takes that away.
//!
//! Here the shipped rule (`delay::plan`) computes its delay from so many fresh samples, again and again, those of primaries that a hedge
//! beat being censored as in a cell. The quantile is that of the mixture over these delays, exact but for the draws. What a
//! replay adds to it is the policy's own: bounds on steps, budgets, guardrails, pods that see other halves of the traffic.

use hedgerow_policy::{
    delay::{self, Inputs, Plan, Rule},
    latency::{Counts, Curve, Decayed, KEEP, TICK},
};

use crate::replay::model::chance::{Shape, Stream, bisect, seconds, stream};

/// Requests a second of the scenarios that are held to it, and those of one cell: two pods, two routes.
pub(super) const RATE: f64 = 60.0;
pub(super) const CELL: f64 = RATE / 4.0;
/// Delays that are computed.
const DRAWS: u64 = 200;

/// A rule that samples a world of two alike providers.
pub(super) struct Sampled<'a> {
    /// First tokens of both.
    pub shape: &'a Shape,
    /// The rule.
    pub rule: &'a Rule,
    /// Share of prompts whose legs take the same time.
    pub alike: f64,
    /// Requests a second of one cell.
    pub rate: f64,
}

impl Sampled<'_> {
    /// Quantile `p` of what users wait.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let plans: Vec<(f64, f64)> = (0..DRAWS)
            .map(|draw| {
                let plan = self.plan(draw);
                (plan.delay.as_secs_f64(), f64::from(plan.send_per_mille) / 1_000.0 * (1.0 - self.alike))
            })
            .collect();
        bisect(|t| {
            let helped = |(delay, send): &(f64, f64)| {
                if t > *delay { send * (1.0 - self.shape.survival(t - delay)) } else { 0.0 }
            };
            let helped = plans.iter().map(helped).sum::<f64>() / plans.len() as f64;
            self.shape.survival(t) * (1.0 - helped) <= 1.0 - p
        })
    }

    /// One delay.
    fn plan(&self, draw: u64) -> Plan {
        let usual = self.shape.quantile(f64::from(self.rule.quantile_percent) / 100.0);
        let [own, other] = [0, 1].map(|side| self.curve(2 * draw + side, usual));
        let inputs = Inputs { primary: Some(&own), alternate: Some(&other), ..Inputs::default() };
        delay::plan(self.rule, &inputs)
    }

    /// As many samples in full weight as scatter like those of a cell, whose weights fall by [`KEEP`] every [`TICK`]: (sum of
    /// weights)² / (sum of squares).
    fn curve(&self, number: u64, usual: f64) -> Curve {
        let samples = self.rate * TICK.as_secs_f64() * (1.0 + KEEP) / (1.0 - KEEP);
        let mut rng = stream(number, Stream::Pod, 0);
        let mut counts = Counts::new();
        for _ in 0..samples as u64 {
            let (first, hedge) = (self.shape.draw(&mut rng), usual + self.shape.draw(&mut rng));
            let hedged =
                rng.f64() < 1.0 - f64::from(self.rule.holdout_percent) / 100.0 && rng.f64() >= self.alike;
            if hedged && hedge < first {
                counts.censor(seconds(hedge));
            } else {
                counts.event(seconds(first));
            }
        }
        Curve::new(&Decayed::from(&counts), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_cost_where_the_curve_is_flat_and_many_cost_nothing() {
        let gap = Shape::lognormal(0.6, 0.5).with_rare(0.05, Shape::lognormal(6.0, 0.3));
        let rule = Rule::default();
        let of = |shape, rate| Sampled { shape, rule: &rule, alike: 0.0, rate }.quantile(0.99);
        // With perfect knowledge: 4.06 s. The normal approximation of the share's scatter gives 4.70 s; the cap by the other
        // route's p95, which scatters by itself, cuts the longest delays.
        assert!((of(&gap, CELL) - 4.54).abs() < 0.05, "{}", of(&gap, CELL));
        let one = Shape::lognormal(0.9, 0.6);
        let (few, many) = (of(&one, CELL), of(&one, 10.0 * CELL));
        assert!((few / many - 1.0).abs() < 0.01, "{few} {many}");
    }
}
