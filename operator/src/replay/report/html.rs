//! Scenarios as one HTML page: no script, nothing fetched, readable in light and dark.
//!
//! Per scenario its table, its acceptance numbers, and per world the pictures of seed 1: first tokens over time by arm,
//! hedges over time, lane limits. Sentences say what to see and are made from the figures.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::page;
use crate::{
    chart::{BLUE, Chart, GREEN, OLIVE, ORANGE, PURPLE, RED, Series, TEAL, escaped},
    replay::{
        Results,
        engine::Run,
        experiment::Row,
        figures::percentile,
        scenario::{Scenario, Table},
    },
};

/// Colours of arms, in their order; further arms are left out of pictures and stay in the table.
const COLOURS: [RGBColor; 7] = [ORANGE, BLUE, GREEN, RED, PURPLE, TEAL, OLIVE];
/// Points of a line.
const STEPS: usize = 60;

/// Points of a line; a gap where there is no value.
type Points = Vec<(f64, Option<f64>)>;

/// The page.
pub fn html(scenarios: &[(&Scenario, Results)], seeds: u64) -> String {
    let seeds = if seeds == 1 {
        "One seed".to_owned()
    } else {
        format!("Medians over {seeds} seeds; pictures show the first")
    };
    let mut page = page::head(&format!(
        "The shipped policy in virtual time, beside other systems' published rules, over the same requests. {seeds}."
    ));
    for (scenario, results) in scenarios {
        let _ = write!(
            page,
            "<h2>{}</h2>\n<p class=\"see\">{}</p>\n",
            escaped(scenario.name),
            escaped(scenario.about)
        );
        page.push_str(&accepted(results));
        page.push_str(&table(results));
        page.push_str(&results.table.as_ref().map_or_else(String::new, own));
        let mut from = 0;
        while let Some(first) = results.rows.get(from) {
            let to = from + results.rows[from..].iter().take_while(|row| row.case == first.case).count();
            page.push_str(&pictures(&results.rows[from..to], &results.pictured[from..to]));
            from = to;
        }
    }
    page.push_str(&page::foot(
        "Everything here is simulated; the models and what they assume are in the scenarios' sources.",
    ));
    page
}

fn accepted(results: &Results) -> String {
    let rows = results.accept.iter().map(|found| {
        let (class, word) = if found.holds { ("good", "holds") } else { ("bad", "does not hold") };
        format!(
            "<tr><td>{}</td><td>{:.3}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>\n",
            escaped(&found.what),
            found.value,
            escaped(&found.limit)
        )
    });
    format!(
        "<table>\n<tr><th>What must come out</th><th>Measured</th><th>Limit</th><th></th></tr>\n{}</table>\n",
        rows.collect::<String>()
    )
}

fn table(results: &Results) -> String {
    let head = "<tr><th>World</th><th class=\"words\">Arm</th><th>p50 s</th><th>p95 s</th><th>p99 s</th><th>95 % interval</th>\
                <th>Duplicates</th><th>Lost</th><th>Extra</th><th>Shed</th><th>Failed</th></tr>\n";
    let rows = results.rows.iter().map(|row| {
        let at = |figure| row.spread(figure).at;
        let p99 = row.spread("p99");
        format!(
            "<tr><td>{}</td><td class=\"words\">{}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2} to {:.2}</td>\
             <td>{:.1} %</td><td>{:.1} %</td><td>{:.1} %</td><td>{:.0}</td><td>{:.0}</td></tr>\n",
            escaped(row.case),
            escaped(row.arm),
            at("p50"),
            at("p95"),
            p99.at,
            p99.low,
            p99.high,
            at("duplicates"),
            at("lost"),
            at("extra"),
            at("shed"),
            at("failed")
        )
    });
    format!("<table>\n{head}{}</table>\n", rows.collect::<String>())
}

/// The scenario's own table.
fn own(table: &Table) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = table.rows.iter().map(|cells| row(cells, "td")).collect();
    let (about, head) = (escaped(&table.about), row(&table.head, "th"));
    format!("<p class=\"see\">{about}</p>\n<table>\n{head}{rows}</table>\n")
}

/// Pictures of one world.
fn pictures(rows: &[Row], runs: &[Run]) -> String {
    let Some(case) = rows.first().map(|row| row.case) else { return String::new() };
    let mut text = String::new();
    let lines = |value: &dyn Fn(&Run) -> Points| -> Vec<Series> {
        rows.iter()
            .zip(runs)
            .zip(COLOURS)
            .map(|((row, run), colour)| Series {
                name: row.arm.to_owned(),
                colour,
                dashed: false,
                points: value(run),
            })
            .collect()
    };
    let spans = rows.iter().zip(runs).map(|(row, run)| (row.arm, suspended(run)));
    let (arm, shaded) = spans.into_iter().find(|(_, spans)| !spans.is_empty()).unwrap_or_default();
    let mut add = |title: String, see: String, y: &'static str, logarithmic: bool, series: Vec<Series>| {
        let drawn = series.iter().any(|line| line.points.iter().any(|(_, y)| y.is_some_and(|y| y > 0.0)));
        if drawn {
            let (thresholds, moments, shaded) = (Vec::new(), Vec::new(), shaded.clone());
            let chart = Chart { title, x: "time in s", y, series, thresholds, moments, shaded, logarithmic };
            text.push_str(&page::picture(&see, &chart));
        }
    };
    let p99 = |row: Option<&Row>| row.map_or(f64::NAN, |row| row.spread("p99").at);
    add(
        format!("{case}: 99th percentile of first tokens over time"),
        format!(
            "{case}: 99th percentile of first tokens as users wait for them; over the measured time {:.2} s for {} and {:.2} s for {}.",
            p99(rows.first()),
            rows.first().map_or("", |row| row.arm),
            p99(rows.last()),
            rows.last().map_or("", |row| row.arm)
        ),
        "p99 first token in s",
        true,
        lines(&tail),
    );
    add(
        format!("{case}: hedges over time"),
        match arm {
            "" => format!("{case}: hedges per 100 tries."),
            arm => format!(
                "{case}: hedges per 100 tries. Shaded: the guardrail has suspended the hedges of {arm}."
            ),
        },
        "hedges per 100 tries",
        false,
        lines(&duplicates),
    );
    add(
        format!("{case}: lane limits over time"),
        format!("{case}: limit of the first lane, summed over pods."),
        "user actions",
        false,
        lines(&limits),
    );
    text
}

/// 99th percentile in steps of the run.
fn tail(run: &Run) -> Points {
    let end = run.frames.last().map_or(0.0, |frame| frame.at);
    let width = (end / STEPS as f64).max(1.0);
    let mut bins: Vec<Vec<f32>> = vec![Vec::new(); STEPS + 1];
    for sample in &run.samples {
        if let Some(bin) = bins.get_mut((f64::from(sample.born) / width) as usize) {
            bin.push(sample.waited);
        }
    }
    let point = |(place, bin): (usize, &mut Vec<f32>)| {
        bin.sort_unstable_by(f32::total_cmp);
        let value = (bin.len() >= 20).then(|| percentile(bin, 0.99));
        ((place as f64 + 0.5) * width, value)
    };
    bins.iter_mut().enumerate().map(point).collect()
}

fn duplicates(run: &Run) -> Points {
    let end = run.frames.last().map_or(0.0, |frame| frame.at);
    let width = (end / STEPS as f64).max(1.0);
    (0..STEPS)
        .map(|step| {
            let (from, to) = (step as f64 * width, (step + 1) as f64 * width);
            let tries = Run::total(&run.tries, from, to);
            let hedges = Run::total(&run.hedges, from, to);
            (f64::midpoint(from, to), (tries > 0.0).then(|| 100.0 * hedges / tries))
        })
        .collect()
}

fn limits(run: &Run) -> Points {
    // Lanes that never move need no picture.
    let limit = |frame: &crate::replay::engine::Frame| frame.limits.first().copied();
    let moves = run.frames.windows(2).any(|pair| limit(&pair[0]) != limit(&pair[1]));
    if !moves {
        return Vec::new();
    }
    run.frames.iter().map(|frame| (frame.at, limit(frame).map(f64::from))).collect()
}

/// Spans in which the guardrail has suspended the first cohort.
fn suspended(run: &Run) -> Vec<std::ops::Range<f64>> {
    let mut spans: Vec<std::ops::Range<f64>> = Vec::new();
    for pair in run.frames.windows(2) {
        if pair[0].state == "Suspended" {
            match spans.last_mut().filter(|span| span.end >= pair[0].at) {
                Some(span) => span.end = pair[1].at,
                None => spans.push(pair[0].at..pair[1].at),
            }
        }
    }
    spans
}
