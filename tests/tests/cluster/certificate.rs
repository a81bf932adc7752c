//! The certificate of the traffic port: served through the Service, renewed in place, and kept when the next one is broken.

use std::{path::PathBuf, process::Command, time::Duration};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::{
    api::root,
    installation::Installation,
    team::{SOON, Team, condition, until},
};

/// A kubelet looks for new Secrets about once a minute.
const KUBELET: Duration = Duration::from_mins(3);
const SECRET: &str = "hedgerow-default-tls";

/// An authority of its own, so that whoever trusts only it tells one certificate from the other.
struct Issued {
    folder: tempfile::TempDir,
}

impl Issued {
    fn to(name: &str) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Another name than the certificate's, which curl would else take for one that signed itself.
        authority.distinguished_name.push(DnType::CommonName, "authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("ca.crt", authority.pem()),
            ("tls.crt", names.signed_by(&key, &authority).unwrap().pem()),
            ("tls.key", key.serialize_pem()),
        ] {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts certificate and key into the Secret, the key of `other` where there is one: a pair that belongs together or not.
    fn mount(&self, team: &Team, other: Option<&Self>) {
        let from = |key: &str, of: &Self| format!("--from-file={}", of.file(key).display());
        let (chain, key) = (from("tls.crt", self), from("tls.key", other.unwrap_or(self)));
        let secret = ["create", "secret", "generic", SECRET, "--type=kubernetes.io/tls", &chain, &key];
        team.apply(&team.kubectl(&[&secret[..], &["--dry-run=client", "--output=yaml"]].concat()));
    }
}

/// Asks at an address of the cluster, as the fleet's name, trusting one authority only.
fn ask(team: &Team, address: &str, issued: &Issued) -> Option<String> {
    let host = host(team);
    let output = Command::new(root().join("tests/cluster/exec"))
        .args(["curl", "--silent", "--show-error", "--fail", "--max-time", "5", "--cacert"])
        .arg(issued.file("ca.crt"))
        .args(["--resolve", &format!("{host}:8080:{address}")])
        .args(["--header", "content-type: application/json", "--data"])
        .arg(r#"{"model":"model","messages":[{"role":"user","content":"hello"}]}"#)
        .arg(format!("https://{host}:8080/v1/chat/completions"))
        .output()
        .unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn host(team: &Team) -> String {
    format!("hedgerow-default.{}.svc", team.namespace)
}

/// Addresses of the gateway pods.
async fn addresses(team: &Team) -> Vec<String> {
    let mut addresses = Vec::new();
    for (name, _, _) in team.pods().await {
        let pod = team.get("v1", "pods", &name).await.unwrap();
        addresses.push(pod["status"]["podIP"].as_str().unwrap_or_default().to_owned());
    }
    addresses
}

/// Waits until every pod answers under a certificate.
async fn served_everywhere(team: &Team, issued: &Issued) {
    let addresses = addresses(team).await;
    assert_eq!(addresses.len(), 2);
    until("every pod to serve the certificate", KUBELET, async || {
        addresses.iter().all(|address| ask(team, address, issued).is_some()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_certificate_is_served_renewed_in_place_and_kept_when_the_next_is_broken() {
    let team = Team::new("certificate");
    let _operator = Installation::of(&team, 1, &[]);
    team.provider();
    team.apply(&format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: GatewayFleet\nmetadata: {{name: default}}\nspec: {{tls: {{secretName: {SECRET}}}}}\n"
    ));
    team.apply(&team.route("only", ""));

    let missing =
        team.condition("gatewayfleets", "default", ["ResolvedRefs", "False", "SecretNotFound"]).await;
    let message = missing["message"].as_str().unwrap();
    assert!(message.contains(SECRET) && message.contains("kubernetes.io/tls"), "{message}");
    let (first, second) = (Issued::to(&host(&team)), Issued::to(&host(&team)));
    first.mount(&team, None);
    until("the fleet to be ready", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (condition(&fleet, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    assert_eq!(fleet["status"]["address"], format!("https://{}:8080", host(&team)));
    let service = team.get("v1", "services", "hedgerow-default").await.unwrap();
    let port = &service["spec"]["ports"][0];
    assert_eq!(port["appProtocol"], "https", "{port}");
    let address = service["spec"]["clusterIP"].as_str().unwrap().to_owned();
    let answer = until("an answer through the Service", SOON, async || ask(&team, &address, &first)).await;
    assert!(answer.contains("\"chat.completion\""), "{answer}");
    assert_eq!(ask(&team, &address, &second), None, "another authority is not trusted");
    let pods = team.pods().await;

    second.mount(&team, None);
    served_everywhere(&team, &second).await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");

    first.mount(&team, Some(&second));
    let refused = until("the broken pair to be named", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        let programmed = condition(&fleet, "Programmed")?.clone();
        (programmed["reason"] == "Rejected").then_some(programmed)
    })
    .await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(SECRET) && message.contains("tls.key is not the key"), "{message}");
    served_everywhere(&team, &second).await;
    first.mount(&team, None);
    until("the fleet to be ready again", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (condition(&fleet, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
}
