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
pub(crate) struct Issued {
    folder: tempfile::TempDir,
}

impl Issued {
    /// A certificate for names and addresses.
    pub(crate) fn to(names: &[&str]) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Another name than the certificate's, which curl would else take for one that signed itself.
        authority.distinguished_name.push(DnType::CommonName, "authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let names = CertificateParams::new(names).unwrap();
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

    /// `ca.crt`, `tls.crt` or `tls.key`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts certificate and key into a Secret, the key of `other` where there is one: a pair that belongs together or not.
    pub(crate) fn mount(&self, team: &Team, secret: &str, other: Option<&Self>) {
        let from = |key: &str, of: &Self| format!("--from-file={}", of.file(key).display());
        let (chain, key) = (from("tls.crt", self), from("tls.key", other.unwrap_or(self)));
        let secret = ["create", "secret", "generic", secret, "--type=kubernetes.io/tls", &chain, &key];
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

/// What the official SDK says of an answer, of a stream, and of a certificate that nobody told it to trust.
fn official_sdk(address: &str, issued: &Issued) -> String {
    let python = Command::new(root().join("tests/sdk/run")).arg("--python").output().unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let output = Command::new(root().join("tests/cluster/exec"))
        .arg(String::from_utf8(python.stdout).unwrap().trim())
        .args(["-c", CLIENT, &format!("https://{address}:8080/v1")])
        .arg(issued.file("ca.crt"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// As users of a private authority write it.
const CLIENT: &str = "
import ssl, sys, openai
def client(**more):
    return openai.OpenAI(base_url=sys.argv[1], api_key='sk-any', timeout=10, **more)
def ask(client, **more):
    return client.chat.completions.create(model='model', messages=[{'role': 'user', 'content': 'hello'}], **more)
context = ssl.create_default_context(cafile=sys.argv[2])
trusting = client(http_client=openai.DefaultHttpxClient(verify=context))
print(ask(trusting).object)
*_, last = (chunk for chunk in ask(trusting, stream=True) if chunk.choices)
print('whole' if last.choices[0].finish_reason == 'stop' else last)
try:
    print(ask(client(max_retries=0)))
except openai.APIConnectionError as error:
    print('refused' if 'CERTIFICATE_VERIFY_FAILED' in str(error.__cause__) else repr(error.__cause__))
";

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
    let service = team.get("v1", "services", "hedgerow-default").await.unwrap();
    let port = &service["spec"]["ports"][0];
    assert_eq!(port["appProtocol"], "https", "{port}");
    let address = service["spec"]["clusterIP"].as_str().unwrap().to_owned();
    let names = [host(&team), address.clone()];
    let (first, second) =
        (Issued::to(&names.each_ref().map(String::as_str)), Issued::to(&[names[0].as_str()]));
    first.mount(&team, SECRET, None);
    until("the fleet to be ready", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (condition(&fleet, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    assert_eq!(fleet["status"]["address"], format!("https://{}:8080", host(&team)));
    let answer = until("an answer through the Service", SOON, async || ask(&team, &address, &first)).await;
    assert!(answer.contains("\"chat.completion\""), "{answer}");
    assert_eq!(ask(&team, &address, &second), None, "another authority is not trusted");
    assert_eq!(official_sdk(&address, &first), "chat.completion\nwhole\nrefused");
    let pods = team.pods().await;

    second.mount(&team, SECRET, None);
    served_everywhere(&team, &second).await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");

    first.mount(&team, SECRET, Some(&second));
    let refused = until("the broken pair to be named", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        let programmed = condition(&fleet, "Programmed")?.clone();
        (programmed["reason"] == "Rejected").then_some(programmed)
    })
    .await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(SECRET) && message.contains("tls.key is not the key"), "{message}");
    served_everywhere(&team, &second).await;
    first.mount(&team, SECRET, None);
    until("the fleet to be ready again", KUBELET, async || {
        let fleet = team.ours("gatewayfleets", "default").await?;
        (condition(&fleet, "Ready")?["status"] == "True").then_some(())
    })
    .await;
    assert_eq!(team.pods().await, pods, "the same pods, not restarted");
}
