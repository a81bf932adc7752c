//! Objects in every state that Argo CD or a person has to read, as the operator itself reports them.
//!
//! Inputs: a few objects, what their pods say, what traffic did to a cohort. The operator's pure functions (compile, decide,
//! status) make of them what it would write. Outputs: `tests/chart/objects/<state>.yaml`, over which the chart's tests run
//! `argocd/health.lua`, and `operator/testdata/described/<state>.yaml`, what `kubectl` says of a policy in every state of its
//! guardrails. `UPDATE_GOLDEN=1` rewrites them; read the difference before you commit it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cohort;
mod described;
mod fleet;
mod story;

use std::{fs, path::PathBuf};

use cohort::Traffic;
use fleet::Stage;
use hedgerow_config::state::CredentialState;
use serde_json::Value;

const ROUTE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata: {name: east}
spec:
  api: OpenAI
  endpoint: https://api.openai.com
  auth: {secretRef: {key: openai}}
  failureDomain: {provider: openai, region: us-east}
  models: [{name: gpt-4o}]
";

/// A policy with these lines in its spec.
fn policy(more: &str) -> String {
    let indented = more.replace('\n', "\n  ");
    format!(
        "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {{name: chat}}
spec:
  ramp: {{startPercent: {start}}}
  guardrails: {{cooldown: 60s{recovery}}}
  cohorts: [{{name: stream{suspend}}}]
  {indented}
",
        start = if more.contains("slowly") { 25 } else { 100 },
        recovery = if more.contains("recovery") { ", recovery: Manual" } else { "" },
        suspend = if more.contains("cohort off") { ", suspend: true" } else { "" },
    )
}

/// A lane without match: two of them are one too many.
fn lane(name: &str) -> String {
    format!(
        "\napiVersion: hedgerow.dev/v1alpha1\nkind: PriorityLane\nmetadata: {{name: {name}}}\nspec: {{priority: 100}}\n"
    )
}

/// Compares with the object recorded for the chart's tests, or rewrites it.
fn recorded(state: &str, object: &Value) {
    golden("../tests/chart/objects", state, object);
}

/// Compares with a file below this crate's folder, or rewrites it.
fn golden(folder: &str, state: &str, object: &Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let path = folder.join(format!("{state}.yaml"));
    let text = serde_saphyr::to_string(object).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}", path.display());
}

#[test]
fn policies_in_every_state_of_their_guardrails() {
    let enforce = "mode: Enforce";
    let cases: [(&str, &str, &[Traffic], Option<&str>); 10] = [
        ("policy-ramping", "mode: Enforce # slowly", &[Traffic::Calm], None),
        ("policy-within", enforce, &[Traffic::Calm], None),
        ("policy-tripped", enforce, &[Traffic::Calm, Traffic::Dear], None),
        ("policy-trial", enforce, &[Traffic::Calm, Traffic::Dear, Traffic::Wait], None),
        ("policy-latched", "mode: Enforce # recovery", &[Traffic::Calm, Traffic::Dear, Traffic::Wait], None),
        ("policy-held", enforce, &[Traffic::Calm], Some("hedgerow.dev/suspend.stream")),
        ("policy-observing", "mode: Observe", &[Traffic::Calm], None),
        ("policy-disabled", "mode: Disabled", &[], None),
        ("policy-suspended", "mode: Enforce\nsuspend: true", &[Traffic::Calm], None),
        ("policy-cohort-suspended", "mode: Enforce # cohort off", &[Traffic::Calm], None),
    ];
    for (state, spec, traffic, annotation) in cases {
        let stage = Stage::ready(&format!("{ROUTE}---{}", policy(spec)));
        recorded(state, &cohort::policy(&stage, traffic, annotation));
    }
}

#[test]
fn policies_that_are_not_in_force() {
    let alone = Stage::ready(&policy("mode: Enforce"));
    recorded("policy-without-routes", &cohort::policy(&alone, &[], None));
    let taken = policy("mode: Enforce\npriority: 900").replace("name: chat}", "name: first}");
    let second = Stage::ready(&format!("{ROUTE}---{taken}---{}", policy("mode: Enforce")));
    recorded("policy-conflicted", &cohort::policy(&second, &[], None));
}

#[test]
fn routes_in_every_state_of_their_upstream() {
    let stage = Stage::ready(ROUTE);
    recorded("route-healthy", &fleet::route(&stage, |_, _| {}));
    recorded("route-open", &fleet::route(&stage, |state, _| state.breaker = "open".into()));
    recorded(
        "route-without-secret",
        &fleet::route(&stage, |_, credentials| {
            let known = &mut credentials[0];
            (known.present, known.secret_found, known.key_found) = (false, false, false);
            known.fingerprint.clear();
        }),
    );
    let authority = "  tls: {caConfigMapRef: {name: corporate, key: ca.crt}}\n";
    let trusting = Stage::ready(&format!("{ROUTE}{authority}"));
    recorded(
        "route-without-authority",
        &fleet::route(&trusting, |_, credentials| {
            let known = CredentialState {
                secret: "corporate".into(),
                key: "ca.crt".into(),
                ..credentials[0].clone()
            };
            credentials.push(CredentialState {
                present: false,
                secret_found: false,
                key_found: false,
                fingerprint: String::new(),
                ..known
            });
        }),
    );
    let off = Stage::ready(&format!("{ROUTE}  suspend: true\n"));
    recorded("route-suspended", &fleet::route(&off, |_, _| {}));
    let refused = Stage::governed(ROUTE, &["*.internal.example.com"]);
    recorded("route-not-allowed", &fleet::route(&refused, |_, _| {}));
}

#[test]
fn lanes_while_pods_take_them_up_and_when_there_is_one_too_many() {
    let text = format!("{ROUTE}---{}", lane("interactive"));
    recorded("lane-ready", &fleet::lane(&Stage::ready(&text), "interactive"));
    recorded("lane-reconciling", &fleet::lane(&Stage::behind(&text), "interactive"));
    recorded("lane-refused", &fleet::lane(&Stage::refusing(&text), "interactive"));
    recorded("lane-unready", &fleet::lane(&Stage::unready(&text), "interactive"));
    let both = Stage::ready(&format!("{text}---{}", lane("second")));
    recorded("lane-conflicted", &fleet::lane(&both, "second"));
}

#[test]
fn fleets_with_and_without_pods_that_run() {
    recorded("fleet-ready", &fleet::fleet(&Stage::ready(ROUTE)));
    recorded("fleet-unready", &fleet::fleet(&Stage::unready(ROUTE)));
    recorded("fleet-waiting", &fleet::fleet(&Stage::waiting(ROUTE)));
    recorded("fleet-failing", &fleet::fleet(&Stage::failing(ROUTE)));
}
