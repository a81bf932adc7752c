//! `/state`, which the operator reads from every pod: what can be read survives another trip.

#![no_main]

use hedgerow_config::state::{DigestOnly, State};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(state) = serde_json::from_slice::<State>(bytes) {
        let again: State = serde_json::from_slice(&serde_json::to_vec(&state).unwrap()).unwrap();
        assert_eq!(again, state);
    }
    let _ = serde_json::from_slice::<DigestOnly>(bytes);
});
