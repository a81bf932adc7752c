//! Names say what a thing is; places where everything ends up have no name and are not allowed.

use crate::tree;

/// Module names that say nothing.
const NAMELESS: [&str; 8] = ["utils", "util", "helpers", "helper", "common", "manager", "misc", "shared"];

#[test]
fn no_module_has_a_name_that_says_nothing() {
    let bad: Vec<_> = tree::files(&[".rs"])
        .into_iter()
        .filter(|path| path.trim_end_matches(".rs").split('/').any(|part| NAMELESS.contains(&part)))
        .collect();
    assert!(bad.is_empty(), "name these after what they hold: {bad:?}");
}

/// Sibling tests belong to the module that they test, whose documentation they share.
#[test]
fn every_rust_file_opens_with_module_documentation() {
    let bare: Vec<_> = tree::files(&[".rs"])
        .into_iter()
        .filter(|path| !path.ends_with("/tests.rs") && !path.ends_with("_tests.rs"))
        .filter(|path| {
            let text = tree::text(path);
            let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
            !first.is_some_and(|line| line.starts_with("//!"))
        })
        .collect();
    assert!(bare.is_empty(), "say why these exist: {bare:?}");
}

#[test]
fn nothing_unfinished_is_in_the_tree() {
    // Written in two halves so that this file does not find itself.
    let marks = [
        ["to", "do!("].concat(),
        ["unimple", "mented!("].concat(),
        ["FIX", "ME"].concat(),
        ["#[ig", "nore"].concat(),
    ];
    let found: Vec<_> = tree::files(&[".rs", ".sh", ".py", ".mjs"])
        .into_iter()
        .filter(|path| {
            let text = tree::text(path);
            marks.iter().any(|mark| text.contains(mark.as_str()))
        })
        .collect();
    assert!(found.is_empty(), "finish or leave out: {found:?}");
}
