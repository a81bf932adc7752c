use bytes::Bytes;
use proptest::prelude::*;

use super::super::sse::Framer;
use super::*;

use Operation::{ChatCompletions, Completions, Messages, Responses};

/// Reads a whole stream; one letter per frame, and the reader.
fn read(operation: Operation, stream: &str) -> (String, StreamReader) {
    let mut framer = Framer::new(1 << 20);
    framer.push(Bytes::copy_from_slice(stream.as_bytes()));
    let mut reader = StreamReader::new(operation);
    let mut letters = String::new();
    while let Some(frame) = framer.next_frame().unwrap() {
        letters.push(letter(&reader.read(&frame)));
    }
    if let Some(tail) = framer.finish() {
        letters.push(letter(&reader.read_tail(&tail)));
    }
    (letters, reader)
}

fn letter(signal: &Signal) -> char {
    match signal {
        Signal::NotToken => '-',
        Signal::Token { visible: true } => 'T',
        Signal::Token { visible: false } => 't',
        Signal::EffectStarted => 'S',
        Signal::UsageOnly => 'U',
        Signal::Finish => 'F',
        Signal::End => 'E',
        Signal::Error(_) => 'X',
    }
}

/// `data:` frames of JSON objects.
fn data(objects: &[&str]) -> String {
    let frames: Vec<String> = objects.iter().map(|object| format!("data: {object}\n\n")).collect();
    frames.concat()
}

fn delta(delta: &str) -> String {
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

#[test]
fn chat_chunks_are_told_apart() {
    for (chunk, wanted) in [
        (delta(r#"{"role":"assistant","content":""}"#), "-"),
        (delta(r#"{"role":"assistant","content":null,"refusal":null}"#), "-"),
        (delta("{}"), "-"),
        (delta(r#"{"content":"Hi"}"#), "T"),
        (delta(r#"{"content":"[DONE] {\"error\":1}"}"#), "T"),
        (delta(r#"{"refusal":"no"}"#), "T"),
        (delta(r#"{"reasoning_content":"hm","content":null}"#), "t"),
        (delta(r#"{"reasoning":"hm","content":""}"#), "t"),
        (delta(r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}"#), "T"),
        (delta(r#"{"tool_calls":[]}"#), "-"),
        (delta(r#"{"function_call":{"name":"f"}}"#), "T"),
        (delta(r#"{"audio":{"id":"a"}}"#), "T"),
        (delta(r#"{"content":[{"type":"text","text":"x"}]}"#), "T"),
        (r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#.to_owned(), "-"),
        (r#"{"choices":[],"usage":{"prompt_tokens":1}}"#.to_owned(), "U"),
        (r#"{"usage":{"prompt_tokens":1}}"#.to_owned(), "U"),
        (r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#.to_owned(), "F"),
        (r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#.to_owned(), "T"),
        (r#"{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"code":502}}"#.to_owned(), "X"),
        (r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#.to_owned(), "X"),
        (r#"{"error":"text"}"#.to_owned(), "X"),
        (r#"{"error":null,"choices":[]}"#.to_owned(), "-"),
        (r#"{"choices":[{"index":0,"text":"x"}]}"#.to_owned(), "T"),
        ("{\"choices\":[{".to_owned(), "-"),
        ("nonsense".to_owned(), "-"),
        (" [DONE] ".to_owned(), "E"),
    ] {
        assert_eq!(read(ChatCompletions, &data(&[&chunk])).0, wanted, "{chunk}");
    }
}

#[test]
fn a_chat_stream_is_complete_when_every_choice_finished_and_the_sentinel_came() {
    let word = |index: u8| format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"x"}}}}]}}"#);
    let stop =
        |index: u8| format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#);
    let (w0, w1, s0, s1) = (word(0), word(1), stop(0), stop(1));
    for (objects, letters, complete) in [
        (vec![&*w0, &s0, "[DONE]"], "TFE", true),
        (vec![&s0, "[DONE]"], "FE", true),
        (vec![&w0, &w1, &s0, "[DONE]"], "TTFE", false),
        (vec![&w0, &w1, &s0, &s1, "[DONE]"], "TTFFE", true),
        (vec![&w0, "[DONE]"], "TE", false),
        (vec![&w0, &s0], "TF", false),
        (vec!["[DONE]"], "E", false),
        (vec![r#"{"error":{"code":500}}"#, "[DONE]"], "XE", false),
        (vec![&w0, "{broken", &s0, "[DONE]"], "T-FE", false),
    ] {
        let (found, reader) = read(ChatCompletions, &data(&objects));
        assert_eq!((found.as_str(), reader.complete()), (letters, complete), "{objects:?}");
    }
}

#[test]
fn the_reason_of_the_first_choice_that_stops_is_kept() {
    for (operation, stream, reason) in [
        (ChatCompletions, data(&[r#"{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}"#]), ""),
        (
            ChatCompletions,
            data(&[
                r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            ]),
            "length",
        ),
        (Messages, data(&[r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#]), "max_tokens"),
        (
            Responses,
            data(&[r#"{"type":"response.incomplete","response":{"status":"incomplete"}}"#]),
            "incomplete",
        ),
        (
            ChatCompletions,
            data(&[
                r#"{"choices":[{"delta":{},"finish_reason":"a_word_that_is_longer_than_any_of_theirs"}]}"#,
            ]),
            "a_word_that_is_longer_than_any_",
        ),
    ] {
        let (_, reader) = read(operation, &stream);
        assert_eq!(reader.finish_reason(), reason.as_bytes(), "{stream}");
    }
}

#[test]
fn what_is_left_at_the_end_proves_no_success() {
    let word = data(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#]);
    let stop = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}"#;
    let (letters, reader) = read(ChatCompletions, &format!("{word}{stop}"));
    assert_eq!((letters.as_str(), reader.finished()), ("T-", false));
    assert_eq!(reader.usage().and_then(|usage| usage.input_uncached), Some(3));
    let (letters, reader) = read(ChatCompletions, &format!("{word}{stop}\n\ndata: [DONE]"));
    assert_eq!((letters.as_str(), reader.complete()), ("TFE", true));
    let (letters, _) = read(ChatCompletions, "{\"error\":{\"message\":\"m\",\n\"code\":429}}\n");
    assert_eq!(letters, "X");
}

#[test]
fn comments_and_pings_commit_nothing() {
    let stream = ": OPENROUTER PROCESSING\n\nevent: ping\n\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n";
    assert_eq!(read(Messages, stream).0, "----");
    assert_eq!(read(ChatCompletions, ": keep-alive\n\n").0, "-");
}

#[test]
fn legacy_completions_hold_text() {
    let (letters, reader) = read(
        Completions,
        &data(&[
            r#"{"choices":[{"text":"","index":0}]}"#,
            r#"{"choices":[{"text":"ab","index":0,"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]),
    );
    assert_eq!((letters.as_str(), reader.complete(), reader.output_bytes()), ("-TE", true, 2));
}

#[test]
fn responses_events_are_told_apart() {
    for (event, wanted) in [
        (r#"{"type":"response.created","response":{"status":"in_progress","error":null}}"#, "-"),
        (r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#, "-"),
        (r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#, "-"),
        (r#"{"type":"response.output_text.delta","delta":"x","obfuscation":"abc"}"#, "T"),
        (r#"{"type":"response.output_text.delta","delta":""}"#, "-"),
        (r#"{"type":"response.reasoning_summary_text.delta","delta":"x"}"#, "t"),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, "T"),
        (r#"{"type":"response.web_search_call.in_progress"}"#, "S"),
        (r#"{"type":"response.code_interpreter_call_code.delta","delta":"x"}"#, "S"),
        (r#"{"type":"response.output_item.added","item":{"type":"mcp_call"}}"#, "S"),
        (r#"{"type":"response.output_item.done","item":{"type":"message"}}"#, "T"),
        (r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":6}}}"#, "F"),
        (r#"{"type":"response.incomplete","response":{}}"#, "F"),
        (r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#, "X"),
        (r#"{"type":"error","code":"rate_limit_exceeded","message":"m"}"#, "X"),
        // wire case C1: Azure's form
        (r#"{"type":"error","error":{"type":"too_many_requests","code":"too_many_requests"}}"#, "X"),
    ] {
        assert_eq!(read(Responses, &data(&[event])).0, wanted, "{event}");
    }
}

#[test]
fn a_responses_stream_needs_its_terminal_event_and_no_sentinel() {
    let word = r#"{"type":"response.output_text.delta","delta":"x"}"#;
    let done = r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":6}}}"#;
    let (letters, reader) = read(Responses, &data(&[word, done]));
    assert_eq!((letters.as_str(), reader.complete()), ("TF", true));
    assert_eq!(reader.usage().and_then(|usage| usage.output), Some(6));
    assert!(!read(Responses, &data(&[word])).1.complete());
    let named = "event: response.output_text.delta\ndata: {\"delta\":\"x\"}\n\n";
    assert_eq!(read(Responses, named).0, "T");
}

#[test]
fn messages_events_are_told_apart() {
    for (event, wanted) in [
        (r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}"#, "-"),
        (r#"{"type":"ping"}"#, "-"),
        (r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#, "-"),
        (
            r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            "-",
        ),
        (
            r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
            "T",
        ),
        (r#"{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}"#, "t"),
        (
            r#"{"type":"content_block_start","content_block":{"type":"server_tool_use","name":"web_search"}}"#,
            "S",
        ),
        (r#"{"type":"content_block_start","content_block":{"type":"something_new"}}"#, "S"),
        (r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#, "T"),
        (r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":""}}"#, "-"),
        (r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}}"#, "t"),
        (r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}}"#, "t"),
        (r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}"#, "-"),
        (r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}"#, "T"),
        (r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#, "F"),
        (r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":15}}"#, "-"),
        (r#"{"type":"message_stop"}"#, "E"),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#, "X"),
    ] {
        assert_eq!(read(Messages, &data(&[event])).0, wanted, "{event}");
    }
}

#[test]
fn a_messages_stream_needs_stop_reason_and_stop() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#;
    let end = r#"{"type":"message_stop"}"#;
    let (letters, reader) = read(Messages, &data(&[start, stop, end]));
    assert_eq!((letters.as_str(), reader.complete()), ("-FE", true));
    let usage = reader.usage().unwrap_or_default();
    assert_eq!((usage.input_uncached, usage.output), (Some(25), Some(15)));
    assert!(!read(Messages, &data(&[start, stop])).1.complete());
    assert!(!read(Messages, &data(&[start, end])).1.complete());
}

#[test]
fn only_usage_that_nobody_asked_for_is_stripped() {
    assert!(strips(&Signal::UsageOnly, UsageAsk::Injected));
    for ask in [UsageAsk::Client, UsageAsk::Refused, UsageAsk::NotApplicable] {
        assert!(!strips(&Signal::UsageOnly, ask));
    }
    assert!(!strips(&Signal::Finish, UsageAsk::Injected));
}

proptest! {
    #[test]
    fn no_frame_panics(bytes in "[\\[\\]{}:,\"a-e ]{0,60}", operation in proptest::sample::select(Operation::ALL.to_vec())) {
        read(operation, &format!("data: {bytes}\n\n"));
    }

    #[test]
    fn any_text_is_a_token_and_nothing_else(text in "\\PC{1,40}") {
        let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string();
        prop_assert_eq!(read(ChatCompletions, &data(&[&chunk])).0, "T");
    }
}
