//! The binary: allocator, crypto provider, arguments.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;
use hedgerow::cli::{self, Args};

/// As in `hedgerow-gateway`: the gateway also runs as `hedgerow gateway`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    // Once per process and before the first TLS connection. Failing means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::run(args).unwrap_or_else(|error| {
        // The chain of causes without a backtrace: this is for people, and what they can do is in the message.
        let _ = writeln!(io::stderr().lock(), "hedgerow: {error:#}");
        ExitCode::FAILURE
    })
}
