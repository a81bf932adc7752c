//! Decides one request: what the profile draws, what its markers order instead.
//!
//! In: profile, request, requests inside, two random number generators (one of the provider's seed and the
//! request's number, one of the prompt alone). Out: a refusal or the script of an answer with all its times.
//! Pure: the same arguments decide the same.

use std::time::Duration;

use fastrand::Rng;

use super::ask::Ask;
use crate::{
    dialect::ErrorShape,
    profile::{Fault, OnCancel, Profile, Storm, millis, percent},
};

/// What will happen to a request.
#[derive(Debug)]
pub(crate) enum Plan {
    Refuse(Refusal),
    Answer(Script),
}

/// An error status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) after: Duration,
    pub(crate) error: ErrorShape,
    pub(crate) retry_after_s: Option<f64>,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) should_retry: Option<bool>,
}

/// The times and the end of an answer, all from the moment the request was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    pub(crate) headers: Duration,
    pub(crate) first_token: Duration,
    pub(crate) gap: Duration,
    pub(crate) per_frame: u32,
    pub(crate) tokens: u32,
    /// The client's cap ended the answer.
    pub(crate) capped: bool,
    pub(crate) fault: Option<Fault>,
    pub(crate) on_cancel: OnCancel,
}

impl Script {
    /// When the token at `index` is due.
    pub(crate) fn due(&self, index: u32) -> Duration {
        self.first_token.saturating_add(self.gap.saturating_mul(index))
    }

    /// When the last token is due.
    pub(crate) fn end(&self) -> Duration {
        self.due(self.tokens.saturating_sub(1))
    }

    /// Tokens generated after `elapsed`.
    pub(crate) fn generated(&self, elapsed: Duration) -> u32 {
        let Some(since) = elapsed.checked_sub(self.first_token) else { return 0 };
        let steps = since.as_nanos().checked_div(self.gap.as_nanos());
        steps.map_or(self.tokens, |n| u32::try_from(n + 1).unwrap_or(u32::MAX)).min(self.tokens)
    }

    /// Whether the answer has an end at all.
    pub(crate) fn endless(&self) -> bool {
        matches!(self.fault, Some(Fault::Stall | Fault::StallAtToken(_) | Fault::Hang))
    }
}

/// Decides the request. `running` counts the requests inside, this one included.
pub(crate) fn decide(profile: &Profile, ask: &Ask, running: u32, own: &mut Rng, prompt: &mut Rng) -> Plan {
    // Times have a generator of their own, so that another storm or fault does not shift them.
    let mut times = own.fork();
    let storm = profile.storms.iter().fold(None, |hit, storm| {
        let drawn = percent(own, storm.percent);
        hit.or(drawn.then_some(storm))
    });
    let fault = profile.faults.iter().fold(None, |hit, rule| {
        let drawn = percent(own, rule.percent);
        hit.or(drawn.then_some(&rule.fault))
    });
    let length = profile.output_tokens;
    let drawn_tokens = times.u32(length.min..=length.max.max(length.min));
    let gap = profile.gap.draw(&mut times);
    let prompt_bound = percent(prompt, profile.prompt_bound_percent);
    let first = profile.first_token.draw(if prompt_bound { prompt } else { &mut times });

    let order = &ask.marker;
    if let Some(refusal) = ordered_refusal(ask).or_else(|| storm.map(refusal)) {
        return Plan::Refuse(refusal);
    }
    let (slow_first, slow_gap) = profile.load.map_or((1.0, 1.0), |load| load.factors(running));
    let slow_first = slow_first * order.slowdown.unwrap_or(1.0).max(0.0);
    let first_token = order.first_token_ms.map_or_else(|| scale(first, slow_first), millis);
    let planned = order.tokens.unwrap_or(drawn_tokens);
    let tokens = ask.max_tokens.map_or(planned, |most| planned.min(most));
    let share = order.headers_percent.unwrap_or(profile.headers_percent).clamp(0.0, 100.0) / 100.0;
    Plan::Answer(Script {
        headers: scale(first_token, share),
        first_token,
        gap: order.gap_ms.map_or_else(|| scale(gap, slow_gap), millis),
        per_frame: profile.tokens_per_frame.max(1),
        tokens,
        capped: tokens < planned,
        fault: order.fault.clone().or_else(|| fault.cloned()),
        on_cancel: order.on_cancel.unwrap_or(profile.on_cancel),
    })
}

fn scale(time: Duration, factor: f64) -> Duration {
    millis(time.as_secs_f64() * 1000.0 * factor)
}

fn ordered_refusal(ask: &Ask) -> Option<Refusal> {
    let order = &ask.marker;
    let storm = Storm {
        status: order.status?,
        code: order.code.clone(),
        retry_after_s: order.retry_after_s,
        retry_after_ms: order.retry_after_ms,
        after_ms: order.first_token_ms.unwrap_or(Storm::default().after_ms),
        ..Storm::default()
    };
    Some(refusal(&storm))
}

fn refusal(storm: &Storm) -> Refusal {
    let mut error = ErrorShape::new(storm.status, "a scripted error");
    error.code.clone_from(&storm.code);
    Refusal {
        after: millis(storm.after_ms),
        error,
        retry_after_s: storm.retry_after_s,
        retry_after_ms: storm.retry_after_ms,
        should_retry: storm.should_retry,
    }
}

#[cfg(test)]
mod tests;
