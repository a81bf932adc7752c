//! The live screen: a table that is drawn over itself on a terminal, a line per second elsewhere.
//!
//! Inputs: the controller's view, what the generator counted, the scene. Outputs: text on stderr; stdout is kept for
//! `--json`. Every figure is a measured one; estimates are marked.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
    time::Duration,
};

use crossterm::{
    cursor::MoveTo,
    queue,
    terminal::{Clear, ClearType},
};

use super::{recorder::FLEET, script::Scene};
use crate::standalone::{CohortView, FleetView, LaneView, RouteView, View};

/// What the asterisk beside a figure means.
const ASTERISK: &str = "* estimated from the same requests: what their primaries alone would have given";

/// What one drawing shows.
pub(crate) struct Frame<'a> {
    pub(crate) seed: u64,
    pub(crate) at: Duration,
    pub(crate) total: Duration,
    pub(crate) scene: Scene,
    pub(crate) base_url: &'a str,
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) shed: &'a BTreeMap<String, u64>,
    pub(crate) view: &'a View,
}

/// Where frames go.
pub(crate) struct Screen {
    terminal: bool,
    decisions: usize,
}

impl Screen {
    /// A table on a terminal, lines elsewhere.
    pub(crate) fn new() -> Self {
        Self { terminal: io::stderr().is_terminal(), decisions: 0 }
    }

    /// Says once what each frame shows on a terminal.
    pub(crate) fn begin(&self, base_url: &str) {
        if !self.terminal {
            say(&format!("OPENAI_BASE_URL={base_url}/v1\n{ASTERISK}"));
        }
    }

    /// Shows `frame`.
    pub(crate) fn show(&mut self, frame: &Frame<'_>) {
        let mut out = io::stderr().lock();
        if self.terminal {
            let _ = queue!(out, MoveTo(0, 0), Clear(ClearType::All));
            let _ = out.write_all(table(frame).as_bytes());
        } else {
            for entry in frame.view.decisions.iter().skip(self.decisions) {
                let _ = writeln!(out, "{:5.1} s  guardrail: {}", frame.at.as_secs_f64(), entry.line);
            }
            self.decisions = frame.view.decisions.len();
            let _ = writeln!(out, "{}", line(frame));
        }
        let _ = out.flush();
    }
}

/// A line that stays.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn line(frame: &Frame<'_>) -> String {
    let shed: u64 = frame.shed.values().sum();
    let latency = frame.view.fleet(FLEET).map_or_else(String::new, |fleet| {
        let (with, without) = (&fleet.first_token, &fleet.without);
        let mut text = format!("first token p50 {} p99 {}", time(with.p50), time(with.p99));
        if let (Some(_), Some(_)) = (with.p99, without.p99) {
            let _ = write!(text, " (without hedging* {})", time(without.p99));
        }
        text
    });
    format!(
        "{:5.1} s  {:<10}  requests {:>6}  failed {}  shed {shed}  {latency}",
        frame.at.as_secs_f64(),
        frame.scene.name(),
        frame.requests,
        frame.failed
    )
}

fn table(frame: &Frame<'_>) -> String {
    let position = Scene::ALL.iter().position(|scene| *scene == frame.scene).unwrap_or(0) + 1;
    let mut text = format!(
        "Hedgerow demo · seed {} · {} / {} · scene {position} of {}: {}\nOPENAI_BASE_URL={}/v1\n",
        frame.seed,
        clock(frame.at),
        clock(frame.total),
        Scene::ALL.len(),
        frame.scene.caption(),
        frame.base_url
    );
    let Some(fleet) = frame.view.fleet(FLEET) else { return text };
    text.push_str(&headline(frame, fleet));
    text.push_str("\nroute      share  in flight    p95  breaker\n");
    fleet.routes.iter().for_each(|route| text.push_str(&route_row(route)));
    text.push_str("\ncohort         state          dup%  extra%  why\n");
    fleet.cohorts.iter().for_each(|cohort| text.push_str(&cohort_row(cohort)));
    text.push_str("\nlane           limit  in flight  queued   shed\n");
    fleet.lanes.iter().for_each(|lane| text.push_str(&lane_row(lane)));
    let recent = frame.view.decisions.iter().rev().take(4).rev();
    let started = frame.view.at_unix_ms.saturating_sub(u64::try_from(frame.at.as_millis()).unwrap_or(0));
    for entry in recent {
        let at = Duration::from_millis(entry.at_unix_ms.saturating_sub(started));
        let _ = write!(text, "\n{} guardrail  {}", clock(at), entry.line);
    }
    text.push('\n');
    text
}

fn headline(frame: &Frame<'_>, fleet: &FleetView) -> String {
    let shed: u64 = frame.shed.values().sum();
    let of: Vec<String> = frame.shed.iter().filter(|(_, n)| **n > 0).map(|(lane, _)| lane.clone()).collect();
    let (with, without, totals) = (&fleet.first_token, &fleet.without, &fleet.totals);
    format!(
        "requests {}  shed {shed}{}  failed {}          first token    p50     p95     p99\n\
         hedged {:.1} %  won {:.0} %  lost spend {:.1} %       with hedges {:>7} {:>7} {:>7}\n\
         {:45}without*    {:>7} {:>7} {:>7}\n{ASTERISK}\n",
        frame.requests,
        if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) },
        frame.failed,
        totals.hedged_percent(),
        totals.win_percent(),
        totals.lost_percent(),
        time(with.p50),
        time(with.p95),
        time(with.p99),
        "",
        time(without.p50),
        time(without.p95),
        time(without.p99)
    )
}

fn route_row(route: &RouteView) -> String {
    format!(
        "{:<10} {:>3} %  {:>9}  {:>6}  {}\n",
        route.name,
        route.share_percent,
        route.in_flight,
        time(route.p95),
        if route.blocked.is_empty() { &route.breaker } else { &route.blocked }
    )
}

fn cohort_row(cohort: &CohortView) -> String {
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    format!(
        "{:<14} {:<13} {:>5}  {:>6}  {}\n",
        cohort.name,
        cohort.state,
        percent(cohort.duplicate_percent),
        percent(cohort.extra_percent),
        cohort.why
    )
}

fn lane_row(lane: &LaneView) -> String {
    let hint = if lane.last_retry_after_s > 0 {
        format!("   last Retry-After {} s", lane.last_retry_after_s)
    } else {
        String::new()
    };
    format!(
        "{:<14} {:>5}  {:>9}  {:>6}  {:>5}{hint}\n",
        lane.name, lane.limit, lane.in_flight, lane.queued, lane.shed
    )
}

/// Minutes and seconds.
fn clock(time: Duration) -> String {
    format!("{:02}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// A latency with the unit that suits it.
fn time(latency: Option<Duration>) -> String {
    match latency {
        None => "-".to_owned(),
        Some(latency) if latency < Duration::from_secs(1) => format!("{} ms", latency.as_millis()),
        Some(latency) => format!("{:.1} s", latency.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_have_a_unit() {
        assert_eq!(time(None), "-");
        assert_eq!(time(Some(Duration::from_millis(61))), "61 ms");
        assert_eq!(time(Some(Duration::from_millis(9_240))), "9.2 s");
        assert_eq!(clock(Duration::from_secs(75)), "01:15");
    }
}
