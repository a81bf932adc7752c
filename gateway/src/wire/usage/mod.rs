//! Token usage in all places and forms, brought into one normal form.
//!
//! Why it exists: two vocabularies count the same tokens differently (OpenAI's input includes what came from the
//! cache, Anthropic's does not), streams repeat running totals, and a total that is added up instead of replaced is
//! the most common accounting bug of gateways. The normal form is made once, here, and never derived again.
//!
//! Inputs: the bytes of `usage` objects as they pass. Outputs: [`Usage`]. Invariants: cumulative counts are replaced
//! (OpenAI: the last wins; Anthropic: the larger wins, because `message_delta` may leave fields out or at zero);
//! numbers saturate, negative and malformed ones are absent; a missing part stays `None` and is never taken for zero.
//! It refuses to estimate.

use super::dialect::{Dialect, Operation};
use super::json;

/// Tokens of one attempt; the parts do not overlap except that `reasoning` is inside `output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache.
    pub input_uncached: Option<u64>,
    /// Input read from a prompt cache.
    pub cache_read: Option<u64>,
    /// Input written to a prompt cache.
    pub cache_write: Option<u64>,
    /// All generated tokens.
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
}

/// Collects the usage of one answer.
#[derive(Debug, Clone)]
pub struct Meter {
    operation: Operation,
    seen: bool,
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            seen: false,
            input: None,
            cache_read: None,
            cache_write: None,
            output: None,
            reasoning: None,
        }
    }

    /// Takes in one `usage` object; anything else is ignored.
    pub fn add(&mut self, usage: &[u8]) {
        let Some(found) = Raw::read(usage) else { return };
        self.seen = true;
        let keep = match self.operation.dialect() {
            Dialect::OpenAi => |old: Option<u64>, new: Option<u64>| new.or(old),
            Dialect::Anthropic => |old: Option<u64>, new: Option<u64>| old.max(new),
        };
        self.input = keep(self.input, found.input);
        self.cache_read = keep(self.cache_read, found.cache_read());
        self.cache_write = keep(self.cache_write, found.cache_write());
        self.output = keep(self.output, found.output);
        self.reasoning = keep(self.reasoning, found.reasoning);
    }

    /// The normal form; `None` when no usage was seen.
    pub fn usage(&self) -> Option<Usage> {
        if !self.seen {
            return None;
        }
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        let input_uncached = match self.operation.dialect() {
            // Whether written tokens are inside `prompt_tokens` is not documented; taken as inside, never below 0.
            Dialect::OpenAi => self.input.map(|input| input.saturating_sub(cached)),
            Dialect::Anthropic => self.input,
        };
        let none_generated = (self.operation == Operation::Embeddings).then_some(0);
        Some(Usage {
            input_uncached,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output.or(none_generated),
            reasoning: self.reasoning,
        })
    }
}

/// Usage of a whole, non-streamed answer.
pub fn from_answer(operation: Operation, body: &[u8]) -> Option<Usage> {
    let mut meter = Meter::new(operation);
    meter.add(json::get(body, b"usage")?);
    meter.usage()
}

/// One `usage` object in whatever vocabulary.
#[derive(Debug, Default)]
struct Raw {
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    /// Inside the `..._details` of OpenAI.
    detail_read: Option<u64>,
    detail_write: Option<u64>,
    /// Anthropic's names, which some OpenAI-style proxies repeat beside the details: the same tokens, not more.
    flat_read: Option<u64>,
    flat_write: Option<u64>,
    /// The sum of Anthropic's split by time to live.
    split_write: Option<u64>,
}

impl Raw {
    fn read(usage: &[u8]) -> Option<Self> {
        let mut raw = Self::default();
        let mut any = false;
        for (key, value) in json::entries(usage) {
            any = true;
            match key {
                b"prompt_tokens" | b"input_tokens" => raw.input = json::count(value).or(raw.input),
                b"completion_tokens" | b"output_tokens" => raw.output = json::count(value).or(raw.output),
                b"prompt_tokens_details" | b"input_tokens_details" => {
                    raw.detail_read = number(value, b"cached_tokens");
                    raw.detail_write = number(value, b"cache_write_tokens");
                }
                b"completion_tokens_details" | b"output_tokens_details" => {
                    raw.reasoning =
                        number(value, b"reasoning_tokens").or_else(|| number(value, b"thinking_tokens"));
                }
                b"cache_read_input_tokens" | b"prompt_cache_hit_tokens" => raw.flat_read = json::count(value),
                b"cache_creation_input_tokens" => raw.flat_write = json::count(value),
                b"cache_creation" => {
                    raw.split_write = json::entries(value)
                        .filter(|(name, _)| name.starts_with(b"ephemeral_"))
                        .filter_map(|(_, tokens)| json::count(tokens))
                        .reduce(u64::saturating_add);
                }
                _ => {}
            }
        }
        any.then_some(raw)
    }

    fn cache_read(&self) -> Option<u64> {
        self.detail_read.or(self.flat_read)
    }

    fn cache_write(&self) -> Option<u64> {
        self.detail_write.or(self.flat_write).or(self.split_write)
    }
}

fn number(object: &[u8], key: &[u8]) -> Option<u64> {
    json::count(json::get(object, key)?)
}

#[cfg(test)]
mod tests;
