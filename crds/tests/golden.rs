//! The committed YAML equals the generator's output. `UPDATE_GOLDEN=1 cargo test -p hedgerow-crds`
//! rewrites it.

use std::{fs, path::PathBuf};

use hedgerow_crds::generate;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_committed_yaml_is_what_the_types_say() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for (name, crd) in generate::files() {
        let text = serde_saphyr::to_string(&crd).expect("plain JSON is YAML");
        let path = folder().join(&name);
        if update {
            fs::write(&path, &text).expect("the folder is writable");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is stale: run UPDATE_GOLDEN=1 cargo test -p hedgerow-crds --test golden"
        );
        let read: serde_json::Value = serde_saphyr::from_str(&committed).expect("the file is YAML");
        assert_eq!(read, crd, "{name} does not read back as the same value");
    }
}

#[test]
fn only_definitions_lie_directly_in_the_folder() {
    let mut found: Vec<String> = fs::read_dir(folder())
        .expect("the folder exists")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ext| ["yaml", "yml", "json"].iter().any(|e| ext == *e)))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .collect();
    found.sort();
    let mut expected: Vec<String> = generate::files().into_iter().map(|(name, _)| name).collect();
    expected.sort();
    assert_eq!(found, expected, "kubectl apply -f crds/ would apply them");
}
