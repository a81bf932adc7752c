//! The logs of a run, read once, without what nobody asks about here.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use hedgerow_tests::audit::{Entry, Log};

/// Everybody whose requests matter: accounts, and those who take rights away.
pub(crate) struct Run {
    /// One log a cluster, in the order of the clusters.
    pub(crate) logs: Vec<Vec<Entry>>,
    /// Accounts of operators, as the API server calls them.
    pub(crate) operators: BTreeSet<String>,
}

/// The run.
pub(crate) fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let logs: Vec<Vec<Entry>> = files().iter().map(|file| read(file)).collect();
        // Who wants to lead is an operator, whatever its release is called.
        let candidates = logs.iter().flatten().filter(|entry| {
            entry.resource == "leases" && entry.name == "hedgerow-operator" && is_account(&entry.user)
        });
        let operators: BTreeSet<String> = candidates.map(|entry| entry.user.clone()).collect();
        assert!(!operators.is_empty(), "no operator in the logs: run the scenarios first");
        println!("{} operators, {} requests", operators.len(), logs.iter().map(Vec::len).sum::<usize>());
        Run { logs, operators }
    })
}

fn is_account(user: &str) -> bool {
    user.starts_with("system:serviceaccount:") && !user.starts_with("system:serviceaccount:kube-system:")
}

fn read(file: &Path) -> Vec<Entry> {
    let matters = |entry: &Entry| {
        let rights = entry.group == "rbac.authorization.k8s.io" && entry.is_write();
        is_account(&entry.user) || rights || entry.resource == "serviceaccounts/token"
    };
    Log::whole(file).unwrap().more(matters).unwrap()
}

fn files() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("HEDGEROW_AUDIT") else {
        let running = std::env::var_os("HEDGEROW_CLUSTER")
            .map_or_else(|| "/tmp/hedgerow-cluster".into(), PathBuf::from)
            .join("audit.log");
        assert!(
            running.exists(),
            "{} is not there: bring a cluster up, or set HEDGEROW_AUDIT",
            running.display()
        );
        return vec![running];
    };
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    assert!(!files.is_empty(), "no logs in {}", folder.display());
    files
}
