//! Events: what people see under `kubectl describe`, one for each transition.
//!
//! The recorder of the client library counts an Event up instead of writing a new one when type, reason, action and object
//! are the same, and then keeps the first text. So the action is different for each transition that people should read.
//! It also names an Event after its object, with a dot and the time in hexadecimal: for an object whose name leaves no room
//! for that the Event is written here.

use hedgerow_config::digest::digest;
use hedgerow_crds::{API_VERSION, Kind};
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Written},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::PostParams,
    core::ObjectMeta,
    runtime::events::{Event, EventType, Recorder, Reporter},
};

use super::call::{CallError, bounded};
use crate::{
    domain::{Notice, figure},
    runtime::clock,
};

/// Longest note in bytes that the API server takes.
const LONGEST_NOTE: usize = 1024;
/// Longest action in bytes.
const LONGEST_ACTION: usize = 128;
/// Longest name of an object whose Events the recorder can name: an Event's name has 253 characters too, and nanoseconds
/// since 1970 have 16 hexadecimal digits for the next 500 years.
const LONGEST_NAME: usize = 253 - 17;

/// Writes Events.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
    client: Client,
    reporter: Reporter,
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
        Self { recorder: Recorder::new(client.clone(), reporter.clone()), client, reporter }
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
        let object = reference(kind, &metadata);
        if name.len() <= LONGEST_NAME {
            return bounded(self.recorder.publish(&event, &object)).await;
        }
        let api: Api<Written> = Api::namespaced(self.client.clone(), namespace);
        let written = self.written(event, object, name);
        bounded(api.create(&PostParams::default(), &written)).await.map(drop)
    }

    /// An Event about an object with a long name, as the recorder would write it.
    fn written(&self, event: Event, object: ObjectReference, name: &str) -> Written {
        let now = clock::now();
        let hash = digest(format!("{name} {} {} {}", event.reason, event.action, now.as_millis()).as_bytes());
        Written {
            metadata: ObjectMeta {
                namespace: object.namespace.clone(),
                name: Some(short_name(name, &hash)),
                ..ObjectMeta::default()
            },
            action: Some(event.action),
            reason: Some(event.reason),
            note: event.note,
            type_: Some(
                if matches!(event.type_, EventType::Warning) { "Warning" } else { "Normal" }.to_owned(),
            ),
            event_time: Some(MicroTime(figure::timestamp(now))),
            regarding: Some(object),
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: self.reporter.instance.clone(),
            ..Written::default()
        }
    }
}

/// A name for an Event: what fits of the object's, and a hash.
fn short_name(name: &str, hash: &str) -> String {
    let kept = &name[..name.floor_char_boundary(LONGEST_NAME)];
    format!("{}.{}", kept.trim_end_matches(['.', '-']), &hash[..16])
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
    use super::*;

    #[test]
    fn an_event_about_an_object_with_the_longest_name_has_a_name_that_fits() {
        let hash = digest(b"x");
        let name = short_name(&format!("{}-.{}", "a".repeat(LONGEST_NAME - 2), "b".repeat(17)), &hash);
        assert_eq!(name.len(), LONGEST_NAME - 2 + 17);
        assert!(name.starts_with("aaa") && name.ends_with(&format!("a.{}", &hash[..16])), "{name}");
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let note = "ü".repeat(600);
        let cut = cut(&note, 1024);
        assert!(cut.len() <= 1024 && cut.ends_with("ü..."), "{}", cut.len());
    }
}
