//! A value with its place in the file, and paths to it.

use std::{fmt, iter};

use serde_json::Value;

use super::scalar::Scalar;

/// A place in a file; both numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Line.
    pub(crate) line: u32,
    /// Column in characters.
    pub(crate) column: u32,
}

impl Position {
    /// The first character of a file.
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// One YAML value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where it starts.
    pub(crate) at: Position,
    /// What it is.
    pub(crate) content: Content,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Text, number, boolean or null.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping in written order, duplicate keys included.
    Map(Vec<Entry>),
}

/// One key of a mapping with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Where the key starts.
    pub(crate) at: Position,
    /// The key as text, as JSON needs it.
    pub(crate) key: String,
    /// How the key would be read by YAML 1.1, where that is not its text.
    pub(crate) trap: Option<String>,
    /// The value.
    pub(crate) value: Node,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a mapping.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// A path from the root of a document, shown as the API server shows it: `spec.cohorts[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl Path {
    /// The path one key further.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self(self.0.iter().cloned().chain(iter::once(Step::Key(key.to_owned()))).collect())
    }

    /// The path one item further.
    pub(crate) fn index(&self, index: usize) -> Self {
        Self(self.0.iter().cloned().chain(iter::once(Step::Index(index))).collect())
    }

    /// Reads the form that is shown. A part in brackets is an index if it is a number, else a key
    /// (`headers[x.team]`).
    pub(crate) fn parse(text: &str) -> Self {
        let (mut steps, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            if let Some((inside, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
                steps.push(
                    inside
                        .parse()
                        .map_or_else(|_| Step::Key(inside.trim_matches(['"', '\'']).to_owned()), Step::Index),
                );
                rest = after;
            } else {
                let field = rest.strip_prefix('.').unwrap_or(rest);
                let end = field.find(['.', '[']).filter(|end| *end > 0).unwrap_or(field.len());
                if end > 0 {
                    steps.push(Step::Key(field[..end].to_owned()));
                }
                rest = &field[end..];
            }
        }
        Self(steps)
    }

    /// Reads a JSON pointer (RFC 6901) into `root`, whose lists decide which parts are indices.
    pub(crate) fn from_pointer(pointer: &str, root: &Value) -> Self {
        let (mut path, mut value) = (Self::default(), Some(root));
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            if let (Some(Value::Array(items)), Ok(index)) = (value, part.parse::<usize>()) {
                path.0.push(Step::Index(index));
                value = items.get(index);
            } else {
                value = value.and_then(|value| value.get(&part));
                path.0.push(Step::Key(part));
            }
        }
        path
    }

    /// Whether this path is `other` or lies below it.
    pub(crate) fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if key.contains(['.', '/', '[']) => write!(f, "[{key}]")?,
                Step::Key(key) if place == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Node {
    /// The value as JSON; the first of duplicate keys counts.
    pub(crate) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Map(entries) => {
                let mut map = serde_json::Map::new();
                for entry in entries {
                    map.entry(&entry.key).or_insert_with(|| entry.value.value());
                }
                Value::Object(map)
            }
        }
    }

    /// Where a path leads to: the key of a field, the start of an item. For what is not there, the place of
    /// the nearest thing above it.
    pub(crate) fn locate(&self, path: &Path) -> Position {
        let (mut node, mut at) = (self, self.at);
        for step in &path.0 {
            let next = match (step, &node.content) {
                (Step::Key(key), Content::Map(entries)) => {
                    entries.iter().find(|entry| entry.key == *key).map(|entry| (&entry.value, entry.at))
                }
                (Step::Index(index), Content::List(items)) => items.get(*index).map(|item| (item, item.at)),
                _ => None,
            };
            let Some(next) = next else { break };
            (node, at) = next;
        }
        at
    }

    /// The number of nodes in this tree.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.content {
            Content::Scalar(_) => 0,
            Content::List(items) => items.iter().map(Self::size).sum::<usize>(),
            Content::Map(entries) => entries.iter().map(|entry| entry.value.size()).sum(),
        }
    }
}
