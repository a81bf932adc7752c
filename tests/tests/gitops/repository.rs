//! A Git repository for one scenario, served to the cluster by `tests/cluster/gitops`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use tempfile::TempDir;

use crate::api::{root, run_folder};

/// A bare repository and a working copy of its branch `main`; both go when it is dropped.
pub(crate) struct Repository {
    /// Where pods of the cluster clone it from.
    pub(crate) url: String,
    bare: PathBuf,
    copy: TempDir,
}

impl Repository {
    /// An empty repository.
    pub(crate) fn new(name: &str) -> Self {
        let url = format!("{}/{name}.git", server());
        let bare = run_folder().join(format!("git/{name}.git"));
        let copy = tempfile::tempdir().unwrap();
        git(Path::new("/"), &["init", "--quiet", "--bare", "--initial-branch=main", bare.to_str().unwrap()]);
        git(copy.path(), &["init", "--quiet", "--initial-branch=main"]);
        Self { url, bare, copy }
    }

    /// Writes files (path and text; no text removes the file), commits and pushes; the revision as Flux writes it.
    pub(crate) fn commit(&self, why: &str, files: &[(String, Option<String>)]) -> String {
        let folder = self.copy.path();
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text {
                Some(text) => fs::write(path, text).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        }
        git(folder, &["add", "--all"]);
        git(folder, &["commit", "--quiet", "--message", why]);
        git(folder, &["push", "--quiet", self.bare.to_str().unwrap(), "main"]);
        format!("main@sha1:{}", git(folder, &["rev-parse", "HEAD"]).trim())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.bare);
    }
}

/// Puts Flux and the Git server into the cluster, once per run; the server's address.
fn server() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let script = root().join("tests/cluster/gitops");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "tests/cluster/gitops failed: {}", output.status);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

/// Output of git, which knows nothing of the settings of who runs the tests.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=team", "-c", "user.email=team@example.com"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
