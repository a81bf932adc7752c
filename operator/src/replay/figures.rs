//! Figures of one run, by name. Times in seconds, shares in percent.
//!
//! Names: `p50`, `p95`, `p99`, `duplicates`, `lost`, `extra`, `shed`, `failed`, `answered`, `calls` of the model's first
//! span; `SPAN/p50` and so on of the others; whatever a scenario adds.

use std::collections::BTreeMap;

use super::engine::{Run, Sums};

/// Named figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(BTreeMap<String, f64>);

impl Figures {
    /// The usual ones.
    pub fn of(run: &Run) -> Self {
        let mut figures = Self::default();
        for (place, span) in run.spans.iter().enumerate() {
            let prefix = if place == 0 { String::new() } else { format!("{}/", span.name) };
            let waited = run.waited(span.from, span.to, |_| true);
            for (name, p) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
                figures.set(format!("{prefix}{name}"), percentile(&waited, p));
            }
            for (name, value) in shares(&run.sum(place)) {
                figures.set(format!("{prefix}{name}"), value);
            }
        }
        figures
    }

    /// Sets one.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.0.insert(name.into(), value);
    }

    /// One; not a number if there is none of that name.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }
}

fn shares(sums: &Sums) -> [(&'static str, f64); 8] {
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let total = sums.cost as f64;
    [
        ("calls", sums.calls as f64),
        ("answered", percent(sums.answered as f64, sums.calls as f64)),
        ("shed", sums.shed as f64),
        ("failed", sums.failed as f64),
        ("duplicates", percent(sums.hedges as f64, sums.originals as f64)),
        ("won", percent(sums.wins as f64, sums.hedges as f64)),
        ("lost", percent(sums.lost as f64, total)),
        ("extra", percent(total - sums.alone as f64, sums.alone as f64)),
    ]
}

impl Run {
    /// Sorted waits in seconds of measured calls that were born in a span of time.
    pub fn waited(&self, from: f64, to: f64, class: impl Fn(u16) -> bool) -> Vec<f32> {
        let inside = |born: f32| (from..to).contains(&f64::from(born));
        let chosen = self.samples.iter().filter(|sample| inside(sample.born) && class(sample.class));
        let mut waited: Vec<f32> = chosen.map(|sample| sample.waited).collect();
        waited.sort_unstable_by(f32::total_cmp);
        waited
    }

    /// Sums of a span over all classes.
    pub fn sum(&self, span: usize) -> Sums {
        let mut sum = Sums::default();
        for sums in self.sums.get(span).into_iter().flatten() {
            macro_rules! add {
                ($($field:ident)+) => { $(sum.$field += sums.$field;)+ };
            }
            add!(calls answered shed failed refusals tries originals attempts hedges wins);
            add!(cost alone lost billed billed_alone billed_lost lost_tokens tail_tokens);
        }
        sum
    }

    /// Largest sum of a per-second series over `width` seconds that begin in a span of time.
    pub fn busiest(series: &[u32], from: f64, to: f64, width: usize) -> f64 {
        let part = series.get(from as usize..(to as usize).min(series.len())).unwrap_or_default();
        part.windows(width.max(1)).map(|window| window.iter().sum::<u32>()).max().map_or(0.0, f64::from)
    }

    /// Sum of a per-second series in a span of time.
    pub fn total(series: &[u32], from: f64, to: f64) -> f64 {
        let part = series.get(from as usize..(to as usize).min(series.len())).unwrap_or_default();
        part.iter().map(|count| f64::from(*count)).sum()
    }
}

/// Percentile of sorted values (nearest rank); not a number without any.
pub fn percentile(sorted: &[f32], p: f64) -> f64 {
    let rank = (sorted.len() as f64 * p).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map_or(f64::NAN, |value| f64::from(*value))
}
