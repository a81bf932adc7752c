//! `hedgerow init`: the first YAML, from the keys that the environment holds.
//!
//! Input: environment variables and a directory. Output: one route per provider whose key is there, one lane, one policy
//! that only observes, and the keys as files `secrets/<name>/<key>`, readable by their owner alone: the form that
//! standalone reads. Invariants: what is written lints without an error; a file that exists is never changed; a key is
//! written to its secret file and nowhere else.
//!
//! Refuses: guessing. A value that is no endpoint, name or version is an error that names the variable.

mod plan;
mod provider;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

pub use plan::{InitError, Plan, Planned, plan};

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Written,
    /// It was there before and stays as it is.
    Kept,
    /// The same, and it holds another key than this variable.
    KeptOther(&'static str),
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {cause}")]
pub struct WriteError {
    /// The file.
    path: PathBuf,
    /// Why.
    cause: io::Error,
}

/// Writes all files of a plan below a directory.
pub fn write(plan: &Plan, directory: &Path) -> Result<Vec<(PathBuf, Outcome)>, WriteError> {
    let mut outcomes = Vec::new();
    for file in &plan.files {
        let path = directory.join(&file.path);
        let outcome = write_new(&path, file).map_err(|cause| WriteError { path: path.clone(), cause })?;
        outcomes.push((path, outcome));
    }
    Ok(outcomes)
}

fn write_new(path: &Path, file: &Planned) -> io::Result<Outcome> {
    if let Some(parent) = path.parent() {
        let mode = if file.secret.is_some() { 0o700 } else { 0o755 };
        fs::DirBuilder::new().recursive(true).mode(mode).create(parent)?;
    }
    let mode = if file.secret.is_some() { 0o600 } else { 0o644 };
    match OpenOptions::new().write(true).create_new(true).mode(mode).open(path) {
        Ok(mut new) => new.write_all(file.text.as_bytes()).map(|()| Outcome::Written),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(kept(path, file)),
        Err(error) => Err(error),
    }
}

/// What is there instead. A rotated key is easily taken for written, so that one is told apart; a file that cannot be read is
/// not.
fn kept(path: &Path, file: &Planned) -> Outcome {
    let other = fs::read_to_string(path).is_ok_and(|text| text.trim() != file.text);
    file.secret.filter(|_| other).map_or(Outcome::Kept, Outcome::KeptOther)
}
