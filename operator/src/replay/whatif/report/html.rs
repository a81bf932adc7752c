//! The answer as one HTML page: no script, nothing fetched, readable in light and dark.
//!
//! Per cohort what the terminal says, and two pictures: how many requests are slower than a time, with and without hedges, and
//! duplicates over the time of the records with the guardrail's limit and its suspensions. Sentences are made from the figures.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::{added, amount, doubts, guardrail, heading, seconds};
use crate::{
    chart::{BLUE, Chart, GREEN, ORANGE, PURPLE, RED, Series, TEAL, escaped},
    domain::figure,
    replay::{
        report::page,
        whatif::{answer::Answer, forecast::Forecast, forecast::Line, rows::Skipped},
    },
};

/// Colours of the lines, in their order.
const COLOURS: [RGBColor; 6] = [ORANGE, RED, PURPLE, BLUE, TEAL, GREEN];
/// Seconds beyond which time is in hours.
const LONG: f64 = 48.0 * 3_600.0;
/// Share of requests below which curves are not drawn, in percent.
const LEAST: f64 = 0.1;

/// The page.
pub fn html(answer: &Answer) -> String {
    let days = answer.span.map_or_else(String::new, |(first, last)| {
        let at = |moment| figure::timestamp(moment).strftime("%Y-%m-%d %H:%M").to_string();
        format!(", {} to {} UTC", at(first), at(last))
    });
    let lead = format!(
        "What hedging would have made of {} attempts{days}, over {} routes in {} cohorts. Legs are taken as independent.",
        figure::count(answer.attempts),
        answer.routes.len(),
        answer.cohorts.len()
    );
    let mut page = page::head(&lead);
    if !answer.priced {
        page.push_str("<p class=\"see\">No prices were given (--policy with ProviderRoutes): extra spend is in tokens.</p>\n");
    }
    page.push_str(&left_out(&answer.skipped));
    for forecast in &answer.cohorts {
        page.push_str(&cohort(forecast, &answer.currency, answer.priced));
    }
    page.push_str(&page::foot(
        "Made from the curves of the records by the shipped policy; nothing was sent. Lane limits are not in attempt records.",
    ));
    page
}

fn left_out(skipped: &Skipped) -> String {
    if skipped.total() == 0 {
        return String::new();
    }
    let rows = skipped.0.iter().map(|(reason, (count, line, column))| {
        let column = if *column > 0 { column.to_string() } else { String::new() };
        format!(
            "<tr><td>{}</td><td>{}</td><td>{line}</td><td>{column}</td></tr>\n",
            escaped(reason),
            figure::count(*count)
        )
    });
    format!(
        "<h2>Rows that were left out</h2>\n<table>\n<tr><th>Why</th><th>Rows</th><th>First in line</th><th>Column</th></tr>\n{}</table>\n",
        rows.collect::<String>()
    )
}

fn cohort(forecast: &Forecast, currency: &str, priced: bool) -> String {
    let mut text = format!("<h2>{}</h2>\n", escaped(&heading(forecast, currency)));
    if !forecast.because.is_empty() {
        let _ = writeln!(text, "<p class=\"see\">{}.</p>", escaped(&forecast.because));
    }
    for doubt in doubts(forecast, priced) {
        let _ = writeln!(text, "<p class=\"see\">{doubt}</p>");
    }
    let class = if forecast.recommended > 0 { "good" } else { "bad" };
    let _ = writeln!(text, "<p class=\"{class}\">{}</p>", escaped(&forecast.advice));
    if forecast.tail.compared() {
        text.push_str(&table(forecast, currency));
        text.push_str(&tails(forecast));
        text.push_str(&course(forecast));
    }
    text
}

fn table(forecast: &Forecast, currency: &str) -> String {
    let in_tokens = forecast.spend.in_tokens;
    let head = format!(
        "<tr><th>Delay</th><th>Fires after</th><th>p50</th><th>p95</th><th>p99</th><th>Over {}</th><th>Duplicates</th>\
         <th>Extra {}</th><th>Amount</th><th class=\"words\">Guardrail</th></tr>\n",
        figure::span(forecast.deadline),
        if in_tokens { "tokens" } else { "spend" }
    );
    let row = |(place, line): (usize, &Line)| {
        let chosen = place > 0 && place == forecast.recommended;
        let mark = if chosen { " <span class=\"good\">recommended</span>" } else { "" };
        format!(
            "<tr><td>{}{mark}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2} %</td><td>{:.1} %</td>\
             <td>{:.1} %</td><td>{}</td><td class=\"words\">{}</td></tr>\n",
            line.name,
            line.delay.map_or_else(String::new, figure::latency),
            seconds(line.at[0]),
            seconds(line.at[1]),
            seconds(line.at[2]),
            line.missed * 100.0,
            line.duplicates * 100.0,
            line.extra * 100.0,
            escaped(&amount(added(forecast, line), in_tokens, currency)),
            escaped(&guardrail(line))
        )
    };
    let rows: String = forecast.lines.iter().enumerate().map(row).collect();
    format!("<table>\n{head}{rows}</table>\n")
}

/// With and without: who waits longer than a time.
fn tails(forecast: &Forecast) -> String {
    let series = forecast.lines.iter().zip(COLOURS).map(|(line, colour)| {
        let percent = |share: &f64| Some(share * 100.0).filter(|share| *share >= LEAST);
        let points = line.curve.iter().map(|(t, share)| (*t, percent(share))).collect();
        Series { name: line.name.to_owned(), colour, dashed: line.delay.is_none(), points }
    });
    let at = if forecast.recommended > 0 { forecast.recommended } else { forecast.lines.len() - 1 };
    let (off, line) = (&forecast.lines[0], &forecast.lines[at]);
    let see = format!(
        "How many requests wait longer than a time: without hedges one in a hundred waits longer than {}, with {} than {}.",
        seconds(off.at[2]),
        line.name,
        seconds(line.at[2])
    );
    let delay = line.delay.map(|delay| (format!("delay of {}", line.name), delay.as_secs_f64()));
    let chart = Chart {
        title: format!("{}: requests that wait longer than a time", forecast.name),
        x: "first token (whole answer where it does not stream) in s",
        y: "slower requests in percent",
        series: series.collect(),
        thresholds: Vec::new(),
        moments: delay.into_iter().collect(),
        shaded: Vec::new(),
        logarithmic: true,
    };
    page::picture(&see, &chart)
}

/// Duplicates over the time of the records, and what the guardrail makes of them.
fn course(forecast: &Forecast) -> String {
    let hedged = || forecast.lines.iter().zip(COLOURS).skip(1);
    let end = forecast.lines.iter().map(|line| line.course.end()).fold(0.0, f64::max);
    let (x, unit) = if end > LONG {
        ("time since the first row in h", 3_600.0)
    } else {
        ("time since the first row in min", 60.0)
    };
    let series = hedged().map(|(line, colour)| {
        let points = line.course.duplicates().into_iter().map(|(s, share)| (s / unit, share)).collect();
        Series { name: line.name.to_owned(), colour, dashed: false, points }
    });
    let limit = forecast.rules.duplicate_rate.trip_percent;
    let off = hedged().map(|(line, _)| (line, line.course.suspended())).find(|(_, spans)| !spans.is_empty());
    let see = match &off {
        Some((line, _)) => {
            format!("Duplicates over time. Shaded: the guardrail has suspended {}.", line.name)
        }
        None => {
            "Duplicates over time. No delay was suspended for as long as a step of the picture.".to_owned()
        }
    };
    let shaded = off.map_or_else(Vec::new, |(_, spans)| {
        spans.into_iter().map(|span| span.start / unit..span.end / unit).collect()
    });
    let chart = Chart {
        title: format!("{}: duplicates over time, against the limit", forecast.name),
        x,
        y: "hedges per 100 requests",
        series: series.collect(),
        thresholds: (limit > 0).then(|| ("limit".to_owned(), f64::from(limit))).into_iter().collect(),
        moments: Vec::new(),
        shaded,
        logarithmic: false,
    };
    page::picture(&see, &chart)
}
