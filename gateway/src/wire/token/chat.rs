//! Chunks of chat completions and of the legacy completions, as OpenAI and its clones write them.

use super::super::json;
use super::{Signal, StreamReader, failed, is_failure};

/// What the choices of one chunk held.
#[derive(Debug, Default)]
struct Chunk {
    any: bool,
    visible: bool,
    reasoning: bool,
    finish: bool,
    failed: bool,
}

impl StreamReader {
    pub(super) fn chat(&mut self, data: &[u8]) -> Signal {
        let mut chunk = Chunk::default();
        let mut usage = false;
        let end = json::each(data, |key, value| match key {
            b"choices" => json::items(value).for_each(|choice| self.choice(choice, &mut chunk)),
            b"usage" if value.starts_with(b"{") => {
                self.meter.add(value);
                usage = true;
            }
            b"error" => chunk.failed |= is_failure(value),
            _ => {}
        });
        if end != Some(data.len()) {
            self.spoiled = true;
            return Signal::NotToken;
        }
        match chunk {
            Chunk { failed: true, .. } => failed(data),
            Chunk { visible: true, .. } => Signal::Token { visible: true },
            Chunk { reasoning: true, .. } => Signal::Token { visible: false },
            Chunk { finish: true, .. } => Signal::Finish,
            Chunk { any: false, .. } if usage => Signal::UsageOnly,
            _ => Signal::NotToken,
        }
    }

    fn choice(&mut self, choice: &[u8], chunk: &mut Chunk) {
        chunk.any = true;
        let (mut index, mut finish) = (0, false);
        for (key, value) in json::entries(choice) {
            match key {
                b"index" => index = json::count(value).unwrap_or(0),
                b"delta" => self.delta(value, chunk),
                b"text" => chunk.visible |= self.generated(value),
                b"finish_reason" => match json::inside(value) {
                    Some(b"error") => chunk.failed = true, // OpenRouter
                    Some(reason) => {
                        finish = !reason.is_empty();
                        self.finish.note(reason);
                    }
                    None => {}
                },
                _ => {}
            }
        }
        let bit = 1_u128 << index.min(127);
        self.seen |= bit;
        if finish {
            self.finished |= bit;
            chunk.finish = true;
        }
    }

    fn delta(&mut self, delta: &[u8], chunk: &mut Chunk) {
        for (key, value) in json::entries(delta) {
            match key {
                // Mistral sends parts instead of text.
                b"content" => chunk.visible |= self.generated(value) || is_filled(value),
                b"refusal" => chunk.visible |= self.generated(value),
                b"reasoning_content" | b"reasoning" | b"reasoning_text" => {
                    chunk.reasoning |= self.generated(value);
                }
                b"reasoning_details" => chunk.reasoning |= is_filled(value),
                b"audio" | b"images" => chunk.visible |= is_filled(value),
                b"function_call" => chunk.visible |= self.call(value),
                b"tool_calls" => {
                    for call in json::items(value) {
                        chunk.visible = true;
                        if let Some(inner) =
                            json::get(call, b"function").or_else(|| json::get(call, b"custom"))
                        {
                            self.call(inner);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &[u8]) -> bool {
        for (key, value) in json::entries(call) {
            if matches!(key, b"name" | b"arguments" | b"input") {
                self.generated(value);
            }
        }
        is_filled(call)
    }
}

/// An object or array with something inside.
fn is_filled(value: &[u8]) -> bool {
    matches!(value, [b'{' | b'[', inside @ .., _] if !inside.trim_ascii().is_empty())
}
