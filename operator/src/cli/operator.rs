//! `operator`: the controller, in a cluster.

use std::{
    io::{self, IsTerminal as _},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::runtime::{self, Options};

/// Arguments of `hedgerow operator`.
#[derive(Clone, Debug, Args)]
pub(super) struct OperatorArgs {
    /// Settings of the installation, YAML, as the chart writes them. Default: built-in settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where /livez, /readyz and /metrics are.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8081")]
    listen: SocketAddr,

    /// Name of this process among its replicas.
    #[arg(long, env = "POD_NAME", value_name = "NAME", default_value = "hedgerow-operator-local")]
    identity: String,

    /// Namespace of the Lease. Default: the namespace of the client.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// What is logged, such as info or hedgerow=debug.
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,

    /// How logs look on standard error.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    log_format: LogFormat,
}

/// Off unless asked for by name: the client logs every call that fails, and whoever made the call says so once.
const SAID_ALREADY: &str = "kube_client::client::builder=off";

/// How logs look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Runs the controller until it is told to end.
pub(super) fn operator(args: OperatorArgs) -> anyhow::Result<ExitCode> {
    log_to_stderr(&args.log, args.log_format)?;
    let options = Options {
        config: args.config,
        listen: args.listen,
        identity: args.identity,
        namespace: args.namespace,
    };
    let threads = Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    threads.block_on(runtime::run(options))?;
    Ok(ExitCode::SUCCESS)
}

fn log_to_stderr(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(format!("{SAID_ALREADY},{filter}"))
        .with_context(|| format!("--log {filter:?} is no filter"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).init(),
    }
    Ok(())
}
