//! The files of a command line.
//!
//! Input: paths; a directory stands for all YAML files below it, `-` for standard input. Output: [`Source`]s in the order
//! of the arguments, inside a directory by name. What cannot be read becomes a finding. Names that start with a dot and
//! directories named `secrets` are not looked into.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{Finding, MAX_BYTES, Secrets, Source, finding::Problem, yaml::Position};

/// Directory of credentials beside the YAML files of standalone.
const SECRETS: &str = "secrets";
/// Files of Kustomize have no kind and are not ours.
const KUSTOMIZATION: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// Most files of one run; a whole disk is a mistake.
const MAX_FILES: usize = 10_000;
/// Most bytes of a secret: a `Secret` holds 1 MiB in all.
const MAX_SECRET: u64 = 1024 * 1024;
/// Deepest directory below one that was named.
const MAX_DEPTH: usize = 16;

/// What is said about a link to a directory that was read.
pub(crate) const REPEATED: &str =
    "leads to a directory that is read already, perhaps in a loop: remove the link";

/// What a command line named.
#[derive(Debug, Default)]
pub struct Found {
    /// Texts.
    pub sources: Vec<Source>,
    /// What could not be read.
    pub findings: Vec<Finding>,
    /// Secret files, where a directory that was named has some.
    pub secrets: Option<Secrets>,
    /// Device and inode of each directory that was read below the present argument.
    visited: BTreeSet<(u64, u64)>,
    /// Whether the bound on files was met.
    full: bool,
}

/// Reads all files that some arguments name.
pub fn find(arguments: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            found.take(argument, read_bounded(io::stdin().lock()));
        } else if argument.is_dir() {
            found.visited.clear();
            let before = (found.sources.len(), found.findings.len());
            found.directory(argument, 0);
            if before == (found.sources.len(), found.findings.len()) {
                found.unreadable(argument, "holds no YAML file: is it the right directory?");
            }
        } else {
            found.file(argument);
        }
    }
    found
}

impl Found {
    fn directory(&mut self, directory: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            return self.unreadable(directory, &format!("is nested deeper than {MAX_DEPTH} directories"));
        }
        if !fs::metadata(directory).is_ok_and(|this| self.visited.insert((this.dev(), this.ino()))) {
            return self.unreadable(directory, REPEATED);
        }
        let secrets = directory.join(SECRETS);
        if secrets.is_dir() {
            self.secrets.get_or_insert_default().extend(secret_files(&secrets));
        }
        if let Err(error) = fs::read_dir(directory) {
            return self.unreadable(directory, &format!("cannot be read: {error}"));
        }
        for entry in entries(directory) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') || name == SECRETS || KUSTOMIZATION.contains(&name.as_str()) {
                continue;
            }
            if entry.is_dir() {
                self.directory(&entry, depth + 1);
            } else if entry.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
                self.file(&entry);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        if is_named_pipe(path) {
            return self
                .unreadable(path, "is a named pipe, which may never end: write a file, or use - for a pipe");
        }
        match self.sources.len() {
            read if read < MAX_FILES => self.take(path, fs::File::open(path).and_then(read_bounded)),
            MAX_FILES if !self.full => {
                self.full = true;
                self.unreadable(path, &format!("and what follows is not read: more than {MAX_FILES} files"));
            }
            _ => {}
        }
    }

    fn take(&mut self, path: &Path, bytes: io::Result<Vec<u8>>) {
        match bytes {
            Ok(bytes) => match Source::from_bytes(path.to_string_lossy(), bytes) {
                Ok(source) => self.sources.push(source),
                Err(finding) => self.findings.push(*finding),
            },
            Err(error) => self.unreadable(path, &format!("cannot be read: {error}")),
        }
    }

    fn unreadable(&mut self, path: &Path, why: &str) {
        let problem = Problem::error(Position::START, "yaml/unreadable", "", why);
        self.findings.push(problem.of(&path.to_string_lossy(), "", ""));
    }
}

/// Whether opening `path` would wait for a writer. The pipes of a shell's `<(command)` have one, and no name to resolve.
fn is_named_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) && path.canonicalize().is_ok()
}

/// At most one byte more than allowed, so that the length can be judged.
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The entries of a directory by name; none where it cannot be listed.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(directory)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    entries.sort();
    entries
}

/// The files `<name>/<key>` below a directory of secrets that are not empty.
pub fn secret_files(directory: &Path) -> Secrets {
    let mut secrets = Secrets::default();
    for secret in entries(directory).iter().filter(|path| path.is_dir()) {
        for key in entries(secret) {
            if let (Some(sendable), Some(name), Some(key)) =
                (sendable(&key), secret.file_name(), key.file_name())
            {
                secrets.insert(&name.to_string_lossy(), &key.to_string_lossy(), sendable);
            }
        }
    }
    secrets
}

/// Whether a header can hold what is in a secret file, final line breaks aside, as gateways read it; `None` where it is
/// missing, empty or no file. What cannot be read counts as sendable: gateways may run as somebody else.
pub fn sendable(path: &Path) -> Option<bool> {
    fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let mut value = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_SECRET).read_to_end(&mut value));
    while value.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
    Some(read.is_err() || value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..)))
}
