//! A policy whose hedges cost too much as soon as the provider is slow, for scenarios about what then follows.
//!
//! Complete answers of [`SLOW`] take longer than the fixed delay, so more than half of the requests are hedged, and extra
//! spend trips within short windows; those of [`QUICK`] never take as long.

use serde_json::Value;

use crate::team::{SOON, Team, until};

/// Complete answers take about 5 s, some far less: a second draw often wins.
pub(crate) const SLOW: &str =
    r#"{"firstToken":{"fixed":{"ms":20}},"gap":{"lognormal":{"medianMs":300,"sigma":0.8}}}"#;
/// Nothing takes as long as the delay, on a busy machine neither.
pub(crate) const QUICK: &str = r#"{"firstToken":{"fixed":{"ms":20}},"gap":{"fixed":{"ms":1}}}"#;
/// The only cohort of most scenarios.
pub(crate) const JSON: &str = "{name: json, match: {stream: false}}";

/// The policy, with these cohorts (YAML, separated by commas). A trip lasts for `cooldown`, however often it happened.
pub(crate) fn policy(name: &str, cohorts: &str, cooldown: &str) -> String {
    format!(
        "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {{name: {name}}}
spec:
  mode: Enforce
  cohorts: [{cohorts}]
  delay: {{strategy: Fixed, fixed: 2s, min: 10ms, coldStart: 2s}}
  budget: {{ratioPercent: 100, cap: 1000}}
  duplicateTargetPercent: 60
  holdoutPercent: 0
  ramp: {{startPercent: 100, every: 1s}}
  guardrails:
    window: 30s
    minRequests: 20
    duplicateRate: {{tripPercent: 95, rearmPercent: 90}}
    extraSpend: {{tripPercent: 10, rearmPercent: 5}}
    winRate: {{minPercent: 0}}
    cooldown: {cooldown}
    maxCooldown: {cooldown}
    trialFor: 5s
    maxTripsPerDay: 50
"
    )
}

/// Two routes to a quick provider, which take all their traffic at once.
pub(crate) fn routes(team: &Team) {
    team.provider();
    team.provider_is(QUICK);
    for route in ["a", "b"] {
        team.apply(&team.route(route, "  rampUp: {startPercent: 100}\n"));
    }
}

/// A fleet with the policy `chat` and its only cohort: that cohort, once it hedges.
pub(crate) async fn active(team: &Team, cooldown: &str) -> Value {
    routes(team);
    team.apply(&policy("chat", JSON, cooldown));
    team.answered().await;
    team.cohort("Active").await
}

/// Requests of that cohort go on from now, and their hedges cost too much.
pub(crate) async fn breach(team: &Team) {
    team.provider_is(SLOW);
    team.traffic("chat-json", &team.address().await.unwrap(), 12);
}

/// Hedges sent by all gateways, as soon as none of them sends any more.
pub(crate) async fn last_hedge(team: &Team) -> u64 {
    until("every gateway to have stopped", SOON, async || stopped(team).await).await
}

/// Hedges sent by all gateways of the fleet, once every one of them says that the first cohort is suspended.
pub(crate) async fn stopped(team: &Team) -> Option<u64> {
    let states = team.states().await;
    let cohorts: Vec<&Value> = states.iter().map(|state| &state["cohorts"][0]).collect();
    let all = !cohorts.is_empty() && cohorts.iter().all(|cohort| cohort["state"] == "Suspended");
    all.then(|| cohorts.iter().filter_map(|cohort| cohort["total"]["hedges"].as_u64()).sum())
}
