//! What a fleet tells its pods.

use hedgerow_config::{GatewayConfig, state::CellState};

use super::*;
use crate::domain::guardrail::fixture;

fn cell(model: &str, count: u64) -> CellState {
    let key = hedgerow_config::state::CellKey {
        cohort: "stream".into(),
        route: "east".into(),
        model: model.into(),
        stream: true,
        band: 0,
    };
    CellState {
        key,
        generation: 1,
        events: vec![(40, count), (90, count / 10)],
        censored: Vec::new(),
        hedge_events: Vec::new(),
        hedge_censored: Vec::new(),
        in_flight: Vec::new(),
        delay_ms: None,
    }
}

/// A route with the models `m0` to `m59`.
fn config() -> GatewayConfig {
    let models: Vec<_> = (0..60).map(|index| serde_json::json!({ "name": format!("m{index}") })).collect();
    serde_json::from_value(serde_json::json!({
        "schema": "hedgerow.dev/gateway/v1",
        "fleet": { "namespace": "n", "name": "default" },
        "routes": [{
            "name": "east", "uid": "1", "api": "OpenAI", "endpoint": "https://east.example", "auth": { "type": "None" },
            "failureDomain": { "provider": "p", "region": "r" }, "quotaGroup": "east", "models": models,
        }],
    }))
    .unwrap()
}

#[test]
fn new_pods_are_told_the_curves_of_the_most_used_cells() {
    let now = Moment::from_secs(1_000_000);
    let mut memory = Memory::new("default", now);
    memory.config = Some(config());
    let mut state = fixture::state("a", Vec::new());
    state.pod.started_unix_ms = now.as_millis();
    state.cells = (0..60).map(|index| cell(&format!("m{index}"), 10 * (index + 1))).collect();
    state.cells.push(cell("gone", 100_000));
    memory.store.observe(state, now);
    memory.digest_readings(now);
    let file = memory.fleet_file(1, now);
    assert_eq!(file.cells.len(), WARM_CELLS);
    let busiest = &file.cells[0];
    assert_eq!((busiest.key.model.as_str(), busiest.events.as_slice()), ("m59", &[(40, 600), (90, 60)][..]));
    assert_eq!(busiest.identity, "OpenAI https://east.example m59 ");
    assert!(file.write().len() < 64 << 10, "{}", file.write().len());
}
