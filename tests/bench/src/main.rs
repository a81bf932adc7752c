//! What the side-by-side runner `tests/bench/run` starts beside the gateway: an upstream that costs little, the smallest
//! proxy in the same stack, and a driver; and the micro-benchmarks.
//!
//! The scripted providers of `hedgerow-sim` read every prompt and plan every answer, which costs more than the gateway:
//! beside them a proxy would never be busy. This upstream reads and forgets.

mod clock;
mod drive;
mod floor;
mod micro;
mod upstream;

use clap::Parser;

/// Parts of the benchmarks.
#[derive(Debug, Parser)]
enum Command {
    /// Serve answers that cost little.
    Upstream(upstream::Args),
    /// The smallest proxy on hyper: what any gateway in this stack has to pay.
    Floor(floor::Args),
    /// Send requests and print what they took.
    Drive(drive::Args),
    /// Run one micro-benchmark a number of times, or list all.
    Micro(micro::Args),
}

fn main() -> anyhow::Result<()> {
    // One thread each: the runner gives the proxy a core, and everything else shares the other.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match Command::parse() {
        Command::Upstream(args) => runtime.block_on(upstream::serve(args)),
        Command::Floor(args) => runtime.block_on(floor::serve(args)),
        Command::Drive(args) => runtime.block_on(drive::drive(args)),
        Command::Micro(args) => micro::run(&args),
    }
}
