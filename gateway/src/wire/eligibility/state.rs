//! Confirms signs of state inside the prompt at their place.
//!
//! The scan marks strings that are spelt like words of state. Here the messages or input items are walked by
//! structure, so that a tool argument named `file_id` or a user who writes `signature` binds nothing. Runs only when
//! there is a mark.

use super::super::json;
use super::super::scan::{Key, Marks, Scan};

/// What the prompt holds on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// Thinking that a provider signed.
    pub(super) thinking: bool,
    /// Something that only the account which made it can read.
    pub(super) reference: bool,
    /// Earlier work of a tool that the provider ran.
    pub(super) server_tool: bool,
}

/// Deepest place where any dialect keeps state: list, message, list, tool result, list, block, source. It also bounds
/// the work, because each level walks its values once more.
const DEEPEST: u8 = 7;

pub(super) fn of(scan: &Scan, body: &[u8]) -> State {
    let mut state = State::default();
    if !scan.marks().is_empty() {
        for key in [Key::Messages, Key::Input, Key::System] {
            if let Some(value) = scan.raw(key, body) {
                state.look(value, 0);
            }
        }
    }
    state
}

impl State {
    fn look(&mut self, value: &[u8], depth: u8) {
        if depth > DEEPEST {
            return;
        }
        if value.starts_with(b"[") {
            for item in json::items(value) {
                self.look(item, depth + 1);
            }
        }
        for (key, value) in json::entries(value) {
            let filled = !matches!(value, b"null" | b"\"\"");
            match key {
                b"type" => self.note(Marks::of(json::inside(value).unwrap_or_default())),
                b"signature" | b"thought_signature" => self.thinking |= filled,
                b"encrypted_content" | b"file_id" | b"container_id" => self.reference |= filled,
                // The places where dialects nest blocks. Tool arguments are not among them.
                b"content" | b"source" | b"file" | b"output" | b"tool_calls" | b"extra_content"
                | b"google" | b"thinking_blocks" | b"reasoning_details" | b"input_image" => {
                    self.look(value, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn note(&mut self, mark: Marks) {
        self.thinking |= mark.any(Marks::THINKING);
        self.reference |= mark.any(Marks::REFERENCE);
        self.server_tool |= mark.any(Marks::SERVER_TOOL);
    }
}
