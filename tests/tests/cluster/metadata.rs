//! Metadata services: what a route may not name, and what its name may not resolve to.
//!
//! The server refuses every notation, for the reasons that lint gives without one. A name is only known when it is
//! resolved: that the gateway refuses, whichever address it gets.

use hedgerow::lint::{self, Source};

use crate::{
    api::Api,
    installation::Installation,
    team::{SOON, Team, until},
};

/// Notations of 169.254.169.254 and its like.
const NOTATIONS: [&str; 22] = [
    "http://169.254.169.254",
    "http://169.254.169.254.",
    "http://169.254.169.254:80/latest/meta-data",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0xA9.0xFE.0xA9.0xFE",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    "http://169.16689662",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
    "http://[64:ff9b::a9fe:a9fe]",
    "http://[2002:a9fe:a9fe::]",
    "http://[fd00:ec2::254]",
    "http://[FD00:0EC2:0::254]:80",
    "http://[fe80::a9fe:a9fe]",
    "http://provider.example@169.254.169.254",
    "http://169.254.169.254%2f.example.com",
    "http://metadata.google.internal.",
    "http://100.100.100.200",
    "http://168.63.129.16/machine",
];

fn route(endpoint: &str) -> String {
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRoute\nmetadata: {{name: metadata}}\nspec:\n  api: OpenAI\n  \
         endpoint: '{endpoint}'\n  insecureHttp: true\n  auth: {{type: None}}\n  \
         failureDomain: {{provider: p, region: r}}\n  models: [{{name: model}}]\n"
    )
}

#[tokio::test]
async fn every_notation_of_a_metadata_address_is_refused_with_and_without_a_server() {
    let api = Api::of_the_cluster();
    let path = "/apis/hedgerow.dev/v1alpha1/namespaces/default/providerroutes/metadata";
    api.apply(path, &route("http://10.0.0.7"), true).await.unwrap();
    for endpoint in NOTATIONS {
        let text = route(endpoint);
        let offline = lint::read(&Source::new("route.yaml", text.clone())).findings;
        let refusal = api.apply(path, &text, true).await.expect_err(endpoint);
        let causes = refusal.causes();
        assert!(causes.iter().all(|(field, _)| *field == "spec.endpoint"), "{endpoint}: {causes:?}");
        for (_, message) in &causes {
            let said = offline.iter().any(|finding| message.ends_with(&finding.message));
            assert!(said, "{endpoint}: {message} instead of {offline:?}");
        }
        assert_eq!(causes.len(), offline.len(), "{endpoint}: {causes:?} instead of {offline:?}");
    }
}

/// Names in the cluster's own DNS for addresses that Kubernetes lets anybody write.
const NAMES: &str = "
apiVersion: v1
kind: Service
metadata: {name: six}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: six, labels: {kubernetes.io/service-name: six}}
addressType: IPv6
endpoints: [{addresses: ['fd00:ec2::254']}]
ports: [{port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: four}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: four, labels: {kubernetes.io/service-name: four}}
addressType: IPv4
endpoints: [{addresses: ['100.100.100.200']}]
ports: [{port: 80}]
";

#[tokio::test]
async fn a_name_that_resolves_to_a_metadata_address_is_refused_by_the_gateway() {
    let team = Team::new("metadata");
    team.apply(NAMES);
    let _operator = Installation::of(&team, 1, &[]);
    for name in ["four", "six"] {
        let endpoint = format!("http://{name}.{}.svc.cluster.local", team.namespace);
        let text = route(&endpoint)
            .replace("{name: metadata}", &format!("{{name: {name}}}"))
            .replace("[{name: model}]", &format!("[{{name: {name}}}]"));
        team.apply(&text);
    }
    for name in ["four", "six"] {
        team.condition("providerroutes", name, ["Programmed", "True", "Programmed"]).await;
        // At first the name may not be known yet.
        until(&format!("{name} to be refused for its address"), SOON, async || {
            team.post(name).await?.contains("address_refused").then_some(())
        })
        .await;
    }
}
