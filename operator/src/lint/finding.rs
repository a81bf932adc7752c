//! One thing that lint has to say.

use std::fmt;

use serde::Serialize;

use super::yaml::Position;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file must not be applied: the API server or the operator would refuse the object.
    Error,
    /// It works, but probably not as meant.
    Warning,
}

impl Severity {
    /// The word in the output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One finding, in the form of `hedgerow lint --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// File as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How bad it is.
    pub severity: Severity,
    /// Kind of the object; empty when it is not known.
    pub kind: String,
    /// Name of the object; empty when it is not known.
    pub name: String,
    /// Path of the field as the API server writes it, for example `spec.delay.min`; empty for the whole object.
    pub path: String,
    /// Group and rule, for example `cel/spec.delay.coldStart` or `yaml/duplicate-key`. Groups: `yaml`, `schema`, `cel`, `cross`.
    pub rule: String,
    /// What is wrong and what to change.
    pub message: String,
}

impl Finding {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `Kind/name`, or less where less is known.
    pub(crate) fn object(&self) -> String {
        match (self.kind.as_str(), self.name.as_str()) {
            ("", _) => String::new(),
            (kind, "") => kind.to_owned(),
            (kind, name) => format!("{kind}/{name}"),
        }
    }

    /// Field and message as people read them.
    pub(crate) fn sentence(&self) -> String {
        if self.path.is_empty() || self.message.starts_with(&self.path) {
            self.message.clone()
        } else {
            format!("{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, severity, .. } = self;
        write!(f, "{file}:{line}:{column}: {}: ", severity.as_str())?;
        match self.object() {
            object if object.is_empty() => {}
            object => write!(f, "{object}: ")?,
        }
        f.write_str(&self.sentence())
    }
}

/// A finding before its file and object are known.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Place.
    pub(crate) at: Position,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// Path of the field.
    pub(crate) path: String,
    /// Group and rule.
    pub(crate) rule: String,
    /// What is wrong and what to change.
    pub(crate) message: String,
}

impl Problem {
    /// An error.
    pub(crate) fn error(
        at: Position,
        rule: impl Into<String>,
        path: &(impl ToString + ?Sized),
        message: impl Into<String>,
    ) -> Self {
        Self {
            at,
            severity: Severity::Error,
            path: path.to_string(),
            rule: rule.into(),
            message: message.into(),
        }
    }

    /// The finding in a file about an object.
    pub(crate) fn of(self, file: &str, kind: &str, name: &str) -> Finding {
        Finding {
            file: file.to_owned(),
            line: self.at.line,
            column: self.at.column,
            severity: self.severity,
            kind: kind.to_owned(),
            name: name.to_owned(),
            path: self.path,
            rule: self.rule,
            message: self.message,
        }
    }
}
