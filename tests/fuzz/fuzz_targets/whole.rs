//! Whole answers: what is accepted is one JSON object wherever a JSON parser can tell.

#![no_main]

use hedgerow_gateway::wire::{complete, dialect::Operation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    for operation in Operation::ALL {
        let Ok(answer) = complete::check(operation, body) else { continue };
        assert!(complete::begins(body).is_ok());
        let _ = (answer.usage, answer.finish);
    }
});
