//! The gateway as a process of its own for tests of `standalone`, which is built with them: `CARGO_BIN_EXE_test-gateway`.

use clap::Parser as _;

fn main() -> anyhow::Result<()> {
    hedgerow_gateway::run(hedgerow_gateway::cli::Args::parse())
}
