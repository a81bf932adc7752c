//! The page is whole, and says what the story says.

use super::*;
use crate::demo::story::{CohortPoint, LanePoint, Mark, SceneSummary, Trip};

fn story() -> Story {
    let state = |second: u32| if (40..46).contains(&second) { "Suspended" } else { "Active" };
    let points = (0..60u32).map(|second| Point {
        at_s: f64::from(second),
        p50: Some(61.0),
        p99: Some(180.0),
        p99_without: (second > 5).then_some(540.0),
        cohorts: vec![CohortPoint {
            name: "chat-json".into(),
            state: state(second).into(),
            duplicates: Some(5.0),
            extra: Some(1.0),
        }],
        lanes: vec![LanePoint { name: "batch".into(), limit: 16.0, in_flight: 9.0, shed: 2.0 }],
        shares: vec![("region-a".into(), 80.0), ("region-b".into(), 20.0)],
    });
    let mut story = Story {
        points: points.collect(),
        marks: vec![Mark {
            at_s: 40.0,
            cohort: "chat-json".into(),
            to: "Suspended".into(),
            line: "chat-json <suspended>".into(),
        }],
        with: vec![(60.0, 50.0), (180.0, 99.0)],
        without: vec![(60.0, 50.0), (540.0, 99.0)],
        delays: vec![("region-a".into(), 110.0)],
        ..Story::default()
    };
    story.summary.scenes = Scene::ALL
        .iter()
        .map(|scene| SceneSummary { name: scene.name(), ..SceneSummary::default() })
        .collect();
    story.summary.guardrail = Some(Trip {
        cohort: "chat-json".into(),
        signal: "duplicateRate".into(),
        tripped_at: 40.0,
        ..Trip::default()
    });
    story
}

fn limits() -> Vec<Limits> {
    let limits = |cohort: &str, duplicates| Limits { cohort: cohort.into(), duplicates, extra: 6.0 };
    vec![limits("chat-stream", 8.0), limits("chat-json", 90.0)]
}

#[test]
fn cohorts_with_the_same_limit_share_a_line() {
    assert_eq!(thresholds(&limits(), |limits| limits.extra), [("limit".to_owned(), 6.0)]);
    let own = thresholds(&limits(), |limits| limits.duplicates);
    assert_eq!(own, [("limit of chat-stream".to_owned(), 8.0), ("limit of chat-json".to_owned(), 90.0)]);
}

#[test]
fn the_page_is_self_contained_and_escapes_what_it_was_told() {
    let html = html(&story(), &limits());
    assert!(html.contains("chat-json &lt;suspended&gt;"));
    assert_eq!(html.matches("<svg ").count(), 6, "a picture each, but for the lane that was not measured");
    for outside in ["http://", "https://", "<script", "src="] {
        let found =
            html.match_indices(outside).find(|(at, _)| !html[*at..].starts_with("http://www.w3.org/"));
        assert!(found.is_none(), "{outside} at {found:?}");
    }
}

#[test]
fn spans_without_hedging_are_shaded_from_trip_to_return() {
    assert_eq!(suspended(&story()), vec![40.0..46.0]);
}

#[test]
fn an_empty_story_is_a_page_too() {
    let html = html(&Story::default(), &limits());
    assert!(html.contains("nothing was measured") && html.ends_with("</html>\n"));
}
