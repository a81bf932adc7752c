//! The binary: allocator, crypto provider, arguments.

use std::process::ExitCode;

use clap::Parser as _;
use hedgerow::cli::{self, Args};

/// As in `hedgerow-gateway`: the gateway also runs as `hedgerow gateway`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    // Once per process and before the first TLS connection. Failing means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::run(args)
}
