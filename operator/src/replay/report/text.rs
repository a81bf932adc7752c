//! A scenario as a table on a terminal.

use std::fmt::Write as _;

use crate::replay::{Results, scenario::Scenario};

/// One scenario: its arms, then its acceptance numbers.
pub fn text(scenario: &Scenario, results: &Results, seeds: u64) -> String {
    let mut text = format!("{}: {} ({seeds} seeds)\n", scenario.name, scenario.about);
    let mut case = "";
    for row in &results.rows {
        if row.case != case {
            case = row.case;
            let _ = write!(
                text,
                "\n  {case}\n  {:<22} {:>7} {:>7} {:>7} {:>16} {:>11} {:>6} {:>7} {:>7} {:>7} {:>7}\n",
                "arm",
                "p50 s",
                "p95 s",
                "p99 s",
                "95 % interval",
                "duplicates",
                "won",
                "lost",
                "extra",
                "shed",
                "failed"
            );
        }
        let at = |figure| row.spread(figure).at;
        let p99 = row.spread("p99");
        let _ = writeln!(
            text,
            "  {:<22} {:>7.2} {:>7.2} {:>7.2} {:>16} {:>9.1} % {:>4.0} % {:>5.1} % {:>5.1} % {:>7.0} {:>7.0}",
            row.arm,
            at("p50"),
            at("p95"),
            p99.at,
            format!("{:.2} to {:.2}", p99.low, p99.high),
            at("duplicates"),
            at("won"),
            at("lost"),
            at("extra"),
            at("shed"),
            at("failed")
        );
    }
    if let Some(table) = &results.table {
        text.push('\n');
        text.push_str(&table.text());
    }
    text.push('\n');
    for found in &results.accept {
        let word = if found.holds { "holds    " } else { "NOT HELD " };
        let _ = writeln!(text, "  {word} {}: {:.3} ({})", found.what, found.value, found.limit);
    }
    text.push('\n');
    text
}
