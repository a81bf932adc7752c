//! Conditions that several kinds share.

use std::fmt::Write as _;

use hedgerow_config::gateway::ObjectRef;
use hedgerow_crds::condition::{self, Condition, ConditionStatus, ConditionType, Observation, Reason};
use jiff::Timestamp;

use super::pods::{Pods, Progress};
use crate::domain::Verdict;

/// What is to be said about one condition.
pub(super) struct Said {
    pub(super) status: ConditionStatus,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Said {
    pub(super) fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::True, reason, message: message.into() }
    }

    pub(super) fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::False, reason, message: message.into() }
    }

    pub(super) fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::Unknown, reason, message: message.into() }
    }
}

/// `Accepted`: what the compiler said.
pub(super) fn accepted(verdict: &Verdict) -> Said {
    if verdict.accepted() && verdict.message.is_empty() {
        Said::yes(verdict.reason, "every field of it can be used")
    } else if verdict.accepted() {
        Said::yes(verdict.reason, verdict.message.clone())
    } else {
        Said::no(verdict.reason, verdict.message.clone())
    }
}

/// `Programmed`: whether the pods run this generation. Pods that cannot be read for a while change nothing of `before`.
pub(super) fn programmed(
    before: &[Condition],
    verdict: &Verdict,
    object: Option<&ObjectRef>,
    pods: &Pods<'_>,
) -> Said {
    if !verdict.accepted() {
        return Said::no(Reason::Reconciling, "not in force, because it was not accepted");
    }
    if let Some((reason, message)) = &verdict.not_programmed {
        return Said::no(*reason, message.clone());
    }
    let trouble = || pods.trouble.clone().map(|trouble| Said::no(trouble.reason, trouble.message));
    match pods.progress(object) {
        Progress::NoReadyPods => {
            trouble().unwrap_or_else(|| Said::no(Reason::NoReadyPods, "no gateway is ready"))
        }
        Progress::Unread(names) => kept(before, ConditionType::Programmed, verdict.generation)
            .unwrap_or_else(|| {
                Said::no(Reason::NoReadyPods, format!("{} cannot be read yet", listed(&names)))
            }),
        Progress::Rejected { pod, message } => {
            Said::no(Reason::Rejected, format!("{pod} refused the configuration: {message}"))
        }
        Progress::Behind(names) => trouble().unwrap_or_else(|| {
            Said::no(Reason::Reconciling, format!("{} {} yet to take it up", listed(&names), have(&names)))
        }),
        Progress::Everywhere { pods, young, unread } => {
            let mut message = format!("in force in {}", ready_gateways(pods));
            for (names, what) in [(young, "just started"), (unread, "cannot be read")] {
                if !names.is_empty() {
                    let _ = write!(message, "; {} {what}", listed(&names));
                }
            }
            Said::yes(Reason::Programmed, message)
        }
    }
}

/// What was said of this generation before.
pub(super) fn kept(before: &[Condition], type_: ConditionType, generation: i64) -> Option<Said> {
    let old = condition::find(before, type_)?;
    if old.observed_generation != Some(generation) {
        return None;
    }
    let (status, reason) = (ConditionStatus::parse(&old.status)?, Reason::parse(&old.reason)?);
    Some(Said { status, reason, message: old.message.clone() })
}

/// Sets all conditions of an object, then `Ready` (the first failing one of `needed`), `Reconciling` and `Stalled`.
///
/// `said` is in the order of the documentation; the types in `aside` do not count for `Ready`.
pub(super) fn set_all(
    conditions: &mut Vec<Condition>,
    said: Vec<(ConditionType, Said)>,
    aside: &[ConditionType],
    generation: i64,
    now: Timestamp,
) {
    let failing = said
        .iter()
        .find(|(type_, said)| !aside.contains(type_) && said.status != ConditionStatus::True)
        .map(|(_, said)| (said.status, said.reason, said.message.clone()));
    let reconciling = said
        .iter()
        .any(|(type_, said)| *type_ == ConditionType::Programmed && said.reason == Reason::Reconciling)
        && !failing.as_ref().is_some_and(|(_, reason, _)| reason.stalls());
    let mut set = |type_, said: Said| {
        let Said { status, reason, message } = said;
        let observed = Observation { type_, status, reason, message, observed_generation: generation };
        condition::set(conditions, observed, now);
    };
    for (type_, said) in said {
        set(type_, said);
    }
    let stalled = failing.as_ref().filter(|(_, reason, _)| reason.stalls()).cloned();
    set(
        ConditionType::Ready,
        match failing.clone() {
            // Unknown is not ready, but it is not broken either.
            Some((status, reason, message)) => Said { status, reason, message },
            None => Said::yes(Reason::Ready, "in force, and nothing keeps it from working"),
        },
    );
    if let Some((_, reason, message)) = &stalled {
        set(ConditionType::Stalled, Said::yes(*reason, message.clone()));
    }
    if reconciling && let Some((_, reason, message)) = &failing {
        set(ConditionType::Reconciling, Said::yes(*reason, message.clone()));
    }
    if stalled.is_none() {
        condition::remove(conditions, ConditionType::Stalled);
    }
    if !reconciling {
        condition::remove(conditions, ConditionType::Reconciling);
    }
}

/// `1 ready gateway`, `3 ready gateways`.
pub(super) fn ready_gateways(count: usize) -> String {
    format!("{count} ready {}", if count == 1 { "gateway" } else { "gateways" })
}

/// At most three names, then how many more.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
        [] => "no gateway".to_owned(),
    }
}

fn have(names: &[String]) -> &'static str {
    if names.len() == 1 { "has" } else { "have" }
}
