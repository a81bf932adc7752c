//! What people read, compared with what it was when somebody last looked at it; `UPDATE_GOLDEN=1` writes it anew.
//!
//! Names of namespaces and pods, ages, times and measured figures differ from run to run and are masked before.

use std::{fs, path::Path};

/// Compares a text with `tests/cluster/golden/NAME`.
pub(crate) fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{}:\n{golden}\nis now\n{text}", path.display());
}

/// A table of `kubectl get` with the cells of some columns masked, and `name` in others.
pub(crate) fn table(text: &str, masked: &[&str], name: &str) -> String {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let columns = columns(header);
    let cell = |line: &str, at: usize| {
        let end = columns.get(at + 1).map_or(line.len(), |(start, _)| *start).min(line.len());
        line.get(columns[at].0.min(line.len())..end).unwrap_or_default().trim().replace(name, "NAMESPACE")
    };
    let row = |line: &str| -> Vec<String> {
        let shown = |(at, (_, name)): (usize, &(usize, String))| {
            if masked.contains(&name.as_str()) { "*".to_owned() } else { cell(line, at) }
        };
        columns.iter().enumerate().map(shown).collect()
    };
    let mut rows = vec![columns.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>()];
    rows.extend(lines.map(row));
    aligned(&rows)
}

/// Where each column starts, and its name.
fn columns(header: &str) -> Vec<(usize, String)> {
    let starts = header
        .char_indices()
        .filter(|(at, letter)| *letter != ' ' && (*at == 0 || header[..*at].ends_with("  ")));
    starts
        .map(|(at, _)| (at, header[at..].split("  ").next().unwrap_or_default().trim().to_owned()))
        .collect()
}

fn aligned(rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("   ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A text in which every number is a `#`, with unit and sign where it has them.
pub(crate) fn numbers(text: &str) -> String {
    let mut masked = String::new();
    let mut inside = false;
    for (at, letter) in text.char_indices() {
        let part = inside
            && (letter == '.' || letter == ',')
            && text[at + 1..].starts_with(|next: char| next.is_ascii_digit());
        if letter.is_ascii_digit() || part {
            if !inside {
                masked.push('#');
            }
            inside = true;
        } else {
            inside = false;
            masked.push(letter);
        }
    }
    masked
}

#[test]
fn figures_and_masked_columns_do_not_show() {
    assert_eq!(numbers("extra 6.9 % over 1m30s, 1,312 requests."), "extra # % over #m#s, # requests.");
    let table =
        table("NAME       P99    AGE\nchat.t-1   3.1s   12d\nb                 1s\n", &["P99", "AGE"], "t-1");
    assert_eq!(table, "NAME             P99   AGE\nchat.NAMESPACE   *     *\nb                *     *\n");
}
