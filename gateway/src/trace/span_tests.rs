use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::any_value::Value;

use super::*;
use crate::{
    settle::record::{CostBand, Outcome, Time},
    trace::attribute::{CATALOG, On},
};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn an_attempt() -> AttemptRecord<'static> {
    AttemptRecord {
        event: AttemptRecord::EVENT,
        event_time: Time(0),
        user_action_id: "ua_1",
        hedge_group_id: "req_1",
        attempt: 2,
        kind: "hedge",
        route_class: "chat",
        model_class: "fast",
        hedge_delay_ms: Some(800),
        overall_deadline_ms: 60_000,
        elapsed_ms: 900,
        first_byte_ms: Some(100),
        first_token_ms: Some(300),
        outcome: Outcome::Throttled,
        status: Some(429),
        status_class: StatusClass::UpstreamError,
        error_scope: "pushback",
        contract_valid: false,
        cancellation_sent: false,
        cancellation_observed: false,
        usage_input_units: Some(10),
        usage_output_units: Some(20),
        usage_basis: "exact",
        cost_band: CostBand::Low,
        cost_micros: Some(7),
        duplicate_rate_window: None,
        prompt_fingerprint: "beef",
        role: "loser",
        route: "east",
        cohort: "agents",
        lane: "interactive",
        arm: "hedge",
        reason: "",
        sample_weight: 1,
        traceparent: PARENT,
        upstream_request_id: "up_1",
    }
}

fn an_action() -> ActionRecord<'static> {
    ActionRecord {
        event: ActionRecord::EVENT,
        event_time: Time(0),
        user_action_id: "ua_1",
        hedge_group_id: "req_1",
        request_id: "req_1",
        route_class: "chat",
        model_class: "fast",
        stream: true,
        cohort: "agents",
        lane: "interactive",
        arm: "thinned",
        reason: "Thinned",
        hedged: false,
        attempts: 1,
        winner_attempt: Some(1),
        winner_route: "east",
        loser_finished_late: false,
        elapsed_ms: 900,
        first_token_ms: Some(300),
        hedge_delay_ms: Some(800),
        overall_deadline_ms: 60_000,
        status: 504,
        status_class: StatusClass::GatewayError,
        error_scope: "transient",
        error: "gateway_deadline",
        shed: "LaneFull",
        usage_input_units: Some(10),
        usage_output_units: Some(20),
        usage_basis: "exact",
        cost_band: CostBand::Low,
        cost_micros: Some(7),
        cost_lost_micros: Some(3),
        guardrail: "Active",
        sample_weight: 1,
        traceparent: PARENT,
    }
}

fn peer() -> Peer<'static> {
    Peer {
        provider: "openai",
        model: "fast-2",
        max_tokens: Some(64),
        host: "api.example.com",
        port: Some(443),
    }
}

fn frame(traceparent: &str) -> Frame {
    let context = Context::of(traceparent, "req_0123456789abcdef0123456789abcdef", 100);
    Frame { context, id: 0xab, parent: context.parent, start: 1_000, end: 5_000, first_token: Some(2_000) }
}

/// Attributes as text.
fn said(span: &Span) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(flag) => flag.to_string(),
        other => panic!("{other:?}"),
    };
    let each = |one: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        (one.key.clone(), text(one.value.as_ref().unwrap().value.as_ref().unwrap()))
    };
    span.attributes.iter().map(each).collect()
}

fn code(span: &Span) -> StatusCode {
    span.status.as_ref().unwrap().code()
}

#[test]
fn spans_have_the_listed_attributes_and_no_others() {
    let spans =
        [attempt(&an_attempt(), &peer(), &frame(PARENT)), action(&an_action(), Some(64), &frame(PARENT))];
    for (span, other) in spans.iter().zip([On::Action, On::Attempt]) {
        let listed: BTreeSet<_> =
            CATALOG.iter().filter(|(_, on, _)| *on != other).map(|(name, ..)| (*name).to_owned()).collect();
        let found: BTreeSet<_> = said(span).into_keys().collect();
        assert_eq!(found, listed, "{}", span.name);
        assert_eq!(found.len(), span.attributes.len(), "each once");
    }
}

#[test]
fn a_user_action_is_a_server_span_below_the_clients() {
    let span = action(&an_action(), Some(64), &frame(PARENT));
    assert_eq!((span.name.as_str(), span.kind()), ("chat fast", SpanKind::Server));
    assert_eq!(span.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes());
    assert_eq!(span.span_id, 0xab_u64.to_be_bytes());
    assert_eq!(span.parent_span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
    assert_eq!(span.flags, 1 | 0x100 | 0x200, "sampled, and its parent is known to be remote");
    assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (1_000, 5_000));
    let [event] = span.events.as_slice() else { panic!("{:?}", span.events) };
    assert_eq!((event.name.as_str(), event.time_unix_nano), (FIRST_TOKEN, 2_000));
    let root = action(&an_action(), None, &frame(""));
    assert_eq!((root.parent_span_id.len(), root.flags), (0, 1 | 0x100));
}

#[test]
fn an_attempt_is_a_client_span_with_the_providers_name_of_the_model() {
    let mut frame = frame(PARENT);
    (frame.parent, frame.first_token) = (Some(0xcd), None);
    let span = attempt(&an_attempt(), &peer(), &frame);
    assert_eq!((span.name.as_str(), span.kind()), ("chat fast-2", SpanKind::Client));
    assert_eq!(span.parent_span_id, 0xcd_u64.to_be_bytes());
    assert_eq!((span.flags, span.events.len()), (1 | 0x100, 0));
    let said = said(&span);
    for (name, value) in
        [("gen_ai.request.model", "fast-2"), ("gen_ai.usage.output_tokens", "20"), ("server.port", "443")]
    {
        assert_eq!(said[name], value, "{name}");
    }
}

#[test]
fn what_only_a_wildcard_lists_is_not_named() {
    let span = action(&ActionRecord { model_class: "*", ..an_action() }, None, &frame(PARENT));
    assert_eq!(span.name, "chat");
    assert!(!said(&span).contains_key("gen_ai.request.model"));
    let span = attempt(&an_attempt(), &Peer { model: "*", ..peer() }, &frame(PARENT));
    assert_eq!(span.name, "chat");
}

#[test]
fn a_user_action_is_an_error_when_the_gateway_or_the_provider_failed() {
    for (class, status, error, code_is, told, answered) in [
        (StatusClass::Success, 200, "", StatusCode::Unset, None, Some("200")),
        (StatusClass::ClientError, 400, "provider_error", StatusCode::Unset, None, Some("400")),
        (StatusClass::Shed, 429, "gateway_overloaded", StatusCode::Unset, None, Some("429")),
        (StatusClass::Canceled, 499, "client_gone", StatusCode::Unset, None, None),
        (
            StatusClass::UpstreamError,
            502,
            "provider_error",
            StatusCode::Error,
            Some("provider_error"),
            Some("502"),
        ),
        (StatusClass::UpstreamError, 200, "", StatusCode::Error, Some("upstream_error"), Some("200")),
        (
            StatusClass::GatewayError,
            504,
            "gateway_deadline",
            StatusCode::Error,
            Some("gateway_deadline"),
            Some("504"),
        ),
    ] {
        let record = ActionRecord { status_class: class, status, error, ..an_action() };
        let span = action(&record, None, &frame(PARENT));
        let said = said(&span);
        assert_eq!(code(&span), code_is, "{class:?}");
        assert_eq!(said.get("error.type").map(String::as_str), told, "{class:?}");
        assert_eq!(said.get("http.response.status_code").map(String::as_str), answered, "{class:?}");
    }
}

#[test]
fn an_attempt_is_an_error_when_its_provider_failed_and_not_when_it_lost() {
    for (outcome, class, status, told) in [
        (Outcome::Won, StatusClass::Success, Some(200), None),
        (Outcome::LoserFinished, StatusClass::Success, Some(200), None),
        (Outcome::LoserCancelled, StatusClass::Canceled, None, None),
        (Outcome::ClientGone, StatusClass::Canceled, Some(200), None),
        (Outcome::Throttled, StatusClass::UpstreamError, Some(429), Some("429")),
        (Outcome::Failed, StatusClass::UpstreamError, None, Some("failed")),
        (Outcome::Invalid, StatusClass::UpstreamError, Some(200), Some("invalid")),
        (Outcome::Truncated, StatusClass::UpstreamError, Some(200), Some("truncated")),
    ] {
        let record = AttemptRecord { outcome, status_class: class, status, ..an_attempt() };
        let span = attempt(&record, &peer(), &frame(PARENT));
        assert_eq!(said(&span).get("error.type").map(String::as_str), told, "{outcome:?}");
        let error = if told.is_some() { StatusCode::Error } else { StatusCode::Unset };
        assert_eq!(code(&span), error, "{outcome:?}");
    }
}

#[test]
fn nothing_of_a_prompt_is_told_not_even_its_fingerprint() {
    let spans = [attempt(&an_attempt(), &peer(), &frame(PARENT)), action(&an_action(), None, &frame(PARENT))];
    assert!(spans.iter().all(|span| said(span).values().all(|value| !value.contains("beef"))));
}
