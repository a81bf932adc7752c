//! The hygiene of the tree: what a reviewer would otherwise have to check by eye on every change.

mod dependencies;
mod names;
mod readme;
mod size;
mod tree;
