//! An answer for people on a terminal, for programs, and as a page.

mod html;
mod json;
#[cfg(test)]
mod tests;
mod text;

pub use html::html;
pub use json::json;
pub use text::text;

use std::time::Duration;

use super::forecast::{Forecast, Line};
use crate::domain::figure;

/// No provider answers in less, in seconds: then the unit is in doubt.
const TOO_FAST: f64 = 0.005;

/// What one should know before one believes a cohort's figures.
fn doubts(forecast: &Forecast, priced: bool) -> Vec<&'static str> {
    let fast = forecast.lines.first().is_some_and(|off| off.at[0] < TOO_FAST);
    let compared = forecast.tail.compared();
    let fast = (fast && compared).then_some(
        "Half of its first tokens came within 5 ms: are the times in seconds? They are read as milliseconds.",
    );
    let unpriced = (priced && compared && forecast.spend.in_tokens)
        .then_some("Its extra spend is in tokens: a route has no price for the model of these records.");
    fast.into_iter().chain(unpriced).collect()
}

/// What the guardrail does to a line, in words.
fn guardrail(line: &Line) -> String {
    let by =
        if line.tripped_by.is_empty() { String::new() } else { format!(" ({})", line.tripped_by.join(", ")) };
    match (line.delay, line.trips) {
        (None, _) => "-".to_owned(),
        (Some(_), 0) => "never".to_owned(),
        (Some(_), 1) => format!("trips once{by}"),
        (Some(_), trips) => format!("trips {trips} times{by}"),
    }
}

fn seconds(value: f64) -> String {
    figure::latency(Duration::from_secs_f64(value))
}

/// What hedging adds to a cohort's spend over the records, in its currency or in tokens.
fn added(forecast: &Forecast, line: &Line) -> f64 {
    forecast.spend.amount(forecast.originals as f64 * line.extra)
}

/// An amount with two digits after the point, or whole tokens.
fn amount(value: f64, in_tokens: bool, currency: &str) -> String {
    if in_tokens {
        format!("{} tokens", figure::count(value.round() as u64))
    } else {
        format!("{}.{:02} {currency}", figure::count(value as u64), (value.fract() * 100.0) as u64)
    }
}

/// The line above a cohort's table.
fn heading(forecast: &Forecast, currency: &str) -> String {
    let spend = &forecast.spend;
    format!(
        "cohort {} ({} requests, {}): {}",
        forecast.name,
        figure::count(forecast.originals),
        amount(spend.amount(forecast.originals as f64), spend.in_tokens, currency),
        forecast.tail.headline()
    )
}
