//! The commands of the binary: arguments in, an exit code out.
//!
//! Here, in `main` and in the shells of I/O are the only places that read the environment and the clock. Commands that
//! serve get a runtime; the others need none. Exit codes: 0 = done, 1 = the command says no (an error in a file, a promise
//! of the demo that did not hold) or failed, 2 = the arguments make no sense.

mod check;
mod hold;
mod operator;
mod progress;
mod replay;
mod serve;
mod tools;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

/// Hedges, sheds and books LLM requests as its resources say.
#[derive(Clone, Debug, Parser)]
#[command(name = "hedgerow", version, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Run the controller in a cluster: gateways, configuration, guardrails and statuses as the resources say.
    Operator(operator::OperatorArgs),
    /// Run gateways on a directory of YAML, with the decisions of the operator, as local processes.
    Standalone(serve::StandaloneArgs),
    /// Show it all in about a minute: scripted providers, traffic, hedges, a guardrail that trips and recovers.
    Demo(crate::demo::Args),
    /// Show what the shipped policy makes of incidents and ordinary days, in virtual time, next to other systems' rules.
    Replay(crate::replay::Args),
    /// Say what the API server and the operator would say about files.
    Lint(tools::LintArgs),
    /// Print the compiled configuration of every fleet and its Kubernetes objects as YAML.
    Render(tools::RenderArgs),
    /// Print the CustomResourceDefinitions.
    Crds,
    /// Write the first YAML from the provider keys in the environment.
    Init(tools::InitArgs),
    /// Let hedging of a cohort back in now.
    Resume(hold::ResumeArgs),
    /// Keep hedging of a cohort off for some time.
    Suspend(hold::SuspendArgs),
    /// Say whether the operator of a cluster does its work, as helm test asks.
    Check(check::CheckArgs),
    /// Run one gateway, as standalone and demo start it.
    Gateway(hedgerow_gateway::cli::Args),
}

/// Runs one command.
///
/// # Errors
/// The command could not do its work; the message says what to do.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Operator(args) => operator::operator(args),
        Command::Standalone(args) => serve::standalone(args),
        Command::Demo(args) => serve::demo(args),
        Command::Replay(args) => replay::replay(&args),
        Command::Lint(args) => tools::lint(&args),
        Command::Render(args) => tools::render(&args),
        Command::Crds => tools::crds(),
        Command::Init(args) => tools::init(&args),
        Command::Resume(args) => hold::resume(&args),
        Command::Suspend(args) => hold::suspend(&args),
        Command::Check(args) => check::check(&args),
        Command::Gateway(args) => hedgerow_gateway::run(args).map(|()| ExitCode::SUCCESS),
    }
}

/// 0 or 1.
fn code(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes to standard output. A reader that went away (`| head`) is no error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Writes to standard error, where nothing can be done about a failure.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_explains_itself_and_tells_its_version() {
        for command in Args::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            let asked = Args::try_parse_from(["hedgerow", name, "-V"]).unwrap_err();
            assert_eq!(asked.kind(), clap::error::ErrorKind::DisplayVersion, "{name}");
        }
    }
}
