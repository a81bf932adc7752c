//! What schema and CEL cannot say about one object, and what one object may not do to the others of its fleet.
//!
//! Input: objects that the API server (or lint) has accepted. Output: problems, each with the path of the field and
//! a sentence that says what to change. An object with a problem is left out of the configuration; the rest runs.

mod matches;
mod route;

pub use matches::{lane, policy};
pub use route::{boundaries, route};

/// Why an object cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path of the field, for example `spec.match.headers`.
    pub path: String,
    /// What is wrong and what to change.
    pub message: String,
}

impl Invalid {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Header names that differ only in case: HTTP knows one of them.
fn repeated_headers<'a>(path: &str, names: impl Iterator<Item = &'a String>) -> Vec<Invalid> {
    let mut seen = std::collections::BTreeMap::new();
    names
        .filter_map(|name| {
            let first = seen.insert(name.to_ascii_lowercase(), name)?;
            Some(Invalid::new(path, format!("{first} and {name} are the same header: remove one of them")))
        })
        .collect()
}
