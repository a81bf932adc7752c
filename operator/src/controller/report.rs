//! Statuses of a fleet's objects: what is due, and what was written last.
//!
//! What people and machines act on is written at once; figures at most once a minute for each object, at a minute of its own,
//! and through the pace of the whole operator. The status before is the one written last, or a newer one of the API server.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use hedgerow_crds::{
    Kind,
    v1alpha1::{GatewayFleetStatus, HedgePolicyStatus, PriorityLaneStatus, ProviderRouteStatus},
};
use hedgerow_policy::time::Moment;
use serde::Serialize;

use crate::{
    cluster::is_newer,
    status::{Decisive, due},
};

/// Figures of one object are written this often at most.
const FIGURES_EVERY: Duration = Duration::from_mins(1);

/// A status of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Status {
    /// Of a route.
    Route(ProviderRouteStatus),
    /// Of a policy.
    Policy(HedgePolicyStatus),
    /// Of a lane.
    Lane(PriorityLaneStatus),
    /// Of the fleet.
    Fleet(GatewayFleetStatus),
}

impl Decisive for Status {
    fn decisive(&self) -> Self {
        match self {
            Self::Route(status) => Self::Route(status.decisive()),
            Self::Policy(status) => Self::Policy(status.decisive()),
            Self::Lane(status) => Self::Lane(status.decisive()),
            Self::Fleet(status) => Self::Fleet(status.decisive()),
        }
    }
}

/// An object with the status that the API server has.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) uid: String,
    /// `metadata.resourceVersion`.
    pub(super) version: String,
    pub(super) status: Status,
}

/// A status as it was written last.
#[derive(Clone, Debug)]
struct Kept {
    uid: String,
    version: String,
    status: Status,
    at: Moment,
}

/// The statuses of one fleet's objects.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<(Kind, String), Kept>);

/// A status to write.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) object: Present,
    pub(super) status: Status,
    /// It must not wait.
    pub(super) decisive: bool,
}

impl Ledger {
    /// The status before, and the version of the object that it belongs to. `present` is what the watch shows.
    pub(super) fn before(&mut self, mut present: Present, now: Moment) -> Present {
        let key = (present.kind, present.name.clone());
        match self.0.get_mut(&key) {
            Some(kept) if kept.uid == present.uid && !is_newer(&present.version, &kept.version) => {
                present.version.clone_from(&kept.version);
                present.status = kept.status.clone();
            }
            Some(kept) if kept.uid == present.uid => {
                kept.version.clone_from(&present.version);
                kept.status = present.status.clone();
            }
            _ => {
                let kept = Kept {
                    uid: present.uid.clone(),
                    version: present.version.clone(),
                    status: present.status.clone(),
                    at: phase(&present, now),
                };
                self.0.insert(key, kept);
            }
        }
        present
    }

    /// What was known before `present`: the status as last read or written, if that is older. Of an object that was never
    /// read, what is there is all that is known.
    pub(super) fn known<'a>(&'a self, present: &'a Present) -> Option<&'a Status> {
        match self.0.get(&(present.kind, present.name.clone())) {
            Some(kept) if kept.uid == present.uid => {
                is_newer(&present.version, &kept.version).then_some(&kept.status)
            }
            _ => Some(&present.status),
        }
    }

    /// Whether `new` is to be written over what [`Ledger::before`] gave.
    pub(super) fn due(&self, before: Present, new: Status, now: Moment) -> Option<Due> {
        let at = self.0.get(&(before.kind, before.name.clone())).map_or(Moment::ZERO, |kept| kept.at);
        if !due(Some((&before.status, at)), &new, FIGURES_EVERY, now) {
            return None;
        }
        let decisive = before.status.decisive() != new.decisive();
        Some(Due { object: before, status: new, decisive })
    }

    /// It was written; the object has that version now.
    pub(super) fn written(&mut self, due: Due, version: String, now: Moment) {
        let Present { kind, name, uid, .. } = due.object;
        self.0.insert((kind, name), Kept { uid, version, status: due.status, at: now });
    }

    /// What the watch shows of an object counts from now on, whatever was written.
    pub(super) fn forget(&mut self, kind: Kind, name: &str) {
        self.0.remove(&(kind, name.to_owned()));
    }

    /// Forgets objects that are gone.
    pub(super) fn keep_only(&mut self, kept: impl Fn(Kind, &str) -> bool) {
        self.0.retain(|(kind, name), _| kept(*kind, name));
    }
}

/// A time within the last minute that only depends on the object, so that figures of many objects do not come at once.
fn phase(object: &Present, now: Moment) -> Moment {
    let mut hasher = DefaultHasher::new();
    object.uid.hash(&mut hasher);
    now - Duration::from_millis(hasher.finish() % 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_000);

    fn present(version: &str, generation: i64) -> Present {
        let status = PriorityLaneStatus { observed_generation: Some(generation), ..Default::default() };
        Present {
            kind: Kind::PriorityLane,
            name: "batch".into(),
            uid: "u".into(),
            version: version.into(),
            status: Status::Lane(status),
        }
    }

    #[test]
    fn a_watch_that_lags_behind_does_not_cause_a_second_write() {
        let mut ledger = Ledger::default();
        let before = ledger.before(present("5", -1), NOW);
        let new = present("5", 1).status;
        let due = ledger.due(before, new.clone(), NOW).unwrap();
        assert!(due.decisive);
        ledger.written(due, "7".into(), NOW);
        let before = ledger.before(present("5", -1), NOW);
        assert_eq!((before.version.as_str(), &before.status), ("7", &new));
        assert!(ledger.due(before, new, NOW).is_none());
    }

    #[test]
    fn what_somebody_else_wrote_is_put_right() {
        let mut ledger = Ledger::default();
        let before = ledger.before(present("5", -1), NOW);
        let new = present("5", 1).status;
        let due = ledger.due(before, new.clone(), NOW).unwrap();
        ledger.written(due, "7".into(), NOW);
        let before = ledger.before(present("8", -1), NOW);
        assert!(ledger.due(before, new, NOW).is_some_and(|due| due.object.version == "8"));
    }

    #[test]
    fn what_somebody_else_wrote_is_told_from_what_was_known_once() {
        let mut ledger = Ledger::default();
        let (first, newer) = (present("5", 1), present("8", 2));
        assert_eq!(ledger.known(&first), Some(&first.status), "never read");
        ledger.before(first.clone(), NOW);
        assert_eq!(ledger.known(&first), None);
        assert_eq!(ledger.known(&newer), Some(&first.status));
        ledger.before(newer.clone(), NOW);
        assert_eq!((ledger.known(&newer), ledger.known(&first)), (None, None), "a watch that lags behind");
        let anew = Present { uid: "v".into(), ..present("9", 1) };
        assert_eq!(ledger.known(&anew), Some(&anew.status));
    }

    #[test]
    fn an_object_that_was_made_anew_starts_anew() {
        let mut ledger = Ledger::default();
        let before = ledger.before(present("5", 1), NOW);
        assert!(ledger.due(before, present("5", 1).status, NOW).is_none(), "it is right already");
        let other = Present { uid: "v".into(), ..present("9", -1) };
        let before = ledger.before(other, NOW);
        assert!(ledger.due(before, present("9", 1).status, NOW).is_some());
    }
}
