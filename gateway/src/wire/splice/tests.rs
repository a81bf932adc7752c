use proptest::prelude::*;

use super::super::scan::scan;
use super::*;

const ALL: Change<'_> = Change { model: Some("up-\"1"), include_usage: true };

fn sent(body: &str, operation: Operation, change: Change<'_>) -> (String, UsageAsk) {
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    let scan = scan(&bytes).unwrap();
    let mut spliced = splice(&bytes.into(), &scan, operation, change);
    let length = spliced.body.len();
    let out = spliced.body.copy_to_bytes(length);
    assert!(!spliced.body.has_remaining());
    (String::from_utf8(out.to_vec()).unwrap(), spliced.usage)
}

#[test]
fn only_what_must_change_changes() {
    use UsageAsk::{Client, Injected, NotApplicable, Refused};
    for (body, wanted, usage) in [
        (r#"{"model":"a"}"#, r#"{"model":"up-\"1"}"#, NotApplicable),
        (r#"{ "x" : 1 }"#, r#"{"model":"up-\"1", "x" : 1 }"#, NotApplicable),
        ("{}", r#"{"model":"up-\"1"}"#, NotApplicable),
        (
            r#" {"stream":true, "model" : "a" }"#,
            r#" {"stream_options":{"include_usage":true},"stream":true, "model" : "up-\"1" }"#,
            Injected,
        ),
        (
            r#"{"stream":true}"#,
            r#"{"model":"up-\"1","stream_options":{"include_usage":true},"stream":true}"#,
            Injected,
        ),
        (
            r#"{"model":"a","stream":true,"stream_options":{}}"#,
            r#"{"model":"up-\"1","stream":true,"stream_options":{"include_usage":true}}"#,
            Injected,
        ),
        (
            r#"{"stream_options":{ "x":1},"stream":true,"model":"a"}"#,
            r#"{"stream_options":{"include_usage":true, "x":1},"stream":true,"model":"up-\"1"}"#,
            Injected,
        ),
        (
            r#"{"stream_options":null,"stream":true,"model":"a"}"#,
            r#"{"stream_options":{"include_usage":true},"stream":true,"model":"up-\"1"}"#,
            Injected,
        ),
        (
            r#"{"stream_options":{"include_usage": null},"stream":true,"model":"a"}"#,
            r#"{"stream_options":{"include_usage": true},"stream":true,"model":"up-\"1"}"#,
            Injected,
        ),
        (
            r#"{"stream_options":{"include_usage":false},"stream":true,"model":"a"}"#,
            r#"{"stream_options":{"include_usage":false},"stream":true,"model":"up-\"1"}"#,
            Refused,
        ),
        (
            r#"{"stream_options":{"include_usage":true},"stream":true,"model":"a"}"#,
            r#"{"stream_options":{"include_usage":true},"stream":true,"model":"up-\"1"}"#,
            Client,
        ),
        (
            r#"{"stream_options":7,"stream":true,"model":"a"}"#,
            r#"{"stream_options":7,"stream":true,"model":"up-\"1"}"#,
            Refused,
        ),
    ] {
        assert_eq!(sent(body, Operation::ChatCompletions, ALL), (wanted.to_owned(), usage), "{body}");
    }
}

#[test]
fn dialects_that_always_tell_are_not_asked() {
    for operation in [Operation::Messages, Operation::Responses] {
        let (body, usage) = sent(r#"{"model":"up-\"1","stream":true}"#, operation, ALL);
        assert_eq!((body.as_str(), usage), (r#"{"model":"up-\"1","stream":true}"#, UsageAsk::NotApplicable));
    }
}

#[test]
fn a_route_that_cannot_tell_is_not_asked() {
    let change = Change { model: None, include_usage: false };
    let (body, usage) = sent(r#"{"model":"a","stream":true}"#, Operation::ChatCompletions, change);
    assert_eq!((body.as_str(), usage), (r#"{"model":"a","stream":true}"#, UsageAsk::Refused));
}

#[test]
fn unchanged_bytes_are_shared_not_copied() {
    let body = Bytes::from(format!(r#"{{"messages":"{}","model":"a"}}"#, "x".repeat(1000)));
    let spliced = splice(&body.clone().into(), &scan(&body).unwrap(), Operation::ChatCompletions, ALL);
    assert_eq!(spliced.body.chunk().as_ptr(), body.as_ptr());
    let mut slices = [IoSlice::new(&[]); 2 * MAX_EDITS + 1];
    assert_eq!(spliced.body.chunks_vectored(&mut slices), 3);
}

proptest! {
    #[test]
    fn any_reading_pattern_gives_the_same_bytes(steps in proptest::collection::vec(1_usize..9, 1..60)) {
        let body = Bytes::from_static(br#"{"a":1,"stream_options":{"b":2},"model":"mmm","stream":true}"#);
        let mut segments = splice(&body.clone().into(), &scan(&body).unwrap(), Operation::ChatCompletions, ALL).body;
        let wanted = segments.clone().copy_to_bytes(segments.len());
        let mut read = Vec::new();
        for step in steps.into_iter().cycle() {
            let step = step.min(segments.remaining());
            if step == 0 { break }
            let mut buffer = vec![0; step];
            segments.copy_to_slice(&mut buffer);
            read.extend(buffer);
        }
        prop_assert_eq!(read, wanted.to_vec());
    }
}
