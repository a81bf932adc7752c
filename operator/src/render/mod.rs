//! What the operator would write for some objects, as YAML documents to read and to diff.
//!
//! Input: the objects of one or more namespaces. Output: one document per fleet, the compiled `gateway.json` with every
//! default applied, under a head of comments with digest, size and the verdict on every object. Invariant: equal objects
//! give equal bytes, in whatever order they come; there is no time and no machine in the text. Decisions are those of
//! cohorts that have just been created: what guardrails have decided since is in status, not in files.

pub mod children;
mod mounts;
mod reach;

pub use mounts::Mounts;
pub use reach::Reach;

use std::fmt::Write as _;

use hedgerow_config::digest::{digest, short};

use crate::domain::{Acceptance, Compiled, Latches, Objects, Verdict, compile};

/// The compiled configuration could not be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("fleet {fleet}: {source}")]
pub struct RenderError {
    /// The fleet.
    fleet: String,
    /// Why.
    source: serde_saphyr::ser::Error,
}

/// All fleets of some objects.
pub fn render(objects: &Objects) -> Result<String, RenderError> {
    let mut text = String::new();
    for snapshot in objects.snapshots() {
        let compiled = compile(&snapshot, &Latches::new());
        let body = serde_saphyr::to_string(&compiled.config)
            .map_err(|source| RenderError { fleet: snapshot.fleet.clone(), source })?;
        let _ = write!(text, "---\n{}{body}", head(&snapshot.namespace, &snapshot.fleet, &compiled));
    }
    Ok(text)
}

/// Comments above a fleet.
fn head(namespace: &str, fleet: &str, compiled: &Compiled) -> String {
    let bytes = compiled.config.write();
    let mut text = format!(
        "# gateway.json of fleet {namespace}/{fleet}: digest {}, {} bytes; routes: {}, cohorts: {}, lanes: {}\n",
        short(&digest(&bytes)),
        bytes.len(),
        compiled.config.routes.len(),
        compiled.config.cohorts.len(),
        compiled.config.lanes.len(),
    );
    for verdict in &compiled.verdicts {
        let _ = writeln!(text, "# {}", line(verdict));
    }
    text
}

/// One object in one line.
fn line(verdict: &Verdict) -> String {
    let accepted = if verdict.acceptance == Acceptance::No { "False" } else { "True" };
    let mut line = format!("{}/{}: Accepted={accepted}/{}", verdict.kind, verdict.name, verdict.reason);
    if !verdict.message.is_empty() {
        let _ = write!(line, " ({})", single_line(&verdict.message));
    }
    if let Some((reason, message)) = &verdict.not_programmed {
        let _ = write!(line, ", Programmed=False/{reason} ({})", single_line(message));
    }
    line
}

/// A comment ends with its line.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
