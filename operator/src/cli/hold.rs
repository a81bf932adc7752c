//! `resume` and `suspend`: holds by hand.

use std::{path::PathBuf, process::ExitCode, str::FromStr, time::Duration};

use anyhow::Context as _;
use clap::Args;
use hedgerow_crds::units::DurationText;
use jiff::Timestamp;
use tokio::runtime::Builder;

use super::say;
use crate::{cluster, domain::guardrail::Request, standalone::hold::request};

/// Arguments of `hedgerow resume`.
#[derive(Clone, Debug, Args)]
pub(super) struct ResumeArgs {
    /// The policy: `hp/NAME`.
    policy: PolicyName,

    /// The cohort, or `all`.
    cohort: String,

    #[command(flatten)]
    place: Place,
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

    #[command(flatten)]
    place: Place,
}

/// Where the policy is.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// The namespace of the policy, in the cluster of the kubeconfig.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// The directory that standalone runs on.
    #[arg(long, value_name = "DIR")]
    config: Option<PathBuf>,
}

impl Place {
    /// Leaves a request there; the answer is what there is to add about when it takes effect.
    fn ask(&self, policy: &PolicyName, cohort: &str, asked: &Request) -> anyhow::Result<String> {
        let mut note = String::new();
        if let Some(directory) = &self.config
            && !request(directory, &policy.0, cohort, asked)?
        {
            note = format!(" (written; takes effect when standalone runs on {})", directory.display());
        }
        if let Some(namespace) = &self.namespace {
            let thread =
                Builder::new_current_thread().enable_all().build().context("cannot start a thread")?;
            thread.block_on(async {
                let client = cluster::connect().await?;
                anyhow::Ok(cluster::hold(client, namespace, &policy.0, cohort, asked).await?)
            })?;
        }
        Ok(note)
    }
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

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration = DurationText::from(text).parse().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| format!("{text:?} is not a duration: write for example 30m or 2h"))
}

/// Asks whoever runs the policy to let hedging back in.
pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    let note = args.place.ask(&args.policy, &args.cohort, &Request::Resume { asked: now() })?;
    say(&format!("hp/{} {}: resume asked for{note}\n", args.policy.0, args.cohort));
    Ok(ExitCode::SUCCESS)
}

/// Asks whoever runs the policy to keep hedging off.
pub(super) fn suspend(args: &SuspendArgs) -> anyhow::Result<ExitCode> {
    let until = now().checked_add(args.duration).context("that is too long: time ends before it")?;
    let note = args.place.ask(&args.policy, &args.cohort, &Request::Suspend { until })?;
    say(&format!("hp/{} {}: hedging stays off until {until:.0}{note}\n", args.policy.0, args.cohort));
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
