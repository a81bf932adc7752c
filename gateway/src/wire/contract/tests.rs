use super::*;
use crate::wire::complete;

const SCHEMA: &str = r#"{"type":"object","required":["city"],"properties":{"city":{"type":"string"}},"additionalProperties":false}"#;

fn contract() -> Contract {
    Contract { json_schema_from_request: true, ..Contract::default() }
}

fn judge(contract: &Contract, operation: Operation, body: &str, schema: &str) -> Result<(), Breach> {
    let answer = complete::check(operation, body.as_bytes()).unwrap();
    check(contract, operation, &answer, body.as_bytes(), Some(schema.as_bytes()))
}

fn chat(content: &str) -> String {
    let content = Value::from(content);
    format!(r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}]}}"#)
}

#[test]
fn the_schema_stands_where_each_dialect_puts_it() {
    let of = |operation, body: &'static str| {
        schema(operation, body.as_bytes()).map(|found| std::str::from_utf8(found).unwrap())
    };
    for (operation, body) in [
        (
            Operation::ChatCompletions,
            r#"{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"a":1}}}}"#,
        ),
        (Operation::Responses, r#"{"text":{"format":{"type":"json_schema","name":"x","schema":{"a":1}}}}"#),
        (Operation::Messages, r#"{"output_config":{"format":{"type":"json_schema","schema":{"a":1}}}}"#),
        (Operation::Messages, r#"{"output_format":{"type":"json_schema","schema":{"a":1}}}"#),
    ] {
        assert_eq!(of(operation, body), Some(r#"{"a":1}"#), "{body}");
    }
    for (operation, body) in [
        (Operation::ChatCompletions, r#"{"response_format":{"type":"json_object"}}"#),
        (Operation::ChatCompletions, r#"{"messages":[]}"#),
        (Operation::Responses, r#"{"text":{"format":{"type":"text"}}}"#),
        (Operation::Embeddings, r#"{"response_format":{"json_schema":{"schema":{}}}}"#),
    ] {
        assert_eq!(of(operation, body), None, "{body}");
    }
    let long = format!(r#"{{"text":{{"format":{{"schema":"{}"}}}}}}"#, "x".repeat(SCHEMA_BYTES));
    assert_eq!(schema(Operation::Responses, long.as_bytes()), None);
}

#[test]
fn text_of_each_dialect_is_held_against_the_schema() {
    let good = r#"{\"city\":\"Oslo\"}"#;
    for (operation, before, after) in [
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":""#,
            r#""},"finish_reason":"stop"}]}"#,
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":[{"type":"text","text":""#,
            r#""}]},"finish_reason":"stop"}]}"#,
        ),
        (
            Operation::Messages,
            r#"{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":""#,
            r#""}],"stop_reason":"end_turn"}"#,
        ),
        (
            Operation::Responses,
            r#"{"status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":""#,
            r#""}]}]}"#,
        ),
    ] {
        let of = |text: &str| judge(&contract(), operation, &format!("{before}{text}{after}"), SCHEMA);
        assert_eq!(of(good), Ok(()), "{operation:?}");
        assert_eq!(of(r#"{\"town\":\"Oslo\"}"#), Err(Breach::Schema), "{operation:?}");
        assert_eq!(of(r#"{\"city\":\"Os"#), Err(Breach::NotJson), "{operation:?}: cut at its limit");
        assert_eq!(of("Oslo"), Err(Breach::NotJson), "{operation:?}");
    }
}

#[test]
fn an_answer_that_calls_a_tool_or_refuses_has_no_last_word_yet() {
    for (operation, body) in [
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":"","tool_calls":[{"id":"1"}]},"finish_reason":"tool_calls"}]}"#,
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":"","refusal":"no"},"finish_reason":"stop"}]}"#,
        ),
        (
            Operation::Messages,
            r#"{"content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"1"}],"stop_reason":"tool_use"}"#,
        ),
        (Operation::Responses, r#"{"status":"completed","output":[{"type":"function_call"}]}"#),
        (
            Operation::Responses,
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}"#,
        ),
    ] {
        assert_eq!(judge(&contract(), operation, body, SCHEMA), Ok(()), "{body}");
    }
}

#[test]
fn every_choice_counts() {
    let two = r#"{"choices":[{"message":{"content":"{\"city\":\"a\"}"},"finish_reason":"stop"},{"message":{"content":"no"},"finish_reason":"stop"}]}"#;
    assert_eq!(judge(&contract(), Operation::ChatCompletions, two, SCHEMA), Err(Breach::NotJson));
}

#[test]
fn a_schema_that_cannot_be_used_checks_nothing() {
    for unusable in [
        "7",
        r#"{"type":"nonsense"}"#,
        r#"{"$ref":"https://example.com/schema.json"}"#,
        r#"{"$ref":"file:///etc/passwd"}"#,
    ] {
        assert_eq!(
            judge(&contract(), Operation::ChatCompletions, &chat("{}"), unusable),
            Ok(()),
            "{unusable}"
        );
    }
}

#[test]
fn a_pattern_that_would_run_for_ever_elsewhere_ends_at_once() {
    let evil = r#"{"type":"string","pattern":"^(a+)+$"}"#;
    let text = format!("\"{}b\"", "a".repeat(50_000));
    assert_eq!(judge(&contract(), Operation::ChatCompletions, &chat(&text), evil), Err(Breach::Schema));
}

#[test]
fn pointers_must_exist_in_the_text() {
    let required = |pointers: &[&str]| Contract {
        required_json_pointers: pointers.iter().map(|pointer| (*pointer).to_owned()).collect(),
        ..Contract::default()
    };
    let body = chat(r#"{"a":{"b":[1]}}"#);
    let of = |pointers: &[&str]| judge(&required(pointers), Operation::ChatCompletions, &body, "{}");
    assert_eq!(of(&["/a", "/a/b/0"]), Ok(()));
    assert_eq!(of(&["/a/b/1"]), Err(Breach::Missing("/a/b/1".to_owned())));
}

#[test]
fn a_finish_reason_is_needed_and_may_be_chosen() {
    let cut = r#"{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}"#;
    let none = r#"{"choices":[{"message":{"content":"x"}}]}"#;
    let only = Contract { allowed_finish_reasons: vec!["stop".to_owned()], ..Contract::default() };
    let lenient = Contract { require_finish: false, ..Contract::default() };
    assert_eq!(judge(&Contract::default(), Operation::ChatCompletions, cut, "{}"), Ok(()));
    assert_eq!(judge(&only, Operation::ChatCompletions, cut, "{}"), Err(Breach::Finish));
    assert_eq!(judge(&only, Operation::ChatCompletions, &chat("x"), "{}"), Ok(()));
    assert_eq!(judge(&Contract::default(), Operation::ChatCompletions, none, "{}"), Err(Breach::Unfinished));
    assert_eq!(judge(&lenient, Operation::ChatCompletions, none, "{}"), Ok(()));
}

#[test]
fn a_breach_never_quotes_the_answer() {
    let secret = "zq-secret";
    let broken =
        judge(&contract(), Operation::ChatCompletions, &chat(&format!(r#"{{"town":"{secret}"}}"#)), SCHEMA);
    assert!(!format!("{} {broken:?}", broken.clone().unwrap_err()).contains(secret));
}

#[test]
fn a_stream_is_judged_as_a_whole_answer_with_the_same_text() {
    let pointers = Contract { required_json_pointers: vec!["/city".into()], ..Contract::default() };
    let both = Contract { required_json_pointers: vec!["/zip".into()], ..contract() };
    for contract in [contract(), pointers, both, Contract::default()] {
        for text in
            [r#"{"city":"Oslo"}"#, r#"{"town":"Oslo"}"#, "", "Oslo", r#"{"city":"Oslo","zip":1}"#, "{"]
        {
            let whole = judge(&contract, Operation::ChatCompletions, &chat(text), SCHEMA);
            let mut spoken = Spoken::default();
            let content = Value::from(text);
            let event = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{content}}}}}]}}"#);
            spoken.read(Operation::ChatCompletions, None, event.as_bytes());
            let streamed = check_stream(&contract, b"stop", Some(&spoken), Some(SCHEMA.as_bytes()));
            assert_eq!(streamed, whole, "{text} under {contract:?}");
        }
    }
}

#[test]
fn text_is_kept_only_where_something_is_asked_of_it() {
    let pointers = Contract { required_json_pointers: vec!["/a".into()], ..Contract::default() };
    for (contract, schema, wanted) in [
        (Contract::default(), Some(&b"{}"[..]), false),
        (contract(), None, false),
        (contract(), Some(b"{}"), true),
        (pointers, None, true),
    ] {
        assert_eq!(needs_text(&contract, schema), wanted, "{contract:?} {schema:?}");
    }
}
