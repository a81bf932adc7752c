//! How long a provider asks to wait.
//!
//! Inputs: headers, the error body, the present time. Outputs: a wait, or nothing when there is no usable hint: zero,
//! negative, past and malformed hints are none, because "come back at once" is what nobody meant. Invariants: no
//! overflow, a finite result of at most [`LONGEST`]. It refuses to sleep or to cap at a deadline: the caller compares.
//!
//! Order: `retry-after-ms` (OpenAI, Azure), `x-amz-retry-after` (milliseconds), `Retry-After` (RFC 9110 section
//! 10.2.3, and floats as seen), the body, then the resets of exhausted rate limits, the later one first.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::error_body::ErrorBody;

/// Longer waits are shown as this: a year.
pub const LONGEST: Duration = Duration::from_hours(366 * 24);

/// The wait that an error answer asks for.
pub fn hint(headers: &HeaderMap, body: Option<&ErrorBody>, now: SystemTime) -> Option<Duration> {
    let milliseconds = |name| text(headers, name).and_then(number).map(|value| value / 1000.0);
    milliseconds("retry-after-ms")
        .or_else(|| milliseconds("x-amz-retry-after"))
        .and_then(positive)
        .or_else(|| retry_after(headers, now))
        .or_else(|| body.and_then(|body| body.wait))
        .or_else(|| resets(headers, now))
}

fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = text(headers, "retry-after")?;
    if let Some(seconds) = number(value) {
        return positive(seconds);
    }
    // Against the provider's own clock where it tells the time.
    let sent = text(headers, "date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    until(httpdate::parse_http_date(value).ok()?, sent)
}

/// The rate limits that have nothing left, by their resets.
fn resets(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let known = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
        ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
        ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ];
    let exhausted = known.iter().filter(|(remaining, _)| text(headers, remaining) == Some("0"));
    exhausted.filter_map(|(_, reset)| moment(text(headers, reset)?, now)).max()
}

/// A reset: a Go-style duration, seconds, an epoch in seconds or milliseconds (told by magnitude), or RFC 3339.
pub fn moment(value: &str, now: SystemTime) -> Option<Duration> {
    if let Some(seconds) = number(value) {
        let epoch = |seconds| until(SystemTime::UNIX_EPOCH.checked_add(positive_any(seconds)?)?, now);
        return match seconds {
            _ if seconds >= 1e12 => epoch(seconds / 1000.0),
            _ if seconds >= 1e9 => epoch(seconds),
            _ => positive(seconds),
        };
    }
    duration(value).or_else(|| {
        let stamp: jiff::Timestamp = value.parse().ok()?;
        until(SystemTime::from(stamp), now)
    })
}

/// Reads `"34"`, `"34s"`, `"52.4s"`, `"6m0s"`, `"28ms"`, `"1h2m"`: seconds unless units say otherwise.
pub fn duration(text: &str) -> Option<Duration> {
    if let Some(seconds) = number(text) {
        return positive(seconds);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value = number(&rest[..digits])?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        sum += value
            * match &rest[..unit] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    positive(sum)
}

/// Finds "retry in 52.4s" or "try again in 6m0s" in a message.
pub fn in_text(message: &str) -> Option<Duration> {
    let at = ["retry in ", "try again in ", "retry after "].iter().find_map(|words| {
        // ASCII folding keeps offsets.
        message.to_ascii_lowercase().find(words).map(|at| at + words.len())
    })?;
    let rest = &message[at..];
    let mut words = rest.split_whitespace();
    let first = words.next()?.trim_end_matches(['.', ',', ')', ';']);
    let plain = number(first).and_then(positive);
    match (plain, words.next().map(|unit| unit.trim_end_matches(['.', ',', ')', ';']))) {
        (Some(wait), Some("seconds" | "second" | "s")) => Some(wait),
        (Some(wait), Some("ms" | "milliseconds")) => positive(wait.as_secs_f64() / 1000.0),
        (Some(wait), Some("minutes" | "minute")) => positive(wait.as_secs_f64() * 60.0),
        (Some(_), _) => None, // a bare number without its unit says nothing
        (None, _) => duration(first),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Digits with at most one point; no sign, exponent, `inf` or `nan`.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

fn positive(seconds: f64) -> Option<Duration> {
    positive_any(seconds).map(|wait| wait.min(LONGEST))
}

fn positive_any(seconds: f64) -> Option<Duration> {
    // Less than a nanosecond is rounded to nothing, which is no hint either.
    let wait = (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST));
    wait.filter(|wait| !wait.is_zero())
}

fn until(then: SystemTime, now: SystemTime) -> Option<Duration> {
    then.duration_since(now).ok().filter(|wait| !wait.is_zero()).map(|wait| wait.min(LONGEST))
}

#[cfg(test)]
mod tests;
