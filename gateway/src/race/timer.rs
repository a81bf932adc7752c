//! The one timer of a user action.
//!
//! Armed lazily and moved to the next due moment: arming a boxed tokio timer costs 464 ns (experiment E10), so a request
//! that has several due moments shares one. It may be armed for an earlier moment than the one asked for; then it wakes,
//! sees that by the clock, and is armed again.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use hedgerow_policy::time::Moment;
use tokio::time::{Sleep, sleep_until};

use crate::runtime::clock::Clock;

/// One lazily armed timer.
#[derive(Default)]
pub struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: Moment,
}

impl Timer {
    /// Ready when `due` has passed; otherwise the task is woken by then. `Moment::MAX` = never.
    pub fn poll(&mut self, cx: &mut Context<'_>, clock: &Clock, due: Moment) -> Poll<()> {
        if due == Moment::MAX {
            return Poll::Pending;
        }
        loop {
            let sleep = self.sleep.get_or_insert_with(|| {
                self.armed = due;
                Box::pin(sleep_until(clock.instant(due)))
            });
            if due < self.armed || sleep.is_elapsed() {
                sleep.as_mut().reset(clock.instant(due));
                self.armed = due;
            }
            ready!(sleep.as_mut().poll(cx));
            if clock.now() >= due {
                return Poll::Ready(());
            }
        }
    }
}
