//! The slim binary: only a gateway.

use clap::Parser as _;
use hedgerow_gateway::cli::Args;

/// Streams live for minutes and are small: jemalloc keeps them dense where glibc's arenas grow
/// (24.6 against 28.8 KB per held stream). Its settings are in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<()> {
    hedgerow_gateway::run(Args::parse())
}
