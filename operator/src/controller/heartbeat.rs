//! When `fleet.json` is worth a write: it is not on the way of any decision, so it waits.
//!
//! Written 10 s after the number of ready pods changed; when a figure moved by 20 %, at most once a minute; else as a
//! heartbeat, every min(5 min, a third of the smallest `blind.after`). Where `blind.after` is under 10 min the kubelet's own
//! minute would be too late, so pods are nudged. Before pods are replaced it is written at once, for those that start then.

use std::time::Duration;

use hedgerow_config::FleetFile;
use hedgerow_crds::v1alpha1::HedgePolicySpec;
use hedgerow_policy::time::Moment;

/// Longest pause between two heartbeats.
const LONGEST: Duration = Duration::from_mins(5);
/// A change of the number of ready pods is waited out for this long: most come in twos.
const SETTLE: Duration = Duration::from_secs(10);
/// Shortest pause between writes for the sake of figures.
const FIGURES: Duration = Duration::from_mins(1);
/// Change of a figure that is worth a write, in percent.
const MOVED_PERCENT: u64 = 20;
/// Below this `blind.after` pods are nudged.
const NUDGED_BELOW: Duration = Duration::from_mins(10);

/// The last `fleet.json`.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    written: Option<FleetFile>,
    /// Since when the number of ready pods has been another one.
    other: Option<Moment>,
}

/// How soon pods must hear from us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    /// Pause between two heartbeats.
    pub(super) every: Duration,
    /// Whether the kubelet must be told to look.
    pub(super) nudged: bool,
}

impl Rhythm {
    /// What the policies of a fleet ask for.
    pub(super) fn of<'a>(policies: impl Iterator<Item = &'a HedgePolicySpec>) -> Self {
        let shortest = policies.filter_map(|spec| spec.guardrails.blind.after.parse()).min();
        Self {
            every: shortest.map_or(LONGEST, |after| (after / 3).min(LONGEST)),
            nudged: shortest.is_some_and(|after| after < NUDGED_BELOW),
        }
    }
}

impl Heartbeat {
    /// Whether nothing was written by this process.
    pub(super) fn is_new(&self) -> bool {
        self.written.is_none()
    }

    /// Goes on from the file of an earlier process.
    pub(super) fn resume(&mut self, stored: Option<FleetFile>) {
        self.written = stored;
    }

    /// Bytes of the last one.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        self.written.as_ref().map(FleetFile::write)
    }

    /// Takes the file as it would be now; true where it is to be written.
    pub(super) fn beat(&mut self, file: FleetFile, rhythm: Rhythm, now: Moment) -> bool {
        if self.due(&file, rhythm, now) {
            self.written = Some(file);
            self.other = None;
            return true;
        }
        false
    }

    /// Takes the file before pods are replaced; true where it is to be written. One that is younger than [`SETTLE`] serves:
    /// what follows may have to be tried more than once.
    pub(super) fn before_a_roll(&mut self, file: FleetFile) -> bool {
        let now = Moment::from_millis(file.heartbeat_unix_ms);
        let written = self.written.as_ref().map(|before| Moment::from_millis(before.heartbeat_unix_ms));
        if written.is_some_and(|written| now.since(written) < SETTLE) {
            return false;
        }
        self.written = Some(file);
        self.other = None;
        true
    }

    fn due(&mut self, file: &FleetFile, rhythm: Rhythm, now: Moment) -> bool {
        let Some(before) = &self.written else { return true };
        let age = now.since(Moment::from_millis(before.heartbeat_unix_ms));
        if before.ready_replicas == file.ready_replicas {
            self.other = None;
        } else if now.since(*self.other.get_or_insert(now)) >= SETTLE {
            return true;
        }
        age >= rhythm.every || (age >= FIGURES && moved(before, file))
    }
}

fn moved(before: &FleetFile, file: &FleetFile) -> bool {
    file.lanes.iter().any(|(name, lane)| {
        before.lanes.get(name).is_none_or(|old| {
            apart(old.limit.into(), lane.limit.into())
                || apart(old.baseline_per_mille.into(), lane.baseline_per_mille.into())
        })
    })
}

fn apart(old: u64, new: u64) -> bool {
    old.abs_diff(new) * 100 >= old.max(1) * MOVED_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use hedgerow_config::fleet_file::{LaneMean, SCHEMA};
    use std::collections::BTreeMap;

    fn file(ready: u32, limit: u32, at: u64) -> FleetFile {
        let mean = LaneMean { limit, baseline_per_mille: 0, at_unix_ms: at * 1_000 };
        FleetFile {
            schema: SCHEMA.to_owned(),
            ready_replicas: ready,
            heartbeat_unix_ms: at * 1_000,
            lanes: BTreeMap::from([("chat".to_owned(), mean)]),
            cells: Vec::new(),
        }
    }

    #[test]
    fn it_is_written_for_ready_pods_for_moved_figures_and_as_a_heartbeat() {
        let rhythm = Rhythm { every: LONGEST, nudged: false };
        let mut heartbeat = Heartbeat::default();
        let mut beat =
            |ready, limit, at: u64| heartbeat.beat(file(ready, limit, at), rhythm, Moment::from_secs(at));
        assert!(beat(2, 100, 1_000), "the first one");
        assert!(!beat(2, 119, 1_059) && !beat(2, 119, 1_060), "a figure moved a little");
        assert!(beat(2, 120, 1_061), "by 20 %");
        assert!(!beat(2, 200, 1_100), "within a minute");
        assert!(!beat(1, 120, 1_101) && !beat(1, 120, 1_110), "a pod is away");
        assert!(beat(1, 120, 1_111), "for ten seconds");
        assert!(!beat(1, 120, 1_410) && beat(1, 120, 1_411), "five minutes later");
    }

    #[test]
    fn it_is_written_once_before_pods_are_replaced() {
        let mut heartbeat = Heartbeat::default();
        assert!(heartbeat.before_a_roll(file(2, 100, 1_000)), "there was none");
        assert!(!heartbeat.before_a_roll(file(2, 100, 1_002)), "the roll is tried again");
        assert!(heartbeat.before_a_roll(file(2, 101, 1_010)), "another roll");
    }

    #[test]
    fn a_short_blind_time_quickens_the_heartbeat() {
        let spec = |after: &str| -> HedgePolicySpec {
            serde_json::from_value(serde_json::json!({
                "cohorts": [{ "name": "a" }], "guardrails": { "blind": { "after": after } },
            }))
            .unwrap()
        };
        let (slow, fast) = (spec("30m"), spec("30s"));
        assert_eq!(Rhythm::of([&slow].into_iter()), Rhythm { every: LONGEST, nudged: false });
        let quick = Rhythm { every: Duration::from_secs(10), nudged: true };
        assert_eq!(Rhythm::of([&slow, &fast].into_iter()), quick);
    }
}
