//! From an applied route to an answer.

use crate::{installation::Installation, team::Team};

#[tokio::test]
async fn an_applied_route_starts_gateways_that_answer_through_their_service() {
    let team = Team::new("first");
    let _operator = Installation::of(&team, 2, &[]);
    team.provider();
    team.apply(&team.route("only", ""));
    let answer = team.answered().await;
    assert!(answer.contains("\"chat.completion\""), "{answer}");

    team.condition("providerroutes", "only", ["Programmed", "True", "Programmed"]).await;
    team.condition("gatewayfleets", "default", ["Ready", "True", "Ready"]).await;
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    assert_eq!(fleet["metadata"]["labels"]["hedgerow.dev/generated"], "true", "nobody wrote it");
    let address = format!("hedgerow-default.{}.svc:8080", team.namespace);
    assert_eq!(fleet["status"]["address"], address);
    let columns = team.kubectl(&["get", "gf", "default", "--no-headers"]);
    assert!(columns.contains(&address) && columns.contains("2/2"), "{columns}");
}
