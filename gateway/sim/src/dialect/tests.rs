use serde_json::Value;

use super::*;

fn answer(tokens: u32) -> Answer {
    Answer {
        provider: "region-a".into(),
        nonce: 17,
        model: r#""m-\"1\"""#.into(),
        created: 1,
        tokens,
        capped: false,
        tool: None,
        include_usage: true,
        input: 100,
        cached: 40,
    }
}

/// The JSON of every data line but `[DONE]`.
fn events(frames: &str) -> Vec<Value> {
    assert!(frames.is_empty() || frames.ends_with("\n\n"), "frames end with a blank line");
    frames
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {data}")))
        .collect()
}

fn generating() -> [Endpoint; 4] {
    [Endpoint::Chat, Endpoint::Completions, Endpoint::Responses, Endpoint::Messages]
}

#[test]
fn every_frame_and_every_document_is_json() {
    for endpoint in generating() {
        let wire = endpoint.wire().unwrap();
        for tool in [None, Some(r#""look_up""#.to_owned())] {
            let a = Answer { tool, ..answer(3) };
            events(
                &(wire.prelude(&a) + &wire.tokens(&a, 0..2) + &wire.tokens(&a, 2..3) + &wire.epilogue(&a)),
            );
            serde_json::from_str::<Value>(&wire.whole(&a)).unwrap_or_else(|e| panic!("{endpoint:?}: {e}"));
        }
    }
}

#[test]
fn no_prelude_holds_a_generated_token() {
    for endpoint in generating() {
        assert!(!endpoint.wire().unwrap().prelude(&answer(3)).contains('#'), "{endpoint:?}");
    }
}

#[test]
fn a_tool_call_spells_arguments_that_are_json() {
    let a = Answer { tool: Some(r#""look_up""#.into()), ..answer(2) };
    let chat = events(&(chat::Chat.tokens(&a, 0..2) + &chat::Chat.epilogue(&a)));
    let spelt: String = chat
        .iter()
        .filter_map(|e| e["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str())
        .collect();
    assert_eq!(spelt, r#"{"text":"region-a#17:0 region-a#17:1 "}"#);
    let messages = events(&(messages::Messages.tokens(&a, 0..2) + &messages::Messages.epilogue(&a)));
    let spelt: String = messages.iter().filter_map(|e| e["delta"]["partial_json"].as_str()).collect();
    assert_eq!(spelt, r#"{"text":"region-a#17:0 region-a#17:1 "}"#);
}

#[test]
fn usage_speaks_each_dialects_vocabulary() {
    let chat: Value = serde_json::from_str(&chat::Chat.whole(&answer(3))).unwrap();
    assert_eq!(chat["usage"]["prompt_tokens"], 100, "includes the cached ones");
    assert_eq!(chat["usage"]["prompt_tokens_details"]["cached_tokens"], 40);
    let message: Value = serde_json::from_str(&messages::Messages.whole(&answer(3))).unwrap();
    assert_eq!(message["usage"]["input_tokens"], 60, "excludes the cached ones");
    assert_eq!(message["usage"]["cache_read_input_tokens"], 40);
    assert_eq!(message["usage"]["output_tokens"], 3);
}

#[test]
fn a_usage_chunk_comes_only_when_asked_for() {
    let with = chat::Chat.epilogue(&answer(1));
    let without = chat::Chat.epilogue(&Answer { include_usage: false, ..answer(1) });
    assert!(with.contains(r#""choices":[],"usage":{"#) && !without.contains("usage"));
    assert!(with.ends_with("data: [DONE]\n\n"));
}

#[test]
fn paths_of_both_dialects_and_of_azure_are_known() {
    let of = |dialect, path| Endpoint::of(dialect, path);
    assert_eq!(of(Dialect::OpenAi, "/v1/chat/completions"), Some((Endpoint::Chat, None)));
    assert_eq!(of(Dialect::OpenAi, "/chat/completions"), Some((Endpoint::Chat, None)));
    let azure = "/openai/deployments/my-gpt/chat/completions";
    assert_eq!(of(Dialect::OpenAi, azure), Some((Endpoint::Chat, Some("my-gpt"))));
    assert_eq!(of(Dialect::Anthropic, "/v1/messages/count_tokens"), Some((Endpoint::CountTokens, None)));
    assert_eq!(of(Dialect::Anthropic, "/v1/chat/completions"), None);
    assert_eq!(of(Dialect::OpenAi, "/v1/messages"), None);
}

#[test]
fn errors_have_the_code_of_their_status_unless_told_otherwise() {
    let openai = error_json(Dialect::OpenAi, &ErrorShape::new(429, "slow down"), "r");
    assert!(openai.contains(r#""code":"rate_limit_exceeded""#), "{openai}");
    let broke = ErrorShape { code: Some("insufficient_quota".into()), ..ErrorShape::new(429, "x") };
    let named = error_json(Dialect::OpenAi, &broke, "r");
    assert!(named.contains(r#""code":"insufficient_quota""#), "{named}");
    let anthropic = error_frame(Dialect::Anthropic, &ErrorShape::new(529, "full"), "r");
    assert!(anthropic.starts_with("event: error\n") && anthropic.contains("overloaded_error"), "{anthropic}");
}
