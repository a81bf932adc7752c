//! What an attempt will cost, or has cost when nobody reported it.
//!
//! Input = bytes of prompt text (data URLs left out by the caller) over a learned ratio of bytes per token;
//! output = the smaller of the request's own limit and the cell's p95. Start: 4 bytes per token, the common
//! figure for English prose; the ratio then follows exact usage with weight 1/64 and stays in 1..=16, so that
//! one odd prompt (images, base64) cannot take it away.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes per token before anything was learned, in thousandths.
pub const START_BYTES_PER_TOKEN_MILLI: u64 = 4_000;
const LEAST: u64 = 1_000;
const MOST: u64 = 16_000;
const WEIGHT: u64 = 64;

/// Learned bytes per token of one model.
#[derive(Debug)]
pub struct InputRatio(AtomicU64);

impl InputRatio {
    /// Nothing learned yet.
    pub const fn new() -> Self {
        Self(AtomicU64::new(START_BYTES_PER_TOKEN_MILLI))
    }

    /// One exact usage report: `bytes` of text were `tokens` input tokens (all of them, cached or not).
    pub fn learn(&self, bytes: u64, tokens: u64) {
        let Some(seen) = bytes.saturating_mul(1_000).checked_div(tokens) else { return };
        let seen = seen.clamp(LEAST, MOST);
        let step = |ratio: u64| Some((ratio * (WEIGHT - 1) + seen + WEIGHT / 2) / WEIGHT);
        let _ = self.0.fetch_update(Relaxed, Relaxed, step);
    }

    /// Bytes per token in thousandths, 1000..=16000.
    pub fn bytes_per_token_milli(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Default for InputRatio {
    fn default() -> Self {
        Self::new()
    }
}

/// Input tokens of a prompt, rounded up.
pub fn estimate_input(text_bytes: u64, bytes_per_token_milli: u64) -> u64 {
    text_bytes.saturating_mul(1_000).div_ceil(bytes_per_token_milli.max(1))
}

/// Input tokens of a prompt, rounded down: for what is booked as a lower bound.
pub fn least_input(text_bytes: u64, bytes_per_token_milli: u64) -> u64 {
    text_bytes.saturating_mul(1_000) / bytes_per_token_milli.max(1)
}

/// Output tokens: the smaller of the request's limit and the cell's p95; `None` when neither is known.
pub fn estimate_output(max_tokens: Option<u64>, p95: Option<u64>) -> Option<u64> {
    match (max_tokens, p95) {
        (Some(limit), Some(p95)) => Some(limit.min(p95)),
        (known, None) | (None, known) => known,
    }
}
