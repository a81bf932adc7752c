//! A private certificate authority that is not there: said by the route that trusts it, and taken up once it is.
//!
//! The upstream is another fleet, whose traffic port has a certificate of that authority.

use std::time::Duration;

use crate::{
    certificate::Issued,
    installation::Installation,
    team::{SOON, Team, condition, until},
};

/// A kubelet looks for new ConfigMaps about once a minute.
const KUBELET: Duration = Duration::from_mins(3);

#[tokio::test]
async fn a_missing_authority_is_named_by_its_route_and_taken_up_without_a_restart_once_it_is_there() {
    let team = Team::new("authority");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    let name = format!("hedgerow-back.{}.svc", team.namespace);
    let issued = Issued::to(&[&name]);
    issued.mount(&team, "hedgerow-back-tls", None);
    team.apply(BACK);
    team.apply(&team.route("back", "  gateway: back\n"));
    team.apply(&trusting(&team, "private", "caSecretRef: {name: hedgerow-authority, key: ca.crt}"));
    team.apply(&trusting(&team, "public", "caConfigMapRef: {name: authority, key: ca.crt}"));

    for (route, words) in [
        ("public", "configmaps/authority/ca.crt is missing or empty in"),
        ("private", "secrets/hedgerow-authority/ca.crt is missing or empty in"),
    ] {
        let missing =
            team.condition("providerroutes", route, ["ResolvedRefs", "False", "SecretNotFound"]).await;
        let message = missing["message"].as_str().unwrap();
        let advice = "create it with the certificate authorities in PEM form";
        assert!(message.contains(words) && message.contains(advice), "{message}");
        team.condition("providerroutes", route, ["Ready", "False", "SecretNotFound"]).await;
        team.condition("providerroutes", route, ["Programmed", "True", "Programmed"]).await;
    }
    // The second of the routes may have replaced the pods of the first, which did not mount its authority.
    for fleet in ["back", "default"] {
        team.condition("gatewayfleets", fleet, ["Ready", "True", "Ready"]).await;
    }
    assert_eq!(team.ask().await, None, "no certificate is trusted without its authority");
    let pods = team.pods().await;

    let file = format!("--from-file=ca.crt={}", issued.file("ca.crt").display());
    team.kubectl(&["create", "configmap", "authority", &file]);
    until("the route to have its authority", KUBELET, async || {
        let route = team.ours("providerroutes", "public").await?;
        (condition(&route, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    let answer = until("an answer under that authority", SOON, async || team.ask().await).await;
    assert!(answer.contains("\"chat.completion\""), "{answer}");
    team.condition("providerroutes", "private", ["ResolvedRefs", "False", "SecretNotFound"]).await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
}

/// A route of the fleet `default` to the other fleet.
fn trusting(team: &Team, name: &str, authority: &str) -> String {
    let namespace = &team.namespace;
    let tls = format!("  tls: {{serverName: hedgerow-back.{namespace}.svc, {authority}}}\n");
    team.route(name, &tls)
        .replace("http://provider.", "https://hedgerow-back.")
        .replace(":8000", ":8080")
        .replace("insecureHttp: true", "insecureHttp: false")
}

const BACK: &str = "
apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: back}
spec: {tls: {secretName: hedgerow-back-tls}}
";
