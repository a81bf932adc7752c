//! YAML as lint sees it: every value with its line and column, and every trap between YAML versions.
//!
//! Input: the text of one file. Output: one [`Node`] tree per document and the [`Problem`]s found while
//! reading. Files are read as YAML 1.2, but `kubectl` reads YAML 1.1, so a plain `Off` or `0755` means
//! something else there: such a scalar gets the value that `kubectl` would give it and an error that says so.
//!
//! Refuses: custom tags, merge keys, keys that are not scalars, documents with more than [`parse::MAX_NODES`] nodes
//! after expansion of aliases (an alias of aliases grows exponentially) or nested deeper than [`parse::MAX_DEPTH`].

mod node;
mod parse;
mod scalar;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use node::{Node, Path, Position};
pub(crate) use parse::parse;
pub(crate) use walk::traps;

#[cfg(doc)]
use super::finding::Problem;
