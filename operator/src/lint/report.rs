//! Findings as people and as programs read them.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Finding, Severity};

/// Width of a report.
const WIDTH: usize = 130;
/// Narrowest column for messages.
const MIN_MESSAGE: usize = 50;

/// The findings as text, one paragraph each, and a last line that counts.
///
/// `files` and `objects` are how many were looked at.
pub fn text(findings: &[Finding], files: usize, objects: usize) -> String {
    let place = |finding: &Finding| format!("{}:{}:{}", finding.file, finding.line, finding.column);
    let places = column(findings.iter().map(place));
    let kinds = column(findings.iter().map(Finding::object));
    let mut text = String::new();
    for finding in findings {
        let head = format!(
            "{:places$}  {:7}  {:kinds$}  ",
            place(finding),
            finding.severity.as_str(),
            finding.object()
        );
        let indent = head.chars().count().min(WIDTH - MIN_MESSAGE);
        for (at, line) in wrapped(&finding.sentence(), WIDTH - indent).into_iter().enumerate() {
            let start = if at == 0 { head.clone() } else { " ".repeat(indent) };
            let _ = writeln!(text, "{start}{line}");
        }
    }
    text + &summary(findings, files, objects) + "\n"
}

/// The last line: `2 files, 5 objects: 1 error, 1 warning`.
pub fn summary(findings: &[Finding], files: usize, objects: usize) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    let verdict = match (errors, warnings) {
        (0, 0) => "nothing to complain about".to_owned(),
        (0, warnings) => counted(warnings, "warning"),
        (errors, 0) => counted(errors, "error"),
        (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    format!("{}, {}: {verdict}", counted(files, "file"), counted(objects, "object"))
}

/// The findings as a JSON array with a final newline.
pub fn json(findings: &[Finding]) -> String {
    let mut text = serde_json::to_string_pretty(findings).unwrap_or_else(|_| "[]".to_owned());
    text.push('\n');
    text
}

/// The files that have an error.
pub fn refused(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().filter(|finding| finding.is_error()).map(|finding| finding.file.as_str()).collect()
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Width of a column, within reason.
fn column(cells: impl Iterator<Item = String>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0).min(64)
}

/// The text in lines of at most `width` characters, broken at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
