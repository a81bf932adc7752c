//! Whether an object has everything that we want of it, whatever else it has.
//!
//! Input: the object as rendered and as it lives. Output: yes or no. Fields that only live are others' (defaults of the API
//! server, fields of other managers). Numbers of resources count as numbers: the API server writes `1000m` as `1`.

use serde_json::Value;

/// Whether `live` has what `wanted` asks for.
pub(super) fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(field, value)| {
            match live.get(field) {
                Some(live) => covers(live, value),
                // What is empty is left out when it is stored.
                None => is_empty(value),
            }
        }),
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted))
        }
        (Value::String(live), Value::String(wanted)) => {
            live == wanted || quantity(live).is_some_and(|live| Some(live) == quantity(wanted))
        }
        (live, wanted) => live == wanted,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A Kubernetes quantity in thousandths, where it is one.
fn quantity(text: &str) -> Option<u128> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u128 = number.parse().ok()?;
    let scale: u128 = match unit {
        "m" => 1,
        "" => 1_000,
        "k" => 1_000_000,
        "M" => 1_000_000_000,
        "G" => 1_000_000_000_000,
        "Ki" => 1_000 << 10,
        "Mi" => 1_000 << 20,
        "Gi" => 1_000 << 30,
        "Ti" => 1_000 << 40,
        _ => return None,
    };
    number.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_added_is_theirs_and_what_is_missing_or_different_is_not_covered() {
        let wanted = json!({
            "metadata": { "labels": { "a": "1" } },
            "spec": { "ports": [{ "port": 80 }], "cpu": "1000m", "empty": {}, "none": null },
        });
        let live = |change: &dyn Fn(&mut Value)| {
            let mut live = json!({
                "metadata": { "labels": { "a": "1", "theirs": "2" }, "uid": "u" },
                "spec": { "ports": [{ "port": 80, "protocol": "TCP" }], "cpu": "1", "clusterIP": "10.0.0.1" },
                "status": {},
            });
            change(&mut live);
            covers(&live, &wanted)
        };
        assert!(live(&|_| {}));
        assert!(!live(&|live| live["metadata"]["labels"]["a"] = json!("2")));
        assert!(!live(&|live| drop(live["metadata"].as_object_mut().unwrap().remove("labels"))));
        assert!(!live(&|live| live["spec"]["ports"].as_array_mut().unwrap().push(json!({ "port": 81 }))));
        assert!(!live(&|live| live["spec"]["cpu"] = json!("2")));
    }

    #[test]
    fn quantities_are_compared_by_value_and_other_texts_are_not() {
        for (a, b, same) in
            [("250m", "250m", true), ("1024Mi", "1Gi", true), ("0.5", "500m", false), ("v1", "v2", false)]
        {
            assert_eq!(covers(&json!(a), &json!(b)), same, "{a} {b}");
        }
    }
}
