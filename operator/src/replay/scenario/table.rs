//! Figures of a scenario's own beside each other: what arms and acceptance numbers have no place for.

use std::fmt::Write as _;

/// A table of words. The first column names the row, the others are values with their digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows, in a sentence.
    pub about: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Rows, each as long as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    pub fn new<const N: usize>(about: impl Into<String>, head: [&str; N]) -> Self {
        Self { about: about.into(), head: head.map(str::to_owned).into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = String>) {
        let mut row = vec![name.into()];
        row.extend(values);
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// For a terminal: the first column to the left, the others to the right.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut text = format!("  {}\n", self.about);
        for row in [&self.head].into_iter().chain(&self.rows) {
            text.push_str("  ");
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                let _ = if column == 0 {
                    write!(text, "{cell:<width$}")
                } else {
                    write!(text, "  {cell:>width$}")
                };
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}

/// A value with so many digits after the point; a dash where nothing was measured.
pub fn digits(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new("What it shows.", ["arm", "p99 s"]);
        table.row("a long name", [digits(1.234, 1)]);
        table.row("b", [digits(f64::NAN, 1)]);
        assert_eq!(
            table.text(),
            "  What it shows.\n  arm          p99 s\n  a long name    1.2\n  b                -\n"
        );
    }
}
