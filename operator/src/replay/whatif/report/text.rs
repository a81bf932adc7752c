//! The answer in words, for a terminal.

use std::fmt::Write as _;

use super::{added, amount, doubts, guardrail, heading, seconds};
use crate::{
    domain::figure,
    replay::whatif::{answer::Answer, forecast::Forecast, rows::Skipped},
};

/// The whole text.
pub fn text(answer: &Answer) -> String {
    let mut text = String::new();
    let days = answer.span.map_or_else(String::new, |(first, last)| {
        let day = |at| figure::timestamp(at).strftime("%Y-%m-%d").to_string();
        format!(", {} to {}", day(first), day(last))
    });
    let _ = writeln!(
        text,
        "{} attempts{days}, {} routes, {} cohorts{}",
        figure::count(answer.attempts),
        answer.routes.len(),
        answer.cohorts.len(),
        left_out(&answer.skipped)
    );
    if !answer.priced {
        text.push_str("No prices were given (--policy with ProviderRoutes): extra spend is in tokens.\n");
    }
    for forecast in &answer.cohorts {
        text.push('\n');
        text.push_str(&cohort(forecast, &answer.currency, answer.priced));
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

fn cohort(forecast: &Forecast, currency: &str, priced: bool) -> String {
    let dot = if forecast.because.is_empty() { "" } else { ". " };
    let mut text = format!("{}{dot}{}\n", heading(forecast, currency), forecast.because);
    for doubt in doubts(forecast, priced) {
        let _ = writeln!(text, "  {doubt}");
    }
    if forecast.tail.compared() {
        text.push_str(&table(forecast, currency));
    }
    let _ = writeln!(text, "  {}", forecast.advice);
    text
}

fn table(forecast: &Forecast, currency: &str) -> String {
    let in_tokens = forecast.spend.in_tokens;
    let spend = if in_tokens { "extra tokens" } else { "extra spend" };
    let missed = format!("over {}", figure::span(forecast.deadline));
    let mut text = format!(
        "  {:<8} {:>7} {:>8} {:>8} {:>8} {missed:>11} {:>11} {spend:>13} {:>18}  guardrail\n",
        "delay", "", "p50", "p95", "p99", "duplicates", ""
    );
    for (place, line) in forecast.lines.iter().enumerate() {
        let mark = if place > 0 && place == forecast.recommended { "  <- recommended" } else { "" };
        let _ = writeln!(
            text,
            "  {:<8} {:>7} {:>8} {:>8} {:>8} {:>9.2} % {:>9.1} % {:>11.1} % {:>18}  {}{mark}",
            line.name,
            line.delay.map_or_else(String::new, figure::latency),
            seconds(line.at[0]),
            seconds(line.at[1]),
            seconds(line.at[2]),
            line.missed * 100.0,
            line.duplicates * 100.0,
            line.extra * 100.0,
            amount(added(forecast, line), in_tokens, currency),
            guardrail(line),
        );
    }
    text
}
