//! What a frame of a streamed answer means.
//!
//! Why it exists: the race commits at the first generated token, not at headers, pings or role-only chunks; it must
//! tell an error inside a 200 stream from an answer; and the relay must know whether a stream really ended. Counting
//! the role chunk as a token would report times near zero, counting only visible text would report minutes for a
//! reasoning model (api7/aisix PR#869).
//!
//! Inputs: frames in order. Outputs: one [`Signal`] each, running [`Usage`], completeness. Invariants: answers are
//! never searched for words, only walked by structure, because answers contain such words; a frame that can't be read
//! is no token and spoils completeness; reading allocates only for errors.
//! It refuses to change or hold frames; `sse` and the relay do that.

mod chat;
mod messages;
mod responses;

use super::contract::Spoken;
use super::dialect::Operation;
use super::error_body::{ErrorBody, is_failure};
use super::splice::UsageAsk;
use super::sse::Frame;
use super::usage::{Meter, Usage};

/// What one frame means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Nothing generated: comments, pings, headers of the answer, role-only chunks.
    NotToken,
    /// Something the model generated.
    Token {
        /// Whether a user would see it; reasoning is generated but not seen.
        visible: bool,
    },
    /// A tool that the provider runs has begun: from here on nothing may be repeated.
    EffectStarted,
    /// The chunk that holds usage and nothing else.
    UsageOnly,
    /// The model has stopped; with nothing generated before, a valid empty answer.
    Finish,
    /// The stream's own last word.
    End,
    /// The answer failed.
    Error(Box<ErrorBody>),
}

impl Signal {
    /// Whether an attempt may be committed at this frame.
    pub fn commits(&self) -> bool {
        matches!(self, Self::Token { .. } | Self::EffectStarted | Self::Finish)
    }
}

/// Whether a frame is kept from the client: only the usage that the gateway asked for and the client did not.
pub fn strips(signal: &Signal, ask: UsageAsk) -> bool {
    *signal == Signal::UsageOnly && ask == UsageAsk::Injected
}

/// Reads one stream from its first frame to its last.
#[derive(Debug, Clone)]
pub struct StreamReader {
    operation: Operation,
    meter: Meter,
    /// Choices seen and choices finished, one bit each.
    seen: u128,
    finished: u128,
    ended: bool,
    spoiled: bool,
    finish: FinishReason,
    output_bytes: u64,
    token_frames: u64,
    /// What it said, where its policy asks for that.
    spoken: Option<Box<Spoken>>,
}

impl StreamReader {
    /// A reader for an answer to `operation`.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            meter: Meter::new(operation),
            seen: 0,
            finished: 0,
            ended: false,
            spoiled: false,
            finish: FinishReason::default(),
            output_bytes: 0,
            token_frames: 0,
            spoken: None,
        }
    }

    /// The same, which also keeps what is said, within [`super::contract::KEPT_BYTES`].
    pub fn keeping_text(self) -> Self {
        Self { spoken: Some(Box::default()), ..self }
    }

    /// Reads the next frame.
    pub fn read(&mut self, frame: &Frame) -> Signal {
        let Some(data) = frame.data() else { return self.bare(frame) };
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            self.ended |= self.operation != Operation::Messages;
            return Signal::End;
        }
        if !data.starts_with(b"{") {
            self.spoiled |= !data.is_empty();
            return Signal::NotToken;
        }
        let signal = match self.operation {
            Operation::Messages | Operation::CountTokens => self.messages(frame.event(), data),
            Operation::Responses => self.responses(frame.event(), data),
            _ => self.chat(data),
        };
        self.spoiled |= matches!(signal, Signal::Error(_));
        self.token_frames += u64::from(matches!(signal, Signal::Token { .. }));
        if let Some(spoken) = self.spoken.as_mut() {
            spoken.read(self.operation, frame.event(), data);
        }
        signal
    }

    /// Reads what was left at the end of the stream without its blank line. It may tell usage or an error; it proves
    /// no success, except that the sentinel, which says nothing else, may lack its line end.
    pub fn read_tail(&mut self, tail: &Frame) -> Signal {
        let before = (self.seen, self.finished, self.ended, self.finish);
        let signal = self.read(tail);
        if signal != Signal::End {
            (self.seen, self.finished, self.ended, self.finish) = before;
        }
        match signal {
            Signal::Error(_) | Signal::End | Signal::UsageOnly => signal,
            _ => Signal::NotToken,
        }
    }

    /// A frame without data: a comment, or no event at all but a JSON error sent as it is.
    fn bare(&mut self, frame: &Frame) -> Signal {
        let raw = frame.raw.trim_ascii();
        if !raw.starts_with(b"{") {
            return Signal::NotToken;
        }
        self.spoiled = true;
        ErrorBody::in_success(raw).map_or(Signal::NotToken, |error| Signal::Error(Box::new(error)))
    }

    /// Whether the stream ended as its dialect ends a whole answer, every frame was readable and none was an error.
    pub fn complete(&self) -> bool {
        self.finished() && self.ended && !self.spoiled
    }

    /// Whether the model has stopped in every choice.
    pub fn finished(&self) -> bool {
        self.seen != 0 && self.seen == self.finished
    }

    /// Why the first choice that stopped did so, in the provider's word; empty before that.
    pub fn finish_reason(&self) -> &[u8] {
        self.finish.as_bytes()
    }

    /// What it said, if that is kept.
    pub fn spoken(&self) -> Option<&Spoken> {
        self.spoken.as_deref()
    }

    /// The usage told so far.
    pub fn usage(&self) -> Option<Usage> {
        self.meter.usage()
    }

    /// Bytes of generated text seen so far, as they are escaped in JSON: the lower bound of the output when the
    /// provider never tells. Padding such as `obfuscation` is not in it.
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Frames that held tokens.
    pub fn token_frames(&self) -> u64 {
        self.token_frames
    }

    /// Counts a generated string; whether it holds anything.
    fn generated(&mut self, value: &[u8]) -> bool {
        let length = super::json::inside(value).map_or(0, <[u8]>::len);
        self.output_bytes += length as u64;
        length > 0
    }
}

/// A finish reason, kept beside the reader: the longest known has 23 bytes, and what is longer is cut.
#[derive(Debug, Clone, Copy, Default)]
struct FinishReason {
    bytes: [u8; 31],
    length: u8,
}

impl FinishReason {
    /// Notes the first one.
    fn note(&mut self, reason: &[u8]) {
        if self.length == 0 {
            let length = reason.len().min(self.bytes.len());
            self.bytes[..length].copy_from_slice(&reason[..length]);
            self.length = length as u8;
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

fn failed(data: &[u8]) -> Signal {
    Signal::Error(Box::new(ErrorBody::parse(data).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
