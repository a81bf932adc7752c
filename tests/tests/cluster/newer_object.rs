//! An object that a newer version of Hedgerow wrote: it is named, and nobody else notices.

use serde_json::Value;

use crate::{api::kubectl, installation::Installation, team::Team};

const CRD: &str = "crd/prioritylanes.hedgerow.dev";
const FIELD: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/patience";
const ALGORITHMS: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/concurrency/properties/algorithm/enum";

/// The definition as a newer version would have it; the old one again when this is dropped.
struct Newer;

impl Newer {
    fn definition() -> Self {
        patch(&format!(
            r#"[{{"op":"add","path":"{ALGORITHMS}/-","value":"Vegas"}},{{"op":"add","path":"{FIELD}","value":{{"type":"string","maxLength":9}}}}]"#
        ));
        Self
    }
}

impl Drop for Newer {
    fn drop(&mut self) {
        patch(&format!(
            r#"[{{"op":"replace","path":"{ALGORITHMS}","value":["AIMD","Fixed"]}},{{"op":"remove","path":"{FIELD}"}}]"#
        ));
    }
}

fn patch(change: &str) {
    kubectl(&["patch", CRD, "--type=json", "--patch", change]);
}

fn lane(name: &str, algorithm: &str) -> String {
    format!(
        "{{apiVersion: hedgerow.dev/v1alpha1, kind: PriorityLane, metadata: {{name: {name}}}, \
         spec: {{match: {{headers: {{x-lane: {name}}}}}, concurrency: {{algorithm: {algorithm}}}}}}}"
    )
}

#[tokio::test]
async fn an_object_of_a_newer_version_is_named_and_ends_no_watch() {
    let team = Team::new("newer");
    let _operator = Installation::of(&team, 1, &[]);
    team.apply(&team.route("only", ""));
    {
        let _newer = Newer::definition();
        crate::team::until("the server to know the newer definition", crate::team::SOON, async || {
            let path =
                format!("/apis/hedgerow.dev/v1alpha1/namespaces/{}/prioritylanes/newer", team.namespace);
            team.api.apply(&path, &lane("newer", "Vegas"), false).await.ok()
        })
        .await;
        let refused = team.condition("prioritylanes", "newer", ["Accepted", "False", "Invalid"]).await;
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("Vegas") && message.contains("upgrade the operator"), "{message}");
        for expected in [["Stalled", "True", "Invalid"], ["Ready", "False", "Invalid"]] {
            team.condition("prioritylanes", "newer", expected).await;
        }
        // A field that only the newer version knows is in nobody's way, and stays as it was written.
        team.apply(&lane("patient", "Fixed").replace("spec: {", "spec: {patience: long, "));
        team.condition("prioritylanes", "patient", ["Ready", "True", "Ready"]).await;
        let patient: Value = team.ours("prioritylanes", "patient").await.unwrap();
        assert_eq!(patient["spec"]["patience"], "long");
        // The watch goes on, for others and for the object itself.
        team.apply(&lane("later", "Fixed"));
        team.condition("prioritylanes", "later", ["Ready", "True", "Ready"]).await;
        team.kubectl(&[
            "patch",
            "pl",
            "newer",
            "--type=merge",
            "--patch",
            r#"{"spec":{"concurrency":{"algorithm":"AIMD"}}}"#,
        ]);
        team.condition("prioritylanes", "newer", ["Ready", "True", "Ready"]).await;
    }
    let lane: Value = team.ours("prioritylanes", "newer").await.unwrap();
    assert!(crate::team::condition(&lane, "Stalled").is_none(), "{lane}");
}
