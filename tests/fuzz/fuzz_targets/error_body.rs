//! Error bodies: any bytes are read and classified, and the words of a provider never appear in what is shown.

#![no_main]

use hedgerow_gateway::wire::{dialect::Dialect, error_body::ErrorBody, error_table};
use http::HeaderMap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (status, body) = input;
    let told = ErrorBody::parse(body);
    let _ = ErrorBody::in_success(body);
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let verdict = error_table::classify(dialect, status, told.as_ref(), &HeaderMap::new());
        assert!(!verdict.row.name.is_empty());
    }
    let Some(told) = told else { return };
    let shown = format!("{told:?}");
    if let Some(message) = told.message.as_deref().filter(|message| message.len() > 100) {
        assert!(!shown.contains(message), "{shown}");
    }
});
