//! `docs/records.md` lists every field of the records, with what its own documentation says. The text above the marker is
//! written by hand; the tables below it are made from `src/settle/record.rs`, so that neither can be without the other.
//! `UPDATE_GOLDEN=1` rewrites them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it stands")]

mod document;

use std::fmt::Write as _;

const SOURCE: &str = include_str!("../src/settle/record.rs");
const MARKER: &str = "<!-- From here on made from gateway/src/settle/record.rs. -->\n";

/// The fields of a struct: name, whether it may be absent, documentation.
fn fields(of: &str) -> Vec<(String, bool, String)> {
    let body =
        SOURCE.split(&format!("pub struct {of}<'a> {{\n")).nth(1).unwrap().split("\n}\n").next().unwrap();
    let (mut fields, mut told, mut optional) = (Vec::new(), String::new(), false);
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            told = if told.is_empty() { text.to_owned() } else { format!("{told} {text}") };
        } else if line.starts_with("#[serde(skip_serializing_if") {
            optional = true;
        } else if let Some(field) = line.strip_prefix("pub ") {
            let name = field.split(':').next().unwrap().to_owned();
            fields.push((name, std::mem::take(&mut optional), std::mem::take(&mut told)));
        }
    }
    fields
}

/// The words of an enum of closed words.
fn words(of: &str) -> Vec<(String, String)> {
    let body = SOURCE.split(&format!("    {of} {{\n")).nth(1).unwrap().split("    }\n").next().unwrap();
    let lines: Vec<&str> = body.lines().map(str::trim).collect();
    lines
        .chunks(2)
        .map(|pair| {
            let word = pair[1].split('"').nth(1).unwrap();
            (word.to_owned(), pair[0].trim_start_matches("/// ").to_owned())
        })
        .collect()
}

/// Documentation refers to constants of the code; readers of records have none.
fn plain(text: &str) -> String {
    let text = text.replace("[`AttemptRecord::EVENT`]", "`hedge_attempt_complete`");
    text.replace("[`ActionRecord::EVENT`]", "`user_action_complete`")
}

fn tables() -> String {
    let mut text = String::new();
    for (title, of) in [
        ("Fields of `hedge_attempt_complete`", "AttemptRecord"),
        ("Fields of `user_action_complete`", "ActionRecord"),
    ] {
        let _ = write!(text, "\n## {title}\n\n| Field | May be absent | Says |\n| --- | --- | --- |\n");
        for (name, optional, told) in fields(of) {
            let optional = if optional { "yes" } else { "" };
            let _ = writeln!(text, "| `{name}` | {optional} | {} |", plain(&told));
        }
    }
    for (title, of) in [
        ("Values of `outcome`", "Outcome"),
        ("Values of `status_class`", "StatusClass"),
        ("Values of `cost_band`", "CostBand"),
    ] {
        let _ = write!(text, "\n## {title}\n\n| Value | Means |\n| --- | --- |\n");
        for (word, told) in words(of) {
            let _ = writeln!(text, "| `{word}` | {told} |");
        }
    }
    text
}

#[test]
fn the_document_lists_every_field_and_word_of_the_records() {
    document::is_current("records.md", MARKER, &tables(), "records_document");
}

#[test]
fn no_field_is_without_documentation() {
    for of in ["AttemptRecord", "ActionRecord"] {
        let fields = fields(of);
        assert!(fields.len() > 25, "{of}: {}", fields.len());
        assert!(fields.iter().all(|(_, _, told)| !told.is_empty()), "{of}: {fields:?}");
    }
}
