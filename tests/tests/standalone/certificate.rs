//! A fleet with a certificate: https from the first request on, and what its status says when the pair is broken.

use std::fs;

use rcgen::{CertifiedKey, KeyPair};

use crate::bench::{Bench, until};

const FLEET: &str = "apiVersion: hedgerow.dev/v1alpha1
kind: GatewayFleet
metadata: {name: default}
spec: {tls: {secretName: cert}}
";

/// Why the fleet is not programmed; empty = it is.
fn refused(bench: &Bench) -> String {
    let fleet = bench.status("GatewayFleet", "default");
    let conditions = fleet["status"]["conditions"].as_array().unwrap();
    let programmed = conditions.iter().find(|condition| condition["type"] == "Programmed").unwrap();
    if programmed["status"] == "True" {
        return String::new();
    }
    format!("{}: {}", programmed["reason"].as_str().unwrap(), programmed["message"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_with_a_certificate_answers_in_tls_and_keeps_it_when_the_next_pair_is_broken() {
    let bench = Bench::new(5.0).await;
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    fs::create_dir_all(bench.path().join("secrets/cert")).unwrap();
    bench.write("secrets/cert/tls.crt", &cert.pem());
    bench.write("secrets/cert/tls.key", &signing_key.serialize_pem());
    bench.write("fleet.yaml", FLEET);
    let running = bench.start().await;
    let url = running.base_url("default").unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let trusted = reqwest::Certificate::from_pem(cert.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([trusted]).no_proxy().build().unwrap();
    let asked = async || client.get(format!("{url}/v1/models")).send().await.unwrap().status().as_u16();
    assert_eq!(asked().await, 200);
    until(&running, "the fleet is programmed", |_| refused(&bench).is_empty()).await;

    bench.write("secrets/cert/tls.key", &KeyPair::generate().unwrap().serialize_pem());
    until(&running, "the broken pair is named", |_| refused(&bench).contains("tls.key is not the key")).await;
    let said = refused(&bench);
    assert!(said.starts_with("Rejected: ") && said.contains("the one from before is served on"), "{said}");
    assert_eq!(asked().await, 200);
    bench.write("secrets/cert/tls.key", &signing_key.serialize_pem());
    until(&running, "the fleet is programmed again", |_| refused(&bench).is_empty()).await;
    running.shutdown().await.unwrap();
}
