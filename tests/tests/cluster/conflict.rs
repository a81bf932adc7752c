//! Objects that cannot all be in force: which give way, that they say so, and that they come back when the winner goes.

use crate::{
    installation::Installation,
    team::{SOON, Team, until},
};

const OBJECTS: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: everything}
spec: {priority: 100}
---
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: everything-else}
spec: {priority: 50}
---
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: first}
spec: {priority: 900, cohorts: [{name: chat}]}
---
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: none-left}
spec: {cohorts: [{name: chat}]}
---
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: partly}
spec: {cohorts: [{name: chat}, {name: json}]}
---
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata: {name: nowhere}
spec: {gateway: nowhere, cohorts: [{name: chat}]}
";

#[tokio::test]
async fn who_comes_second_names_the_winner_and_is_in_force_once_that_is_gone() {
    let team = Team::new("conflict");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    team.apply(OBJECTS);

    let said = async |resource: &str, name: &str, expected: [&str; 3], words: &str| {
        let condition = team.condition(resource, name, expected).await;
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains(words), "{resource}/{name}: {message}");
    };
    said("prioritylanes", "everything-else", ["Accepted", "False", "Conflicted"], "lane everything takes")
        .await;
    said("prioritylanes", "everything-else", ["Stalled", "True", "Conflicted"], "lane everything takes")
        .await;
    said("prioritylanes", "everything", ["Ready", "True", "Ready"], "").await;
    said("hedgepolicies", "none-left", ["Accepted", "False", "Conflicted"], "policy first has it").await;
    said("hedgepolicies", "partly", ["Accepted", "True", "PartiallyAccepted"], "policy first has it").await;
    said("hedgepolicies", "partly", ["Ready", "True", "Ready"], "").await;
    said("hedgepolicies", "nowhere", ["Programmed", "False", "NoRoutes"], "gateway: nowhere").await;
    let partly = team.ours("hedgepolicies", "partly").await.unwrap();
    let states: Vec<_> =
        partly["status"]["cohorts"].as_array().unwrap().iter().map(|cohort| &cohort["state"]).collect();
    assert_eq!(states, ["Conflicted", "Observing"]);

    team.kubectl(&["delete", "hp/first", "pl/everything"]);
    said("prioritylanes", "everything-else", ["Ready", "True", "Ready"], "").await;
    said("hedgepolicies", "none-left", ["Ready", "True", "Ready"], "").await;
    said("hedgepolicies", "partly", ["Accepted", "True", "PartiallyAccepted"], "policy none-left has it")
        .await;
    until("the fleet that nobody routes to not to exist", SOON, async || {
        team.ours("gatewayfleets", "nowhere").await.is_none().then_some(())
    })
    .await;
}
