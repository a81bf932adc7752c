//! `POST /v1/chat/completions`.
//!
//! The role chunk is the prelude; the frame that opens a tool call counts as generated and comes with token 0.
//! With `stream_options.include_usage` every chunk carries `usage: null` and one chunk without choices has the
//! figures, as the API reference says.

use std::{fmt::Write as _, ops::Range};

use super::{Answer, Wire};

pub(super) struct Chat;

/// The arguments of a tool call are this, the tokens, and [`CLOSE_ARGUMENTS`]; both JSON-escaped once.
const OPEN_ARGUMENTS: &str = r#"{\"text\":\""#;
const CLOSE_ARGUMENTS: &str = r#"\"}"#;

impl Wire for Chat {
    fn prelude(&self, a: &Answer) -> String {
        let content = if a.tool.is_some() { "null" } else { r#""""# };
        chunk(a, &format!(r#"{{"role":"assistant","content":{content},"refusal":null}}"#), "null")
    }

    fn tokens(&self, a: &Answer, range: Range<u32>) -> String {
        let text = a.text(range.clone());
        let Some(tool) = &a.tool else { return chunk(a, &format!(r#"{{"content":"{text}"}}"#), "null") };
        let mut frames = String::new();
        if range.start == 0 {
            let id = a.id("call_");
            frames = chunk(
                a,
                &format!(
                    r#"{{"tool_calls":[{{"index":0,"id":"{id}","type":"function","function":{{"name":{tool},"arguments":""}}}}]}}"#
                ),
                "null",
            );
            frames += &arguments(a, OPEN_ARGUMENTS);
        }
        frames + &arguments(a, &text)
    }

    fn epilogue(&self, a: &Answer) -> String {
        let mut frames = String::new();
        if a.tool.is_some() {
            frames += &arguments(a, CLOSE_ARGUMENTS);
        }
        frames += &chunk(a, "{}", finish(a));
        if a.include_usage {
            let _ = write!(frames, r#"data: {{{},"choices":[],"usage":{}}}"#, head(a, true), usage(a));
            frames += "\n\n";
        }
        frames + "data: [DONE]\n\n"
    }

    fn whole(&self, a: &Answer) -> String {
        let text = a.text(0..a.tokens);
        let message = match &a.tool {
            None => format!(r#"{{"role":"assistant","content":"{text}","refusal":null,"annotations":[]}}"#),
            Some(tool) => format!(
                r#"{{"role":"assistant","content":null,"refusal":null,"tool_calls":[{{"id":"{}","type":"function","function":{{"name":{tool},"arguments":"{OPEN_ARGUMENTS}{text}{CLOSE_ARGUMENTS}"}}}}]}}"#,
                a.id("call_")
            ),
        };
        format!(
            r#"{{{},"choices":[{{"index":0,"message":{message},"logprobs":null,"finish_reason":{}}}],"usage":{}}}"#,
            head(a, false),
            finish(a),
            usage(a)
        )
    }
}

fn head(a: &Answer, chunk: bool) -> String {
    let object = if chunk { "chat.completion.chunk" } else { "chat.completion" };
    format!(
        r#""id":"{}","object":"{object}","created":{},"model":{},"service_tier":"default","system_fingerprint":"fp_sim""#,
        a.id("chatcmpl-"),
        a.created,
        a.model
    )
}

fn chunk(a: &Answer, delta: &str, finish: &str) -> String {
    let usage = if a.include_usage { r#","usage":null"# } else { "" };
    format!(
        "data: {{{},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]{usage}}}\n\n",
        head(a, true)
    )
}

fn arguments(a: &Answer, piece: &str) -> String {
    chunk(a, &format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{piece}"}}}}]}}"#), "null")
}

fn finish(a: &Answer) -> &'static str {
    match (&a.tool, a.capped) {
        (_, true) => r#""length""#,
        (Some(_), false) => r#""tool_calls""#,
        (None, false) => r#""stop""#,
    }
}

pub(super) fn usage(a: &Answer) -> String {
    format!(
        r#"{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":{},"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}}"#,
        a.input,
        a.tokens,
        a.input + a.tokens,
        a.cached
    )
}
