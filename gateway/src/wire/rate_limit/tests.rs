//! Headers as providers send them, and as nobody should.

use std::time::Duration;

use http::HeaderValue;

use super::*;

/// 2015-10-21T07:28:00Z.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_mins(24_090_208)
}

fn told(api: Api, headers: &[(&'static str, &str)]) -> Option<Report> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    read(api, &map, now())
}

fn left(limit: u64, left: u64, reset_ms: u64) -> Left {
    Left { limit, left, reset: Duration::from_millis(reset_ms) }
}

fn requests<'a>(limit: &'a str, left: &'a str, reset: &'a str) -> [(&'static str, &'a str); 3] {
    [
        ("x-ratelimit-limit-requests", limit),
        ("x-ratelimit-remaining-requests", left),
        ("x-ratelimit-reset-requests", reset),
    ]
}

#[test]
fn both_vendors_are_understood() {
    let mut openai = requests("5000", "4999", "12ms").to_vec();
    openai.extend([
        ("x-ratelimit-limit-tokens", "160000"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("x-ratelimit-reset-tokens", "1m3.5s"),
    ]);
    let expected =
        Report { requests: Some(left(5_000, 4_999, 12)), tokens: Some(left(160_000, 149_984, 63_500)) };
    assert_eq!(told(Api::OpenAI, &openai), Some(expected));
    assert_eq!(told(Api::Anthropic, &openai), None, "another vendor's headers say nothing");
    let anthropic = [
        ("anthropic-ratelimit-requests-limit", "50"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2015-10-21T07:28:05Z"),
        ("anthropic-ratelimit-input-tokens-limit", "40000"),
        ("anthropic-ratelimit-input-tokens-remaining", "39000"),
        ("anthropic-ratelimit-input-tokens-reset", "2015-10-21T07:29:00Z"),
    ];
    let expected = Report { requests: Some(left(50, 0, 5_000)), tokens: Some(left(40_000, 39_000, 60_000)) };
    assert_eq!(told(Api::Anthropic, &anthropic), Some(expected));
}

#[test]
fn azure_tells_bare_seconds_and_zero_for_unknown() {
    let some = told(Api::AzureOpenAI, &requests("60", "59", "1"));
    assert_eq!(some, Some(Report { requests: Some(left(60, 59, 1_000)), tokens: None }));
    assert_eq!(told(Api::AzureOpenAI, &requests("60", "0", "10")), None);
    assert!(told(Api::OpenAI, &requests("60", "0", "10")).is_some());
}

#[test]
fn a_number_without_its_limit_and_reset_or_one_that_is_none_says_nothing() {
    for (limit, left, reset) in [
        ("-1", "5", "1s"),
        ("0", "0", "1s"),
        ("60", "-1", "1s"),
        ("60", "59", "0"),
        ("60", "59", "soon"),
        ("60", "59", "2015-10-21T07:27:59Z"),
        ("60", "5.5", "1s"),
        ("60", "1e3", "1s"),
        ("60", "", "1s"),
        ("60", "99999999999999999999999", "1s"),
        ("9007199254740993", "1", "1s"),
        ("60", "\u{ff15}9", "1s"),
    ] {
        assert_eq!(told(Api::OpenAI, &requests(limit, left, reset)), None, "{limit} {left} {reset}");
    }
    assert_eq!(told(Api::OpenAI, &requests("60", "59", "1s")[..2]), None);
    assert_eq!(told(Api::OpenAI, &[]), None);
}
