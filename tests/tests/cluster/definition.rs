//! The definitions on a real API server: accepted whole, explained to the last field, and the examples are objects of them.

use std::path::{Path, PathBuf};

use hedgerow_crds::{GROUP, Kind};
use serde_json::Value;

use crate::api::{Api, kubectl, root};

#[tokio::test]
async fn the_server_takes_every_definition_as_it_is_and_without_reservations() {
    let api = Api::of_the_cluster();
    for kind in Kind::ALL {
        let path =
            format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{GROUP}", kind.plural());
        let stored = api.get(&path).await.unwrap();
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        let status = |name: &str| {
            conditions
                .iter()
                .find(|condition| condition["type"] == name)
                .map(|condition| &condition["status"])
        };
        assert_eq!(status("Established").unwrap(), "True", "{kind}");
        assert_eq!(status("NamesAccepted").unwrap(), "True", "{kind}");
        assert!(status("NonStructuralSchema").is_none(), "{kind}: {conditions:?}");
    }
}

#[tokio::test]
async fn every_example_is_accepted() {
    let api = Api::of_the_cluster();
    let mut files = Vec::new();
    examples(&root().join("crds/examples"), &mut files);
    assert!(files.len() >= 12, "examples are missing: {files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let object: Value = serde_saphyr::from_str(&text).unwrap();
        let Ok(kind) = object["kind"].as_str().unwrap().parse::<Kind>() else { continue };
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("/apis/hedgerow.dev/v1alpha1/namespaces/default/{}/{name}", kind.plural());
        if let Err(refusal) = api.apply(&path, &text, true).await {
            panic!("{}: {}", file.display(), refusal.message());
        }
    }
}

fn examples(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            examples(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
}

#[test]
fn kubectl_explains_every_field() {
    let _ = Api::of_the_cluster();
    for kind in Kind::ALL {
        let text = kubectl(&["explain", kind.plural(), "--recursive", "--output=plaintext-openapiv2"]);
        assert!(text.contains("FIELDS"), "{text}");
        for part in ["spec", "status"] {
            let text = kubectl(&["explain", &format!("{}.{part}", kind.plural())]);
            assert!(!text.contains("<no description>"), "{kind}.{part}: {text}");
        }
    }
}
