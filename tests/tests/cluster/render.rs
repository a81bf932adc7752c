//! Children of fleets, as `hedgerow render` prints them: the API server takes every one as it is, and admits the pods
//! even where only restricted ones may run.

use std::{fmt::Write as _, fs, path::PathBuf};

use hedgerow::{
    domain::Objects,
    lint::{self, Source},
    render::{self, Part, Presumed},
};
use serde_json::Value;

use crate::api::{Api, root};

/// Where the objects would be.
const NAMESPACE: &str = "team-a";

/// Files whose objects make up fleets: the cases of the golden tests, and the examples.
fn files() -> Vec<PathBuf> {
    let yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let cases = |path: &PathBuf| path.to_str().unwrap().ends_with(".in.yaml");
    let list = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    list("operator/testdata/render").filter(cases).chain(list("crds/examples").filter(yaml)).collect()
}

/// The longest names, as many mounted Secrets as a fleet can have with them, and text that is not ASCII.
fn extremes() -> String {
    let fleet = "a-fleet-with-a-name-of-forty-characters0";
    let secret = |n: usize| format!("{n:03}.{}", "s".repeat(249));
    let advance: Vec<_> = (0..32).map(secret).collect();
    let mut text = format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: GatewayFleet\nmetadata: {{name: {fleet}}}\nspec:\n  \
         autoscaling: {{mode: CPU}}\n  secrets: [{}]\n  template: {{annotations: {{example.com/team: 翻訳 🌍}}}}\n",
        advance.join(", ")
    );
    for n in 0..256 {
        let name = format!("{n:03}{}", "r".repeat(250));
        let _ = write!(
            text,
            "---\napiVersion: hedgerow.dev/v1alpha1\nkind: ProviderRoute\nmetadata: {{name: {name}}}\nspec:\n  \
             gateway: {fleet}\n  api: OpenAI\n  endpoint: https://r{n}.example.com:{}\n  \
             auth: {{secretRef: {{name: {}, key: k}}}}\n  failureDomain: {{provider: p, region: r{n}}}\n  \
             models: [{{name: m}}]\n",
            1000 + n,
            secret(100 + n)
        );
    }
    text
}

/// The children of all fleets of a text.
fn children(name: &str, text: String) -> Vec<Value> {
    let file = lint::read(&Source::new(name, text));
    assert_eq!(file.findings, [], "{name}");
    let objects: Objects = lint::select(&[&file]).into_iter().collect();
    let text = render::text(&objects, &Presumed::default(), Some(Part::Children)).unwrap();
    text.split("---\n")
        .filter(|document| !document.is_empty())
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// Where an object of some kind belongs.
fn place(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let prefix = if version == "v1" { "/api".to_owned() } else { "/apis".to_owned() };
    let plural = match object["kind"].as_str().unwrap() {
        "NetworkPolicy" => "networkpolicies".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    format!(
        "{prefix}/{version}/namespaces/{NAMESPACE}/{plural}/{}",
        object["metadata"]["name"].as_str().unwrap()
    )
}

/// The first place where what was asked for is not what would be stored.
fn difference(asked: &Value, stored: &Value, path: &str) -> Option<String> {
    match (asked, stored) {
        (Value::Object(asked), Value::Object(stored)) => asked.iter().find_map(|(field, value)| {
            difference(value, stored.get(field).unwrap_or(&Value::Null), &format!("{path}.{field}"))
        }),
        (Value::Array(asked), Value::Array(stored)) if asked.len() == stored.len() => {
            let pairs = asked.iter().zip(stored).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (asked, stored))| difference(asked, stored, &format!("{path}[{at}]")))
        }
        _ => (asked != stored).then(|| format!("{path}: {asked} became {stored}")),
    }
}

async fn namespace(api: &Api) {
    let object = format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}, \
         labels: {{pod-security.kubernetes.io/enforce: restricted}}}}}}"
    );
    api.apply(&format!("/api/v1/namespaces/{NAMESPACE}"), &object, false).await.unwrap();
}

#[tokio::test]
async fn every_child_is_stored_as_it_was_rendered_and_every_pod_is_admitted() {
    let api = Api::of_the_cluster();
    namespace(&api).await;
    let (mut kinds, mut wrong) = (std::collections::BTreeSet::new(), Vec::new());
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    let cases = files().into_iter().map(read).chain([("extremes".to_owned(), extremes())]);
    for (case, text) in cases {
        for mut object in children(&case, text) {
            let kind = object["kind"].as_str().unwrap().to_owned();
            object["metadata"]["namespace"] = NAMESPACE.into();
            let name = format!("{case} {kind}");
            match api.apply(&place(&object), &object.to_string(), true).await {
                Ok(stored) => {
                    wrong.extend(difference(&object, &stored, "").map(|text| format!("{name}{text}")));
                }
                Err(refusal) => wrong.push(format!("{name}: {}", refusal.message())),
            }
            if kind == "Deployment" {
                let refused = admitted(&api, &object).await.err();
                wrong.extend(refused.map(|message| format!("{name}: pod: {message}")));
            }
            kinds.insert(kind);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(kinds.len(), 7, "every kind of child was asked about: {kinds:?}");
}

/// Whether a pod of a Deployment may exist, by asking for one of its own: a Deployment says it too late.
async fn admitted(api: &Api, deployment: &Value) -> Result<(), String> {
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "one".into();
    // The account exists once the fleet does, and so does the class.
    pod["spec"]["serviceAccountName"] = "default".into();
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("priorityClassName");
    }
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    api.create(&path, &pod.to_string(), true)
        .await
        .map(|_| ())
        .map_err(|refusal| refusal.message().to_owned())
}
