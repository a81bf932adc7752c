//! What objects do to each other: `cross/*`.
//!
//! Input: the error-free documents of all files. Output: findings at the field to change. Errors are what the operator
//! would refuse (duplicates, conflicts, objects that are invalid next to others) and secret files that are missing
//! or unusable;
//! warnings are what works but cannot do what its author wants.

mod duplicate;
mod money;
mod reach;
mod refusal;
mod secret;
mod shadow;

use std::collections::BTreeMap;

use hedgerow_crds::Kind;

use super::{Document, File, Finding, Severity, sort};
use crate::domain::{Installation, Objects, Snapshot};

/// The secret files that exist, by name and key, and whether a gateway can send what is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<(String, String), bool>);

impl Secrets {
    /// Notes a file `<name>/<key>`; `sendable` = it is one line that a header can hold.
    pub fn insert(&mut self, name: &str, key: &str, sendable: bool) {
        self.0.insert((name.to_owned(), key.to_owned()), sendable);
    }

    /// Whether the file exists and is not empty.
    pub fn contains(&self, name: &str, key: &str) -> bool {
        self.0.contains_key(&(name.to_owned(), key.to_owned()))
    }

    /// Whether the file exists and no header can hold what is in it.
    fn is_unsendable(&self, name: &str, key: &str) -> bool {
        self.0.get(&(name.to_owned(), key.to_owned())) == Some(&false)
    }

    /// Whether the Secret has any key.
    pub fn has_any(&self, name: &str) -> bool {
        self.0.keys().any(|(secret, _)| secret == name)
    }

    /// Adds all files of another set.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// One fleet with the places of its objects.
struct Fleet<'a> {
    snapshot: Snapshot,
    documents: &'a [&'a Document],
}

impl Fleet<'_> {
    /// The finding about a field of one object of the fleet.
    fn finding(
        &self,
        kind: Kind,
        name: &str,
        rule: &str,
        path: &str,
        message: impl Into<String>,
    ) -> Option<Finding> {
        let document = self.documents.iter().find(|document| {
            let resource = &document.resource;
            resource.kind() == kind
                && resource.name() == name
                && resource.namespace() == self.snapshot.namespace
        })?;
        Some(document.finding(rule, path, message))
    }

    /// The same as a warning.
    fn warning(
        &self,
        kind: Kind,
        name: &str,
        rule: &str,
        path: &str,
        message: impl Into<String>,
    ) -> Option<Finding> {
        let finding = self.finding(kind, name, rule, path, message)?;
        Some(Finding { severity: Severity::Warning, ..finding })
    }
}

/// All findings that need more than one object. `secrets` are the files that exist; `None` = not checked, as in a
/// cluster, where lint cannot see Secrets. Nobody withholds anything, as in standalone.
pub fn cross(files: &[&File], secrets: Option<&Secrets>) -> Vec<Finding> {
    cross_under(&Installation::permissive(), files, secrets)
}

/// The same under what an installation decides for all fleets.
pub fn cross_under(installation: &Installation, files: &[&File], secrets: Option<&Secrets>) -> Vec<Finding> {
    let all: Vec<_> = files.iter().flat_map(|file| &file.documents).collect();
    let (documents, mut findings) = duplicate::split(&all);
    let objects: Objects = documents.iter().map(|document| document.resource.clone()).collect();
    for snapshot in objects.snapshots() {
        let fleet = Fleet { snapshot: installation.govern(snapshot), documents: &documents };
        findings.extend(refusal::check(&fleet));
        findings.extend(reach::check(&fleet));
        findings.extend(shadow::check(&fleet));
        findings.extend(money::check(&fleet));
        findings.extend(secrets.map(|secrets| secret::check(&fleet, secrets)).unwrap_or_default());
    }
    sort(&mut findings);
    findings
}
