//! Splices: what was JSON stays JSON, and nothing but the model and the question for usage changes.

#![no_main]

use bytes::{Buf as _, Bytes};
use hedgerow_gateway::wire::{
    dialect::Operation,
    document::Document,
    scan,
    splice::{Change, UsageAsk, splice},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (Option<&str>, bool, &[u8])| {
    let (model, include_usage, body) = input;
    let Ok(scan) = scan::scan(body) else { return };
    let document = Document::from(Bytes::copy_from_slice(body));
    for operation in Operation::ALL {
        let mut spliced = splice(&document, &scan, operation, Change { model, include_usage });
        let length = spliced.body.len();
        let bytes = spliced.body.copy_to_bytes(length);
        assert_eq!(bytes.len(), length);
        let Ok(Value::Object(mut before)) = serde_json::from_slice::<Value>(body) else { continue };
        let mut after: serde_json::Map<String, Value> =
            serde_json::from_slice(&bytes).expect("an object stays one");
        if let Some(model) = model {
            assert_eq!(after["model"], model);
            before.insert("model".to_owned(), model.into());
        }
        if spliced.usage == UsageAsk::Injected {
            let options = after.get_mut("stream_options").and_then(Value::as_object_mut).expect("options");
            // An escaped spelling of the key may follow ours, and then it is the provider's to judge.
            options.remove("include_usage").expect("the question");
            let empty = options.is_empty();
            let own = before.get_mut("stream_options").and_then(Value::as_object_mut);
            match own {
                Some(own) => drop(own.remove("include_usage")),
                None if empty => {
                    after.remove("stream_options");
                    before.remove("stream_options");
                }
                None => panic!("options of nobody"),
            }
        }
        assert_eq!(after, before);
    }
});
