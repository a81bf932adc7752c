//! What the API server refuses fails the delivery with our words, and nothing of that commit is applied.

use crate::{delivery::Delivery, installation::Installation, team::Team};

const LANE: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata: {name: all}
spec: {}
";

#[tokio::test]
async fn a_refused_object_fails_the_delivery_with_our_message_and_keeps_the_commit_out() {
    let team = Team::new("refusal");
    let _operator = Installation::of(&team, 1, &[]);
    let delivery = Delivery::of(&team);
    let good = team.route("only", "");
    delivery.ready(&delivery.commit("a route", &[("route", Some(&good))])).await;

    // Metadata endpoints are refused by a rule of the definition.
    let bad = good.replace(
        &format!("http://provider.{}.svc.cluster.local:8000", team.namespace),
        "http://169.254.169.254",
    );
    assert_ne!(good, bad);
    let said = delivery
        .failed(
            &delivery.commit("a lane, and another endpoint", &[("route", Some(&bad)), ("lane", Some(LANE))]),
        )
        .await;
    let object = format!("ProviderRoute/{}/only", team.namespace);
    let ours = "endpoint must not be a link-local or metadata address: name the provider's host";
    assert!(said.contains(&object) && said.contains("spec.endpoint") && said.contains(ours), "{said}");
    assert!(team.ours("prioritylanes", "all").await.is_none(), "half of a commit was applied");
    let route = team.ours("providerroutes", "only").await.unwrap();
    assert_ne!(route["spec"]["endpoint"], "http://169.254.169.254");

    delivery.ready(&delivery.commit("the endpoint as it was", &[("route", Some(&good))])).await;
    team.condition("prioritylanes", "all", ["Programmed", "True", "Programmed"]).await;
}
