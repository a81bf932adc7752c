//! The scan of request bodies: where a JSON parser reads the same body, both see the same model and the same switches.

#![no_main]

use hedgerow_gateway::wire::scan::{self, Key};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    let Ok(scan) = scan::scan(body) else { return };
    let _ = (scan.max_output(body), scan.text_bytes(), scan.prompt(), scan.marks(), scan.prompt_head(body));
    for key in Key::ALL {
        let _ = (scan.raw(*key, body), scan.text(*key, body), scan.number(*key, body), scan.flag(*key, body));
    }
    let Ok(Value::Object(read)) = serde_json::from_slice::<Value>(body) else { return };
    if let Some(Value::String(model)) = read.get("model")
        && let Ok(found) = scan.model(body)
    {
        assert_eq!(found, model.as_str());
    }
    assert_eq!(scan.stream(), read.get("stream") == Some(&Value::Bool(true)));
    for key in Key::ALL {
        assert_eq!(scan.span(*key).is_some(), read.contains_key(key.as_str()), "{}", key.as_str());
    }
});
