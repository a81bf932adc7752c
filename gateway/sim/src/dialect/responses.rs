//! `POST /v1/responses`, text only: one output message with one text part.
//!
//! Events carry a rising `sequence_number`. The prelude is everything before the first `output_text.delta`.

use std::ops::Range;

use super::{Answer, Wire};

pub(super) struct Responses;

/// Events of the prelude; the first delta has the next number.
const PRELUDE: u32 = 4;

impl Wire for Responses {
    fn prelude(&self, a: &Answer) -> String {
        let response = response(a, "in_progress", "[]", "null");
        let item = item(a, "in_progress", "[]");
        event("response.created", 0, &format!(r#","response":{response}"#))
            + &event("response.in_progress", 1, &format!(r#","response":{response}"#))
            + &event("response.output_item.added", 2, &format!(r#","output_index":0,"item":{item}"#))
            + &event("response.content_part.added", 3, &format!(r#",{},"part":{}"#, place(a), part("")))
    }

    fn tokens(&self, a: &Answer, range: Range<u32>) -> String {
        let number = PRELUDE + range.start;
        let text = a.text(range);
        event(
            "response.output_text.delta",
            number,
            &format!(r#",{},"delta":"{text}","logprobs":[]"#, place(a)),
        )
    }

    fn epilogue(&self, a: &Answer) -> String {
        let next = PRELUDE + a.tokens;
        let (text, status) = (a.text(0..a.tokens), status(a));
        let item = item(a, status, &format!("[{}]", part(&text)));
        let terminal = response(a, status, &format!("[{item}]"), &usage(a));
        event("response.output_text.done", next, &format!(r#",{},"text":"{text}","logprobs":[]"#, place(a)))
            + &event(
                "response.content_part.done",
                next + 1,
                &format!(r#",{},"part":{}"#, place(a), part(&text)),
            )
            + &event("response.output_item.done", next + 2, &format!(r#","output_index":0,"item":{item}"#))
            + &event(&format!("response.{status}"), next + 3, &format!(r#","response":{terminal}"#))
    }

    fn whole(&self, a: &Answer) -> String {
        let item = item(a, status(a), &format!("[{}]", part(&a.text(0..a.tokens))));
        response(a, status(a), &format!("[{item}]"), &usage(a))
    }
}

fn event(name: &str, number: u32, rest: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number}{rest}}}\n\n")
}

fn status(a: &Answer) -> &'static str {
    if a.capped { "incomplete" } else { "completed" }
}

fn place(a: &Answer) -> String {
    format!(r#""item_id":"{}","output_index":0,"content_index":0"#, a.id("msg_"))
}

fn part(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":"{text}","annotations":[],"logprobs":[]}}"#)
}

fn item(a: &Answer, status: &str, content: &str) -> String {
    let id = a.id("msg_");
    format!(r#"{{"id":"{id}","type":"message","status":"{status}","role":"assistant","content":{content}}}"#)
}

fn usage(a: &Answer) -> String {
    format!(
        r#"{{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{}}},"output_tokens":{},"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}}"#,
        a.input,
        a.cached,
        a.tokens,
        a.input + a.tokens
    )
}

fn response(a: &Answer, status: &str, output: &str, usage: &str) -> String {
    let incomplete = if status == "incomplete" { r#"{"reason":"max_output_tokens"}"# } else { "null" };
    format!(
        r#"{{"id":"{}","object":"response","created_at":{},"status":"{status}","error":null,"incomplete_details":{incomplete},"instructions":null,"max_output_tokens":null,"model":{},"output":{output},"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{{"effort":null,"summary":null}},"store":false,"temperature":1.0,"text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":{usage},"metadata":{{}}}}"#,
        a.id("resp_"),
        a.created,
        a.model
    )
}
