//! The HTML page: one file, no script, nothing fetched, readable in light and dark.

use std::fmt::Write as _;

use super::super::{
    script::Scene,
    story::{SceneSummary, Story, Summary},
    verdict::{self, Promise},
};
use crate::chart::escaped;

const STYLE: &str = include_str!("style.css");

/// A picture with the sentence that says what to see.
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) see: String,
    pub(super) svg: String,
}

/// The whole page.
pub(super) fn page(story: &Story, figures: &[Figure]) -> String {
    let summary = &story.summary;
    let promises = verdict::promises(summary);
    let mut html = String::with_capacity(200_000);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Hedgerow demo</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>Hedgerow demo</h1>\n<p class=\"lead\">{}</p>\n",
        lead(story)
    );
    html.push_str("<h2>What held</h2>\n");
    if let Some(busy) = verdict::busy(summary) {
        let _ = writeln!(html, "<p class=\"bad\">{}</p>", escaped(&busy));
    }
    html.push_str(&promise_table(&promises));
    html.push_str("<h2>Scene by scene</h2>\n<p class=\"see\">Latency is the first token of streams and the whole answer of the rest, over the cohorts (batch is never hedged). ");
    html.push_str("\"Without\" is the Kaplan-Meier estimate of what primaries alone would have given. ");
    html.push_str("Duplicates are hedges per 100 requests of the cohorts, lost spend is per cost of their attempts; batch is in neither, but among the requests.</p>\n");
    html.push_str(&scene_table(summary));
    for figure in figures {
        let _ = write!(
            html,
            "<h2>{}</h2>\n<p class=\"see\">{}</p>\n<div class=\"picture\">{}</div>\n",
            figure.title,
            escaped(&figure.see),
            figure.svg
        );
    }
    html.push_str("<h2>Decisions</h2>\n");
    html.push_str(&decisions(story));
    let _ = write!(
        html,
        "<footer>Seed {}. Everything ran on this machine over real sockets; provider times are a tenth of real ones and \
         guardrail windows are short, so that a minute shows what takes ten.</footer>\n</body>\n</html>\n",
        story.seed
    );
    html
}

fn lead(story: &Story) -> String {
    let summary = &story.summary;
    let tail = match (summary.p99_ms, summary.p99_unhedged_ms) {
        (Some(with), Some(without)) => {
            format!("p99 first token {with:.0} ms, without hedging {without:.0} ms (estimate)")
        }
        _ => "first tokens were not measured".to_owned(),
    };
    format!(
        "{} requests, {} failed, {} hedged ({} won). {tail}. Duplicates {:.1} %, extra spend {:.1} %.",
        summary.requests,
        summary.failed,
        summary.hedged,
        summary.hedge_wins,
        summary.duplicate_percent,
        summary.extra_spend_percent
    )
}

fn promise_table(promises: &[Promise]) -> String {
    let rows = promises.iter().map(|promise| {
        let (class, word) = if promise.holds { ("good", "held") } else { ("bad", "not held") };
        format!(
            "<tr><td>{}</td><td class=\"words\">{}</td><td class=\"{class}\">{word}</td></tr>\n",
            escaped(&promise.what),
            escaped(&promise.value)
        )
    });
    format!(
        "<table>\n<tr><th>Promise</th><th class=\"words\">Measured</th><th></th></tr>\n{}</table>\n",
        rows.collect::<String>()
    )
}

fn scene_table(summary: &Summary) -> String {
    let head = "<tr><th>Scene</th><th>Seconds</th><th>Requests</th><th>Failed</th><th>p50 ms</th><th>without</th>\
                <th>p99 ms</th><th>without</th><th>Duplicates</th><th>Lost spend</th><th>Shed</th></tr>\n";
    let rows = summary.scenes.iter().map(scene_row).collect::<String>();
    format!("<table>\n{head}{rows}</table>\n")
}

fn scene_row(scene: &SceneSummary) -> String {
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}"));
    let shed: Vec<String> =
        scene.shed.iter().filter(|(_, n)| **n > 0).map(|(lane, n)| format!("{n} {lane}")).collect();
    format!(
        "<tr><td>{}<br><small>{}</small></td><td>{:.0} to {:.0}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{:.1} %</td><td>{:.1} %</td><td>{}</td></tr>\n",
        scene.name,
        escaped(caption(scene.name)),
        scene.from_s,
        scene.to_s,
        scene.requests,
        scene.failed,
        ms(scene.p50_ms),
        ms(scene.p50_unhedged_ms),
        ms(scene.p99_ms),
        ms(scene.p99_unhedged_ms),
        scene.duplicate_percent,
        scene.lost_race_percent,
        if shed.is_empty() { "0".to_owned() } else { escaped(&shed.join(", ")) }
    )
}

/// What happened in the scene of that name.
fn caption(name: &str) -> &'static str {
    Scene::ALL.into_iter().find(|scene| scene.name() == name).map_or("", Scene::caption)
}

fn decisions(story: &Story) -> String {
    if story.marks.is_empty() {
        return "<p class=\"empty\">No guardrail decision was taken.</p>\n".to_owned();
    }
    let rows = story.marks.iter().map(|mark| {
        // The controller runs before the traffic does.
        let at = if mark.at_s < 0.0 { "before".to_owned() } else { format!("{:.1} s", mark.at_s) };
        format!("<tr><td>{at}</td><td class=\"words\">{}</td></tr>\n", escaped(&mark.line))
    });
    format!(
        "<table>\n<tr><th>At</th><th class=\"words\">Decision</th></tr>\n{}</table>\n",
        rows.collect::<String>()
    )
}
