//! The contract of `hedgerow replay --from FILE --json`.
//!
//! One object. Times are in milliseconds, shares in percent, amounts in units of `currency` over the whole of the records;
//! where a cohort's spend is in tokens (`spendUnit`), so are its amounts. A delay of `off` has none.

use serde_json::{Value, json};

use super::{added, doubts};
use crate::{
    domain::figure,
    replay::whatif::{answer::Answer, forecast::Forecast, forecast::Line},
};

/// The object.
pub fn json(answer: &Answer) -> Value {
    let at = |moment| figure::timestamp(moment).to_string();
    let skipped: Vec<Value> = answer
        .skipped
        .0
        .iter()
        .map(|(reason, (rows, line, column))| {
            json!({ "reason": reason, "rows": rows, "firstLine": line, "firstColumn": column })
        })
        .collect();
    json!({
        "attempts": answer.attempts,
        "from": answer.span.map(|(first, _)| at(first)),
        "to": answer.span.map(|(_, last)| at(last)),
        "routes": answer.routes,
        "currency": answer.currency,
        "priced": answer.priced,
        "skipped": { "rows": answer.skipped.total(), "reasons": skipped },
        "cohorts": answer.cohorts.iter().map(|forecast| cohort(forecast, &answer.currency, answer.priced)).collect::<Vec<_>>(),
    })
}

fn cohort(forecast: &Forecast, currency: &str, priced: bool) -> Value {
    let compared = forecast.tail.compared();
    let lines = forecast.lines.iter().filter(|_| compared).map(|line| delay(forecast, line));
    let spend = &forecast.spend;
    let amount = spend.amount(forecast.originals as f64);
    let chosen = forecast.lines.get(forecast.recommended).filter(|_| compared);
    json!({
        "name": forecast.name,
        "requests": forecast.originals,
        "spend": rounded(amount, if spend.in_tokens { 1.0 } else { 1e6 }),
        "spendUnit": if spend.in_tokens { "tokens" } else { currency },
        "diagnosis": forecast.tail.as_str(),
        "because": forecast.because,
        "doubts": doubts(forecast, priced),
        "hedge": forecast.recommended > 0,
        "recommended": chosen.map(|line| line.name),
        "recommendation": forecast.advice,
        "deadlineMs": forecast.deadline.as_millis() as u64,
        "delays": lines.collect::<Vec<_>>(),
    })
}

fn delay(forecast: &Forecast, line: &Line) -> Value {
    let ms = |seconds: f64| rounded(seconds * 1_000.0, 1.0);
    let percent = |share: f64| rounded(share * 100.0, 1_000.0);
    json!({
        "name": line.name,
        "delayMs": line.delay.map(|delay| delay.as_millis() as u64),
        "p50Ms": ms(line.at[0]),
        "p95Ms": ms(line.at[1]),
        "p99Ms": ms(line.at[2]),
        "deadlineMissPercent": percent(line.missed),
        "duplicatePercent": percent(line.duplicates),
        "extraSpendPercent": percent(line.extra),
        "extraSpend": rounded(added(forecast, line), if forecast.spend.in_tokens { 1.0 } else { 1e6 }),
        "trips": line.delay.map(|_| line.trips),
        "trippedBy": line.tripped_by,
    })
}

/// Rounded to 1/`parts`; nothing where there is no number.
fn rounded(value: f64, parts: f64) -> Option<f64> {
    value.is_finite().then(|| (value * parts).round() / parts)
}
