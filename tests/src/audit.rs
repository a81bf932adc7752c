//! The audit log of a test cluster: who asked the API server for what, and what the answer was.
//!
//! Why: that the operator has every right it uses, uses every right it has and does not write while nothing changes can be
//! seen from outside only, and the log misses nothing. Input: the log as `tests/cluster/config/audit.yaml` makes it, whole or
//! while it grows. Output: one [`Entry`] for each request that ended. Refuses: lines that are no audit events; a line that
//! is still being written waits for its end.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
    path::Path,
};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde::Deserialize;

/// Verbs that change something.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// One request.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who asked, by the credential shown.
    pub user: String,
    /// Whether it was asked in somebody else's name; the answer is then about that one.
    pub impersonates: bool,
    /// What the client calls itself.
    pub agent: String,
    /// Verb of the API.
    pub verb: String,
    /// API group; empty for the core.
    pub group: String,
    /// Resource, with `/subresource` where there is one; empty for what is no resource, such as `/readyz`.
    pub resource: String,
    /// Namespace; empty for what has none, and for requests over all of them.
    pub namespace: String,
    /// Name; empty for requests about many.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// Machine-readable word of a refusal.
    pub reason: String,
    /// Sentence of a refusal.
    pub message: String,
    /// Whether the right to ask was there; a refusal can also come later, from admission or validation.
    pub authorised: bool,
    /// When it was received.
    pub received: Timestamp,
    /// When it was answered.
    pub answered: Timestamp,
}

impl Entry {
    /// Whether it was to change something.
    pub fn is_write(&self) -> bool {
        WRITES.contains(&self.verb.as_str())
    }

    /// Whether it did what was asked.
    pub fn is_granted(&self) -> bool {
        self.authorised && self.code < 400
    }

    /// What was asked for in the words of RBAC, such as `patch deployments.apps`.
    pub fn right(&self) -> String {
        right(&self.verb, &self.group, &self.resource)
    }
}

/// A right in the words of `kubectl`: `patch deployments.apps`, `list pods`.
pub fn right(verb: &str, group: &str, resource: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{verb} {resource}{dot}{group}")
}

/// A log that is read once, from some place on; what was not there yet is given later.
pub struct Log {
    file: BufReader<File>,
    /// A line of which the end is missing.
    begun: String,
}

impl Log {
    /// The log from its start.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn whole(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        Ok(Self { file: BufReader::new(file), begun: String::new() })
    }

    /// The log from now on; a line of which the beginning is older is left out.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn from_now_on(path: &Path) -> Result<Self> {
        let mut log = Self::whole(path)?;
        log.file.seek(SeekFrom::End(0))?;
        Ok(log)
    }

    /// Every request that is `wanted` and has ended since the last call. A watch has ended when it was opened, too: refusals
    /// are known then.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn more(&mut self, wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        loop {
            if self.file.read_line(&mut self.begun)? == 0 || !self.begun.ends_with('\n') {
                return Ok(entries);
            }
            let event = serde_json::from_str::<Event>(&self.begun);
            self.begun.clear();
            entries.extend(event.ok().and_then(Event::entry).filter(|entry| wanted(entry)));
        }
    }
}

/// An event as the API server writes it (`audit.k8s.io/v1`), level `Metadata`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Object,
    #[serde(default)]
    response_status: Answer,
    request_received_timestamp: String,
    stage_timestamp: String,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    api_group: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    code: u16,
    reason: String,
    message: String,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision", default)]
    decision: String,
}

impl Event {
    fn entry(self) -> Option<Entry> {
        // A watch is seen twice, when it is opened and when it ends; anything else once.
        if self.stage == "ResponseComplete" && self.verb == "watch" && self.response_status.code < 400 {
            return None;
        }
        let Object { resource, subresource, namespace, name, api_group } = self.object_ref;
        let slash = if subresource.is_empty() { "" } else { "/" };
        Some(Entry {
            user: self.user.username,
            impersonates: self.impersonated_user.is_some(),
            agent: self.user_agent,
            verb: self.verb,
            group: api_group,
            resource: format!("{resource}{slash}{subresource}"),
            namespace,
            name,
            code: self.response_status.code,
            reason: self.response_status.reason,
            message: self.response_status.message,
            authorised: self.annotations.decision != "forbid",
            received: self.request_received_timestamp.parse().ok()?,
            answered: self.stage_timestamp.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn line(stage: &str, verb: &str, code: u16, decision: &str) -> String {
        serde_json::json!({
            "stage": stage, "verb": verb, "user": { "username": "system:serviceaccount:a:b" },
            "userAgent": "hedgerow/0.1.0",
            "objectRef": { "resource": "pods", "subresource": "status", "namespace": "n", "name": "p", "apiGroup": "apps" },
            "responseStatus": { "code": code },
            "requestReceivedTimestamp": "2026-11-30T06:00:00.000000Z",
            "stageTimestamp": "2026-11-30T06:00:00.250000Z",
            "annotations": { "authorization.k8s.io/decision": decision },
        })
        .to_string()
    }

    #[test]
    fn a_growing_log_gives_every_request_once_and_no_half_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) =
            (line("ResponseComplete", "patch", 200, "allow"), line("Panic", "get", 500, "allow"));
        write!(file, "{first}\n{}", &second[..40]).unwrap();
        let mut log = Log::whole(file.path()).unwrap();
        let seen = log.more(|_| true).unwrap();
        assert_eq!(seen.iter().map(Entry::right).collect::<Vec<_>>(), ["patch pods/status.apps"]);
        assert!(seen[0].is_write() && seen[0].is_granted());
        assert_eq!(seen[0].answered.duration_since(seen[0].received).as_millis(), 250);
        assert!(log.more(|_| true).unwrap().is_empty());
        let mut later = Log::from_now_on(file.path()).unwrap();
        writeln!(file, "{}", &second[40..]).unwrap();
        assert_eq!(log.more(|_| true).unwrap().len(), 1);
        assert!(later.more(|_| true).unwrap().is_empty(), "its beginning was before");
    }

    #[test]
    fn a_watch_counts_once_and_a_refusal_says_whether_the_right_was_missing() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for (stage, verb, code, decision) in [
            ("ResponseStarted", "watch", 200, "allow"),
            ("ResponseComplete", "watch", 200, "allow"),
            ("ResponseComplete", "watch", 403, "forbid"),
            ("ResponseComplete", "create", 403, "allow"),
        ] {
            writeln!(file, "{}", line(stage, verb, code, decision)).unwrap();
        }
        let seen = Log::whole(file.path()).unwrap().more(|_| true).unwrap();
        let verdicts: Vec<_> = seen.iter().map(|entry| (entry.is_granted(), entry.authorised)).collect();
        assert_eq!(verdicts, [(true, true), (false, false), (false, true)]);
    }
}
