//! The command line of `hedgerow replay`: arguments in, text and whether all held out. Prints nothing itself.

use std::{
    fmt::Write as _,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use anyhow::Context as _;

use super::{
    conduct, report, scenario,
    whatif::{self, Given, Progress, whatif},
};

/// Arguments of `hedgerow replay`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Scenario, or the beginning of its name; `all` for every one.
    #[arg(required_unless_present_any = ["list", "from"], value_name = "SCENARIO")]
    scenario: Option<String>,

    /// Instead of a scenario: your own attempts, as JSON lines of a gateway or as CSV with the columns time, route,
    /// first_token_ms, total_ms, input_tokens, output_tokens, status and if you like model, stream, cohort; also in gzip.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "list"])]
    from: Option<PathBuf>,

    /// With --from: YAML of your HedgePolicy, for bounds and guardrails, and of your ProviderRoutes, for prices.
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "from")]
    policy: Vec<PathBuf>,

    /// Print the scenarios, one a line.
    #[arg(long)]
    list: bool,

    /// Seeds per arm; figures are medians over them.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,

    /// Threads; the result does not depend on it. Default: as many as there are processors.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// For programs: an array of scenarios, or with --from one object.
    #[arg(long)]
    json: bool,

    /// Also write one HTML page with pictures.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    /// Files of a policy and of routes.
    pub fn policy(&self) -> &[PathBuf] {
        &self.policy
    }
}

/// Does what the arguments ask for. `false` = an acceptance number does not hold. `tell` hears how far the reading of a
/// file is.
///
/// # Errors
/// There is no such scenario, a file is of no use, or the page cannot be written.
pub fn command(
    args: &Args,
    given: &Given,
    tell: &mut dyn FnMut(&Progress),
) -> anyhow::Result<(String, bool)> {
    if let Some(from) = &args.from {
        return Ok((own_traffic(args, from, given, tell)?, true));
    }
    if args.list {
        let mut text = String::new();
        for scenario in scenario::ALL {
            let _ = writeln!(text, "{:<24} {}", scenario.name, scenario.about);
        }
        return Ok((text, true));
    }
    let name = args.scenario.as_deref().unwrap_or_default();
    let found = scenario::find(name);
    anyhow::ensure!(!found.is_empty(), "no scenario is called {name}: see hedgerow replay --list");
    let threads = args
        .threads
        .map_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get), NonZeroUsize::get);
    let done: Vec<_> =
        found.into_iter().map(|scenario| (scenario, conduct(scenario, args.seeds, threads))).collect();
    let good = done.iter().all(|(_, results)| results.good());
    let text = if args.json {
        let list = done.iter().map(|(scenario, results)| report::json(scenario, results)).collect();
        format!("{:#}\n", serde_json::Value::Array(list))
    } else {
        done.iter().map(|(scenario, results)| report::text(scenario, results, args.seeds)).collect()
    };
    write_page(args, || report::html(&done, args.seeds))?;
    Ok((text, good))
}

fn own_traffic(
    args: &Args,
    from: &Path,
    given: &Given,
    tell: &mut dyn FnMut(&Progress),
) -> anyhow::Result<String> {
    let answer = whatif(from, given, tell)?;
    write_page(args, || whatif::report::html(&answer))?;
    Ok(if args.json {
        format!("{:#}\n", whatif::report::json(&answer))
    } else {
        whatif::report::text(&answer)
    })
}

fn write_page(args: &Args, page: impl FnOnce() -> String) -> anyhow::Result<()> {
    let Some(path) = &args.html else { return Ok(()) };
    fs::write(path, page()).with_context(|| format!("cannot write {}", path.display()))
}
