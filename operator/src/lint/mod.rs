//! What the API server and the operator would say about files, with line and column, before anything is applied.
//!
//! Input: the texts of files ([`Source`]). Output: [`Finding`]s, and the objects that are free of errors. Four groups
//! of rules: `yaml/*` (syntax, duplicate keys, traps between YAML versions), `schema/*` and `cel/*` (the API server's
//! verdict, offline), `cross/*` (what objects do to each other). Standalone asks the same functions whether it may use
//! a file, so a file that lints clean runs.
//!
//! Refuses: I/O, except for [`files`], which finds and reads the files of a command line. A text is at most
//! [`MAX_BYTES`] long.

mod cross;
mod document;
pub mod files;
mod finding;
pub mod report;
mod schema;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::BTreeSet;

pub use cross::{Secrets, cross, cross_under};
pub use document::Document;
pub use finding::{Finding, Severity};

use self::finding::Problem;
use crate::domain::Resource;

/// Longest file, in bytes: twenty times the largest object that etcd takes would be 30 MiB, but a file of one's own
/// that is longer than this is a mistake (a log, a dump) in practice.
pub const MAX_BYTES: usize = 1 << 20;

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File as people shall see it.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Namespace of all its objects, whatever they say; `None` = as written, else [`crate::domain::LOCAL`].
    pub namespace: Option<String>,
}

impl Source {
    /// A text whose objects say themselves where they live.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into(), namespace: None }
    }

    /// Bytes of a file; a finding where they are too many or not UTF-8.
    pub fn from_bytes(file: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Box<Finding>> {
        let file = file.into();
        let refused = |rule: &str, line: u32, message: String| {
            let at = yaml::Position { line, column: 1 };
            Err(Box::new(Problem::error(at, rule, "", message).of(&file, "", "")))
        };
        if bytes.len() > MAX_BYTES {
            return refused("yaml/too-long", 1, format!("is longer than {} MiB: split it", MAX_BYTES >> 20));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(file, text)),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = u32::try_from(good.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX);
                refused("yaml/encoding", line, "is not UTF-8 text".to_owned())
            }
        }
    }

    /// The same text with all objects in one namespace.
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }
}

/// What one file holds.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// File as in [`Source::file`].
    pub file: String,
    /// What is wrong with it on its own: `yaml/*`, `schema/*`, `cel/*`; by line.
    pub findings: Vec<Finding>,
    /// Its objects that have no error.
    pub documents: Vec<Document>,
    /// All objects of our kinds that were seen, with and without errors.
    pub objects: usize,
}

impl File {
    /// Whether anything in it must not be applied.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(Finding::is_error)
    }
}

/// Reads one file on its own.
pub fn read(source: &Source) -> File {
    let parsed = yaml::parse(&source.text);
    let mut file = File { file: source.file.clone(), ..File::default() };
    for node in parsed.documents {
        document::read(node, source, &mut file);
    }
    file.findings.extend(parsed.stopped.map(|problem| problem.of(&source.file, "", "")));
    sort(&mut file.findings);
    file
}

/// Everything about some files: each on its own, then all together.
pub fn check(sources: &[Source], secrets: Option<&Secrets>) -> Vec<Finding> {
    let files: Vec<_> = sources.iter().map(read).collect();
    let all: Vec<_> = files.iter().collect();
    let mut findings: Vec<_> = files.iter().flat_map(|file| file.findings.iter().cloned()).collect();
    findings.extend(cross(&all, secrets));
    sort(&mut findings);
    findings
}

/// The usable objects of some files: of several with the same kind, namespace and name the first.
pub fn select(files: &[&File]) -> Vec<Resource> {
    let mut seen = BTreeSet::new();
    let documents = files.iter().flat_map(|file| &file.documents);
    documents
        .map(|document| &document.resource)
        .filter(|resource| {
            seen.insert((resource.kind(), resource.namespace().to_owned(), resource.name().to_owned()))
        })
        .cloned()
        .collect()
}

/// Sorts by file, then line.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        (&a.file, a.line, a.column, a.severity, &a.rule, &a.path)
            .cmp(&(&b.file, b.line, b.column, b.severity, &b.rule, &b.path))
    });
}
