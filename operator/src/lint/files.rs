//! The files of a command line.
//!
//! Input: paths; a directory stands for all YAML files below it, `-` for standard input. Output: [`Source`]s in the order
//! of the arguments, inside a directory by name. What cannot be read becomes a finding. Names that start with a dot and
//! directories named `secrets` are not looked into.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{Finding, MAX_BYTES, Secrets, Source, finding::Problem, yaml::Position};

/// Directory of credentials beside the YAML files of standalone.
const SECRETS: &str = "secrets";
/// Files of Kustomize have no kind and are not ours.
const KUSTOMIZATION: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// Most files of one run; a whole disk is a mistake.
const MAX_FILES: usize = 10_000;
/// Deepest directory below one that was named; links may form a loop.
const MAX_DEPTH: usize = 16;

/// What a command line named.
#[derive(Debug, Default)]
pub struct Found {
    /// Texts.
    pub sources: Vec<Source>,
    /// What could not be read.
    pub findings: Vec<Finding>,
    /// Secret files, where a directory that was named has some.
    pub secrets: Option<Secrets>,
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
            found.directory(argument, 0);
        } else {
            found.file(argument);
        }
    }
    found
}

impl Found {
    fn directory(&mut self, directory: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            return self.unreadable(
                directory,
                &format!("is nested deeper than {MAX_DEPTH} directories: is it a loop?"),
            );
        }
        let secrets = directory.join(SECRETS);
        if secrets.is_dir() {
            self.secrets.get_or_insert_default().extend(secret_files(&secrets));
        }
        for entry in entries(directory) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') || name == SECRETS || KUSTOMIZATION.contains(&name.as_str()) {
                continue;
            }
            if entry.is_dir() {
                self.directory(&entry, depth + 1);
            } else if entry.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
                && (entry.is_file() || !entry.exists())
            {
                self.file(&entry);
            }
        }
    }

    fn file(&mut self, path: &Path) {
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

/// The files `<name>/<key>` below a directory of secrets that are not empty. Their contents are not read.
pub fn secret_files(directory: &Path) -> Secrets {
    let mut secrets = Secrets::default();
    for secret in entries(directory).iter().filter(|path| path.is_dir()) {
        for key in entries(secret) {
            let filled = fs::metadata(&key).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
            if let (true, Some(name), Some(key)) = (filled, secret.file_name(), key.file_name()) {
                secrets.insert(&name.to_string_lossy(), &key.to_string_lossy());
            }
        }
    }
    secrets
}
