//! The text of `/metrics`: no name of a route, a model, a lane or a cohort can break out of its label.

#![no_main]

use hedgerow_gateway::telemetry::metrics::Metrics;
use libfuzzer_sys::fuzz_target;

/// Reads `{name="value",...} number`; what follows the name of a sample.
fn is_sample(mut rest: &str) -> bool {
    if let Some(labels) = rest.strip_prefix('{') {
        rest = labels;
        loop {
            let Some((name, after)) = rest.split_once("=\"") else { return false };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return false;
            }
            let mut escaped = false;
            let end = after.char_indices().find(|(_, found)| {
                let ends = *found == '"' && !escaped;
                escaped = *found == '\\' && !escaped;
                ends
            });
            let Some((end, _)) = end else { return false };
            rest = &after[end + 1..];
            match rest.as_bytes().first() {
                Some(b',') => rest = &rest[1..],
                Some(b'}') => break,
                _ => return false,
            }
        }
        rest = &rest[1..];
    }
    rest.strip_prefix(' ').is_some_and(|number| number.parse::<f64>().is_ok())
}

fuzz_target!(|input: (&str, &str, &str, &str)| {
    let (route, model, lane, cohort) = input;
    let metrics = Metrics::new();
    metrics.model(route, model).input_tokens.observe(1.0);
    metrics.lane(lane).shed("LaneFull");
    let _ = metrics.cohort(cohort);
    let text = metrics.encode();
    assert!(text.ends_with("# EOF\n"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.find(|found: char| !found.is_ascii_alphanumeric() && found != '_').unwrap_or(0);
        assert!(name > 0 && is_sample(&line[name..]), "{line:?}");
    }
});
