use proptest::prelude::*;

use super::*;

type Facts<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<u16>, Option<u64>);

fn facts(body: &str) -> Option<ErrorBody> {
    ErrorBody::parse(body.as_bytes())
}

#[test]
fn every_known_shape_is_read() {
    let cases: [(&str, Facts<'_>); 13] = [
        (
            r#"{"error":{"message":"m","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            (Some("rate_limit_exceeded"), Some("requests"), None, None, None),
        ),
        (
            r#"{"error":{"code":"429","message":"x","innererror":{"code":"Inner"}}}"#,
            (None, None, Some("Inner"), Some(429), None),
        ),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}"#,
            (None, Some("overloaded_error"), None, None, None),
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            (None, Some("rate_limit_error"), Some("enforced_spend_limit_reached"), None, None),
        ),
        (
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"52s"}]}}"#,
            (None, Some("RESOURCE_EXHAUSTED"), None, Some(429), Some(52_000)),
        ),
        (
            r#"[{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            (None, None, Some("API_KEY_INVALID"), Some(400), None),
        ),
        (
            r#"{"error":{"message":"Please retry in 52.454646382s.","code":429}}"#,
            (None, None, None, Some(429), Some(52_454)),
        ),
        (
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            (None, Some("overloaded"), None, None, None),
        ),
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            (None, Some("BadRequestError"), None, Some(400), None),
        ),
        (
            r#"{"__type":"com.amazonaws#ThrottlingException","message":"m"}"#,
            (None, Some("ThrottlingException"), None, None, None),
        ),
        (
            r#"{"type":"error","code":"server_error","message":"m","param":null}"#,
            (Some("server_error"), None, None, None, None),
        ),
        (
            r#"{"type":"response.failed","response":{"id":"r","error":{"code":"rate_limit_exceeded","message":"m"},"status":"failed"}}"#,
            (Some("rate_limit_exceeded"), Some("failed"), None, None, None),
        ),
        (r#"{"retry_after":30,"status":522}"#, (None, None, None, Some(522), Some(30_000))),
    ];
    for (body, wanted) in cases {
        let found = facts(body).unwrap();
        let wait = found.wait.map(|wait| wait.as_millis() as u64);
        assert_eq!(
            (found.code.as_deref(), found.kind.as_deref(), found.detail.as_deref(), found.status, wait),
            wanted,
            "{body}"
        );
    }
}

#[test]
fn of_several_waits_the_longest_counts() {
    let body = r#"{"error":{"message":"Please retry in 52.454646382s.","details":[{"retryDelay":"52s"}]}}"#;
    assert_eq!(facts(body).unwrap().wait, Some(Duration::from_nanos(52_454_646_382)));
}

#[test]
fn a_success_is_not_taken_for_an_error() {
    for body in [
        r#"{"id":"r","object":"response","error":null,"status":"completed"}"#,
        r#"{"choices":[{"message":{"content":"{\"error\":1}"}}]}"#,
        r#"{"type":"message","content":[]}"#,
        "[1]",
        "<html>",
        "",
    ] {
        assert_eq!(ErrorBody::in_success(body.as_bytes()), None, "{body}");
    }
    for body in
        [r#"{"error":"x"}"#, r#"{"error":{"code":1}}"#, r#"{"type":"error"}"#, r#"{"object":"error"}"#]
    {
        assert!(ErrorBody::in_success(body.as_bytes()).is_some(), "{body}");
    }
}

#[test]
fn messages_are_cut_and_never_shown() {
    let body = format!(r#"{{"error":{{"message":"secret {}"}}}}"#, "日".repeat(400));
    let found = facts(&body).unwrap();
    assert!(found.message.as_deref().is_some_and(|text| text.len() <= 512));
    assert!(!format!("{found:?}").contains("secret"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ErrorBody::parse(&bytes);
        let _ = ErrorBody::in_success(&bytes);
    }
}
