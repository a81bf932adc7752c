//! Files stay small enough to be read in one sitting. (Functions are held at 60 lines by clippy's `too_many_lines`.)

use crate::tree;

/// Longest source file in lines.
const LONGEST: usize = 500;
/// Median of all Rust files in lines stays below this.
const MEDIAN: usize = 150;

#[test]
fn no_source_file_is_longer_than_500_lines() {
    let long: Vec<_> = tree::files(&[".rs", ".py", ".go", ".ts", ".mjs", ".js", ".sh", ".html", ".css"])
        .into_iter()
        .map(|path| (tree::text(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > LONGEST)
        .collect();
    assert!(long.is_empty(), "split by kind: {long:?}");
}

#[test]
fn the_median_rust_file_is_short() {
    let mut lines: Vec<_> =
        tree::files(&[".rs"]).iter().map(|path| tree::text(path).lines().count()).collect();
    lines.sort_unstable();
    let median = lines[lines.len() / 2];
    assert!(median < MEDIAN, "median is {median} lines over {} files", lines.len());
}
