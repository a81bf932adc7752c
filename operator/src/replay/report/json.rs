//! The contract of `hedgerow replay --json`: per scenario its acceptance numbers, its arms, and its own table if it has one.

use serde_json::{Value, json};

use crate::replay::{Results, scenario::Scenario};

/// One scenario. Times are in milliseconds, shares in percent; medians over the seeds, `interval` is that of `p99Ms`.
/// Where a scenario has several worlds, an arm's name is `world: arm`.
pub fn json(scenario: &Scenario, results: &Results) -> Value {
    let several = results.rows.iter().any(|row| row.case != results.rows[0].case);
    let arms: Vec<Value> = results
        .rows
        .iter()
        .map(|row| {
            let name = if several { format!("{}: {}", row.case, row.arm) } else { row.arm.to_owned() };
            let at = |figure| rounded(row.spread(figure).at, 1_000.0);
            let ms = |seconds: f64| rounded(seconds * 1_000.0, 1.0);
            let p99 = row.spread("p99");
            json!({
                "name": name,
                "p50Ms": ms(row.spread("p50").at),
                "p99Ms": ms(p99.at),
                "duplicatePercent": at("duplicates"),
                "lostRacePercent": at("lost"),
                "extraSpendPercent": at("extra"),
                "shed": at("shed"),
                "failed": at("failed"),
                "interval": [ms(p99.low), ms(p99.high)],
            })
        })
        .collect();
    let accept: Vec<Value> = results
        .accept
        .iter()
        .map(|found| {
            let value = rounded(found.value, 10_000.0);
            json!({ "what": found.what, "limit": found.limit, "value": value, "holds": found.holds })
        })
        .collect();
    let mut told = json!({ "name": scenario.name, "accept": accept, "arms": arms });
    if let Some(table) = &results.table {
        told["table"] = json!({ "about": table.about, "head": table.head, "rows": table.rows });
    }
    told
}

/// Rounded to 1/`parts`; nothing where nothing was measured.
fn rounded(value: f64, parts: f64) -> Option<f64> {
    value.is_finite().then(|| (value * parts).round() / parts)
}
