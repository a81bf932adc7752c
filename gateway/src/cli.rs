//! The command line of a gateway process, and the process itself: one runtime, one gateway, until it is asked to leave.

use std::{net::SocketAddr, path::PathBuf, thread, time::Duration};

use anyhow::Context as _;
use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use crate::{
    app::{App, Options},
    drain,
    front::server::Limits,
    telemetry::log::{self, Format},
};

/// Threads for file reads; the default of 512 is for other programs.
const BLOCKING_THREADS: usize = 4;
const BLOCKING_KEEP: Duration = Duration::from_secs(2);

/// Serves LLM requests as `gateway.json` says.
#[derive(Clone, Debug, Parser)]
#[command(name = "hedgerow-gateway", version)]
pub struct Args {
    /// Directory that holds gateway.json and fleet.json.
    #[arg(long, value_name = "DIR")]
    pub config: PathBuf,

    /// Directory that holds credentials as `<secret>/<key>` files. Default: `secrets` in the configuration directory.
    #[arg(long, value_name = "DIR")]
    pub secrets: Option<PathBuf>,

    /// Address for traffic, HTTP/1.1 and h2c. Port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,

    /// Address for health, metrics and /state.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9090")]
    pub admin: SocketAddr,

    /// Share the traffic port with other processes (SO_REUSEPORT).
    #[arg(long)]
    pub reuse_port: bool,

    /// Identity of this process in /state.
    #[arg(long, value_name = "UID", env = "POD_UID", default_value = "local")]
    pub pod_uid: String,

    /// Threads that serve requests. Default: the processors available.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,

    /// Leave when stdin ends, so that no process outlives the one that started it.
    #[arg(long)]
    pub until_stdin_closes: bool,

    /// Write no records to stdout.
    #[arg(long)]
    pub no_records: bool,

    /// Form of the log lines on stderr.
    #[arg(long, value_enum, default_value_t, env = "HEDGEROW_LOG_FORMAT")]
    pub log_format: Format,

    /// Which log lines, in the form of RUST_LOG.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "HEDGEROW_LOG")]
    pub log: String,
}

impl Args {
    /// Where credentials are.
    pub fn secrets(&self) -> PathBuf {
        self.secrets.clone().unwrap_or_else(|| self.config.join("secrets"))
    }
}

/// Runs a gateway until SIGTERM, SIGINT or, if asked for, the end of stdin.
///
/// # Errors
/// A port is in use, or the process lacks something that it cannot do without.
pub fn run(args: Args) -> anyhow::Result<()> {
    log::init(args.log_format, &args.log);
    let runtime = runtime(args.workers).context("cannot start threads")?;
    let outcome = runtime.block_on(serve(args));
    // A read of stdin cannot be cancelled; nothing else is left to wait for.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: Args) -> anyhow::Result<()> {
    let until_stdin_closes = args.until_stdin_closes;
    let mut running = App::start(options(args)).await?;
    tracing::info!(traffic = %running.address, admin = %running.admin_address, "started");
    let haste = tokio::select! {
        haste = drain::asked(until_stdin_closes) => haste.context("cannot listen for signals")?,
        failed = running.failed() => return Ok(failed?),
    };
    running.shutdown(haste).await;
    Ok(())
}

fn options(args: Args) -> Options {
    Options {
        secrets: args.secrets(),
        config: args.config,
        listen: args.listen,
        admin: args.admin,
        reuse_port: args.reuse_port,
        pod_uid: args.pod_uid,
        records: !args.no_records,
        limits: Limits::default(),
    }
}

/// One worker needs no work stealing: the current-thread scheduler costs 7 % less per request.
fn runtime(workers: Option<u16>) -> std::io::Result<Runtime> {
    let workers = workers.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let mut builder = if workers == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder
        .worker_threads(workers)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(BLOCKING_KEEP)
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_needs_only_the_directory() {
        Args::command().debug_assert();
        let args = Args::parse_from(["hedgerow-gateway", "--config", "/etc/hedgerow"]);
        assert_eq!(args.secrets(), PathBuf::from("/etc/hedgerow/secrets"));
        assert_eq!(args.listen.port(), 8080);
    }
}
