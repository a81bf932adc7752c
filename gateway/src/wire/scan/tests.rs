use proptest::prelude::*;

use super::*;

fn ok(body: &str) -> Scan {
    scan(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

#[test]
fn routing_keys_are_found_wherever_they_stand() {
    let body = r#" { "messages":[{"role":"user","content":"model \" stream"}] , "model" : "a\/b","n": 2,
        "stream":true,"stream_options":{"x":1,"include_usage":false},"max_tokens":5, "store":null } "#;
    let scan = ok(body);
    let bytes = body.as_bytes();
    assert_eq!(scan.model(bytes).unwrap(), "a/b");
    assert!(scan.stream());
    assert_eq!(scan.include_usage(), Some(false));
    assert_eq!(scan.number(Key::N, bytes), Some(2));
    assert_eq!(scan.max_output(bytes), Some(5));
    assert!(scan.raw(Key::Store, bytes).is_some() && scan.present(Key::Store, bytes).is_none());
    assert!(scan.prompt_head(bytes).starts_with(br#"[{"role":"user""#));
    assert!(scan.span(Key::Tools).is_none());
}

#[test]
fn keys_inside_values_are_not_routing_keys() {
    let scan = ok(r#"{"metadata":{"model":"x","stream":true},"model":"y"}"#);
    assert!(!scan.stream());
    assert_eq!(scan.model(br#"{"metadata":{"model":"x","stream":true},"model":"y"}"#).unwrap(), "y");
}

#[test]
fn what_could_be_read_two_ways_is_refused() {
    for (body, wanted) in [
        ("", ScanError::Empty),
        (" \n", ScanError::Empty),
        ("[]", ScanError::Json(Fault::Syntax { at: 0, wanted: "an object" })),
        ("{", ScanError::Json(Fault::Truncated)),
        (r#"{"a":1"#, ScanError::Json(Fault::Truncated)),
        (r#" {"a" 1}"#, ScanError::Json(Fault::Syntax { at: 6, wanted: "a colon" })),
        (r#"{"a":1 "b":2}"#, ScanError::Json(Fault::Syntax { at: 7, wanted: "a comma or a closing brace" })),
        (r#"{,"a":1}"#, ScanError::Json(Fault::Syntax { at: 1, wanted: "a string" })),
        (r#"{"a":1,}"#, ScanError::Json(Fault::Syntax { at: 7, wanted: "a string" })),
        (r#"{"a":yes}"#, ScanError::Json(Fault::Syntax { at: 5, wanted: "a value" })),
        (r#"{"a":1} {"b":2}"#, ScanError::Trailing { at: 8 }),
        (r#"{"a":1}x"#, ScanError::Trailing { at: 7 }),
        (r#"{"model":"a","model":"b"}"#, ScanError::Duplicate { key: "model" }),
        (r#"{"stream":null,"stream":true}"#, ScanError::Duplicate { key: "stream" }),
        (r#"{"model":"a","mod\u0065l":"b"}"#, ScanError::Escaped { key: "model", at: 13 }),
        (r#"{"stream":"true"}"#, ScanError::Type { key: "stream", wanted: "true or false" }),
        (
            r#"{"stream_options":{"include_usage":true,"include_usage":false}}"#,
            ScanError::Duplicate { key: "stream_options.include_usage" },
        ),
    ] {
        assert_eq!(scan(body.as_bytes()).unwrap_err(), wanted, "{body}");
    }
    let bomb = format!(r#"{{"messages":{}"#, "[".repeat(1_000_000));
    assert!(matches!(scan(bomb.as_bytes()), Err(ScanError::Json(Fault::Depth { .. }))));
}

#[test]
fn keys_that_do_not_route_may_repeat_and_carry_escapes() {
    ok(r#"{"x":1,"x":2,"\u0061":3,"\q":4}"#);
}

#[test]
fn a_model_is_a_short_string() {
    for body in [r#"{"a":1}"#, r#"{"model":null}"#, r#"{"model":3}"#, r#"{"model":""}"#] {
        assert!(ok(body).model(body.as_bytes()).is_err(), "{body}");
    }
    let long = format!(r#"{{"model":"{}"}}"#, "x".repeat(513));
    assert!(ok(&long).model(long.as_bytes()).is_err());
}

#[test]
fn blobs_are_not_text() {
    let blob = "QUJD".repeat(500);
    let prose = "a word and ".repeat(200);
    for (body, text) in [
        (format!(r#"{{"input":"data:image/png;base64,{blob}"}}"#), 12),
        (format!(r#"{{"messages":[{{"data":"{blob}"}}]}}"#), 26),
        (format!(r#"{{"input":"{prose}"}}"#), 12 + prose.len() as u64),
    ] {
        assert_eq!(ok(&body).text_bytes(), text, "{body}");
    }
}

#[test]
fn marks_come_from_the_prompt_only() {
    let tools = r#"{"tools":[{"parameters":{"file_id":1,"signature":2}}],"input":"the signature"}"#;
    assert!(ok(tools).marks().is_empty());
    let thinking = r#"{"messages":[{"content":[{"type":"thinking","signature":"x"}]}]}"#;
    assert!(ok(thinking).marks().any(Marks::THINKING));
    let file = r#"{"input":[{"type":"input_file","file_id":"f"},{"type":"mcp_call"}]}"#;
    assert!(ok(file).marks().any(Marks::REFERENCE) && ok(file).marks().any(Marks::SERVER_TOOL));
}

#[test]
fn every_key_is_found_by_its_spelling() {
    for &key in Key::ALL {
        assert_eq!(Key::find(key.as_str().as_bytes()), Some(key));
    }
    assert_eq!(Key::find(b"Model"), None);
}

proptest! {
    #[test]
    fn the_scan_agrees_with_a_parser(
        model in "\\PC{1,20}", text in "\\PC{0,80}", stream in any::<bool>(), n in 0_u64..9, pretty in any::<bool>(),
    ) {
        let value = serde_json::json!({
            "zz": { "model": "other", "list": [text.clone(), null, 1.5] },
            "model": model.clone(), "messages": [{ "role": "user", "content": text }], "stream": stream, "n": n,
        });
        let body = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let scan = scan(body.as_bytes()).unwrap();
        prop_assert_eq!(scan.model(body.as_bytes()).unwrap(), model);
        prop_assert_eq!(scan.stream(), stream);
        prop_assert_eq!(scan.number(Key::N, body.as_bytes()), Some(n));
        let messages = scan.raw(Key::Messages, body.as_bytes()).unwrap();
        prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(messages).unwrap(), value["messages"].clone());
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = scan(&bytes);
    }

    #[test]
    fn no_json_like_bytes_panic(bytes in proptest::collection::vec(proptest::sample::select(b"{}[]\",:\\ntae1 ".to_vec()), 0..80)) {
        if let Ok(found) = scan(&bytes) {
            prop_assert!(json::is_one_value(&bytes));
            prop_assert!(found.text_bytes() <= bytes.len() as u64);
        }
    }
}
