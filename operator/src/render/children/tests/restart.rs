//! What restarts pods, and what never does.

use hedgerow_policy::guardrail::{Latch, State};
use proptest::prelude::*;

use super::*;

/// Fields that pods take up while they run: where, and two values.
const LIVE: &[(&str, &str, &str, &str)] = &[
    ("route", "/models", r#"[{"name":"m"}]"#, r#"[{"name":"other","upstreamName":"x"},{"name":"*"}]"#),
    ("route", "/models/0/pricing", r#"{"inputMicrosPerMillion":7}"#, r#"{"inputMicrosPerMillion":8}"#),
    ("route", "/endpoint", r#""https://one.example.com""#, r#""http://vllm.models.svc:8000/v1""#),
    ("route", "/api", r#""OpenAI""#, r#""Anthropic""#),
    ("route", "/auth/secretRef/key", r#""one""#, r#""two""#),
    ("route", "/weight", "1", "1000"),
    ("route", "/tier", "0", "7"),
    ("route", "/suspend", "false", "true"),
    ("route", "/headers", r#"{"x-a":"b"}"#, r#"{"x-ü":"refused by the compiler"}"#),
    ("route", "/limits", r#"{"maxConcurrent":5}"#, r#"{"tokensPerMinute":900}"#),
    ("route", "/timeouts", r#"{"connect":"1s"}"#, r#"{"firstToken":"20s"}"#),
    ("route", "/breaker", r#"{"openFor":"1s"}"#, r#"{"openFor":"9s"}"#),
    ("policy", "/mode", r#""Disabled""#, r#""Observe""#),
    ("policy", "/holdoutPercent", "0", "50"),
    ("policy", "/cohorts", r#"[{"name":"a"}]"#, r#"[{"name":"b"},{"name":"chat"}]"#),
    ("policy", "/delay", r#"{"min":"10ms"}"#, r#"{"max":"20s"}"#),
    ("policy", "/budget", r#"{"ratioPercent":1}"#, r#"{"ratioPercent":100}"#),
    ("policy", "/guardrails", r#"{"window":"30s"}"#, r#"{"blind":{"after":"10s"}}"#),
    ("lane", "/priority", "1", "999"),
    ("lane", "/match", r#"{"headers":{"x-lane":"a"}}"#, r#"{"tenants":["red"]}"#),
    ("lane", "/concurrency", r#"{"max":50}"#, r#"{"algorithm":"Fixed"}"#),
    ("fleet", "/maxInFlight", "1", "100000"),
    ("fleet", "/currency", r#""EUR""#, r#""CHF""#),
    ("fleet", "/affinity", r#""Prefix""#, r#""None""#),
    ("fleet", "/hedging", r#""Allowed""#, r#""Forbidden""#),
    ("fleet", "/tenantFrom", r#"{"type":"None"}"#, r#"{"type":"Header","header":"x-tenant"}"#),
    ("fleet", "/defaults", r#"{"retry":{"maxAttempts":3}}"#, r#"{"deadline":{"total":"1m"}}"#),
    ("fleet", "/maxRequestBytes", "1024", "2048"),
    ("fleet", "/bufferedBytesPercent", "1", "90"),
    ("fleet", "/sseKeepAlive", r#"{"interval":"0s"}"#, r#"{"beforeFirstToken":true}"#),
    ("fleet", "/traces", r#"{"endpoint":"http://otel:4318"}"#, r#"{"endpoint":"https://otel.example.com"}"#),
    ("fleet", "/service", r#"{"port":80}"#, r#"{"type":"NodePort"}"#),
    ("fleet", "/template/serviceAccountAnnotations", r#"{"a":"b"}"#, r#"{"a":"c"}"#),
];

/// Fields that a process cannot take up.
const BOOTSTRAP: &[(&str, &str, &str)] = &[
    ("fleet", "/version", r#""0.9.9""#),
    ("fleet", "/resources", r#"{"requests":{"cpu":"1"}}"#),
    ("fleet", "/resources", r#"{"limits":{"cpu":"1"}}"#),
    ("fleet", "/template/labels", r#"{"a":"b"}"#),
    ("fleet", "/template/annotations", r#"{"a":"b"}"#),
    ("fleet", "/template/nodeSelector", r#"{"a":"b"}"#),
    ("fleet", "/template/tolerations", r#"[{"operator":"Exists"}]"#),
    ("fleet", "/template/affinity", r#"{"podAntiAffinity":{}}"#),
    ("fleet", "/template/topologySpread", r#"[{"topologyKey":"rack"}]"#),
    ("fleet", "/template/priorityClass", r#""high""#),
    ("fleet", "/template/imagePullSecrets", r#"["registry"]"#),
    ("fleet", "/template/env", r#"[{"name":"A","value":"b"}]"#),
    ("fleet", "/drain", r#"{"timeout":"601s"}"#),
    ("fleet", "/drain", r#"{"endpointDelay":"11s"}"#),
    ("fleet", "/secrets", r#"["another"]"#),
    ("fleet", "/clientAuth", r#"{"type":"ApiKeys","secretName":"clients"}"#),
    ("fleet", "/tls", r#"{"secretName":"certificate"}"#),
    ("fleet", "/egress", r#"{"caConfigMap":"corporate"}"#),
    ("route", "/auth/secretRef/name", r#""another""#),
    ("route", "/tls", r#"{"caSecretRef":{"name":"ca","key":"k"}}"#),
];

/// Writes a value at a path, with the objects on the way.
fn edit(stage: &mut Stage, object: &str, pointer: &str, value: &str) {
    let mut at = match object {
        "route" => &mut stage.routes[0].1,
        "policy" => &mut stage.policies[0].1,
        "lane" => &mut stage.lanes[0].1,
        _ => &mut stage.settings,
    };
    for part in pointer.split('/').skip(1) {
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part],
        };
    }
    *at = serde_json::from_str(value).expect("a JSON value");
}

fn bootstrap_of(stage: &Stage) -> String {
    bootstrap(&stage.child(ChildKind::Deployment).object).expect("our own Deployment").to_owned()
}

proptest! {
    // Each case renders two fleets; the edits are few, so few cases meet all of them.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_that_pods_take_up_while_they_run_changes_the_deployment_by_a_byte(
        edits in prop::collection::vec((0..LIVE.len(), any::<bool>()), 1..12),
        transition in 0_u64..9,
        suspended in any::<bool>(),
        generation in 1_i64..100,
    ) {
        let before = Stage::new();
        let mut after = before.clone();
        for (at, second) in edits {
            let (object, pointer, one, two) = LIVE[at];
            edit(&mut after, object, pointer, if second { two } else { one });
        }
        let state = if suspended { State::Suspended } else { State::Active };
        let key = CohortKey { policy: "chat".to_owned(), cohort: "chat".to_owned() };
        after.latches.insert(key, Latch { state, transition, ..Latch::default() });
        let text = |stage: &Stage| stage.child(ChildKind::Deployment).object.to_string();
        prop_assert_eq!(text(&before), text(&after));
        let mut moved = after.snapshot();
        moved.routes[0].generation = generation;
        prop_assert_eq!(Mounts::of(&moved), Mounts::of(&before.snapshot()));
    }
}

#[test]
fn every_live_edit_is_one_that_changes_something() {
    for (object, pointer, one, two) in LIVE {
        let changed = [one, two].iter().any(|value| {
            let mut stage = Stage::new();
            edit(&mut stage, object, pointer, value);
            stage.children() != Stage::new().children()
        });
        assert!(changed, "{object} {pointer}");
    }
}

#[test]
fn what_a_process_cannot_take_up_changes_the_bootstrap_hash() {
    let before = bootstrap_of(&Stage::new());
    for (object, pointer, value) in BOOTSTRAP {
        let mut stage = Stage::new();
        edit(&mut stage, object, pointer, value);
        assert_ne!(bootstrap_of(&stage), before, "{object} {pointer} {value}");
    }
}

#[test]
fn the_number_of_pods_restarts_none() {
    let before = Stage::new();
    for settings in [json!({ "replicas": 7 }), json!({ "autoscaling": { "mode": "External" } })] {
        let after = Stage { settings, ..Stage::new() };
        assert_eq!(bootstrap_of(&before), bootstrap_of(&after));
    }
}

#[test]
fn a_new_route_with_a_key_of_a_mounted_secret_restarts_none_and_one_with_another_secret_does() {
    let before = bootstrap_of(&Stage::new());
    let mut stage = Stage::new();
    stage.routes.push(("west".to_owned(), route("west")));
    assert_eq!(bootstrap_of(&stage), before);
    stage.routes[1].1["auth"]["secretRef"]["name"] = "another".into();
    assert_ne!(bootstrap_of(&stage), before);
    stage.settings = json!({ "secrets": ["another"] });
    let announced = bootstrap_of(&stage);
    stage.routes.pop();
    assert_eq!(bootstrap_of(&stage), announced, "mounted in advance, with or without the route");
}

#[test]
fn an_invalid_route_keeps_its_secret_mounted() {
    let mut stage = Stage::new();
    stage.routes[0].1["headers"] = json!({ "x-a": "1", "X-A": "2" });
    assert!(!stage.compiled().usable);
    assert_eq!(bootstrap_of(&stage), bootstrap_of(&Stage::new()));
}
