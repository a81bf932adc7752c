//! The files of the repository as git knows them, so that build output and local notes never count.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Paths relative to the root with one of these endings: tracked, or new and not ignored.
pub(crate) fn files(endings: &[&str]) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the tree");
    assert!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).unwrap();
    let mut files: Vec<String> = list
        .lines()
        .filter(|path| endings.iter().any(|ending| path.ends_with(ending)))
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    assert!(!files.is_empty(), "no file ends with {endings:?}: the check would prove nothing");
    files
}

/// Text of a file of the tree.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
