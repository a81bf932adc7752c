//! After a write of the configuration: which pods have taken it up, and which are to be nudged again.
//!
//! Times: at once, then 3, 10 and 30 s after the write where a pod still reports another digest. (The pod's change may reach
//! the kubelet before the `ConfigMap`'s does; then the old file is mounted once more.) Pods are asked every 500 ms until all
//! have taken it up, for at most 30 s.

use std::{collections::BTreeMap, time::Duration};

use hedgerow_policy::time::Moment;

/// When to nudge, after the write.
const TIMES: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(3), Duration::from_secs(10), Duration::from_secs(30)];
/// How long pods are asked more often.
const WATCHED: Duration = Duration::from_secs(30);

/// One configuration on its way to the pods.
#[derive(Debug)]
pub(super) struct Rollout {
    digest: String,
    written: Moment,
    /// Digest that a pod reported last, by uid.
    reported: BTreeMap<String, String>,
    /// How often a pod was nudged, by uid.
    nudged: BTreeMap<String, usize>,
}

impl Rollout {
    /// A configuration that was written at `written`.
    pub(super) fn new(digest: &str, written: Moment) -> Self {
        Self { digest: digest.to_owned(), written, reported: BTreeMap::new(), nudged: BTreeMap::new() }
    }

    /// A pod reported a digest.
    pub(super) fn report(&mut self, uid: &str, digest: &str) {
        self.reported.insert(uid.to_owned(), digest.to_owned());
    }

    /// Whether a pod has it.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.reported.get(uid) == Some(&self.digest)
    }

    /// Whether to ask the pods often.
    pub(super) fn watched(&self, now: Moment) -> bool {
        now.since(self.written) < WATCHED
    }

    /// Whether there is nothing left to do: everybody has it, or every nudge is spent.
    pub(super) fn over<'a>(&self, mut pods: impl Iterator<Item = &'a str>, now: Moment) -> bool {
        let [.., last] = TIMES;
        now.since(self.written) > last + Duration::from_secs(5) || pods.all(|uid| self.has(uid))
    }

    /// Whether it is time to nudge a pod.
    pub(super) fn is_due(&self, uid: &str, now: Moment) -> bool {
        let times = self.nudged.get(uid).copied().unwrap_or(0);
        // A pod that was never heard of is probably starting, with the newest files.
        let earliest = if self.reported.contains_key(uid) { Duration::ZERO } else { TIMES[1] };
        let after = TIMES.get(times).map(|after| earliest.max(*after));
        !self.has(uid) && after.is_some_and(|after| now.since(self.written) >= after)
    }

    /// The value to nudge a pod with now, if it is time for that. Each is new, else nothing would change.
    pub(super) fn nudge(&mut self, uid: &str, now: Moment) -> Option<String> {
        if !self.is_due(uid, now) {
            return None;
        }
        let times = self.nudged.get(uid).copied().unwrap_or(0);
        self.nudged.insert(uid.to_owned(), times + 1);
        Some(if times == 0 { self.digest.clone() } else { format!("{}.{times}", self.digest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_nudged_at_the_documented_times_until_it_reports_the_digest() {
        let written = Moment::from_secs(1_000);
        let nudges = |known: bool| -> Vec<u64> {
            let mut rollout = Rollout::new("new", written);
            if known {
                rollout.report("a", "old");
            }
            let mut nudged =
                |after: &u64| rollout.nudge("a", written + Duration::from_secs(*after)).is_some();
            (0..60).filter(&mut nudged).collect()
        };
        assert_eq!(nudges(true), [0, 3, 10, 30]);
        assert_eq!(nudges(false), [3, 4, 10, 30], "it may only be starting");
        let mut rollout = Rollout::new("new", written);
        rollout.report("a", "old");
        assert_eq!(rollout.nudge("a", written).as_deref(), Some("new"));
        rollout.report("a", "old");
        assert_eq!(rollout.nudge("a", written + Duration::from_secs(3)).as_deref(), Some("new.1"));
        rollout.report("a", "new");
        assert_eq!(rollout.nudge("a", written + Duration::from_secs(10)), None);
        assert!(rollout.over(["a"].into_iter(), written) && !rollout.over(["a", "b"].into_iter(), written));
    }
}
