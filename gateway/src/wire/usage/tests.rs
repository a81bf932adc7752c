use super::*;

fn merged(operation: Operation, objects: &[&str]) -> [Option<u64>; 5] {
    let mut meter = Meter::new(operation);
    for object in objects {
        meter.add(object.as_bytes());
    }
    let usage = meter.usage().unwrap_or_default();
    [usage.input_uncached, usage.cache_read, usage.cache_write, usage.output, usage.reasoning]
}

#[test]
fn every_vocabulary_gives_the_normal_form() {
    use Operation::{ChatCompletions, Embeddings, Messages, Responses};
    for (operation, usage, wanted) in [
        (
            ChatCompletions,
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}"#,
            [Some(30), Some(60), Some(10), Some(20), Some(5)],
        ),
        (
            Responses,
            r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2}}"#,
            [Some(60), Some(40), None, Some(7), Some(2)],
        ),
        // wire case I7: the cache write is charged once
        (
            Messages,
            r#"{"input_tokens":3,"cache_creation_input_tokens":12304,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":12304},"output_tokens":550}"#,
            [Some(3), Some(0), Some(12304), Some(550), None],
        ),
        (
            Messages,
            r#"{"input_tokens":3,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":5}}"#,
            [Some(3), None, Some(9), None, None],
        ),
        // wire case I10: both vocabularies at once
        (
            ChatCompletions,
            r#"{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":60},"cache_read_input_tokens":60}"#,
            [Some(40), Some(60), None, Some(1), None],
        ),
        (
            ChatCompletions,
            r#"{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9}}"#,
            [Some(0), Some(9), None, None, None],
        ),
        (
            ChatCompletions,
            r#"{"prompt_tokens":-1,"completion_tokens":null,"prompt_tokens_details":null}"#,
            [None; 5],
        ),
        (
            ChatCompletions,
            r#"{"completion_tokens":99999999999999999999999}"#,
            [None, None, None, Some(u64::MAX), None],
        ),
        (Embeddings, r#"{"prompt_tokens":8,"total_tokens":8}"#, [Some(8), None, None, Some(0), None]),
    ] {
        assert_eq!(merged(operation, &[usage]), wanted, "{usage}");
    }
}

#[test]
fn running_totals_are_replaced_and_never_added() {
    // I2: 1..100 is 100, not 5050
    let chunks: Vec<String> =
        (1..=100).map(|n| format!(r#"{{"prompt_tokens":9,"completion_tokens":{n}}}"#)).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    assert_eq!(merged(Operation::ChatCompletions, &chunks), [Some(9), None, None, Some(100), None]);
    // I1: 15, not 16; I4: the delta lacks the input
    let start = r#"{"input_tokens":25,"cache_read_input_tokens":4,"output_tokens":1}"#;
    assert_eq!(
        merged(Operation::Messages, &[start, r#"{"output_tokens":15}"#]),
        [Some(25), Some(4), None, Some(15), None]
    );
    assert_eq!(
        merged(Operation::Messages, &[start, r#"{"input_tokens":0,"output_tokens":15}"#]),
        [Some(25), Some(4), None, Some(15), None]
    );
}

#[test]
fn no_usage_is_none_and_not_zero() {
    assert_eq!(from_answer(Operation::ChatCompletions, br#"{"usage":null,"choices":[]}"#), None);
    assert_eq!(from_answer(Operation::ChatCompletions, br#"{"choices":[]}"#), None);
    let found =
        from_answer(Operation::Messages, br#"{"content":[],"usage":{"input_tokens":1,"output_tokens":2}}"#);
    assert_eq!(found.map(|usage| usage.output), Some(Some(2)));
}
