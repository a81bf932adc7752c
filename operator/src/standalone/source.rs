//! The directory of YAML: what users wrote, live.
//!
//! Input: `DIR` and everything below it that ends in `.yaml` or `.yml`; names that start with a dot are never read, nor is
//! `secrets/`, of which only the names count and whether a header can hold the key. Output: the objects in force and the findings about the files.
//!
//! Invariants: a file with an error changes nothing: the objects that it last gave stay, and those of every other file too.
//! A file that never was good gives the documents that are. Bytes decide what is a change, not times; a change counts once
//! it was read twice in a row, because editors write in pieces and half a file may be valid YAML.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use hedgerow_crds::Kind;

use crate::{
    domain::{LOCAL, Resource},
    lint::{self, Finding, Secrets, Source},
};

/// Most files that are read; one more is an error, not a slow start.
const MAX_FILES: usize = 2_000;
/// Deepest directory below `DIR`.
const MAX_DEPTH: usize = 8;
/// Directory of the secrets, below `DIR`.
pub(super) const SECRETS: &str = "secrets";

/// The directory as last read.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// What the next reading must look like to count.
    seen: Option<Contents>,
    taken: Contents,
    files: BTreeMap<String, Held>,
}

/// Bytes of all files, and which secrets exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contents {
    files: BTreeMap<String, Vec<u8>>,
    secrets: Secrets,
    /// Links to directories that are read already, most often loops.
    repeated: Vec<String>,
}

/// One file.
#[derive(Debug)]
struct Held {
    /// The reading whose objects are in force.
    good: Option<lint::File>,
    /// What is wrong with the present bytes.
    findings: Vec<Finding>,
    /// The objects in force are of earlier bytes.
    stale: bool,
}

/// What a reading gave.
#[derive(Debug)]
pub(super) enum Reading {
    /// The same as before.
    Same,
    /// Something changed; read again soon to see whether it is finished.
    Changing,
    /// Something changed and is finished.
    Changed(Changed),
}

/// The objects in force and all findings.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) objects: Vec<Resource>,
    pub(super) findings: Vec<Finding>,
    /// Objects that stay in force although their file as it is now has an error, and that error.
    pub(super) stale: BTreeMap<(Kind, String), String>,
}

/// Why the directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Not there, or not readable.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// What could not be read.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// More files than anybody means to give.
    #[error(
        "{0} has more than {MAX_FILES} YAML files or is more than {MAX_DEPTH} directories deep: is it the right directory?"
    )]
    TooMany(PathBuf),
}

impl Directory {
    /// Nothing is read yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, seen: None, taken: Contents::default(), files: BTreeMap::new() }
    }

    /// Reads at once, without waiting for a second look: for the start.
    pub(super) fn read(&mut self) -> Result<Changed, SourceError> {
        let contents = self.contents()?;
        Ok(self.take(contents))
    }

    /// Looks for changes.
    pub(super) fn poll(&mut self) -> Result<Reading, SourceError> {
        let contents = self.contents()?;
        if contents == self.taken {
            self.seen = None;
            return Ok(Reading::Same);
        }
        if self.seen.as_ref() == Some(&contents) {
            self.seen = None;
            return Ok(Reading::Changed(self.take(contents)));
        }
        self.seen = Some(contents);
        Ok(Reading::Changing)
    }

    fn contents(&self) -> Result<Contents, SourceError> {
        let mut contents = Contents::default();
        yaml_files(&self.path, &self.path, 0, &mut contents, &mut BTreeSet::new())?;
        let secrets = self.path.join(SECRETS);
        for (name, directory) in visible(&secrets)? {
            for (key, path) in visible(&directory)? {
                if let Some(sendable) = lint::files::sendable(&path) {
                    contents.secrets.insert(&name, &key, sendable);
                }
            }
        }
        Ok(contents)
    }

    fn take(&mut self, contents: Contents) -> Changed {
        self.files.retain(|name, _| contents.files.contains_key(name));
        for (name, bytes) in &contents.files {
            if self.taken.files.get(name) != Some(bytes) || !self.files.contains_key(name) {
                self.examine(name, bytes.clone());
            }
        }
        self.taken = contents;
        let repeated = self.taken.repeated.iter().map(|link| repeated(link));
        let in_force: Vec<&lint::File> = self.files.values().filter_map(|held| held.good.as_ref()).collect();
        let mut findings: Vec<Finding> =
            self.files.values().flat_map(|held| held.findings.iter().cloned()).chain(repeated).collect();
        findings.extend(lint::cross(&in_force, Some(&self.taken.secrets)));
        Changed { objects: lint::select(&in_force), findings, stale: self.stale() }
    }

    fn stale(&self) -> BTreeMap<(Kind, String), String> {
        let mut stale = BTreeMap::new();
        for held in self.files.values().filter(|held| held.stale) {
            let Some(error) = held.findings.iter().find(|finding| finding.is_error()) else { continue };
            let note =
                format!("in force as it was before the last change of its file, which has an error: {error}");
            for document in held.good.iter().flat_map(|good| &good.documents) {
                let object = (document.resource.kind(), document.resource.name().to_owned());
                stale.insert(object, note.clone());
            }
        }
        stale
    }

    fn examine(&mut self, name: &str, bytes: Vec<u8>) {
        let held = self.files.entry(name.to_owned()).or_insert(Held {
            good: None,
            findings: Vec::new(),
            stale: false,
        });
        match Source::from_bytes(name.to_owned(), bytes) {
            Ok(source) => {
                let file = lint::read(&source.in_namespace(LOCAL));
                held.findings.clone_from(&file.findings);
                held.stale = file.has_errors() && held.good.is_some();
                if !held.stale {
                    held.good = Some(file);
                }
            }
            Err(finding) => {
                held.findings = vec![*finding];
                held.stale = held.good.is_some();
            }
        }
    }
}

fn yaml_files(
    root: &Path,
    directory: &Path,
    depth: usize,
    contents: &mut Contents,
    // Device and inode of each directory that was read.
    visited: &mut BTreeSet<(u64, u64)>,
) -> Result<(), SourceError> {
    if depth > MAX_DEPTH {
        return Err(SourceError::TooMany(root.to_owned()));
    }
    let unreadable = |path: &Path, cause| SourceError::Unreadable { path: path.to_owned(), cause };
    let this = fs::metadata(directory).map_err(|cause| unreadable(directory, cause))?;
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    if !visited.insert((this.dev(), this.ino())) {
        contents.repeated.push(shown(directory));
        return Ok(());
    }
    let entries = entries(directory).map_err(|cause| unreadable(directory, cause))?;
    for (name, path) in entries {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            if depth > 0 || name != SECRETS {
                yaml_files(root, &path, depth + 1, contents, visited)?;
            }
        } else if metadata.is_file()
            && path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            if contents.files.len() == MAX_FILES {
                return Err(SourceError::TooMany(root.to_owned()));
            }
            match read_bounded(&path) {
                Ok(bytes) => drop(contents.files.insert(shown(&path), bytes)),
                // Deleted between listing and reading.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(unreadable(&path, cause)),
            }
        }
    }
    Ok(())
}

fn repeated(link: &str) -> Finding {
    Finding {
        file: link.to_owned(),
        line: 1,
        column: 1,
        severity: lint::Severity::Warning,
        kind: String::new(),
        name: String::new(),
        path: String::new(),
        rule: "yaml/repeated".to_owned(),
        message: lint::files::REPEATED.to_owned(),
    }
}

/// One byte more than `Source` takes, so that it is the one to refuse a file that is too large.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(lint::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Entries whose name does not start with a dot, by name.
fn entries(directory: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            found.insert(name, entry.path());
        }
    }
    Ok(found)
}

/// The same; no directory is an empty one.
fn visible(directory: &Path) -> Result<BTreeMap<String, PathBuf>, SourceError> {
    match entries(directory) {
        Ok(found) => Ok(found),
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(BTreeMap::new())
        }
        Err(cause) => Err(SourceError::Unreadable { path: directory.to_owned(), cause }),
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
