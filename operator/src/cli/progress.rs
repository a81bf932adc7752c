//! A bar on stderr while a file is read.
//!
//! Inputs: how far the reading is. Outputs: one line that is drawn over itself, at most ten times a second, and gone when the
//! work is done or has failed. Where stderr is no terminal there is none: a log has no use for it. Nothing here fails.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use crossterm::{
    cursor::MoveToColumn,
    queue, terminal,
    terminal::{Clear, ClearType},
};

use crate::{domain::figure, replay::whatif::Progress};

const PAUSE: Duration = Duration::from_millis(100);
/// Most columns of the bar itself.
const WIDEST: usize = 40;

/// The bar as far as it is drawn.
#[derive(Debug)]
pub(super) struct Bar {
    terminal: bool,
    drawn: Option<Instant>,
}

impl Bar {
    /// A bar where stderr is a terminal.
    pub(super) fn new() -> Self {
        Self { terminal: io::stderr().is_terminal(), drawn: None }
    }

    /// Shows how far it is.
    pub(super) fn show(&mut self, progress: &Progress) {
        if !self.terminal {
            return;
        }
        let now = now();
        if self.drawn.is_some_and(|drawn| now.duration_since(drawn) < PAUSE) {
            return;
        }
        self.drawn = Some(now);
        let (width, _) = terminal::size().unwrap_or((80, 24));
        let mut out = io::stderr().lock();
        let _ = queue!(out, MoveToColumn(0));
        let _ = out.write_all(line(progress, usize::from(width)).as_bytes());
        let _ = queue!(out, Clear(ClearType::UntilNewLine));
        let _ = out.flush();
    }
}

impl Drop for Bar {
    /// What follows is written where the bar was.
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let mut out = io::stderr().lock();
            let _ = queue!(out, MoveToColumn(0), Clear(ClearType::CurrentLine));
            let _ = out.flush();
        }
    }
}

/// One line of at most `width` - 1 columns: a full line would scroll.
fn line(progress: &Progress, width: usize) -> String {
    let done = progress.share();
    let text = format!(
        " {:>3.0} %  reading {} of 2, {} lines",
        (done * 100.0).floor(),
        progress.reading,
        figure::count(progress.lines)
    );
    let bar = width.saturating_sub(text.len() + 1).min(WIDEST);
    let full = (done * bar as f64) as usize;
    let line = format!("{}{}{text}", "█".repeat(full), "░".repeat(bar - full));
    line.chars().take(width.saturating_sub(1)).collect()
}

#[expect(clippy::disallowed_methods, reason = "a command is a shell: how often it draws is its own concern")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_both_readings_and_fits_its_terminal() {
        let at = |reading, read| Progress { reading, lines: 1_234_567, read, size: 1_000 };
        let begun = line(&at(1, 500), 80);
        assert_eq!(
            begun,
            format!("{}{}  25 %  reading 1 of 2, 1,234,567 lines", "█".repeat(10), "░".repeat(30))
        );
        assert!(line(&at(2, 1_000), 80).starts_with(&format!("{} 100 %", "█".repeat(40))));
        for width in 0..120 {
            assert!(line(&at(2, 300), width).chars().count() <= width.saturating_sub(1), "{width}");
        }
    }
}
