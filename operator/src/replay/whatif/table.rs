//! The answer in words.

use std::{fmt::Write as _, time::Duration};

use super::{
    fit::Fit,
    forecast::{Forecast, Tail},
    rows::Skipped,
    terms::Given,
};
use crate::domain::figure;

/// No provider answers in less, in seconds: then the unit is in doubt.
const TOO_FAST: f64 = 0.005;

/// The whole text.
pub fn text(fit: &Fit, forecasts: &[Forecast], skipped: &Skipped, given: &Given) -> String {
    let mut text = String::new();
    let routes = fit.cohorts.values().flat_map(|cohort| cohort.routes.keys());
    let routes: std::collections::BTreeSet<_> = routes.collect();
    let days = fit.span.map_or_else(String::new, |(first, last)| {
        let day = |at| figure::timestamp(at).strftime("%Y-%m-%d").to_string();
        format!(", {} to {}", day(first), day(last))
    });
    let _ = writeln!(
        text,
        "{} attempts{days}, {} routes, {} cohorts{}",
        figure::count(fit.attempts),
        routes.len(),
        fit.cohorts.len(),
        left_out(skipped)
    );
    if given.prices.is_empty() {
        text.push_str("No prices were given (--policy with ProviderRoutes): extra spend is in tokens.\n");
    }
    for forecast in forecasts {
        text.push('\n');
        text.push_str(&cohort(forecast));
    }
    text
}

fn left_out(skipped: &Skipped) -> String {
    if skipped.total() == 0 {
        return String::new();
    }
    let reasons: Vec<String> = skipped
        .0
        .iter()
        .map(|(reason, (count, line, column))| {
            let place =
                if *column > 0 { format!("line {line}, column {column}") } else { format!("line {line}") };
            format!("{count}: {reason}, first in {place}")
        })
        .collect();
    format!(" (skipped {} rows: {})", figure::count(skipped.total()), reasons.join("; "))
}

fn cohort(forecast: &Forecast) -> String {
    let headline = match forecast.tail {
        Tail::Unknown => "TOO LITTLE DATA",
        Tail::OneRoute => "ONE ROUTE: no hedging",
        Tail::SlowRoute => "SLOW ROUTE: do not hedge it away",
        Tail::LongAnswers => "LONG ANSWERS: do not hedge",
        Tail::Correlated => "ROUTES CORRELATE: do not hedge",
        Tail::Short => "NO TAIL: hedging does not pay",
        Tail::Stragglers => "INDEPENDENT STRAGGLERS: hedging pays",
    };
    let dot = if forecast.because.is_empty() { "" } else { ". " };
    let mut text = format!(
        "cohort {} ({} requests): {headline}{dot}{}\n",
        forecast.name,
        figure::count(forecast.originals),
        forecast.because
    );
    if matches!(forecast.tail, Tail::Unknown | Tail::OneRoute) {
        return text;
    }
    if forecast.lines.first().is_some_and(|off| off.at[0] < TOO_FAST) {
        text.push_str("  Half of its first tokens came within 5 ms: are the times in seconds? They are read as milliseconds.\n");
    }
    let spend = if forecast.in_tokens { "extra tokens" } else { "extra spend" };
    let _ = writeln!(
        text,
        "  {:<8} {:>7} {:>8} {:>8} {:>8} {:>11} {:>13}  guardrail",
        "delay", "", "p50", "p95", "p99", "duplicates", spend
    );
    for (place, line) in forecast.lines.iter().enumerate() {
        let seconds = |value: f64| figure::latency(Duration::from_secs_f64(value));
        let guardrail = match (line.delay, line.trips) {
            (None, _) => "-".to_owned(),
            (Some(_), 0) => "never".to_owned(),
            (Some(_), 1) => "trips once".to_owned(),
            (Some(_), trips) => format!("trips {trips} times"),
        };
        let mark = if place == forecast.recommended { "  <- recommended" } else { "" };
        let _ = writeln!(
            text,
            "  {:<8} {:>7} {:>8} {:>8} {:>8} {:>9.1} % {:>11.1} %  {guardrail}{mark}",
            line.name,
            line.delay.map_or_else(String::new, figure::latency),
            seconds(line.at[0]),
            seconds(line.at[1]),
            seconds(line.at[2]),
            line.duplicates * 100.0,
            line.extra * 100.0,
        );
    }
    text
}
