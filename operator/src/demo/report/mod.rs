//! The HTML report: the story as pictures, each with a sentence that says what to see.
//!
//! Inputs: a [`Story`]. Outputs: one self-contained page. Sentences are made from the measured values, so that they
//! cannot claim what the picture does not show.

mod page;

use std::ops::Range;

use self::page::Figure;
use super::{
    script::Scene,
    story::{Point, Story},
};
use crate::chart::{BLUE, Chart, GREEN, ORANGE, RED, Series};

/// Where the guardrails of a cohort trip, in percent.
pub struct Limits {
    /// Which cohort.
    pub cohort: String,
    /// Duplicate rate that trips.
    pub duplicates: f64,
    /// Extra spend that trips.
    pub extra: f64,
}

/// The page.
pub fn html(story: &Story, limits: &[Limits]) -> String {
    let mut figures = vec![latency(story), distribution(story)];
    let duplicates = thresholds(limits, |limits| limits.duplicates);
    figures
        .push(rate(story, "Duplicates", "hedges per 100 requests", duplicates, |cohort| cohort.duplicates));
    let extra = thresholds(limits, |limits| limits.extra);
    figures.push(rate(story, "Extra spend", "extra spend in percent", extra, |cohort| cohort.extra));
    figures.push(routing(story));
    figures.extend(lanes(story));
    page::page(story, &figures)
}

/// One line where all cohorts have the same limit, else one for each.
fn thresholds(limits: &[Limits], value: fn(&Limits) -> f64) -> Vec<(String, f64)> {
    match limits {
        [first, others @ ..] if others.iter().all(|other| value(other).total_cmp(&value(first)).is_eq()) => {
            vec![("limit".to_owned(), value(first))]
        }
        _ => limits.iter().map(|limits| (format!("limit of {}", limits.cohort), value(limits))).collect(),
    }
}

fn scenes(story: &Story) -> Vec<(String, f64)> {
    story.summary.scenes.iter().map(|scene| (scene.name.to_owned(), scene.from_s)).collect()
}

fn series(
    name: &str,
    colour: plotters::style::RGBColor,
    dashed: bool,
    story: &Story,
    value: impl Fn(&Point) -> Option<f64>,
) -> Series {
    let points = story.points.iter().map(|point| (point.at_s, value(point))).collect();
    Series { name: name.to_owned(), colour, dashed, points }
}

fn latency(story: &Story) -> Figure {
    let scene = story.summary.scene(Scene::Stragglers);
    let see = match scene.and_then(|scene| Some((scene.p99_ms?, scene.p99_unhedged_ms?))) {
        Some((with, without)) => format!(
            "With stragglers in both regions the 99th percentile is {with:.0} ms where it would be {without:.0} ms; the median stays where it is."
        ),
        None => "First tokens were not measured.".to_owned(),
    };
    let chart = Chart {
        title: "First token over time, with hedging and estimated without".into(),
        x: "time in s",
        y: "first token in ms",
        series: vec![
            series("p50", GREEN, false, story, |point| point.p50),
            series("p99", BLUE, false, story, |point| point.p99),
            series("p99 without", ORANGE, true, story, |point| point.p99_without),
        ],
        thresholds: Vec::new(),
        moments: scenes(story),
        shaded: Vec::new(),
        logarithmic: true,
    };
    Figure { title: "First token over time", see, svg: chart.svg() }
}

fn distribution(story: &Story) -> Figure {
    let curve = |name: &str, colour, dashed, points: &[(f64, f64)]| Series {
        name: name.to_owned(),
        colour,
        dashed,
        points: points.iter().map(|(ms, percent)| (*ms, Some(100.0 - percent))).collect(),
    };
    let delays: Vec<String> = story.delays.iter().map(|(route, ms)| format!("{route} {ms:.0} ms")).collect();
    let see = format!(
        "The curves part where the hedge timer fires ({}): to the left nothing changes, to the right the tail is gone.",
        if delays.is_empty() { "not measured".to_owned() } else { delays.join(", ") }
    );
    let chart = Chart {
        title: "Distribution of first tokens while calls straggle".into(),
        x: "first token in ms",
        y: "slower requests in percent",
        series: vec![curve("with", BLUE, false, &story.with), curve("without", ORANGE, true, &story.without)],
        thresholds: Vec::new(),
        moments: story.delays.iter().map(|(route, ms)| (format!("delay of {route}"), *ms)).collect(),
        shaded: Vec::new(),
        logarithmic: true,
    };
    Figure { title: "The tail while calls straggle", see, svg: chart.svg() }
}

fn rate(
    story: &Story,
    title: &'static str,
    y: &'static str,
    thresholds: Vec<(String, f64)>,
    value: fn(&super::story::CohortPoint) -> Option<f64>,
) -> Figure {
    let names = story
        .points
        .last()
        .map_or(Vec::new(), |point| point.cohorts.iter().map(|cohort| cohort.name.clone()).collect());
    let colours = [BLUE, ORANGE, GREEN];
    let lines = names.iter().zip(colours).map(|(name, colour)| {
        series(name, colour, false, story, |point| {
            point.cohorts.iter().find(|cohort| cohort.name == *name).and_then(value)
        })
    });
    let suspended = suspended(story);
    let see = match (&story.summary.guardrail, suspended.is_empty()) {
        (Some(trip), false) => format!(
            "Shaded: hedging is off for {}. The guardrail {} acted at {:.0} s{}.",
            trip.cohort,
            trip.signal,
            trip.tripped_at,
            trip.recovered_at.map_or_else(String::new, |at| format!(" and the cohort was back at {at:.0} s"))
        ),
        _ => "No cohort was switched off.".to_owned(),
    };
    let chart = Chart {
        title: format!("{title} by cohort, against the limit"),
        x: "time in s",
        y,
        series: lines.collect(),
        thresholds,
        moments: scenes(story),
        shaded: suspended,
        logarithmic: false,
    };
    Figure { title, see, svg: chart.svg() }
}

/// Spans in which any cohort was not fully on by a guardrail.
fn suspended(story: &Story) -> Vec<Range<f64>> {
    let mut spans: Vec<Range<f64>> = Vec::new();
    let mut since: Option<f64> = None;
    for point in &story.points {
        let off = point.cohorts.iter().any(|cohort| cohort.state == "Suspended");
        match (off, since) {
            (true, None) => since = Some(point.at_s),
            (false, Some(from)) => {
                spans.push(from..point.at_s);
                since = None;
            }
            _ => {}
        }
    }
    if let (Some(from), Some(last)) = (since, story.points.last()) {
        spans.push(from..last.at_s);
    }
    spans
}

fn routing(story: &Story) -> Figure {
    let names: Vec<String> = story
        .points
        .last()
        .map_or(Vec::new(), |point| point.shares.iter().map(|(name, _)| name.clone()).collect());
    let lines = names.iter().zip([BLUE, ORANGE, GREEN, RED]).map(|(name, colour)| {
        series(name, colour, false, story, |point| {
            point.shares.iter().find(|(route, _)| route == name).map(|(_, share)| *share)
        })
    });
    let slow = story.summary.scene(Scene::SlowRegion).map(|scene| scene.from_s..scene.to_s);
    let share_of_b =
        |point: &Point| point.shares.iter().find(|(route, _)| route == "region-b").map(|(_, share)| *share);
    let least = slow.and_then(|span| {
        let inside = story.points.iter().filter(|point| span.contains(&point.at_s));
        inside.filter_map(share_of_b).min_by(f64::total_cmp)
    });
    let last = story.points.last().and_then(share_of_b);
    let see = match (least, last) {
        (Some(least), Some(last)) => format!(
            "A slow region is not hedged away but left: region-b goes down to {least:.0} % of the traffic; at the end of the \
             demo it has {last:.0} %."
        ),
        _ => "Shares were not measured.".to_owned(),
    };
    let chart = Chart {
        title: "Share of the traffic by route".into(),
        x: "time in s",
        y: "share in percent",
        series: lines.collect(),
        thresholds: Vec::new(),
        moments: scenes(story),
        shaded: Vec::new(),
        logarithmic: false,
    };
    Figure { title: "Routing", see, svg: chart.svg() }
}

fn lanes(story: &Story) -> Vec<Figure> {
    let value = |point: &Point, lane: &str, pick: fn(&super::story::LanePoint) -> f64| {
        point.lanes.iter().find(|found| found.name == lane).map(pick)
    };
    let shed = |lane: &str| story.summary.shed.get(lane).copied().unwrap_or(0);
    let figure = |title: &'static str, lane: &'static str| {
        let chart = Chart {
            title: format!("Lane {lane}: limit, in flight, refused"),
            x: "time in s",
            y: "requests",
            series: vec![
                series("limit", ORANGE, true, story, |point| value(point, lane, |lane| lane.limit)),
                series("in flight", BLUE, false, story, |point| value(point, lane, |lane| lane.in_flight)),
                series("shed per s", RED, false, story, |point| value(point, lane, |lane| lane.shed)),
            ],
            thresholds: Vec::new(),
            moments: scenes(story),
            shaded: Vec::new(),
            logarithmic: false,
        };
        let see = format!("{} requests of this lane were refused with 429 and a Retry-After.", shed(lane));
        Figure { title, see, svg: chart.svg() }
    };
    vec![figure("Lane interactive", "interactive"), figure("Lane batch", "batch")]
}

#[cfg(test)]
mod tests;
