//! Events of OpenAI's Responses streams.

use super::super::json;
use super::{Signal, StreamReader, failed, is_failure};

/// Events and items of tools that the provider runs.
const EFFECTS: [&[u8]; 7] = [
    b"web_search_call",
    b"file_search_call",
    b"code_interpreter_call",
    b"image_generation_call",
    b"mcp_call",
    b"mcp_list_tools",
    b"mcp_approval_request",
];

impl StreamReader {
    pub(super) fn responses(&mut self, event: Option<&[u8]>, data: &[u8]) -> Signal {
        let mut kind = event.unwrap_or_default();
        let (mut delta, mut response, mut item): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        let mut broken = false;
        let end = json::each(data, |key, value| match key {
            b"type" => kind = json::inside(value).unwrap_or(kind),
            b"delta" => delta = value,
            b"response" => response = value,
            b"item" => item = value,
            b"error" => broken |= is_failure(value),
            _ => {}
        });
        if end != Some(data.len()) {
            self.spoiled = true;
            return Signal::NotToken;
        }
        if broken || kind == b"error" {
            return failed(data);
        }
        // Choices do not exist here: the one answer takes the first bit.
        self.seen = 1;
        let name = kind.strip_prefix(b"response.").unwrap_or(kind);
        match name {
            b"completed" | b"incomplete" | b"done" => {
                self.end(response);
                // As a whole answer tells it.
                let status = json::get(response, b"status").and_then(json::inside);
                self.finish.note(status.unwrap_or(name));
                Signal::Finish
            }
            b"failed" => {
                self.end(response);
                failed(data)
            }
            b"output_item.added" | b"output_item.done" => item_signal(name, item),
            _ if EFFECTS.iter().any(|tool| name.starts_with(tool)) => Signal::EffectStarted,
            _ if name.ends_with(b".delta") => {
                if self.generated(delta) || delta.starts_with(b"{") {
                    Signal::Token { visible: !name.starts_with(b"reasoning") }
                } else {
                    Signal::NotToken
                }
            }
            _ => Signal::NotToken,
        }
    }

    fn end(&mut self, response: &[u8]) {
        if let Some(usage) = json::get(response, b"usage") {
            self.meter.add(usage);
        }
        self.finished = 1;
        self.ended = true;
    }
}

/// Items of the provider's own tools are effects; a finished item of any other kind was generated, also by servers
/// that send no deltas.
fn item_signal(name: &[u8], item: &[u8]) -> Signal {
    let kind = json::get(item, b"type").and_then(json::inside).unwrap_or_default();
    if EFFECTS.iter().any(|tool| kind.starts_with(tool)) {
        Signal::EffectStarted
    } else if name == b"output_item.done" {
        Signal::Token { visible: kind != b"reasoning" }
    } else {
        Signal::NotToken
    }
}
