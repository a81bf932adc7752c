//! `resume` and `suspend`: holds by hand.

use std::{path::PathBuf, process::ExitCode, str::FromStr, time::Duration};

use anyhow::Context as _;
use clap::Args;
use hedgerow_crds::units::DurationText;
use jiff::Timestamp;

use super::say;
use crate::standalone::hold::{Request, request};

/// Arguments of `hedgerow resume`.
#[derive(Clone, Debug, Args)]
pub(super) struct ResumeArgs {
    /// The policy: `hp/NAME`.
    policy: PolicyName,

    /// The cohort, or `all`.
    cohort: String,

    /// The directory that standalone runs on.
    #[arg(long, value_name = "DIR")]
    config: PathBuf,
}

/// Arguments of `hedgerow suspend`.
#[derive(Clone, Debug, Args)]
pub(super) struct SuspendArgs {
    /// The policy: `hp/NAME`.
    policy: PolicyName,

    /// The cohort, or `all`.
    cohort: String,

    /// How long, for example 30m or 2h.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    duration: Duration,

    /// The directory that standalone runs on.
    #[arg(long, value_name = "DIR")]
    config: PathBuf,
}

/// A policy as `kubectl` names objects: with or without its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PolicyName(String);

impl FromStr for PolicyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = match text.split_once('/') {
            Some(("hp" | "hedgepolicy" | "hedgepolicies", name)) => name,
            Some((kind, _)) => return Err(format!("{kind} has no cohorts: write hp/NAME")),
            None => text,
        };
        if name.is_empty() || name.contains('/') {
            Err("write hp/NAME".to_owned())
        } else {
            Ok(Self(name.to_owned()))
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = DurationText::from(text).parse().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| format!("{text:?} is not a duration: write for example 30m or 2h"))
}

/// Asks the running standalone to let hedging back in.
pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    request(&args.config, &args.policy.0, &args.cohort, &Request::Resume { asked: now() })?;
    say(&format!("hp/{} {}: resume asked for\n", args.policy.0, args.cohort));
    Ok(ExitCode::SUCCESS)
}

/// Asks the running standalone to keep hedging off.
pub(super) fn suspend(args: &SuspendArgs) -> anyhow::Result<ExitCode> {
    let until = now().checked_add(args.duration).context("that is too long: time ends before it")?;
    request(&args.config, &args.policy.0, &args.cohort, &Request::Suspend { until })?;
    say(&format!("hp/{} {}: hedging stays off until {until:.0}\n", args.policy.0, args.cohort));
    Ok(ExitCode::SUCCESS)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command is a shell: the request carries the time at which it was made"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_named_as_kubectl_names_it() {
        for text in ["hp/chat", "hedgepolicy/chat", "hedgepolicies/chat", "chat"] {
            assert_eq!(text.parse(), Ok(PolicyName("chat".to_owned())));
        }
        for text in ["", "hp/", "pl/chat", "hp/a/b"] {
            assert!(text.parse::<PolicyName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_hold_lasts_as_long_as_it_says() {
        assert_eq!(duration("1h30m"), Ok(Duration::from_mins(90)));
        assert!(duration("0s").is_err() && duration("soon").is_err());
    }
}
