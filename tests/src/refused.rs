//! The objects in `tests/crd` that must be refused, each with what is wrong with it.
//!
//! One file per mistake, `tests/crd/<kind>/<mistake>.yaml`. Its first lines are comments with the findings of
//! `hedgerow lint`, one a line: `# RULE [PATH]: MESSAGE`, where PATH is left out when the rule (`cel/PATH`) says it. The
//! same files are judged offline (target `crd`) and by a real API server (target `cluster`), so lint and server cannot
//! drift apart.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use hedgerow_crds::Kind;
use serde_json::Value;

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Rule of lint, such as `schema/maximum` or `cel/spec.delay.coldStart`.
    pub rule: String,
    /// Field, such as `spec.cohorts[0].name`; empty for the object as a whole.
    pub path: String,
    /// Words of lint; for `cel/*` those of the API server too.
    pub message: String,
}

/// One file.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The file, relative to `tests/crd`.
    pub file: PathBuf,
    /// The kind that it claims to be.
    pub kind: Kind,
    /// Its text, comments included.
    pub text: String,
    /// What is wrong, in the order of the text.
    pub expected: Vec<Expected>,
}

impl Refused {
    /// The object as JSON.
    ///
    /// # Errors
    /// When the text is not YAML.
    pub fn object(&self) -> Result<Value> {
        serde_saphyr::from_str(&self.text).with_context(|| self.file.display().to_string())
    }
}

/// All files, by name.
///
/// # Errors
/// When the folder cannot be read, a file has no expectation, or a comment is not of the form above.
pub fn all() -> Result<Vec<Refused>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crd");
    let mut all = Vec::new();
    for kind in fs::read_dir(&root).context("tests/crd")? {
        for file in fs::read_dir(kind?.path())? {
            all.push(read(&root, &file?.path())?);
        }
    }
    all.sort_by(|a, b| a.file.cmp(&b.file));
    ensure!(!all.is_empty(), "tests/crd is empty: the tests would prove nothing");
    Ok(all)
}

fn read(root: &Path, path: &Path) -> Result<Refused> {
    let text = fs::read_to_string(path)?;
    let file = path.strip_prefix(root)?.to_owned();
    let comments = text.lines().map_while(|line| line.strip_prefix("# "));
    let expected = comments
        .map(|line| expectation(line).with_context(|| format!("{}: {line}", file.display())))
        .collect::<Result<Vec<_>>>()?;
    ensure!(!expected.is_empty(), "{}: the first line must say what is wrong", file.display());
    let kind = text.lines().find_map(|line| line.strip_prefix("kind: ")).context("no kind")?.parse()?;
    Ok(Refused { file, kind, text, expected })
}

fn expectation(line: &str) -> Result<Expected> {
    let (place, message) = line.split_once(": ").context("write RULE [PATH]: MESSAGE")?;
    let (rule, path) = match place.split_once(' ') {
        Some(pair) => pair,
        None => (place, place.strip_prefix("cel/").unwrap_or_default()),
    };
    Ok(Expected { rule: rule.to_owned(), path: path.to_owned(), message: message.to_owned() })
}
