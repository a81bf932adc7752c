//! What to do, and why: one delay, or none.

use std::time::Duration;

use super::{
    diagnosis::{Tail, WORTH},
    forecast::{Forecast, Line},
};
use crate::domain::figure;

/// Two delays whose p99 differ by less are as good.
const AS_GOOD: f64 = 1.02;

/// Place of the line to choose, 0 = do not hedge, with the reason in whole sentences. Trips must be known: the best tail of
/// what never trips, the cheaper of two that are as good.
pub fn recommend(forecast: &Forecast) -> (usize, String) {
    let lines = &forecast.lines;
    if forecast.tail != Tail::Stragglers {
        return (0, refusal(forecast.tail).to_owned());
    }
    let calm = || lines.iter().enumerate().skip(1).filter(|(_, line)| line.trips == 0);
    let best = calm().map(|(_, line)| line.at[2]).fold(f64::INFINITY, f64::min);
    let chosen = calm()
        .filter(|(_, line)| line.at[2] <= best * AS_GOOD)
        .min_by(|(_, a), (_, b)| a.extra.total_cmp(&b.extra));
    let Some((place, line)) = chosen.filter(|_| best <= lines[0].at[2] * (1.0 - WORTH)) else {
        return (
            0,
            "Do not hedge this under these guardrails: every delay that gains 10 % at p99 trips them."
                .to_owned(),
        );
    };
    (place, reason(lines, place, line, best))
}

fn reason(lines: &[Line], place: usize, line: &Line, best: f64) -> String {
    let seconds = |value: f64| figure::latency(Duration::from_secs_f64(value));
    let mut text = format!(
        "Recommended: {}. It takes p99 from {} to {} for {:.1} % duplicates and never trips a guardrail",
        line.name,
        seconds(lines[0].at[2]),
        seconds(line.at[2]),
        line.duplicates * 100.0
    );
    if line.at[2] > best {
        text.push_str("; what is up to 2 % faster costs more");
    }
    let names = |found: &dyn Fn(&Line) -> bool| {
        let other = |(at, line): &(usize, &Line)| *at != place && found(line);
        let chosen: Vec<&str> =
            lines.iter().enumerate().skip(1).filter(other).map(|(_, line)| line.name).collect();
        chosen.join(", ")
    };
    let tripping = names(&|other| other.trips > 0 && other.at[2] < line.at[2]);
    if !tripping.is_empty() {
        text.push_str("; faster, but tripping: ");
        text.push_str(&tripping);
    }
    text.push('.');
    text
}

fn refusal(tail: Tail) -> &'static str {
    match tail {
        Tail::Unknown => "Nothing is recommended.",
        Tail::OneRoute => "Do not hedge this: add a route of another failure domain first.",
        Tail::SlowRoute => "Do not hedge this: let the breaker eject the slow route.",
        Tail::LongAnswers => "Do not hedge this: only shorter answers help.",
        Tail::Correlated => "Do not hedge this: the duplicate is as slow as the original.",
        Tail::Short | Tail::Stragglers => "Do not hedge this: there is too little to gain.",
    }
}
