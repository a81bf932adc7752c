//! Waits: whatever headers and bodies say, a wait is positive, finite and bounded.

#![no_main]

use std::time::{Duration, SystemTime};

use hedgerow_gateway::wire::{
    error_body::ErrorBody,
    retry_after::{self, LONGEST},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 9] = [
    "retry-after-ms",
    "x-amz-retry-after",
    "retry-after",
    "date",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "x-ratelimit-reset",
];

fuzz_target!(|input: (Vec<(u8, &[u8])>, u32, &[u8])| {
    let (found, now, body) = input;
    let mut headers = HeaderMap::new();
    for (name, value) in found {
        let name = HeaderName::from_static(NAMES[usize::from(name) % NAMES.len()]);
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.insert(name, value);
        }
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(now));
    let told = ErrorBody::parse(body);
    let text = String::from_utf8_lossy(body);
    let waits = [
        retry_after::hint(&headers, told.as_ref(), now),
        retry_after::duration(&text),
        retry_after::in_text(&text),
    ];
    for wait in waits.into_iter().flatten() {
        assert!(!wait.is_zero() && wait <= LONGEST, "{wait:?}");
    }
});
