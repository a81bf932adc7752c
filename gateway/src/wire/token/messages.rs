//! Events of Anthropic's Messages streams.

use super::super::json;
use super::{Signal, StreamReader, failed, is_failure};

impl StreamReader {
    pub(super) fn messages(&mut self, event: Option<&[u8]>, data: &[u8]) -> Signal {
        let mut kind = event.unwrap_or_default();
        let (mut delta, mut block, mut message, mut usage): (&[u8], &[u8], &[u8], &[u8]) =
            (b"", b"", b"", b"");
        let mut broken = false;
        let end = json::each(data, |key, value| match key {
            b"type" => kind = json::inside(value).unwrap_or(kind),
            b"delta" => delta = value,
            b"content_block" => block = value,
            b"message" => message = value,
            b"usage" => usage = value,
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
        match kind {
            b"content_block_delta" => self.block_delta(delta),
            b"content_block_start" => self.block_start(block),
            b"message_start" => {
                self.seen = 1;
                if let Some(usage) = json::get(message, b"usage") {
                    self.meter.add(usage);
                }
                Signal::NotToken
            }
            b"message_delta" => {
                self.meter.add(usage);
                let stopped = json::present(delta, b"stop_reason");
                self.finish.note(stopped.and_then(json::inside).unwrap_or_default());
                let stopped = stopped.is_some();
                self.seen = 1;
                self.finished |= u128::from(stopped);
                if stopped { Signal::Finish } else { Signal::NotToken }
            }
            b"message_stop" => {
                self.ended = true;
                Signal::End
            }
            _ => Signal::NotToken,
        }
    }

    fn block_delta(&mut self, delta: &[u8]) -> Signal {
        let (mut visible, mut hidden) = (false, false);
        for (key, value) in json::entries(delta) {
            match key {
                b"text" | b"partial_json" => visible |= self.generated(value),
                b"thinking" => hidden |= self.generated(value),
                // With thinking hidden, its signature is all that is sent of it.
                b"signature" => hidden |= json::inside(value).is_some_and(|text| !text.is_empty()),
                b"citation" => visible = true,
                _ => {}
            }
        }
        if visible || hidden { Signal::Token { visible } } else { Signal::NotToken }
    }

    fn block_start(&mut self, block: &[u8]) -> Signal {
        let (mut kind, mut text, mut thinking): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        for (key, value) in json::entries(block) {
            match key {
                b"type" => kind = json::inside(value).unwrap_or_default(),
                b"text" => text = value,
                b"thinking" => thinking = value,
                _ => {}
            }
        }
        match kind {
            b"text" if self.generated(text) => Signal::Token { visible: true },
            b"thinking" if self.generated(thinking) => Signal::Token { visible: false },
            b"text" | b"thinking" => Signal::NotToken,
            b"tool_use" => Signal::Token { visible: true },
            b"redacted_thinking" => Signal::Token { visible: false },
            // Tools of the provider and their results, named and unnamed: nothing of that may be repeated.
            _ => Signal::EffectStarted,
        }
    }
}
