//! Every metric that a gateway can show: the source of the help texts and of `docs/metrics.md`.
//!
//! Invariant: what is not listed here is not registered, and what is listed is in the document (both tested).

use hedgerow_config::metric;
use hedgerow_policy::{
    breaker::State,
    gate::Reason,
    lane::ShedReason,
    ledger::{Basis, Kind, Role},
};

use crate::{
    front::gate1::BODY_MEMORY,
    settle::record::{Outcome, StatusClass},
    wire::contract::Breach,
};

/// One family.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name as it is scraped.
    pub name: &'static str,
    /// OpenMetrics type.
    pub kind: &'static str,
    /// Label names.
    pub labels: &'static [&'static str],
    /// What one sample says.
    pub help: &'static str,
}

const fn entry(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Entry {
    Entry { name, kind, labels, help }
}

/// All families, in the order in which they are written.
pub const CATALOG: [Entry; 21] = [
    entry(
        metric::TIME_TO_FIRST_TOKEN,
        "histogram",
        &["route", "gen_ai_request_model"],
        "Seconds to the first token of a stream or to a complete answer",
    ),
    entry(
        metric::TOKEN_USAGE,
        "histogram",
        &["route", "gen_ai_request_model", "gen_ai_token_type"],
        "Tokens of one attempt",
    ),
    entry(metric::ATTEMPTS, "counter", &["route", "kind", "outcome"], "Attempts ended"),
    entry(metric::ATTEMPTS_IN_FLIGHT, "gauge", &["route"], "Attempts in flight"),
    entry(metric::BREAKER_STATE, "gauge", &["route", "state"], "1 for the state that the breaker is in"),
    entry(metric::IN_FLIGHT, "gauge", &["lane"], "User actions in flight"),
    entry(metric::QUEUED, "gauge", &["lane"], "User actions waiting for the lane"),
    entry(metric::LANE_LIMIT, "gauge", &["lane"], "Concurrency limit of the lane in this pod"),
    entry(metric::SHED, "counter", &["lane", "reason"], "User actions shed"),
    entry(metric::BUDGET_TOKENS, "gauge", &["model"], "Retry and hedge budget left, in attempts"),
    entry(metric::HEDGES, "counter", &["cohort", "outcome"], "Hedges sent, by how they ended"),
    entry(metric::HEDGE_SUPPRESSED, "counter", &["cohort", "reason"], "Timer firings that sent no hedge"),
    entry(metric::ACTIONS, "counter", &["cohort", "lane", "status_class"], "User actions ended"),
    entry(metric::SPEND_MICROS, "counter", &["role", "basis"], "Spend in millionths of the account currency"),
    entry(
        metric::CONTRACT_BREACHES,
        "counter",
        &["route", "breach"],
        "Answers that broke their policy's contract: a whole one lost, a stream had been relayed",
    ),
    entry(
        metric::QUOTA_LEFT,
        "gauge",
        &["route", "gen_ai_request_model", "unit"],
        "What is left of a provider's limit as it told last, less what this pod started since; absent while nobody knows",
    ),
    entry(metric::CONFIG_REJECTED, "counter", &[], "Configurations refused as a whole"),
    entry(
        metric::CERTIFICATE_UNUSABLE,
        "gauge",
        &[],
        "1 while the certificate mounted for the traffic port cannot be served, and the one before is",
    ),
    entry(
        metric::HANDSHAKES_FAILED,
        "counter",
        &[],
        "Connections to the traffic port that ended before their TLS handshake was over",
    ),
    entry(metric::RECORDS_DROPPED, "counter", &[], "Records lost because their reader was too slow"),
    entry(
        metric::SPANS_DROPPED,
        "counter",
        &[],
        "Spans of traces lost because their collector was too slow, away, or refused them",
    ),
];

/// Values of the labels that are words of closed lists, by label and the families that have it.
fn closed_lists() -> Vec<(&'static str, Vec<&'static str>, Vec<&'static str>)> {
    let outcomes = || Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    vec![
        ("gen_ai_token_type", vec![metric::TOKEN_USAGE], vec!["input", "output"]),
        ("kind", vec![metric::ATTEMPTS], Kind::ALL.map(Kind::as_str).into()),
        ("outcome", vec![metric::ATTEMPTS, metric::HEDGES], outcomes()),
        ("state", vec![metric::BREAKER_STATE], State::ALL.map(State::as_str).into()),
        (
            "reason",
            vec![metric::SHED],
            ShedReason::ALL.map(ShedReason::as_str).into_iter().chain([BODY_MEMORY]).collect(),
        ),
        (
            "reason",
            vec![metric::HEDGE_SUPPRESSED],
            Reason::ALL.iter().map(|reason| reason.as_str()).collect(),
        ),
        (
            "status_class",
            vec![metric::ACTIONS],
            StatusClass::ALL.iter().map(|class| class.as_str()).collect(),
        ),
        ("unit", vec![metric::QUOTA_LEFT], vec!["requests", "tokens"]),
        ("breach", vec![metric::CONTRACT_BREACHES], Breach::WORDS.into()),
        ("role", vec![metric::SPEND_MICROS], Role::ALL.map(Role::as_str).into()),
        ("basis", vec![metric::SPEND_MICROS], Basis::ALL.map(Basis::as_str).into()),
    ]
}

/// The help text of a listed family.
pub(super) fn help(name: &str) -> &'static str {
    CATALOG.iter().find(|entry| entry.name == name).map_or("", |entry| entry.help)
}

/// `docs/metrics.md`.
pub fn markdown() -> String {
    use std::fmt::Write as _;
    let version = metric::OTEL_SEMCONV_VERSION;
    let mut text = format!(
        "# Metrics of a gateway\n\n\
         Scraped at `/metrics` of the admin port, OpenMetrics 1.0. Names that start with `gen_ai_` follow the\n\
         OpenTelemetry semantic conventions for generative AI, version {version}. Label values are configured names or\n\
         words of closed lists; past 10,000 series a family counts the rest as `other`. Generated from\n\
         `gateway/src/telemetry/catalog.rs`.\n\n\
         | Name | Type | Labels | Says |\n| --- | --- | --- | --- |\n"
    );
    for Entry { name, kind, labels, help } in CATALOG {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{name}` | {kind} | {} | {help} |", labels.join(", "));
    }
    text.push_str(
        "\n## Words of the closed lists\n\n\
         Every other label value is a configured name: a route, lane, cohort or public model; `cohort` is empty for\n\
         requests in none.\n\n\
         | Label | Of | Values |\n| --- | --- | --- |\n",
    );
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    for (label, families, words) in closed_lists() {
        let _ = writeln!(text, "| `{label}` | {} | {} |", quoted(&families), quoted(&words));
    }
    text
}
