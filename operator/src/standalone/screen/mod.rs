//! The live status on stderr.
//!
//! A terminal of its own gets a table that is drawn over itself; anything else gets plain lines: every event, and a summary
//! now and then. When records flow into the same terminal through stdout, lines are all that can be read, so there are no
//! drawings then either. Nothing here ever fails: a closed stderr is no reason to stop serving.

mod table;

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use crossterm::{cursor, queue, terminal};
use hedgerow_policy::time::Moment;

use super::{
    clock::now,
    view::{FleetView, View},
};
use crate::domain::{figure, guardrail::Decision};

/// Pause between two summaries in plain lines.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);
/// Events shown below the table.
const EVENTS: usize = 6;

/// Where the live status goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Stderr.
    Stderr,
    /// Nowhere; the gateways' logs neither.
    Silent,
}

/// The screen as far as it is drawn.
#[derive(Debug)]
pub(super) struct Terminal {
    form: Form,
    events: Vec<String>,
    last_summary: Moment,
    said: String,
}

#[derive(Debug)]
enum Form {
    Silent,
    Lines,
    /// Drawn lines, which the next drawing replaces.
    Table(u16),
}

impl Terminal {
    pub(super) fn new(screen: Screen) -> Self {
        let form = match screen {
            Screen::Silent => Form::Silent,
            Screen::Stderr if io::stderr().is_terminal() && !io::stdout().is_terminal() => Form::Table(0),
            Screen::Stderr => Form::Lines,
        };
        Self { form, events: Vec::new(), last_summary: Moment::ZERO, said: String::new() }
    }

    /// Something happened.
    pub(super) fn say(&mut self, text: &str) {
        let line = format!("{} {text}", figure::clock(now()));
        match self.form {
            Form::Silent => {}
            Form::Lines => write(&format!("{line}\n")),
            Form::Table(_) => {
                self.events.push(line);
                if self.events.len() > EVENTS {
                    self.events.remove(0);
                }
            }
        }
    }

    /// A guardrail decided.
    pub(super) fn decided(&mut self, decision: &Decision) {
        self.say(&format!("guardrail  {}", decision.line));
    }

    /// A gateway wrote a line to its log.
    pub(super) fn log(&mut self, uid: &str, line: &str) {
        if !matches!(self.form, Form::Silent) {
            self.say(&format!("{uid}: {line}"));
        }
    }

    /// The picture after a round.
    pub(super) fn show(&mut self, view: &View) {
        let at = Moment::from_millis(view.at_unix_ms);
        match self.form {
            Form::Silent => {}
            Form::Lines => {
                if at.since(self.last_summary) < SUMMARY_EVERY {
                    return;
                }
                self.last_summary = at;
                for fleet in &view.fleets {
                    let summary = table::summary(fleet);
                    if summary != self.said {
                        self.say(&summary);
                        self.said = summary;
                    }
                }
            }
            Form::Table(drawn) => {
                let (width, height) = terminal::size().unwrap_or((80, 24));
                let mut lines = table::lines(view);
                lines.extend(self.events.iter().cloned());
                lines.truncate(usize::from(height).saturating_sub(1));
                self.form = Form::Table(draw(&lines, usize::from(width), drawn));
            }
        }
    }

    /// The last thing on the screen stays there.
    pub(super) fn end(&mut self) {
        if let Form::Table(_) = self.form {
            self.form = Form::Lines;
            for event in std::mem::take(&mut self.events) {
                write(&format!("{event}\n"));
            }
        }
    }
}

/// Prints where to point clients and where to look, for people and for scripts.
pub(super) fn announce(screen: Screen, view: &View) {
    if screen != Screen::Silent {
        view.fleets.iter().for_each(|fleet| write(&addresses(fleet)));
    }
}

/// A second signal came.
pub(super) fn cut(screen: Screen) {
    if screen != Screen::Silent {
        write("second signal: running requests are cut\n");
    }
}

/// The addresses of a fleet. A dialect that no route speaks has none: every request of it would be refused.
fn addresses(fleet: &FleetView) -> String {
    let ready = fleet.pods.iter().filter(|pod| pod.ready).count();
    let (url, gateways) = (&fleet.base_url, if ready == 1 { "gateway" } else { "gateways" });
    let mut text = format!("fleet {}, {ready} {gateways} ready\n", fleet.name);
    if fleet.routes.iter().any(|route| !route.anthropic) {
        let _ = writeln!(text, "OPENAI_BASE_URL={url}/v1");
    }
    if fleet.routes.iter().any(|route| route.anthropic) {
        let _ = writeln!(text, "ANTHROPIC_BASE_URL={url}");
    }
    for admin in fleet.pods.iter().filter_map(|pod| pod.admin) {
        let _ = writeln!(text, "admin http://{admin} (/livez /readyz /metrics /state)");
    }
    text
}

/// Draws `lines` over the `drawn` ones of last time; returns how many there are now.
fn draw(lines: &[String], width: usize, drawn: u16) -> u16 {
    let mut out = Vec::new();
    let _ = queue!(out, cursor::MoveToColumn(0));
    if drawn > 0 {
        let _ = queue!(out, cursor::MoveUp(drawn));
    }
    let _ = queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown));
    for line in lines {
        let cut: String = line.chars().take(width.saturating_sub(1)).collect();
        out.extend_from_slice(cut.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    let _ = io::stderr().lock().write_all(&out);
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::view::{PodView, RouteView};
    use super::*;

    #[test]
    fn only_dialects_that_a_route_speaks_have_an_address() {
        let route = |anthropic| RouteView { anthropic, ..RouteView::default() };
        let pod = PodView {
            uid: "default-0".into(),
            admin: Some(([127, 0, 0, 1], 9090).into()),
            ready: true,
            digest: String::new(),
            restarts: 0,
            scraped_unix_ms: None,
        };
        let fleet = |routes| FleetView {
            name: "default".into(),
            base_url: "http://127.0.0.1:8080".into(),
            pods: vec![pod.clone()],
            routes,
            ..FleetView::default()
        };
        assert_eq!(
            addresses(&fleet(vec![route(false)])),
            "fleet default, 1 gateway ready\nOPENAI_BASE_URL=http://127.0.0.1:8080/v1\n\
             admin http://127.0.0.1:9090 (/livez /readyz /metrics /state)\n"
        );
        let anthropic = addresses(&fleet(vec![route(true)]));
        assert!(
            !anthropic.contains("OPENAI") && anthropic.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:8080\n")
        );
    }
}
