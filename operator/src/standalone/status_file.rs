//! Status beside the files: `DIR/.status/<Kind>.<name>.yaml`, in the resources' own form.
//!
//! What etcd is in a cluster, these files are here: the memory of generations and latches over restarts. Each is replaced as
//! a whole by rename, so that no reader sees half of one.
//!
//! A process that is killed leaves files that say ready. So each tells when it was written and from when on it is not to be
//! believed ([`STALE_AFTER`]), each is written anew before that while standalone runs, and the next start takes back what
//! the last one left before it does anything else ([`StatusFiles::disown`]).

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use hedgerow_crds::{
    API_VERSION, Kind,
    condition::{self, Condition, ConditionStatus, ConditionType, Observation, Reason},
    v1alpha1::{HedgePolicyStatus, hedge_policy::CohortStatus},
};
use hedgerow_policy::time::Moment;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::domain::figure;

/// Directory of the status files, below the configuration directory.
pub(super) const DIRECTORY: &str = ".status";
/// Annotation that tells whether the spec changed while nobody watched.
const SPEC: &str = "hedgerow.dev/spec";
/// Annotation with the time of the write, RFC 3339.
const WRITTEN: &str = "hedgerow.dev/written";
/// Annotation with the time from which on nobody stands behind the file any more, RFC 3339.
const STALE: &str = "hedgerow.dev/stale-after";
/// How long a file can be believed: two rewrites may fail.
pub(super) const STALE_AFTER: Duration = Duration::from_secs(90);
/// A file that says nothing new is written again this often.
pub(super) const REWRITTEN_EVERY: Duration = Duration::from_secs(30);

/// One status file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<S> {
    api_version: String,
    kind: String,
    metadata: Metadata,
    pub(super) status: S,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Metadata {
    name: String,
    uid: String,
    generation: i64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl<S> Document<S> {
    pub(super) fn new(kind: Kind, name: &str, uid: &str, generation: i64, spec: &str, status: S) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: kind.as_str().to_owned(),
            metadata: Metadata {
                name: name.to_owned(),
                uid: uid.to_owned(),
                generation,
                annotations: BTreeMap::from([(SPEC.to_owned(), spec.to_owned())]),
            },
            status,
        }
    }
}

/// The directory of status files.
#[derive(Debug)]
pub(super) struct StatusFiles {
    directory: PathBuf,
}

impl StatusFiles {
    /// Makes the directory below `config_dir` where it is missing.
    pub(super) fn open(config_dir: &Path) -> io::Result<Self> {
        let directory = config_dir.join(DIRECTORY);
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// Generation and digest of the spec that an object had; `None` if it was never seen, or its file is damaged.
    pub(super) fn generation(&self, kind: Kind, name: &str) -> Option<(i64, String)> {
        let document: Document<Value> = self.read(kind, name)?;
        let spec = document.metadata.annotations.get(SPEC).cloned().unwrap_or_default();
        Some((document.metadata.generation, spec))
    }

    /// The status that an object had.
    pub(super) fn read<S: DeserializeOwned>(&self, kind: Kind, name: &str) -> Option<Document<S>> {
        let text = fs::read_to_string(self.path(kind, name)).ok()?;
        serde_saphyr::from_str(&text).ok()
    }

    /// The statuses of a policy's cohorts.
    pub(super) fn cohorts(&self, policy: &str) -> Vec<CohortStatus> {
        let document = self.read::<HedgePolicyStatus>(Kind::HedgePolicy, policy);
        document.map(|document| document.status.cohorts).unwrap_or_default()
    }

    /// Replaces a file, at `now`.
    pub(super) fn write<S: Serialize>(
        &self,
        kind: Kind,
        name: &str,
        mut document: Document<S>,
        now: Moment,
    ) -> io::Result<()> {
        for (annotation, at) in [(WRITTEN, now), (STALE, now + STALE_AFTER)] {
            let at = format!("{:.0}", figure::timestamp(at));
            document.metadata.annotations.insert(annotation.to_owned(), at);
        }
        let text = serde_saphyr::to_string(&document).map_err(io::Error::other)?;
        replace(&self.path(kind, name), text.as_bytes())
    }

    /// Takes back what an earlier process said of what runs: nothing does. What it decided stays, and so does a damaged file.
    pub(super) fn disown(&self, now: Moment) -> io::Result<()> {
        for (kind, name, _) in self.present()? {
            let Some(mut document) = self.read::<Value>(kind, &name) else { continue };
            let generation = document.metadata.generation;
            let Some(status) = document.status.as_object_mut() else { continue };
            let conditions = status.get("conditions").cloned();
            let Some(Ok(mut conditions)) = conditions.map(serde_json::from_value::<Vec<Condition>>) else {
                continue;
            };
            nothing_runs(&mut conditions, generation, figure::timestamp(now));
            status
                .insert("conditions".to_owned(), serde_json::to_value(conditions).map_err(io::Error::other)?);
            if let Some(Value::Object(pods)) = status.get_mut("pods") {
                pods.extend(["ready", "programmed"].map(|count| (count.to_owned(), 0.into())));
            }
            self.write(kind, &name, document, now)?;
        }
        Ok(())
    }

    /// Removes the files of objects that are gone. Unlike in etcd nothing else would.
    pub(super) fn keep_only(&self, objects: &[(Kind, String)]) -> io::Result<()> {
        for (kind, name, path) in self.present()? {
            if !objects.contains(&(kind, name)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// The files that are ours.
    fn present(&self) -> io::Result<Vec<(Kind, String, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let object = file.strip_suffix(".yaml").and_then(|object| object.split_once('.'));
            let known = object.and_then(|(kind, name)| Some((kind.parse().ok()?, name.to_owned())));
            found.extend(known.map(|(kind, name)| (kind, name, path)));
        }
        Ok(found)
    }

    fn path(&self, kind: Kind, name: &str) -> PathBuf {
        self.directory.join(format!("{}.{name}.yaml", kind.as_str()))
    }
}

/// What says that something runs does not any more.
fn nothing_runs(conditions: &mut Vec<Condition>, generation: i64, now: Timestamp) {
    for type_ in [ConditionType::Programmed, ConditionType::Ready] {
        let known = condition::find(conditions, type_);
        if known.is_none_or(|known| known.status == ConditionStatus::False.as_str()) {
            continue;
        }
        let observed = Observation {
            type_,
            status: ConditionStatus::False,
            reason: Reason::NoReadyPods,
            message: "standalone starts; no gateway runs yet".to_owned(),
            observed_generation: generation,
        };
        condition::set(conditions, observed, now);
    }
}

/// Writes a file beside `path` and renames it over `path`.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path).inspect_err(|_| drop(fs::remove_file(&beside)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hedgerow_crds::v1alpha1::hedge_policy::CohortState;

    const NOW: Moment = Moment::from_secs(1_000_000_000);

    #[test]
    fn a_status_survives_a_restart_and_says_how_old_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut cohort: CohortStatus = serde_json::from_str(r#"{"name":"chat"}"#).unwrap();
        cohort.state = CohortState::Suspended;
        cohort.message = Some("off: extra spend 6.9 %\nsecond line".into());
        let status = HedgePolicyStatus { cohorts: vec![cohort], ..HedgePolicyStatus::default() };
        let document = Document::new(Kind::HedgePolicy, "chat", "u", 3, "abc", status.clone());
        let files = StatusFiles::open(directory.path()).unwrap();
        files.write(Kind::HedgePolicy, "chat", document, NOW).unwrap();

        let files = StatusFiles::open(directory.path()).unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), Some((3, "abc".into())));
        let read: Document<HedgePolicyStatus> = files.read(Kind::HedgePolicy, "chat").unwrap();
        assert_eq!(read.status, status);
        assert_eq!(read.metadata.annotations[WRITTEN], "2001-09-09T01:46:40Z");
        assert_eq!(read.metadata.annotations[STALE], "2001-09-09T01:48:10Z");
        assert!(REWRITTEN_EVERY * 2 < STALE_AFTER);
    }

    #[test]
    fn what_a_killed_process_said_is_taken_back_and_what_it_decided_stays() {
        let directory = tempfile::tempdir().unwrap();
        let files = StatusFiles::open(directory.path()).unwrap();
        let mut status = HedgePolicyStatus::default();
        for (type_, status_) in [
            (ConditionType::Accepted, ConditionStatus::True),
            (ConditionType::Programmed, ConditionStatus::True),
            (ConditionType::Ready, ConditionStatus::True),
        ] {
            let (reason, message) = (Reason::Ready, String::new());
            let observed = Observation { type_, status: status_, reason, message, observed_generation: 3 };
            condition::set(&mut status.conditions, observed, figure::timestamp(NOW));
        }
        let mut cohort: CohortStatus = serde_json::from_str(r#"{"name":"chat"}"#).unwrap();
        (cohort.state, cohort.transition) = (CohortState::Suspended, 7);
        status.cohorts.push(cohort);
        let document = Document::new(Kind::HedgePolicy, "chat", "u", 3, "abc", status);
        files.write(Kind::HedgePolicy, "chat", document, NOW).unwrap();
        fs::write(directory.path().join(DIRECTORY).join("HedgePolicy.damaged.yaml"), "{{{").unwrap();

        files.disown(NOW + Duration::from_hours(1)).unwrap();
        let read: Document<HedgePolicyStatus> = files.read(Kind::HedgePolicy, "chat").unwrap();
        let said = |type_| condition::find(&read.status.conditions, type_).unwrap().status.clone();
        assert_eq!(said(ConditionType::Accepted), "True");
        assert_eq!([said(ConditionType::Programmed), said(ConditionType::Ready)], ["False", "False"]);
        assert_eq!(read.status.cohorts[0].transition, 7);
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), Some((3, "abc".into())));
        assert_eq!(read.metadata.annotations[WRITTEN], "2001-09-09T02:46:40Z");
    }

    #[test]
    fn files_of_objects_that_are_gone_are_removed_and_others_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let files = StatusFiles::open(directory.path()).unwrap();
        for name in ["chat", "json", "with.dots"] {
            let document = Document::new(Kind::HedgePolicy, name, "u", 1, "", HedgePolicyStatus::default());
            files.write(Kind::HedgePolicy, name, document, NOW).unwrap();
        }
        let note = directory.path().join(DIRECTORY).join("note.yaml");
        fs::write(&note, "mine").unwrap();
        files
            .keep_only(&[(Kind::HedgePolicy, "json".into()), (Kind::HedgePolicy, "with.dots".into())])
            .unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), None);
        for name in ["json", "with.dots"] {
            assert!(files.generation(Kind::HedgePolicy, name).is_some());
        }
        assert!(note.exists());
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let files = StatusFiles::open(directory.path()).unwrap();
        fs::write(directory.path().join(DIRECTORY).join("HedgePolicy.chat.yaml"), "{{{").unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), None);
    }
}
