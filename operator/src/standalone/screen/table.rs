//! The live table as lines of text. Pure.

use std::{fmt::Write as _, time::Duration};

use hedgerow_config::cohort::Mode;

use super::super::view::{CohortView, FleetView, LaneView, RouteView, View};
use crate::domain::figure;

/// Everything about all fleets.
pub(super) fn lines(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for fleet in &view.fleets {
        lines.extend(head(fleet));
        lines.extend(side_by_side(&routes(&fleet.routes), &cohorts(&fleet.cohorts)));
        lines.extend(lanes(&fleet.lanes));
    }
    lines.extend(view.problems.iter().map(|problem| format!("! {problem}")));
    lines
}

/// One fleet in one line. What was not measured is left out.
pub(super) fn summary(fleet: &FleetView) -> String {
    let totals = &fleet.totals;
    let mut text = format!(
        "{}: requests {}, shed {}, failed {}, in flight {}, {}",
        fleet.name,
        figure::count(totals.requests),
        figure::count(totals.shed),
        figure::count(totals.failed),
        totals.in_flight,
        hedging(fleet).join(", ")
    );
    let (with, without) = (&fleet.first_token, &fleet.without);
    if let (Some(p50), Some(p95), Some(p99)) = (with.p50, with.p95, with.p99) {
        let [p50, p95, p99] = [p50, p95, p99].map(figure::latency);
        let _ = write!(text, ", first token p50 {p50} p95 {p95} p99 {p99}");
    }
    if let Some(p99) = without.p99.filter(|_| totals.hedges > 0) {
        let _ = write!(text, ", without hedges p99 {} (estimate)", figure::latency(p99));
    }
    text
}

/// What hedging did, and what it would have done where it only observes.
fn hedging(fleet: &FleetView) -> Vec<String> {
    let totals = &fleet.totals;
    let mut parts = Vec::new();
    let observing =
        !fleet.cohorts.is_empty() && fleet.cohorts.iter().all(|cohort| cohort.mode == Mode::Observe);
    if totals.hedges > 0 || !observing {
        parts.push(format!("hedged {:.1} %", totals.hedged_percent()));
    }
    if totals.hedges > 0 {
        parts.push(format!("won {:.0} %", totals.win_percent()));
        parts.push(format!("lost spend {:.1} %", totals.lost_percent()));
    }
    match fleet.would_hedge_percent {
        Some(percent) => parts.push(format!("would hedge {percent:.1} %")),
        None if parts.is_empty() => parts.push("hedges nothing, observes".to_owned()),
        None => {}
    }
    parts
}

fn head(fleet: &FleetView) -> Vec<String> {
    let totals = &fleet.totals;
    let ready = fleet.pods.iter().filter(|pod| pod.ready).count();
    let answered = totals.requests.saturating_sub(totals.shed + totals.failed + totals.in_flight);
    let (with, without) = (&fleet.first_token, &fleet.without);
    let columns =
        |values: [Option<Duration>; 3]| values.map(|value| format!("{:<7}", latency(value))).concat();
    let anthropic = !fleet.routes.is_empty() && fleet.routes.iter().all(|route| route.anthropic);
    let url = if anthropic {
        format!("ANTHROPIC_BASE_URL={}", fleet.base_url)
    } else {
        format!("OPENAI_BASE_URL={}/v1", fleet.base_url)
    };
    let mut lines = vec![
        format!("fleet {} · gateways {ready}/{} · {url}", fleet.name, fleet.pods.len()),
        format!(
            "{:<62}first token   p50    p95    p99",
            format!(
                "requests {}   answered {}   shed {}   failed {}",
                figure::count(totals.requests),
                figure::count(answered),
                figure::count(totals.shed),
                figure::count(totals.failed)
            )
        ),
        format!(
            "{:<62}  with hedges {}",
            hedging(fleet).join("   "),
            columns([with.p50, with.p95, with.p99])
        ),
    ];
    // Without a hedge there is nothing to compare.
    if totals.hedges > 0 {
        lines.push(format!(
            "{:<62}  without*    {}  *estimate",
            "",
            columns([without.p50, without.p95, without.p99])
        ));
    }
    lines
}

fn routes(routes: &[RouteView]) -> Vec<String> {
    let mut lines =
        vec![format!("{:<18}{:>7} {:>10}  {:<7}{:<11}", "route", "weight", "in flight", "p95", "breaker")];
    lines.extend(routes.iter().map(|route| {
        let state = if route.blocked.is_empty() { &route.breaker } else { &route.blocked };
        format!(
            "{:<18}{:>5} % {:>10}  {:<7}{:<11}",
            cut(&route.name, 17),
            route.share_percent,
            route.in_flight,
            latency(route.p95),
            cut(state, 11)
        )
    }));
    lines
}

fn cohorts(cohorts: &[CohortView]) -> Vec<String> {
    let mut lines = vec![format!("{:<16}{:<11}{:>5} {:>7}  {}", "cohort", "state", "dup%", "extra%", "why")];
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    lines.extend(cohorts.iter().map(|cohort| {
        let duplicates = match cohort.duplicate_percent {
            // Decided, never sent.
            Some(percent) if cohort.mode == Mode::Observe => format!("({percent:.1})"),
            percent => share(percent),
        };
        format!(
            "{:<16}{:<11}{:>5} {:>7}  {}",
            cut(&cohort.name, 15),
            cohort.state,
            duplicates,
            share(cohort.extra_percent),
            cohort.why
        )
    }));
    lines
}

fn lanes(lanes: &[LaneView]) -> Vec<String> {
    let mut lines =
        vec![format!("{:<16}{:>6} {:>10} {:>7} {:>7}", "lane", "limit", "in flight", "queued", "shed")];
    lines.extend(lanes.iter().map(|lane| {
        let last = match lane.last_retry_after_s {
            0 => String::new(),
            seconds => format!("   last Retry-After {seconds}s"),
        };
        format!(
            "{:<16}{:>6} {:>10} {:>7} {:>7}{last}",
            cut(&lane.name, 15),
            lane.limit,
            lane.in_flight,
            lane.queued,
            figure::count(lane.shed)
        )
    }));
    lines
}

fn side_by_side(left: &[String], right: &[String]) -> Vec<String> {
    let height = left.len().max(right.len());
    let part = |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_default();
    (0..height)
        .map(|index| format!("{:<60}{}", part(left, index), part(right, index)).trim_end().to_owned())
        .collect()
}

fn latency(value: Option<Duration>) -> String {
    value.map_or_else(|| "-".to_owned(), figure::latency)
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scrape::Percentiles, standalone::Totals};

    #[test]
    fn a_fleet_is_shown_with_its_routes_and_lanes_and_what_is_wrong() {
        let totals = Totals {
            requests: 4_812,
            shed: 96,
            originals: 4_000,
            hedges: 184,
            wins: 112,
            ..Totals::default()
        };
        let route = RouteView {
            name: "region-b".into(),
            share_percent: 12,
            p95: Some(Duration::from_millis(9_200)),
            breaker: "slow".into(),
            ..RouteView::default()
        };
        let lane = LaneView {
            name: "batch".into(),
            limit: 24,
            shed: 96,
            last_retry_after_s: 3,
            ..LaneView::default()
        };
        let first_token = Percentiles { p99: Some(Duration::from_millis(2_800)), ..Percentiles::default() };
        let fleet = FleetView {
            name: "default".into(),
            base_url: "http://127.0.0.1:8080".into(),
            totals,
            first_token,
            routes: vec![route],
            lanes: vec![lane],
            ..FleetView::default()
        };
        let view =
            View { fleets: vec![fleet], problems: vec!["chat.yaml:3: wrong".into()], ..View::default() };
        let text = lines(&view).join("\n");
        for part in [
            "OPENAI_BASE_URL=http://127.0.0.1:8080/v1",
            "requests 4,812   answered 4,716   shed 96   failed 0",
            "hedged 4.6 %   won 61 %",
            "2.8s",
            "region-b",
            "9.2s",
            "last Retry-After 3s",
            "! chat.yaml:3: wrong",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn what_was_only_decided_or_never_measured_does_not_read_as_done() {
        let quiet = FleetView { name: "default".into(), ..FleetView::default() };
        let text = summary(&quiet);
        for absent in ["won", "lost", "first token", "without"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
        let observing = FleetView { would_hedge_percent: Some(2.93), ..quiet };
        let text = summary(&observing);
        assert!(text.contains("would hedge 2.9 %") && !text.contains("won"), "{text}");
        let failed = Totals { requests: 40, failed: 40, ..Totals::default() };
        let outage = summary(&FleetView { totals: failed, ..observing });
        assert!(outage.contains("requests 40, shed 0, failed 40,"), "{outage}");
    }
}
