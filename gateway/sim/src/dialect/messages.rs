//! `POST /v1/messages`.
//!
//! Prelude: `message_start` with the input usage, the empty text block and one `ping`. The start of a `tool_use`
//! block counts as generated and comes with token 0. `message_delta` carries the cumulative output usage.
//! `input_tokens` excludes what was read from the cache, as the API reference defines it.

use std::ops::Range;

use super::{Answer, Wire};

pub(super) struct Messages;

const OPEN_ARGUMENTS: &str = r#"{\"text\":\""#;
const CLOSE_ARGUMENTS: &str = r#"\"}"#;

impl Wire for Messages {
    fn prelude(&self, a: &Answer) -> String {
        let message = message(a, "[]", "null", 1.min(a.tokens));
        let mut frames = event("message_start", &format!(r#","message":{message}"#));
        if a.tool.is_none() {
            frames +=
                &event("content_block_start", r#","index":0,"content_block":{"type":"text","text":""}"#);
        }
        frames + &event("ping", "")
    }

    fn tokens(&self, a: &Answer, range: Range<u32>) -> String {
        let text = a.text(range.clone());
        let Some(tool) = &a.tool else {
            return delta(&format!(r#"{{"type":"text_delta","text":"{text}"}}"#));
        };
        let mut frames = String::new();
        if range.start == 0 {
            let id = a.id("toolu_");
            frames = event(
                "content_block_start",
                &format!(
                    r#","index":0,"content_block":{{"type":"tool_use","id":"{id}","name":{tool},"input":{{}}}}"#
                ),
            );
            frames += &arguments("");
            frames += &arguments(OPEN_ARGUMENTS);
        }
        frames + &arguments(&text)
    }

    fn epilogue(&self, a: &Answer) -> String {
        let mut frames = String::new();
        if a.tool.is_some() {
            frames += &arguments(CLOSE_ARGUMENTS);
        }
        frames += &event("content_block_stop", r#","index":0"#);
        frames += &event(
            "message_delta",
            &format!(
                r#","delta":{{"stop_reason":{},"stop_sequence":null}},"usage":{{"output_tokens":{}}}"#,
                stop(a),
                a.tokens
            ),
        );
        frames + &event("message_stop", "")
    }

    fn whole(&self, a: &Answer) -> String {
        let text = a.text(0..a.tokens);
        let content = match &a.tool {
            None => format!(r#"[{{"type":"text","text":"{text}"}}]"#),
            Some(tool) => format!(
                r#"[{{"type":"tool_use","id":"{}","name":{tool},"input":{{"text":"{text}"}}}}]"#,
                a.id("toolu_")
            ),
        };
        message(a, &content, stop(a), a.tokens)
    }
}

fn event(name: &str, rest: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n")
}

fn delta(delta: &str) -> String {
    event("content_block_delta", &format!(r#","index":0,"delta":{delta}"#))
}

fn arguments(piece: &str) -> String {
    delta(&format!(r#"{{"type":"input_json_delta","partial_json":"{piece}"}}"#))
}

fn message(a: &Answer, content: &str, stop: &str, output: u32) -> String {
    format!(
        r#"{{"id":"{}","type":"message","role":"assistant","model":{},"content":{content},"stop_reason":{stop},"stop_sequence":null,"usage":{{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},"output_tokens":{output},"service_tier":"standard"}}}}"#,
        a.id("msg_"),
        a.model,
        a.input - a.cached,
        a.cached
    )
}

fn stop(a: &Answer) -> &'static str {
    match (&a.tool, a.capped) {
        (_, true) => r#""max_tokens""#,
        (Some(_), false) => r#""tool_use""#,
        (None, false) => r#""end_turn""#,
    }
}
