use http::HeaderValue;

use super::*;

use Dialect::{Anthropic, OpenAi};
use Retry::{Any, No, OtherQuotaGroup, OtherRoute};
use Scope::{Group, Pushback, Quota, RouteLocal, Transient};

fn verdict(dialect: Dialect, status: u16, body: &str) -> Verdict {
    classify(dialect, status, ErrorBody::parse(body.as_bytes()).as_ref(), &HeaderMap::new())
}

type Case = (Dialect, u16, &'static str, Scope, Retry);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // OpenAI: the code decides before type and status
    (OpenAi, 400, r#"{"error":{"type":"invalid_request_error","code":null}}"#, Group, No),
    (OpenAi, 400, r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}"#, Group, OtherRoute),
    (OpenAi, 400, r#"{"error":{"type":"invalid_request_error","message":"Invalid service_tier argument"}}"#, RouteLocal, OtherRoute),
    (OpenAi, 401, r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key"}}"#, RouteLocal, OtherRoute),
    (OpenAi, 404, r#"{"error":{"type":"invalid_request_error","code":"model_not_found"}}"#, RouteLocal, OtherRoute),
    (OpenAi, 404, r#"{"error":{"type":"invalid_request_error","code":null}}"#, RouteLocal, OtherRoute),
    (OpenAi, 429, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#, Pushback, OtherQuotaGroup),
    (OpenAi, 429, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Request too large for gpt"}}"#, RouteLocal, OtherRoute),
    (OpenAi, 429, r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#, Quota, OtherQuotaGroup),
    (OpenAi, 429, r#"{"error":{"type":"insufficient_quota","code":"rate_limit_exceeded"}}"#, Pushback, OtherQuotaGroup),
    (OpenAi, 429, "not json", Pushback, OtherQuotaGroup),
    (OpenAi, 500, r#"{"error":{"type":"server_error"}}"#, Transient, Any),
    (OpenAi, 503, r#"{"error":{"type":"service_unavailable_error","code":"server_is_overloaded"}}"#, Pushback, OtherQuotaGroup),
    (OpenAi, 503, "<html>", Transient, Any),
    (OpenAi, 503, r#"{"error":{"message":"The server is overloaded"}}"#, Pushback, OtherQuotaGroup),
    // Azure
    (OpenAi, 400, r#"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#, Group, No),
    (OpenAi, 404, r#"{"error":{"code":"DeploymentNotFound"}}"#, RouteLocal, OtherRoute),
    (OpenAi, 429, r#"{"error":{"code":"429","message":"rate limit is exceeded"}}"#, Pushback, OtherQuotaGroup),
    // Anthropic
    (Anthropic, 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: empty"}}"#, Group, No),
    (Anthropic, 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1 > 0"}}"#, Group, OtherRoute),
    (Anthropic, 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#, Quota, OtherQuotaGroup),
    (Anthropic, 429, r#"{"type":"error","error":{"type":"rate_limit_error"}}"#, Pushback, OtherQuotaGroup),
    (Anthropic, 429, r#"{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#, Quota, OtherQuotaGroup),
    (Anthropic, 529, "", Pushback, OtherQuotaGroup),
    (Anthropic, 413, "<html>", Group, No),
    (Anthropic, 500, r#"{"type":"error","error":{"type":"api_error"}}"#, Transient, Any),
    // inside a success
    (Anthropic, 200, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, Pushback, OtherQuotaGroup),
    (OpenAi, 200, r#"{"error":{"code":502,"message":"Provider returned error"}}"#, Transient, Any),
    (OpenAi, 200, r#"{"error":{"message":"?"}}"#, Transient, Any),
    (OpenAi, 200, r#"{"type":"error","code":"rate_limit_exceeded"}"#, Pushback, OtherQuotaGroup),
    // others
    (OpenAi, 400, r#"{"object":"error","type":"BadRequestError","code":400,"message":"boom"}"#, Group, OtherRoute),
    (OpenAi, 400, r#"{"message":"The input (9 tokens) is longer than the model's context length"}"#, Group, OtherRoute),
    (OpenAi, 403, r#"{"error":{"message":"maximum context length is 8193"}}"#, Group, OtherRoute),
    (OpenAi, 402, r#"{"error":{"code":402}}"#, Quota, OtherQuotaGroup),
    (OpenAi, 422, r#"{"detail":[{"loc":["body"]}]}"#, Group, No),
    (OpenAi, 429, r#"{"error":"Model is overloaded","error_type":"overloaded"}"#, Pushback, OtherQuotaGroup),
    (OpenAi, 522, "<html>", Transient, Any),
    (OpenAi, 418, "{}", Group, OtherRoute),
    (OpenAi, 302, "", RouteLocal, OtherRoute),
];

#[test]
fn known_errors_get_their_scope() {
    for &(dialect, status, body, scope, retry) in CASES {
        let found = verdict(dialect, status, body);
        assert_eq!((found.scope, found.retry), (scope, retry), "{status} {body}: row {}", found.row.name);
    }
}

#[test]
fn a_wording_counts_only_where_the_status_agrees() {
    // BerriAI/litellm took a "429" inside an echoed prompt of a 400 for a rate limit
    let echoed = r#"{"error":{"type":"invalid_request_error","message":"bad prompt: '429 rate limit, server is overloaded'"}}"#;
    assert_eq!(verdict(Dialect::OpenAi, 400, echoed).scope, Scope::Group);
}

#[test]
fn headers_name_aws_exceptions_and_waits() {
    let mut headers = HeaderMap::new();
    headers.insert("x-amzn-errortype", HeaderValue::from_static("ModelNotReadyException:http://internal/"));
    let found = classify(Dialect::OpenAi, 429, None, &headers);
    assert_eq!((found.scope, found.retry), (Scope::Transient, Retry::OtherRoute));
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("3"));
    assert_eq!(classify(Dialect::OpenAi, 503, None, &headers).scope, Scope::Pushback);
}

#[test]
fn a_provider_that_says_no_is_not_asked_again() {
    let mut headers = HeaderMap::new();
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    assert_eq!(classify(Dialect::OpenAi, 500, None, &headers).retry, Retry::OtherRoute);
}

#[test]
fn every_row_has_a_name_of_its_own_and_a_source() {
    for (index, row) in ROWS.iter().enumerate() {
        assert!(!row.source.is_empty(), "{}", row.name);
        assert!(ROWS[index + 1..].iter().all(|other| other.name != row.name), "{} twice", row.name);
        assert!(row.wordings.iter().all(|wording| *wording == wording.to_lowercase()), "{}", row.name);
        let decides = !row.codes.is_empty() || !row.kinds.is_empty() || row.statuses.is_some();
        assert!(decides, "{} would catch everything", row.name);
    }
}

#[test]
fn only_health_moves_breakers_and_only_pushback_stops_hedges() {
    let health: Vec<_> = ROWS.iter().filter(|row| row.scope.counts_for_breaker()).collect();
    assert!(health.iter().all(|row| row.scope == Scope::Transient));
    assert!(ROWS.iter().all(|row| row.scope.suppresses_hedges() == (row.scope == Scope::Pushback)));
    assert!(
        Scope::Group < Scope::Contract
            && Scope::Quota < Scope::Pushback
            && Scope::Pushback < Scope::Transient
    );
}
