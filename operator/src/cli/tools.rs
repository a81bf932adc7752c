//! `lint`, `render`, `crds` and `init`: the commands that only read and write files.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use hedgerow_crds::generate;

use super::{code, print, say};
use crate::{
    domain::{Installation, Objects},
    init::{self, Outcome},
    lint::{self, Finding, files::Found, report},
    render::{self, Part, Presumed},
    runtime::settings::{Settings, SettingsError},
};

/// Arguments of commands that take files.
#[derive(Clone, Debug, Args)]
pub(super) struct FilesArgs {
    /// YAML files; a directory stands for all of its YAML, `-` for standard input.
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
}

/// Arguments of `hedgerow render`.
#[derive(Clone, Debug, Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    files: FilesArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Print the compiled configuration only, or the Kubernetes objects only.
    #[arg(long, value_name = "PART")]
    only: Option<OnlyPart>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnlyPart {
    Config,
    Children,
}

/// Arguments of `hedgerow lint`.
#[derive(Clone, Debug, Args)]
pub(super) struct LintArgs {
    #[command(flatten)]
    files: FilesArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// An array of findings for programs.
    #[arg(long)]
    json: bool,
}

/// Under which operator the files would be.
#[derive(Clone, Debug, Args)]
struct SettingsArgs {
    /// Settings of an operator, the file of its own --config: its image, defaults and limits apply. Default: those of no
    /// installation in particular, which withholds nothing.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

impl SettingsArgs {
    fn presumed(&self) -> Result<Presumed, SettingsError> {
        let Some(path) = &self.settings else { return Ok(Presumed::default()) };
        let settings = Settings::read(path)?;
        Ok(Presumed { installation: settings.installation, image: settings.image })
    }
}

/// Arguments of `hedgerow init`.
#[derive(Clone, Debug, Args)]
pub(super) struct InitArgs {
    /// Where to write; files that exist stay as they are.
    #[arg(default_value = "hedgerow", value_name = "DIR")]
    directory: PathBuf,
}

/// All that the files of a command line are and are not.
struct Checked {
    files: Vec<lint::File>,
    findings: Vec<Finding>,
}

impl Checked {
    fn of(found: Found) -> Self {
        Self::under(&Installation::permissive(), found)
    }

    fn under(installation: &Installation, found: Found) -> Self {
        let files: Vec<_> = found.sources.iter().map(lint::read).collect();
        let mut findings = found.findings;
        findings.extend(files.iter().flat_map(|file| file.findings.iter().cloned()));
        let all: Vec<_> = files.iter().collect();
        findings.extend(lint::cross_under(installation, &all, found.secrets.as_ref()));
        lint::sort(&mut findings);
        Self { files, findings }
    }

    fn good(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }

    fn report(&self) -> String {
        let objects = self.files.iter().map(|file| file.objects).sum();
        report::text(&self.findings, self.files.len(), objects)
    }
}

/// Prints what is wrong with some files.
pub(super) fn lint(args: &LintArgs) -> anyhow::Result<ExitCode> {
    let presumed = args.settings.presumed()?;
    let checked = Checked::under(&presumed.installation, lint::files::find(&args.files.files));
    let text = if args.json { report::json(&checked.findings) } else { checked.report() };
    print(&text)?;
    Ok(code(checked.good()))
}

/// Prints what the objects in some files compile to; objects with errors are left out, as the operator does it.
pub(super) fn render(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let presumed = args.settings.presumed()?;
    let only = args.only.map(|part| match part {
        OnlyPart::Config => Part::Config,
        OnlyPart::Children => Part::Children,
    });
    let checked = Checked::under(&presumed.installation, lint::files::find(&args.files.files));
    let files: Vec<_> = checked.files.iter().collect();
    let objects: Objects = lint::select(&files).into_iter().collect();
    print(&render::text(&objects, &presumed, only)?)?;
    if !checked.good() {
        say(&checked.report());
    }
    Ok(code(checked.good()))
}

/// Prints the CRDs.
pub(super) fn crds() -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for (_, crd) in generate::files() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd)?);
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the first YAML.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let plan = init::plan(&environment)?;
    for (path, outcome) in init::write(&plan, &args.directory)? {
        let path = path.display();
        say(&match outcome {
            Outcome::Written => format!("wrote {path}\n"),
            Outcome::Kept => format!("kept  {path}\n"),
            Outcome::KeptOther(variable) => {
                format!("kept  {path} (differs from {variable}; delete it to replace it)\n")
            }
        });
    }
    let checked = Checked::of(lint::files::find(std::slice::from_ref(&args.directory)));
    if !checked.findings.is_empty() {
        say(&format!("\n{}", checked.report()));
    }
    say(&next_steps(&args.directory, &plan.providers));
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::disallowed_methods, reason = "a command is a shell: this is where the environment is read")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn next_steps(directory: &Path, providers: &[&str]) -> String {
    let directory = directory.display();
    let speaks = |anthropic: bool| providers.iter().any(|provider| (*provider == "anthropic") == anthropic);
    let mut exports = String::new();
    for (anthropic, export) in [
        (false, "OPENAI_BASE_URL=http://127.0.0.1:8080/v1"),
        (true, "ANTHROPIC_BASE_URL=http://127.0.0.1:8080"),
    ] {
        if speaks(anthropic) {
            exports = exports + "  export " + export + "\n";
        }
    }
    format!(
        "\nNext:\n  hedgerow lint {directory}\n  hedgerow standalone --config {directory}\n{exports}\
         The policy observes: it counts what hedging would do and sends nothing until chat.yaml says mode: Enforce.\n"
    )
}
