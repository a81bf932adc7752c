//! `check`: whether an operator does its work, as `helm test` asks.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::Builder;

use super::{hold::duration, print};
use crate::cluster;

/// Arguments of `hedgerow check`.
#[derive(Clone, Debug, Args)]
pub(super) struct CheckArgs {
    /// A namespace that the operator watches; a PriorityLane is created and deleted in it.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: String,

    /// Longest wait for the operator's report.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,
}

/// Asks once.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let thread = Builder::new_current_thread().enable_all().build().context("cannot start a thread")?;
    let said = thread.block_on(async {
        let client = cluster::connect().await?;
        anyhow::Ok(cluster::check(client, &args.namespace, args.timeout).await?)
    })?;
    print(&format!("the operator works: {said}\n"))?;
    Ok(ExitCode::SUCCESS)
}
