//! `replay`: the shipped policy in virtual time.

use std::process::ExitCode;

use super::{code, print, progress::Bar};
use crate::{
    domain::Objects,
    lint,
    replay::{Args, command, whatif::Given},
};

/// Runs scenarios, or one's own traffic, and prints what came out.
pub(super) fn replay(args: &Args) -> anyhow::Result<ExitCode> {
    let given = given(args)?;
    let mut bar = Bar::new();
    let done = command(args, &given, &mut |progress| bar.show(progress));
    // Before anything else is written, be it the answer or an error.
    drop(bar);
    let (text, good) = done?;
    print(&text)?;
    Ok(code(good))
}

/// What the user's YAML says; objects with errors are left out, as the operator does it, and that is an error here.
fn given(args: &Args) -> anyhow::Result<Given> {
    if args.policy().is_empty() {
        return Ok(Given::default());
    }
    let found = lint::files::find(args.policy());
    let files: Vec<_> = found.sources.iter().map(lint::read).collect();
    let errors = found.findings.iter().chain(files.iter().flat_map(|file| &file.findings));
    let wrong = errors.filter(|finding| finding.is_error()).count();
    anyhow::ensure!(wrong == 0, "{wrong} errors in the files of --policy: see hedgerow lint");
    let files: Vec<_> = files.iter().collect();
    let objects: Objects = lint::select(&files).into_iter().collect();
    Given::of(&objects).map_err(anyhow::Error::msg)
}
