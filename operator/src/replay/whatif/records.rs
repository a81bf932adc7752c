//! JSON lines of a gateway (`docs/records.md`): records of attempts are rows, those of user actions are not needed.

use std::time::Duration;

use serde::Deserialize;

use super::rows::{Row, Unusable};

/// What is read of `hedge_attempt_complete`.
#[derive(Deserialize)]
struct Attempt<'a> {
    event: &'a str,
    event_time: jiff::Timestamp,
    #[serde(default)]
    kind: &'a str,
    #[serde(default)]
    model_class: String,
    #[serde(default)]
    elapsed_ms: u64,
    first_token_ms: Option<u64>,
    #[serde(default)]
    outcome: &'a str,
    #[serde(default)]
    usage_input_units: Option<u64>,
    #[serde(default)]
    usage_output_units: Option<u64>,
    #[serde(default)]
    route: String,
    #[serde(default)]
    cohort: String,
    #[serde(default = "one")]
    sample_weight: u32,
}

fn one() -> u32 {
    1
}

/// One line; nothing for other records.
pub fn row(line: &str) -> Result<Option<Row>, Unusable> {
    let cut = Unusable { reason: "a line is no JSON record of a gateway (cut?)", column: 0 };
    let found: Attempt<'_> = match serde_json::from_str(line) {
        Ok(found) => found,
        // Records of user actions have other fields; anything else is damage.
        Err(_) if line.contains("\"user_action_complete\"") => return Ok(None),
        Err(error) => return Err(Unusable { column: error.column(), ..cut }),
    };
    if found.event != "hedge_attempt_complete" {
        return Ok(None);
    }
    if found.route.is_empty() {
        return Err(Unusable { reason: "no route", column: 0 });
    }
    let good = matches!(found.outcome, "won" | "loser_finished");
    let first_token = found.first_token_ms.map(Duration::from_millis);
    Ok(Some(Row {
        at: crate::domain::figure::moment(found.event_time),
        cohort: if found.cohort.is_empty() { "none".to_owned() } else { found.cohort },
        route: found.route,
        model: found.model_class,
        // A whole answer has its first token where it has its end.
        stream: first_token.is_none_or(|first| first.as_millis() < u128::from(found.elapsed_ms)),
        first_token,
        total: Duration::from_millis(found.elapsed_ms),
        input: found.usage_input_units.unwrap_or(0),
        output: found.usage_output_units.unwrap_or(0),
        good,
        censored: matches!(found.outcome, "loser_canceled" | "client_gone" | "timed_out"),
        hedge: (found.kind == "hedge").then_some(found.outcome == "won"),
        weight: found.sample_weight.clamp(1, 1_000),
    }))
}
