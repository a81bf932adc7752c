//! One request inside the provider, from the moment it was read until its last byte or its cancellation.
//!
//! Invariant: every turn ends exactly once, by [`Turn::end`] or by being dropped, and dropping it means that the
//! client hung up, because hyper drops the future or the body that owns it. A turn that goes on without its
//! client is finished by a task of its own, at the time at which it would have ended.

use std::sync::Arc;

use tokio::{runtime::Handle, time::Instant};

use super::{
    plan::Script,
    state::{State, stopped},
    stats::{Cancel, Stats},
};
use crate::{
    clock::{now, unix_ms},
    profile::OnCancel,
};

/// How a turn ended when it was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Cut,
    Refused { throttled: bool },
}

#[derive(Debug)]
pub(crate) struct Turn {
    state: Arc<State>,
    pub(crate) nonce: u64,
    pub(crate) started: Instant,
    input: u32,
    script: Option<Script>,
    ended: bool,
}

impl Turn {
    /// Counts the request in.
    pub(crate) fn begin(state: Arc<State>, nonce: u64) -> Self {
        state.stats.send_modify(Stats::enter);
        Self { state, nonce, started: now(), input: 0, script: None, ended: false }
    }

    /// Requests inside the provider, this one included.
    pub(crate) fn running(&self) -> u64 {
        let stats = self.state.stats.borrow();
        stats.in_flight + stats.late_running
    }

    /// What the request will cost, once it is decided.
    pub(crate) fn decided(&mut self, input: u32, script: &Script) {
        self.input = input;
        self.script = Some(script.clone());
    }

    /// Ends the turn and bills what was generated.
    pub(crate) fn end(mut self, end: End) {
        self.ended = true;
        let (input, output) = match (&self.script, end) {
            (Some(script), End::Completed) => (self.input, script.tokens),
            (Some(script), End::Cut) => (self.input, script.generated(self.started.elapsed())),
            _ => (0, 0),
        };
        self.state.stats.send_modify(|stats| {
            stats.in_flight -= 1;
            stats.bill(input, output);
            match end {
                End::Completed => stats.completed += 1,
                End::Cut => stats.cut += 1,
                End::Refused { throttled } => {
                    stats.refused += 1;
                    stats.throttled += u64::from(throttled);
                }
            }
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let generated = self.script.as_ref().map_or(0, |script| script.generated(self.started.elapsed()));
        let cancel = Cancel {
            request_id: self.state.request_id(self.nonce),
            at_unix_ms: unix_ms(),
            tokens: generated,
        };
        let goes_on = self.script.take().filter(|s| s.on_cancel == OnCancel::Continues && !s.endless());
        let (Some(script), Ok(runtime)) = (goes_on, Handle::try_current()) else {
            self.state.stats.send_modify(|stats| {
                stats.cancel(cancel);
                stats.bill(self.input, generated);
            });
            return;
        };
        self.state.stats.send_modify(|stats| {
            stats.cancel(cancel);
            stats.late_running += 1;
        });
        runtime.spawn(go_on(Arc::clone(&self.state), self.input, script.tokens, self.started + script.end()));
    }
}

/// Generates the rest for nobody. A provider that ends first never bills it.
async fn go_on(state: Arc<State>, input: u32, output: u32, end: Instant) {
    let mut stop = state.stop.clone();
    let finished = tokio::select! {
        () = tokio::time::sleep_until(end) => true,
        () = stopped(&mut stop) => false,
    };
    state.stats.send_modify(|stats| {
        stats.late_running -= 1;
        if finished {
            stats.late_completions += 1;
            stats.bill(input, output);
        }
    });
}
