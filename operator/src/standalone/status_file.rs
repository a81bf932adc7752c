//! Status beside the files: `DIR/.status/<Kind>.<name>.yaml`, in the resources' own form.
//!
//! What etcd is in a cluster, these files are here: the memory of generations and latches over restarts. Each is replaced as
//! a whole by rename, so that no reader sees half of one.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use hedgerow_crds::{
    API_VERSION, Kind,
    v1alpha1::{HedgePolicyStatus, hedge_policy::CohortStatus},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Directory of the status files, below the configuration directory.
pub(super) const DIRECTORY: &str = ".status";
/// Annotation that tells whether the spec changed while nobody watched.
const SPEC: &str = "hedgerow.dev/spec";

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
    written: BTreeMap<PathBuf, Vec<u8>>,
}

impl StatusFiles {
    /// Makes the directory below `config_dir` where it is missing.
    pub(super) fn open(config_dir: &Path) -> io::Result<Self> {
        let directory = config_dir.join(DIRECTORY);
        fs::create_dir_all(&directory)?;
        Ok(Self { directory, written: BTreeMap::new() })
    }

    /// Generation and digest of the spec that an object had; `None` if it was never seen, or its file is damaged.
    pub(super) fn generation(&self, kind: Kind, name: &str) -> Option<(i64, String)> {
        let document: Document<serde_json::Value> = self.read(kind, name)?;
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

    /// Replaces a file; false where it already was so.
    pub(super) fn write<S: Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        document: &Document<S>,
    ) -> io::Result<bool> {
        let text = serde_saphyr::to_string(document).map_err(io::Error::other)?;
        let path = self.path(kind, name);
        if self.written.get(&path).is_some_and(|written| written == text.as_bytes()) {
            return Ok(false);
        }
        replace(&path, text.as_bytes())?;
        self.written.insert(path, text.into_bytes());
        Ok(true)
    }

    /// Removes the files of objects that are gone. Unlike in etcd nothing else would.
    pub(super) fn keep_only(&mut self, objects: &[(Kind, String)]) -> io::Result<()> {
        let kept: Vec<PathBuf> = objects.iter().map(|(kind, name)| self.path(*kind, name)).collect();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let ours = Kind::ALL.iter().any(|kind| {
                name.starts_with(&format!("{}.", kind.as_str()))
                    && path.extension().is_some_and(|extension| extension == "yaml")
            });
            if ours && !kept.contains(&path) {
                fs::remove_file(&path)?;
                self.written.remove(&path);
            }
        }
        Ok(())
    }

    fn path(&self, kind: Kind, name: &str) -> PathBuf {
        self.directory.join(format!("{}.{name}.yaml", kind.as_str()))
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

    #[test]
    fn a_status_survives_a_restart_and_is_written_only_when_it_changed() {
        let directory = tempfile::tempdir().unwrap();
        let mut cohort: CohortStatus = serde_json::from_str(r#"{"name":"chat"}"#).unwrap();
        cohort.state = CohortState::Suspended;
        cohort.message = Some("off: extra spend 6.9 %\nsecond line".into());
        let status = HedgePolicyStatus { cohorts: vec![cohort], ..HedgePolicyStatus::default() };
        let document = Document::new(Kind::HedgePolicy, "chat", "u", 3, "abc", status);
        let mut files = StatusFiles::open(directory.path()).unwrap();
        assert!(files.write(Kind::HedgePolicy, "chat", &document).unwrap());
        assert!(!files.write(Kind::HedgePolicy, "chat", &document).unwrap());

        let files = StatusFiles::open(directory.path()).unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), Some((3, "abc".into())));
        let read: Document<HedgePolicyStatus> = files.read(Kind::HedgePolicy, "chat").unwrap();
        assert_eq!(read, document);
    }

    #[test]
    fn files_of_objects_that_are_gone_are_removed_and_others_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = StatusFiles::open(directory.path()).unwrap();
        for name in ["chat", "json"] {
            let document = Document::new(Kind::HedgePolicy, name, "u", 1, "", HedgePolicyStatus::default());
            files.write(Kind::HedgePolicy, name, &document).unwrap();
        }
        let note = directory.path().join(DIRECTORY).join("note.yaml");
        fs::write(&note, "mine").unwrap();
        files.keep_only(&[(Kind::HedgePolicy, "json".into())]).unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), None);
        assert!(files.generation(Kind::HedgePolicy, "json").is_some() && note.exists());
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let files = StatusFiles::open(directory.path()).unwrap();
        fs::write(directory.path().join(DIRECTORY).join("HedgePolicy.chat.yaml"), "{{{").unwrap();
        assert_eq!(files.generation(Kind::HedgePolicy, "chat"), None);
    }
}
