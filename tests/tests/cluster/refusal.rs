//! Objects that break a rule: the server refuses each, at the fields that `hedgerow lint` names offline.
//!
//! The words of CEL rules are ours and must be equal. For the schema the server has words of its own, so only the fields
//! are compared; what it cannot even decode it refuses in one text, often after the first mistake.

use std::collections::BTreeSet;

use hedgerow_crds::Kind;
use hedgerow_tests::refused::{self, Expected, Refused};

use crate::api::{Api, Refusal};

fn collection(kind: Kind) -> String {
    format!("/apis/hedgerow.dev/v1alpha1/namespaces/default/{}", kind.plural())
}

#[tokio::test]
async fn the_server_refuses_what_lint_refuses_and_for_the_same_reasons() {
    let api = Api::of_the_cluster();
    let mut differences = Vec::new();
    for refused in refused::all().unwrap() {
        let name = refused.object().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        let path = collection(refused.kind);
        let applied = api.apply(&format!("{path}/{name}"), &refused.text, true).await;
        let created = api.create(&path, &refused.text, true).await;
        for (way, answer) in [("apply", applied), ("create", created)] {
            let difference = match answer {
                Ok(_) => Some("accepted".to_owned()),
                Err(refusal) => compare(&refused, &refusal),
            };
            differences.extend(difference.map(|text| format!("{} by {way}: {text}", refused.file.display())));
        }
    }
    assert!(differences.is_empty(), "lint and the API server disagree:\n{}", differences.join("\n"));
}

/// How the server's reasons differ from the expected ones.
fn compare(refused: &Refused, refusal: &Refusal) -> Option<String> {
    let expected = &refused.expected;
    let same = if refusal.reason() != "Invalid" {
        expected.iter().any(|expected| names(refusal.message(), &expected.path))
    } else if expected.iter().all(|expected| expected.rule.starts_with("cel/")) {
        let causes = refusal.causes();
        let told = |expected: &Expected| {
            causes
                .iter()
                .any(|(field, message)| *field == expected.path && message.ends_with(&expected.message))
        };
        causes.len() == expected.len() && expected.iter().all(told)
    } else {
        // A cause without a field is about the rest: rules that were not asked, a value that was looked at twice.
        let found: BTreeSet<_> = refusal.causes().into_iter().map(|(field, _)| unindexed(field)).collect();
        let expected = expected.iter().map(|expected| unindexed(&expected.path));
        found.into_iter().filter(|field| !field.is_empty()).eq(expected.collect::<BTreeSet<_>>())
    };
    (!same).then(|| format!("{} instead of {expected:#?}", refusal.message()))
}

/// Whether a text names a field, or where it cannot (labels), what the field is in.
fn names(text: &str, path: &str) -> bool {
    let path = unindexed(path);
    path.split('.').skip(1).any(|segment| text.contains(segment))
}

/// Without positions in lists, which the server counts by key.
fn unindexed(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// A spec that is valid for its kind, and the fleet that it names.
fn minimal(kind: Kind, fleet: &str) -> String {
    let rest = match kind {
        Kind::ProviderRoute => {
            ", api: OpenAI, endpoint: 'https://api.example.com', auth: {secretRef: {key: k}}, \
             failureDomain: {provider: p, region: r}, models: [{name: m}]"
        }
        Kind::HedgePolicy => ", cohorts: [{name: a}]",
        Kind::PriorityLane | Kind::GatewayFleet => "",
    };
    format!(
        "apiVersion: hedgerow.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: immovable}}\nspec: {{gateway: {fleet}{rest}}}\n"
    )
}

#[tokio::test]
async fn an_object_never_moves_to_another_fleet() {
    let api = Api::of_the_cluster();
    for kind in [Kind::ProviderRoute, Kind::HedgePolicy, Kind::PriorityLane] {
        let path = format!("{}/immovable", collection(kind));
        api.apply(&path, &minimal(kind, "first"), false).await.unwrap();
        let refusal = api.apply(&path, &minimal(kind, "second"), false).await.unwrap_err();
        api.delete(&path).await;
        let message = "gateway is immutable: create a new object for the other fleet, then delete this one";
        let causes = refusal.causes();
        assert!(
            matches!(causes[..], [("spec.gateway", text)] if text.ends_with(message)),
            "{kind}: {causes:?}"
        );
    }
}
