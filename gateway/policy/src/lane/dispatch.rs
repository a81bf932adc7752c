//! Who gets a freed place.
//!
//! Lanes below their guarantee first, in order of priority; then strictly by priority, except that every
//! twentieth contested place goes to the lowest waiting lane. Inside a lane the first waiter whose tenant is
//! below its share.

use super::pod::{Lanes, percent};
use super::state::{LaneId, Ticket, Wake};
use crate::time::Moment;

/// One in this many contested places goes to the lowest lane: at least 5 %.
const LOWEST_EVERY: u64 = 20;

impl Lanes {
    /// Gives away places until no waiter can be served.
    pub(super) fn dispatch(&mut self, now: Moment) {
        while self.in_flight < self.max_in_flight {
            let Some((index, at)) = self.choose() else { return };
            let Some(waiter) = self.all[index].queue.remove(at) else { return };
            self.leave(index, &waiter);
            let ticket = Ticket { lane: LaneId(index as u16), serial: waiter.serial };
            let permit = self.start(now, index, waiter.tenant, waiter.returning, now - waiter.since);
            self.wakes.push_back(Wake::Admitted(ticket, permit));
        }
    }

    /// The lane and the waiter that are next.
    fn choose(&mut self) -> Option<(usize, usize)> {
        let below_guarantee = |index: usize| {
            let lane = &self.all[index];
            lane.in_flight < percent(self.max_in_flight, lane.rule.guaranteed_percent)
        };
        let order = || self.order.iter().map(|index| usize::from(*index));
        let guaranteed =
            order().filter(|index| below_guarantee(*index)).find_map(|index| self.servable(index));
        if guaranteed.is_some() {
            return guaranteed;
        }
        let highest = order().find_map(|index| self.servable(index))?;
        let lowest = order().rev().find_map(|index| self.servable(index))?;
        if highest.0 == lowest.0 {
            return Some(highest);
        }
        self.contested += 1;
        Some(if self.contested.is_multiple_of(LOWEST_EVERY) { lowest } else { highest })
    }

    /// The first waiter of a lane that may run now.
    fn servable(&self, index: usize) -> Option<(usize, usize)> {
        let lane = &self.all[index];
        if lane.queue.is_empty() || lane.in_flight >= self.limit(index) {
            return None;
        }
        let may_run =
            |at: &usize| lane.queue.get(*at).is_some_and(|w| self.refusal(index, w.tenant).is_none());
        (0..lane.queue.len()).find(may_run).map(|at| (index, at))
    }
}
