use http::HeaderValue;

use super::*;

fn now() -> SystemTime {
    httpdate::parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT").unwrap()
}

fn read(pairs: &[(&'static str, &'static str)]) -> Option<u64> {
    let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    hint(&headers.collect(), None, now()).map(|wait| wait.as_millis() as u64)
}

#[test]
fn headers_are_read_in_order_of_exactness() {
    for (headers, wanted) in [
        (vec![("retry-after", "2"), ("retry-after-ms", "1500.5")], Some(1500)),
        (vec![("retry-after-ms", "0"), ("retry-after", "2")], Some(2000)),
        (vec![("x-amz-retry-after", "250")], Some(250)),
        (vec![("retry-after", "1.5")], Some(1500)),
        (vec![("retry-after", "1800")], Some(1_800_000)),
        (vec![("retry-after", "1000000000000000000000000000000")], Some(LONGEST.as_millis() as u64)),
        (vec![("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")], Some(30_000)),
        (vec![("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT")], None),
        // the provider's clock is 60 s ahead
        (
            vec![("retry-after", "Wed, 21 Oct 2015 07:29:10 GMT"), ("date", "Wed, 21 Oct 2015 07:29:00 GMT")],
            Some(10_000),
        ),
        (vec![("retry-after", "0")], None),
        (vec![("retry-after", "-5")], None),
        (vec![("retry-after", "soon")], None),
        (vec![("retry-after", "NaN")], None),
        (vec![("retry-after", "inf")], None),
        (vec![("retry-after", "")], None),
        (vec![("retry-after", ".")], None),
        (vec![], None),
    ] {
        assert_eq!(read(&headers), wanted, "{headers:?}");
    }
}

#[test]
fn resets_count_only_where_nothing_is_left() {
    for (headers, wanted) in [
        (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")], Some(360_000)),
        (vec![("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m0s")], None),
        (vec![("x-ratelimit-remaining-tokens", "-1"), ("x-ratelimit-reset-tokens", "0")], None),
        (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "0")], None),
        (
            vec![
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "28ms"),
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1s"),
            ],
            Some(1000),
        ),
        (
            vec![
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "2015-10-21T07:28:05Z"),
            ],
            Some(5000),
        ),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1445412490")], Some(10_000)),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1445412490000")], Some(10_000)),
    ] {
        assert_eq!(read(&headers), wanted, "{headers:?}");
    }
}

#[test]
fn messages_name_their_wait_with_a_unit() {
    for (message, wanted) in [
        ("Quota. Please retry in 52.454646382s.", Some(52_454)),
        ("Rate limit. Please try again in 6m0s. Visit", Some(360_000)),
        ("Try again in 28ms", Some(28)),
        ("Please retry after 31 seconds.", Some(31_000)),
        ("please retry after 2 minutes", Some(120_000)),
        ("retry after 5 attempts", None),
        ("please retry in a while", None),
        ("nothing", None),
    ] {
        assert_eq!(in_text(message).map(|wait| wait.as_millis() as u64), wanted, "{message}");
    }
}

#[test]
fn the_body_speaks_when_no_header_does() {
    let body = ErrorBody { wait: Some(Duration::from_secs(7)), ..ErrorBody::default() };
    let mut headers = HeaderMap::new();
    assert_eq!(hint(&headers, Some(&body), now()), Some(Duration::from_secs(7)));
    headers.insert("retry-after", HeaderValue::from_static("3"));
    assert_eq!(hint(&headers, Some(&body), now()), Some(Duration::from_secs(3)));
}

#[test]
fn less_than_a_nanosecond_is_no_wait() {
    for text in ["0.00000000001", "0.0000000000000000000000000000007173", "0.0000000001ms"] {
        assert_eq!(duration(text), None, "{text}");
    }
}
