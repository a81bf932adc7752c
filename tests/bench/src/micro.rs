//! One micro-benchmark from the command line, a number of times; what counts its instructions is around it.

use anyhow::{Context as _, ensure};
use hedgerow_bench::cases::CASES;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which; without it, all names, one a line.
    name: Option<String>,
    /// How often.
    #[arg(long, default_value_t = 1)]
    times: u64,
}

/// Runs it, or tells the names.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let Some(name) = &args.name else {
        let names: Vec<_> = CASES.iter().map(|(name, _)| *name).collect();
        let mut out = std::io::stdout().lock();
        return Ok(std::io::Write::write_all(&mut out, (names.join("\n") + "\n").as_bytes())?);
    };
    ensure!(args.times > 0, "at least once");
    let (_, run) =
        CASES.iter().find(|(known, _)| known == name).with_context(|| format!("no case `{name}`"))?;
    run(args.times);
    Ok(())
}
