//! The program as a process of its own for tests that kill it or use it as people do, built with them:
//! `CARGO_BIN_EXE_test-hedgerow`.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    hedgerow::cli::run(hedgerow::cli::Args::parse())
}
