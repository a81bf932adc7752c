//! The scenario: two regions whose first tokens are alike, 6 % of them stragglers, 80 chats a second for 12 s.
//!
//! Said once, in the words of the simulator ([`model`]), of the scripted providers ([`profile`]) and of the resources
//! ([`documents`]); only units differ. Latencies are hundreds of milliseconds, and nothing that is compared lies within
//! scheduling noise of anything else. The policy is that of the defaults but for the 90th percentile and its target, with
//! which the delay stands at its minimum of 1 s as soon as there are samples: twelve seconds are too short to learn a 95th.

use hedgerow::replay::model::{Model, Provider, Span, Traffic, chance::Shape, sdk::Sdk, terms};
use hedgerow_crds::v1alpha1::hedge_policy::HedgePolicySpec;
use hedgerow_sim::{Latency, Profile, Tokens};
use serde_json::{Value, json};

/// Chats a second.
pub const RATE: f64 = 80.0;
/// Seconds in which chats begin.
pub const SECONDS: f64 = 12.0;
/// Regions, each a route.
pub const REGIONS: [&str; 2] = ["east", "west"];
/// Model of the chats, and of those that only measure how late the machine is.
pub const MODELS: [&str; 2] = ["chat", "canary"];

const USUAL: (f64, f64) = (0.4, 0.3);
const STRAGGLER: (f64, f64) = (2.5, 0.5);
const STRAGGLERS: f64 = 0.06;
/// From the first token to the end: sixteen tokens.
const TOKENS: u32 = 16;
const GAP: f64 = 0.002;

/// The world of the simulator: one pod, no operator.
pub fn model() -> Model {
    let straggler = Shape::lognormal(STRAGGLER.0, STRAGGLER.1);
    let first_token = Shape::lognormal(USUAL.0, USUAL.1).with_rare(STRAGGLERS, straggler);
    let provider = |name| Provider {
        generation: Shape::Fixed(GAP * f64::from(TOKENS - 1)),
        ..Provider::steady(name, first_token.clone())
    };
    let chat = Traffic { output: u64::from(TOKENS), sdk: Sdk::NONE, ..Traffic::chat(RATE, SECONDS) };
    Model {
        pods: vec![(0.0, f64::INFINITY)],
        spans: vec![Span { name: "all", from: 0.0, to: SECONDS }],
        watched_from: f64::INFINITY,
        // Whoever came last has had a minute to be answered.
        ..Model::new(SECONDS + 60.0, REGIONS.map(provider).into(), vec![chat])
    }
}

/// What a scripted provider does.
pub fn profile() -> Profile {
    let latency = |(median, sigma): (f64, f64)| Box::new(Latency::lognormal(median * 1_000.0, sigma));
    Profile {
        first_token: Latency::TwoModes {
            fast: latency(USUAL),
            slow: latency(STRAGGLER),
            slow_percent: STRAGGLERS * 100.0,
        },
        gap: Latency::fixed(GAP * 1_000.0),
        output_tokens: Tokens { min: TOKENS, max: TOKENS },
        ..Profile::default()
    }
}

/// The policy of both.
pub fn policy() -> HedgePolicySpec {
    terms::policy(&json!({
        "delay": { "quantilePercent": 90 },
        "duplicateTargetPercent": 10,
        "guardrails": { "duplicateRate": { "tripPercent": 20, "rearmPercent": 15 } },
    }))
}

/// The resources of the gateway: the policy, and a route to each of these addresses for each of its models.
pub fn documents(routes: &[(&str, &str, String)]) -> String {
    let object = |kind: &str, name: &str, spec: Value| json!({ "apiVersion": "hedgerow.dev/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec });
    let policy = object("HedgePolicy", "agreement", serde_json::to_value(policy()).unwrap());
    let routes = routes.iter().map(|(region, model, endpoint)| {
        let spec = json!({
            "api": "OpenAI", "endpoint": endpoint, "insecureHttp": true, "auth": { "type": "None" },
            "failureDomain": { "provider": "sim", "region": region },
            "models": [{
                "name": model,
                "pricing": { "inputMicrosPerMillion": 2_500_000, "outputMicrosPerMillion": 10_000_000 },
            }],
            "rampUp": { "startPercent": 100 },
        });
        object("ProviderRoute", region, spec)
    });
    let documents: Vec<String> =
        std::iter::once(policy).chain(routes).map(|object| object.to_string()).collect();
    documents.join("\n---\n")
}
