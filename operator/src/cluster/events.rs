//! Events: what people see under `kubectl describe`, one for each transition.
//!
//! The recorder of the client library counts an Event up instead of writing a new one when type, reason, action and object
//! are the same, and then keeps the first text. So the action is different for each transition that people should read.

use hedgerow_crds::{API_VERSION, Kind};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    core::ObjectMeta,
    runtime::events::{Event, EventType, Recorder, Reporter},
};

use super::call::{CallError, bounded};

/// Longest note in bytes that the API server takes.
const LONGEST_NOTE: usize = 1024;
/// Longest action in bytes.
const LONGEST_ACTION: usize = 128;

/// Writes Events.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

/// One Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Something that somebody should look at.
    pub warning: bool,
    /// One word.
    pub reason: &'static str,
    /// What tells this transition from others of the same reason.
    pub action: String,
    /// The sentence.
    pub note: String,
}

/// The object that an Event is about.
pub(crate) fn reference(kind: Kind, metadata: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(API_VERSION.to_owned()),
        kind: Some(kind.as_str().to_owned()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

impl Events {
    /// Events that say which process wrote them.
    pub fn new(client: Client, instance: &str) -> Self {
        let reporter = Reporter { controller: "hedgerow".to_owned(), instance: Some(instance.to_owned()) };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Writes one about the object `kind`/`name`.
    ///
    /// # Errors
    /// It was not written. Nothing else depends on it.
    pub async fn publish(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        uid: &str,
        notice: &Notice,
    ) -> Result<(), CallError> {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        };
        let event = Event {
            type_: if notice.warning { EventType::Warning } else { EventType::Normal },
            reason: notice.reason.to_owned(),
            note: Some(cut(&notice.note, LONGEST_NOTE)),
            action: cut(&notice.action, LONGEST_ACTION),
            secondary: None,
        };
        bounded(self.recorder.publish(&event, &reference(kind, &metadata))).await
    }
}

/// The text, cut at a character boundary.
fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(longest - 3)])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let note = "ü".repeat(600);
        let cut = cut(&note, 1024);
        assert!(cut.len() <= 1024 && cut.ends_with("ü..."), "{}", cut.len());
    }
}
