//! Holds by hand: what the annotations of a policy want for one cohort.
//!
//! `hedgerow.dev/suspend.<cohort>: <until, RFC 3339>` keeps hedging off until then; `hedgerow.dev/resume.<cohort>: <any new
//! value>` lets it back in now; `.all` is for every cohort. Both are copied into status, so that the annotation may vanish. A
//! suspend annotation that is still there and still in the future wins over a resume: whoever resumes removes it
//! (`hedgerow resume` does).

use std::collections::BTreeMap;

use hedgerow_crds::{ALL_COHORTS, ANNOTATION_RESUME_PREFIX as RESUME, ANNOTATION_SUSPEND_PREFIX as SUSPEND};
use hedgerow_policy::time::Moment;
use jiff::Timestamp;

use crate::domain::figure;

/// What is wanted by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Until when hedging is held off; the latest of the annotations that are valid.
    pub hold: Option<Moment>,
    /// Value of the resume annotations; another one than the last handled is a new wish.
    pub resume: Option<String>,
    /// Annotations that cannot be read, in words.
    pub unreadable: Vec<String>,
}

/// What is asked for by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Let hedging back in now. The time tells one request from the next.
    Resume {
        /// When it was asked.
        asked: Timestamp,
    },
    /// Keep hedging off.
    Suspend {
        /// Until then.
        until: Timestamp,
    },
}

impl Request {
    /// What becomes of a policy's annotations: the one to set, and the names of those to remove. Whoever resumes also ends
    /// the hold, and the other way round; `all` stands for each cohort.
    pub fn change<'a>(
        &self,
        annotations: &'a BTreeMap<String, String>,
        cohort: &str,
    ) -> ((String, String), Vec<&'a str>) {
        let (prefix, value, ended) = match self {
            Self::Resume { asked } => (RESUME, asked.to_string(), SUSPEND),
            Self::Suspend { until } => (SUSPEND, until.to_string(), RESUME),
        };
        let concerned = |name: &&str| {
            name.strip_prefix(ended).is_some_and(|whose| whose == cohort || cohort == ALL_COHORTS)
        };
        let removed = annotations.keys().map(String::as_str).filter(concerned).collect();
        ((format!("{prefix}{cohort}"), value), removed)
    }
}

/// Reads the annotations that concern `cohort`.
pub fn wanted(annotations: &BTreeMap<String, String>, cohort: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for name in [cohort, ALL_COHORTS] {
        if let Some(value) = annotations.get(&format!("{SUSPEND}{name}")) {
            match value.trim().parse::<Timestamp>() {
                Ok(until) => wanted.hold = wanted.hold.max(Some(figure::moment(until))),
                Err(_) => wanted.unreadable.push(format!(
                    "annotation {SUSPEND}{name}: {value:?} is not a time such as 2026-11-29T14:00:00Z; hedging goes on"
                )),
            }
        }
        if let Some(value) = annotations.get(&format!("{RESUME}{name}")) {
            // Of the form `own|all`, so that a new value of either is a new wish.
            wanted.resume = Some(match wanted.resume {
                Some(own) => format!("{own}|{value}"),
                None => value.clone(),
            });
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (format!("hedgerow.dev/{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn the_latest_hold_counts_and_other_cohorts_do_not() {
        let wanted = wanted(
            &annotations(&[
                ("suspend.chat", "2026-11-29T10:00:00Z"),
                ("suspend.all", "2026-11-29T12:00:00+01:00"),
                ("suspend.json", "2027-01-01T00:00:00Z"),
            ]),
            "chat",
        );
        assert_eq!(figure::clock(wanted.hold.unwrap()), "11:00:00 UTC");
        assert_eq!(wanted.resume, None);
    }

    #[test]
    fn a_new_value_of_either_resume_is_a_new_wish() {
        let one = wanted(&annotations(&[("resume.chat", "1")]), "chat").resume;
        let both = wanted(&annotations(&[("resume.chat", "1"), ("resume.all", "7")]), "chat").resume;
        assert_eq!((one.as_deref(), both.as_deref()), (Some("1"), Some("1|7")));
    }

    #[test]
    fn a_time_that_is_none_is_said_and_holds_nothing() {
        let wanted = wanted(&annotations(&[("suspend.chat", "2h")]), "chat");
        assert_eq!(wanted.hold, None);
        assert!(wanted.unreadable[0].contains("suspend.chat"), "{:?}", wanted.unreadable);
    }
}
