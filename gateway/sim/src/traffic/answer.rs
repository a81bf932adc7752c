//! Reads the answer of either dialect as a client would: when the first token came, whether the answer is
//! complete, what an error said.
//!
//! First token = the first generated token (text, tool call, reasoning), never headers, pings or role chunks.
//! Complete = a finish reason and the terminal event; a body that merely ends is truncated.

use serde::Deserialize;
use serde_json::Value;

use super::{
    integrity::{Checker, Integrity},
    sse::Events,
};

/// What is known of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    events: Events,
    checker: Checker,
    /// Text of a tool call is the tokens inside of `{"text":"..."}`.
    in_arguments: String,
    pub(super) generated: bool,
    finished: bool,
    terminated: bool,
    pub(super) malformed: bool,
    pub(super) error: Option<String>,
    /// What the error says.
    pub(super) message: Option<String>,
    output_tokens: Option<u32>,
}

/// The fields of both dialects' events that matter here.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(rename = "type")]
    kind: Option<String>,
    delta: Option<Delta>,
    content_block: Option<Value>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    completion_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

impl Reading {
    /// Reads a piece of an event stream.
    pub(super) fn stream(&mut self, bytes: &[u8]) {
        let mut events = std::mem::take(&mut self.events);
        self.malformed |= events.read(bytes, |data| self.event(data)).is_err();
        self.events = events;
    }

    fn event(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.terminated = true;
            return;
        }
        let Ok(event) = serde_json::from_slice::<Event>(data) else {
            self.malformed = true;
            return;
        };
        if let Some(error) = event.error.filter(|error| !error.is_null()) {
            self.failed(&error);
        }
        if let Some(usage) = event.usage {
            self.output_tokens = usage.completion_tokens.or(usage.output_tokens).or(self.output_tokens);
        }
        for choice in event.choices {
            self.finished |= choice.finish_reason.is_some();
            self.delta(choice.delta.unwrap_or_default());
        }
        self.finished |= event.delta.as_ref().is_some_and(|delta| delta.stop_reason.is_some());
        self.delta(event.delta.unwrap_or_default());
        self.generated |= event.content_block.is_some_and(|block| block["type"] == "tool_use");
        self.terminated |= event.kind.as_deref() == Some("message_stop");
    }

    fn delta(&mut self, delta: Delta) {
        let thought = delta.reasoning_content.or(delta.thinking);
        self.generated |= thought.is_some_and(|text| !text.is_empty()) || !delta.tool_calls.is_empty();
        for text in [delta.content, delta.text].into_iter().flatten() {
            self.text(&text);
        }
        let calls = delta.tool_calls.into_iter().filter_map(|call| call.function?.arguments);
        for piece in calls.chain(delta.partial_json) {
            self.generated |= !piece.is_empty();
            self.in_arguments.push_str(&piece);
        }
    }

    fn text(&mut self, text: &str) {
        self.generated |= !text.is_empty();
        self.checker.read(text);
    }

    /// Reads a whole document.
    pub(super) fn document(&mut self, bytes: &[u8]) {
        let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
            self.malformed = true;
            return;
        };
        if document["error"].is_object() {
            self.failed(&document["error"]);
            return;
        }
        let choice = &document["choices"][0];
        let calls = [
            &choice["message"]["tool_calls"][0]["function"]["arguments"],
            &document["content"][0]["input"]["text"],
        ];
        if let Some(arguments) = calls[0].as_str() {
            self.in_arguments.push_str(arguments);
        }
        for text in [&choice["message"]["content"], &document["content"][0]["text"], calls[1]] {
            self.text(text.as_str().unwrap_or_default());
        }
        let usage = &document["usage"];
        let output = usage["completion_tokens"].as_u64().or(usage["output_tokens"].as_u64());
        self.output_tokens = output.map(|n| n as u32);
        self.finished = choice["finish_reason"].is_string() || document["stop_reason"].is_string();
        self.terminated = self.finished;
        self.generated = self.finished;
    }

    fn failed(&mut self, error: &Value) {
        self.error = Some(error_type(error));
        self.message = error["message"].as_str().map(str::to_owned);
    }

    /// Whether the answer came to its proper end.
    pub(super) fn complete(&self) -> bool {
        self.finished && self.terminated
    }

    /// What the tokens say. Fewer or more of them than the usage figures report is a gap.
    pub(super) fn integrity(mut self) -> Integrity {
        if !self.in_arguments.is_empty() {
            match serde_json::from_str::<Value>(&self.in_arguments) {
                Ok(arguments) => self.checker.read(arguments["text"].as_str().unwrap_or_default()),
                Err(_) => self.malformed = true,
            }
        }
        let mut found = self.checker.finish();
        found.gap |= self.malformed || self.output_tokens.is_some_and(|n| n != found.tokens);
        found
    }
}

/// `type` of an error object; where a vendor puts ours into `code`, that.
fn error_type(error: &Value) -> String {
    let (kind, code) = (error["type"].as_str(), error["code"].as_str());
    let ours = code.filter(|code| code.starts_with("gateway_"));
    ours.or(kind).or(code).unwrap_or("unknown").to_owned()
}
