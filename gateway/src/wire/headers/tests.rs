use super::*;

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_request_id_that_is_no_text_does_not_reach_the_client() {
    let raw = HeaderValue::from_bytes(b"req\xff").unwrap();
    let mut upstream = HeaderMap::new();
    upstream.insert("x-request-id", raw.clone());
    let mut out = HeaderMap::new();
    to_client(&upstream, &mut out, true);
    assert!(out.is_empty(), "{out:?}");
    upstream.insert("request-id", HeaderValue::from_static("req_2"));
    to_client(&upstream, &mut out, true);
    assert_eq!(out[UPSTREAM_REQUEST_ID], "req_2", "the next best one");
}

#[test]
fn a_provider_sees_only_what_is_its_business() {
    let client = map(&[
        ("authorization", "Bearer k"),
        ("x-api-key", "k"),
        ("api-key", "k"),
        ("cookie", "c"),
        ("origin", "o"),
        ("host", "h"),
        ("content-length", "3"),
        ("connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("proxy-authorization", "p"),
        ("x-forwarded-for", "1.2.3.4"),
        ("forwarded", "for=1.2.3.4"),
        ("x-stainless-retry-count", "1"),
        ("x-hedgerow-action", "a"),
        ("openai-organization", "org"),
        ("accept-encoding", "gzip"),
        ("expect", "100-continue"),
        ("idempotency-key", "i"),
        ("x-request-id", "r"),
        ("content-type", "application/json"),
        ("user-agent", "u"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a"),
        ("anthropic-beta", "b"),
        ("openai-beta", "x"),
    ]);
    let mut out = HeaderMap::new();
    to_upstream(&client, &mut out);
    assert_eq!(
        names(&out),
        [
            "accept-encoding",
            "anthropic-beta",
            "anthropic-version",
            "content-type",
            "openai-beta",
            "user-agent"
        ]
    );
    assert_eq!(out[ACCEPT_ENCODING], "identity");
    assert_eq!(out.get_all("anthropic-beta").iter().count(), 2);
}

#[test]
fn a_client_does_not_see_the_operators_account() {
    let upstream = map(&[
        ("x-request-id", "up"),
        ("request-id", "other"),
        ("set-cookie", "s"),
        ("server", "cloudflare"),
        ("cf-ray", "c"),
        ("openai-organization", "org"),
        ("content-length", "9"),
        ("transfer-encoding", "chunked"),
        ("retry-after", "0"),
        ("x-should-retry", "true"),
        ("x-hedgerow-route", "forged"),
        ("x-ratelimit-remaining-tokens", "1"),
        ("content-type", "text/event-stream"),
        ("content-encoding", "gzip"),
        ("openai-processing-ms", "12"),
    ]);
    let mut out = HeaderMap::new();
    to_client(&upstream, &mut out, false);
    assert_eq!(
        names(&out),
        ["content-encoding", "content-type", "openai-processing-ms", "x-upstream-request-id"]
    );
    assert_eq!(out[UPSTREAM_REQUEST_ID], "up");
    let mut out = HeaderMap::new();
    to_client(&upstream, &mut out, true);
    assert!(out.contains_key("x-ratelimit-remaining-tokens"));
}

#[test]
fn only_a_coding_makes_a_body_unreadable() {
    for (pairs, encoded) in [
        (vec![], false),
        (vec![("content-encoding", "Identity")], false),
        (vec![("content-encoding", "gzip")], true),
    ] {
        assert_eq!(is_encoded(&map(&pairs)), encoded, "{pairs:?}");
    }
}

#[test]
fn the_shortest_numeric_deadline_counts() {
    for (pairs, wanted) in [
        (vec![("x-hedgerow-deadline-ms", "2500")], Some(2500)),
        (vec![("x-hedgerow-deadline-ms", "9000"), ("x-stainless-read-timeout", "2.5")], Some(2500)),
        (vec![("x-stainless-timeout", "600")], Some(600_000)),
        (vec![("x-stainless-read-timeout", "NOT_GIVEN"), ("x-stainless-timeout", "3")], Some(3000)),
        (vec![("x-stainless-read-timeout", "0")], None),
        (vec![("x-stainless-read-timeout", "-1")], None),
        (vec![("x-stainless-read-timeout", "inf")], None),
        (vec![("x-stainless-read-timeout", "1e300")], None),
        (vec![], None),
    ] {
        assert_eq!(deadline(&map(&pairs)).map(|time| time.as_millis()), wanted, "{pairs:?}");
    }
}

#[test]
fn client_retries_are_counted_from_either_sdk_family() {
    for (pairs, wanted) in [
        (vec![("x-stainless-retry-count", "2")], 2),
        (vec![("amz-sdk-request", "attempt=2; max=3")], 1),
        (vec![("amz-sdk-request", "attempt=0")], 0),
        (vec![("x-stainless-retry-count", "many")], 0),
        (vec![], 0),
    ] {
        assert_eq!(client_retry(&map(&pairs)), wanted, "{pairs:?}");
    }
}

#[test]
fn credentials_are_found_and_hidden() {
    for (pairs, wanted) in [
        (vec![("authorization", "Bearer sk-1")], Some((Place::Bearer, "sk-1"))),
        (vec![("authorization", "bEARER  sk-1 ")], Some((Place::Bearer, "sk-1"))),
        (vec![("authorization", "Basic abc"), ("x-api-key", "k")], Some((Place::XApiKey, "k"))),
        (vec![("authorization", "Bearer ")], None),
        (vec![("api-key", "a")], Some((Place::ApiKey, "a"))),
        (vec![], None),
    ] {
        let headers = map(&pairs);
        let found = credential(&headers);
        assert_eq!(
            found.map(|key| (key.place, std::str::from_utf8(key.bytes()).unwrap())),
            wanted,
            "{pairs:?}"
        );
        assert!(!format!("{found:?}").contains("sk-1"));
    }
}

#[test]
fn action_ids_are_short_and_plain() {
    for (id, fine) in [("a-1_.:Z", true), ("", false), ("a b", false), ("a\"", false)] {
        assert_eq!(action_id(&map(&[("x-hedgerow-action", id)])).is_some(), fine, "{id}");
    }
    assert_eq!(action_id(&map(&[("x-hedgerow-action", &"x".repeat(129))])), None);
}

#[test]
fn ambiguous_framing_is_refused() {
    use FramingError::{Both, Coding, Length};
    for (version, pairs, wanted) in [
        (Version::HTTP_11, vec![("content-length", "5")], Ok(())),
        (Version::HTTP_11, vec![("transfer-encoding", "Chunked")], Ok(())),
        (Version::HTTP_2, vec![("content-length", "5")], Ok(())),
        (Version::HTTP_11, vec![], Ok(())),
        (Version::HTTP_11, vec![("content-length", "5"), ("transfer-encoding", "chunked")], Err(Both)),
        (Version::HTTP_11, vec![("content-length", "5"), ("content-length", "5")], Err(Length)),
        (Version::HTTP_11, vec![("content-length", "5, 5")], Err(Length)),
        (Version::HTTP_11, vec![("content-length", "+5")], Err(Length)),
        (Version::HTTP_11, vec![("content-length", "")], Err(Length)),
        (Version::HTTP_11, vec![("transfer-encoding", "gzip, chunked")], Err(Coding)),
        (
            Version::HTTP_11,
            vec![("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
            Err(Coding),
        ),
        (Version::HTTP_11, vec![("transfer-encoding", "identity")], Err(Coding)),
        (Version::HTTP_10, vec![("transfer-encoding", "chunked")], Err(Coding)),
        (Version::HTTP_2, vec![("transfer-encoding", "chunked")], Err(Coding)),
    ] {
        assert_eq!(framing(version, &map(&pairs)), wanted, "{version:?} {pairs:?}");
    }
}
