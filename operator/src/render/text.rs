//! What the operator would write for some objects, as YAML documents to read and to diff.
//!
//! Input: the objects of one or more namespaces, and what the installation decides for all of them. Output for each fleet:
//! one document with the compiled `gateway.json`, every default applied, under a head of comments with digest, size and
//! the verdict on every object; then the child objects in the order in which they are applied. Invariant: equal objects
//! give equal bytes, in whatever order they come; there is no time and no machine in the text. Decisions are those of
//! cohorts that have just been created: what guardrails have decided since is in status, not in files. For the same
//! reason children have no owner and `fleet.json` is left out. Objects of files that name no namespace have none here.

use std::fmt::Write as _;

use hedgerow_config::digest::{digest, short};
use serde_json::Value;

use super::{
    Mounts, Reach,
    children::{self, Identity, Image, Plan, TooLarge},
};
use crate::domain::{
    Acceptance, Compiled, Installation, LOCAL, Latches, Objects, Snapshot, Verdict, compile,
};

/// Half of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The compiled configuration.
    Config,
    /// The child objects.
    Children,
}

/// What an installation decides for all fleets.
#[derive(Clone, Debug)]
pub struct Presumed {
    /// What fleets are subject to.
    pub installation: Installation,
    /// Image of the gateways.
    pub image: Image,
}

/// An installation that decides nothing, and the image of this version.
impl Default for Presumed {
    fn default() -> Self {
        Self { installation: Installation::permissive(), image: Image::default() }
    }
}

/// A fleet cannot be written down.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Not as YAML.
    #[error("fleet {fleet}: {source}")]
    Yaml {
        /// The fleet.
        fleet: String,
        /// Why.
        source: serde_saphyr::ser::Error,
    },
    /// Its configuration does not fit: the operator would keep the last good one.
    #[error("fleet {fleet}: ConfigTooLarge: {source}")]
    TooLarge {
        /// The fleet.
        fleet: String,
        /// By how much.
        source: TooLarge,
    },
}

/// All fleets of some objects; both parts unless one is asked for.
///
/// # Errors
/// A fleet cannot be written down.
pub fn text(objects: &Objects, presumed: &Presumed, only: Option<Part>) -> Result<String, RenderError> {
    let mut text = String::new();
    for snapshot in objects.snapshots() {
        let snapshot = presumed.installation.govern(snapshot);
        let compiled = compile(&snapshot, &Latches::new());
        let yaml = |source| RenderError::Yaml { fleet: snapshot.fleet.clone(), source };
        if only != Some(Part::Children) {
            let body = serde_saphyr::to_string(&compiled.config).map_err(yaml)?;
            let _ = write!(text, "---\n{}{body}", head(&snapshot, &compiled));
        }
        // A fleet comes to be with its first route, or when somebody writes one.
        if only != Some(Part::Config) && (snapshot.settings.is_some() || !snapshot.routes.is_empty()) {
            for object in objects_of(&snapshot, &compiled, &presumed.image)? {
                let _ = write!(text, "---\n{}", serde_saphyr::to_string(&object).map_err(yaml)?);
            }
        }
    }
    Ok(text)
}

/// The child objects of a fleet.
fn objects_of(snapshot: &Snapshot, compiled: &Compiled, image: &Image) -> Result<Vec<Value>, RenderError> {
    let identity =
        Identity { namespace: snapshot.namespace.clone(), fleet: snapshot.fleet.clone(), owner: None };
    let spec = snapshot.spec();
    let children = children::children(&Plan {
        identity: &identity,
        spec,
        image,
        mounts: &Mounts::of(snapshot),
        reach: &Reach::of(&compiled.config, spec),
        config: &compiled.config.write(),
        fleet_file: None,
        history: None,
    })
    .map_err(|source| RenderError::TooLarge { fleet: snapshot.fleet.clone(), source })?;
    let placed = |mut object: Value| {
        if snapshot.namespace == LOCAL
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
        object
    };
    Ok(children.into_iter().map(|child| placed(child.object)).collect())
}

/// Comments above a fleet.
fn head(snapshot: &Snapshot, compiled: &Compiled) -> String {
    let bytes = compiled.config.write();
    let mut text = format!(
        "# gateway.json of fleet {}/{}: digest {}, {} bytes; routes: {}, cohorts: {}, lanes: {}\n",
        snapshot.namespace,
        snapshot.fleet,
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
