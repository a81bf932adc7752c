//! What a day has cost, through the end of every process that has counted it.

use serde_json::Value;

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

const POLICY: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: chat}
spec: {mode: Observe, cohorts: [{name: all}]}
";
/// Per million tokens: 2.5 and 10 micro-units a token.
const PRICED: &str =
    "{name: model, pricing: {inputMicrosPerMillion: 2500000, outputMicrosPerMillion: 10000000}}";

/// What an answer costs by its own usage, in tenths of micro-units.
fn cost(answer: &str) -> u64 {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let tokens = |name: &str| answer["usage"][name].as_u64().unwrap();
    25 * tokens("prompt_tokens") + 100 * tokens("completion_tokens")
}

async fn spent(team: &Team, tenths: u64) {
    let micros = (tenths + 5) / 10;
    until(&format!("{micros} micro-units to be spent"), SOON, async || {
        let policy = team.ours("hedgepolicies", "chat").await?;
        (policy["status"]["spend"]["totalMicros"].as_u64()? == micros).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_days_spend_outlives_gateways_and_operators() {
    let team = Team::new("spend");
    let operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&team.route("only", "").replace("{name: model}", PRICED));
    team.apply(POLICY);
    team.condition("hedgepolicies", "chat", ["Programmed", "True", "Programmed"]).await;
    let mut tenths = cost(&team.answered().await);
    for _ in 0..20 {
        tenths += cost(&team.ask().await.expect("an answer"));
    }
    spent(&team, tenths).await;

    let before = team.pods().await;
    let resources = r#"{"spec":{"resources":{"requests":{"cpu":"11m"}}}}"#;
    team.kubectl(&["patch", "gatewayfleet", "default", "--type=merge", "--patch", resources]);
    until("every gateway to be another one", SOON, async || {
        let now = team.pods().await;
        let stays = now.iter().any(|(_, uid, _)| before.iter().any(|(_, old, _)| old == uid));
        (now.len() == before.len() && !stays).then_some(())
    })
    .await;
    operator.scale(0);
    operator.scale(1);
    // The status still says what the last operator wrote; one more answer makes the next one say it anew.
    tenths += cost(&team.answered().await);
    spent(&team, tenths).await;
}
