//! What the pods of a fleet say about one object.

use std::{collections::BTreeSet, time::Duration};

use hedgerow_config::{State, gateway::ObjectRef};
use hedgerow_crds::condition::Reason;
use hedgerow_policy::time::Moment;

/// A pod that is ready and was read for this long must run the present configuration.
const SETTLED: Duration = Duration::from_secs(15);

/// The pods of a fleet that should exist.
#[derive(Clone, Debug, Default)]
pub struct Pods<'a> {
    /// Each of them.
    pub members: Vec<Pod<'a>>,
    /// Digest of the configuration that they should run.
    pub digest: &'a str,
    /// Unix time.
    pub now: Moment,
    /// How many there should be; `None` = as many as there are.
    pub desired: Option<usize>,
    /// What keeps the configuration from pods, or pods from running.
    pub trouble: Option<Trouble>,
    /// Whether pods have to be replaced, and how far that is; `None` = they have not.
    pub roll: Option<Roll>,
}

/// How far the replacement of a fleet's pods is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roll {
    /// Pods of another fleet are being replaced, and one fleet rolls at a time.
    Waits,
    /// Not every pod is new.
    UnderWay,
}

impl Roll {
    /// What it means to whoever waits for it.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Waits => {
                "waits for its turn to replace its pods: one fleet rolls at a time, and another one does; the present \
                 pods serve until then"
            }
            Self::UnderWay => {
                "pods are being replaced one by one; the fleet is as it was asked for once no old one is left"
            }
        }
    }
}

/// Why something does not reach the pods that should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// One word.
    pub reason: Reason,
    /// A sentence that says what to do.
    pub message: String,
}

/// One pod.
#[derive(Clone, Debug)]
pub struct Pod<'a> {
    /// Name.
    pub name: &'a str,
    /// Its last reading, if that is of the present.
    pub state: Option<&'a State>,
    /// It is known not to run.
    pub gone: bool,
    /// When it was first read in this life.
    pub since: Moment,
    /// Names of the Secrets and `ConfigMap`s that it mounts; `None` = all that there are.
    pub mounts: Option<&'a BTreeSet<String>>,
}

/// Whether a fleet can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Enough of its pods can be asked.
    Clear,
    /// No pod runs, so there is nothing to see.
    Nothing,
    /// Too few of those that run can be asked.
    Blind,
}

/// How far an object has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// No pod is ready.
    NoReadyPods,
    /// No pod can be asked although they should run.
    Unread(Vec<String>),
    /// A pod refused the configuration that should be in force.
    Rejected { pod: String, message: String },
    /// These pods do not run it although they should.
    Behind(Vec<String>),
    /// All pods that count run it; `young` ones do not count yet, `unread` ones cannot be asked.
    Everywhere { pods: usize, young: Vec<String>, unread: Vec<String> },
}

impl<'a> Pods<'a> {
    /// States of the pods that can be asked and take traffic.
    pub fn ready(&self) -> impl Iterator<Item = &'a State> {
        self.members.iter().filter_map(|pod| pod.state).filter(|state| state.ready && !state.draining)
    }

    /// Whether any pod can be asked.
    pub fn any_read(&self) -> bool {
        self.members.iter().any(|pod| pod.state.is_some())
    }

    /// Pods that can be asked, and pods that should be.
    pub fn read(&self) -> (usize, usize) {
        let running = self.members.iter().filter(|pod| !pod.gone);
        (self.members.iter().filter(|pod| pod.state.is_some()).count(), running.count())
    }

    /// Whether at least half of the pods can be asked: less is too little to decide by.
    pub fn most_read(&self) -> bool {
        let (read, running) = self.read();
        read > 0 && 2 * read >= running
    }

    /// What can be seen of them.
    pub fn sight(&self) -> Sight {
        match self.read() {
            _ if self.most_read() => Sight::Clear,
            (_, 0) => Sight::Nothing,
            _ => Sight::Blind,
        }
    }

    /// Whether another pod takes the place of this one that mounts the Secret or `ConfigMap` of that name, as this does not.
    pub(super) fn is_to_mount(&self, pod: &Pod<'_>, name: &str) -> bool {
        self.roll.is_some() && pod.mounts.is_some_and(|mounts| !mounts.contains(name))
    }

    /// Pods that run the digest that they should.
    pub fn programmed(&self) -> usize {
        self.ready().filter(|state| state.digest == self.digest).count()
    }

    /// How far `object` has come at its generation. `None` is the fleet that nobody wrote: it is in force with whatever
    /// configuration the pods run.
    pub(super) fn progress(&self, object: Option<&ObjectRef>) -> Progress {
        let runs = |state: &State| match object {
            Some(object) => state.objects.contains(object),
            None => !state.digest.is_empty(),
        };
        let refused = self.members.iter().find_map(|pod| {
            let rejected = pod.state?.rejected.as_ref()?;
            (rejected.digest == self.digest)
                .then(|| Progress::Rejected { pod: pod.name.to_owned(), message: rejected.message.clone() })
        });
        if let Some(refused) = refused {
            return refused;
        }
        let (mut behind, mut young, mut unread, mut running) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for pod in &self.members {
            match pod.state {
                None if pod.gone => {}
                None => unread.push(pod.name.to_owned()),
                Some(state) if !state.ready || state.draining => {}
                Some(state) if runs(state) => running += 1,
                Some(_) if self.now.since(pod.since) < SETTLED => young.push(pod.name.to_owned()),
                Some(_) => behind.push(pod.name.to_owned()),
            }
        }
        if !unread.is_empty() && !self.any_read() {
            Progress::Unread(unread)
        } else if self.ready().next().is_none() {
            Progress::NoReadyPods
        } else if behind.is_empty() && running > 0 {
            Progress::Everywhere { pods: running, young, unread }
        } else {
            behind.extend(young);
            Progress::Behind(behind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::guardrail::fixture;

    #[test]
    fn half_of_the_pods_that_run_must_be_read_to_decide() {
        let state = fixture::state("a", Vec::new());
        let pod = |state, gone| Pod { name: "a", state, gone, since: Moment::ZERO, mounts: None };
        let (read, unread, gone) = (pod(Some(&state), false), pod(None, false), pod(None, true));
        for (members, enough) in [
            (vec![], false),
            (vec![unread.clone()], false),
            (vec![read.clone(), unread.clone()], true),
            (vec![read.clone(), unread.clone(), unread.clone()], false),
            (vec![read.clone(), gone.clone(), gone.clone()], true),
        ] {
            let pods = Pods { members, ..Pods::default() };
            assert_eq!(pods.most_read(), enough, "{:?}", pods.read());
            assert_eq!(pods.sight() == Sight::Nothing, pods.members.is_empty());
        }
    }
}
