//! Holds by hand in standalone: `hedgerow resume|suspend ... --config DIR`.
//!
//! In a cluster these commands write an annotation. Here users own the YAML, so the annotation goes into a file of its own,
//! `DIR/.status/HedgePolicy.<name>.hold`, which the running standalone reads with its next look, or the next one with its
//! first. Annotations in the YAML itself count as well; of the same name the file's wins.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use hedgerow_crds::{ALL_COHORTS, Kind};

use super::{
    lock::Lock,
    status_file::{DIRECTORY, replace},
};
use crate::domain::{Policy, guardrail::Request};

/// Why a request could not be left.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// No policy of that name was ever in force here.
    #[error(
        "no HedgePolicy {policy:?} is known in {directory}: is a `hedgerow standalone --config` running on it?"
    )]
    UnknownPolicy {
        /// Policy.
        policy: String,
        /// Configuration directory.
        directory: PathBuf,
    },
    /// The policy has no such cohort.
    #[error("HedgePolicy {policy:?} has no cohort {cohort:?}; it has {known}, or use `all`")]
    UnknownCohort {
        /// Policy.
        policy: String,
        /// Cohort.
        cohort: String,
        /// What it has.
        known: String,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {cause}")]
    Unwritable {
        /// File.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
}

/// Leaves a request for the standalone that runs on `config_dir`, or for the next one; true where one runs. `cohort` may be
/// `all`.
pub fn request(config_dir: &Path, policy: &str, cohort: &str, request: &Request) -> Result<bool, HoldError> {
    check(config_dir, policy, cohort)?;
    let path = path(config_dir, policy);
    let mut annotations = read(config_dir, policy);
    let ((name, value), removed) = request.change(&annotations, cohort);
    let removed: Vec<String> = removed.into_iter().map(str::to_owned).collect();
    annotations.retain(|name, _| !removed.contains(name));
    annotations.insert(name, value);
    let unwritable = |cause| HoldError::Unwritable { path: path.clone(), cause };
    let text =
        serde_json::to_string_pretty(&annotations).map_err(|error| unwritable(io::Error::other(error)))?;
    replace(&path, text.as_bytes()).map_err(unwritable)?;
    Ok(Lock::is_taken(config_dir))
}

/// The annotations that were asked for; none where the file is missing or damaged.
pub(super) fn read(config_dir: &Path, policy: &str) -> BTreeMap<String, String> {
    fs::read(path(config_dir, policy))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Annotations of the YAML and requests by hand; the latter win.
pub(super) fn annotations(policy: &Policy, config_dir: &Path) -> BTreeMap<String, String> {
    let mut annotations = policy.annotations.clone();
    annotations.extend(read(config_dir, &policy.name));
    annotations
}

fn path(config_dir: &Path, policy: &str) -> PathBuf {
    config_dir.join(DIRECTORY).join(format!("{}.{policy}.hold", Kind::HedgePolicy.as_str()))
}

fn check(config_dir: &Path, policy: &str, cohort: &str) -> Result<(), HoldError> {
    use hedgerow_crds::v1alpha1::HedgePolicyStatus;
    let unknown = || HoldError::UnknownPolicy { policy: policy.to_owned(), directory: config_dir.to_owned() };
    // A name with a slash would lead out of the directory.
    if policy.contains(['/', '\\']) || !config_dir.join(DIRECTORY).is_dir() {
        return Err(unknown());
    }
    let files = super::status_file::StatusFiles::open(config_dir).map_err(|_| unknown())?;
    let document = files.read::<HedgePolicyStatus>(Kind::HedgePolicy, policy).ok_or_else(unknown)?;
    let known: Vec<String> = document.status.cohorts.iter().map(|cohort| cohort.name.to_string()).collect();
    if cohort == ALL_COHORTS || known.iter().any(|name| name == cohort) {
        return Ok(());
    }
    Err(HoldError::UnknownCohort {
        policy: policy.to_owned(),
        cohort: cohort.to_owned(),
        known: known.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::super::status_file::{Document, StatusFiles};
    use super::*;
    use crate::domain::guardrail::wanted;
    use hedgerow_crds::v1alpha1::{HedgePolicyStatus, hedge_policy::CohortStatus};
    use hedgerow_policy::time::Moment;
    use jiff::Timestamp;

    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let cohort: CohortStatus = serde_json::from_str(r#"{"name":"stream"}"#).unwrap();
        let status = HedgePolicyStatus { cohorts: vec![cohort], ..HedgePolicyStatus::default() };
        let document = Document::new(Kind::HedgePolicy, "chat", "u", 1, "", status);
        let files = StatusFiles::open(directory.path()).unwrap();
        files.write(Kind::HedgePolicy, "chat", document, Moment::ZERO).unwrap();
        directory
    }

    #[test]
    fn a_resume_ends_the_hold_of_that_cohort() {
        let directory = directory();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let ask = |cohort: &str, what: Request| request(directory.path(), "chat", cohort, &what).unwrap();
        let now = || wanted(&read(directory.path(), "chat"), "stream");
        assert!(!ask("stream", Request::Suspend { until: at("2030-01-01T00:00:00Z") }), "nobody runs");
        assert!(now().hold.is_some());
        ask("stream", Request::Resume { asked: at("2029-01-01T00:00:00Z") });
        assert_eq!((now().hold, now().resume.as_deref()), (None, Some("2029-01-01T00:00:00Z")));
    }

    #[test]
    fn who_names_what_is_not_there_is_told_what_is() {
        let directory = directory();
        let ask = |policy: &str, cohort: &str| {
            let asked = Timestamp::UNIX_EPOCH;
            request(directory.path(), policy, cohort, &Request::Resume { asked }).unwrap_err().to_string()
        };
        assert!(ask("chat", "strem").contains("stream"));
        assert!(ask("chut", "stream").contains("standalone"));
        assert!(ask("../chat", "stream").contains("standalone"));
    }
}
