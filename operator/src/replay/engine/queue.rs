//! What happens next: a priority queue of events.
//!
//! Equal moments keep the order in which they were scheduled, so a run is a function of its seed.

use std::{cmp::Ordering, collections::BinaryHeap};

use hedgerow_policy::time::Moment;

/// A user action in its slot; a slot that was used again has another generation, and old events find nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Slot.
    pub slot: u32,
    /// Generation.
    pub generation: u32,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next arrival of an open traffic class.
    Arrival(u16),
    /// A session asks.
    Ask(u16, u32),
    /// A call is sent again by its client.
    Again(u32),
    /// First token of an attempt.
    First(Handle, u8),
    /// An attempt fails.
    Fail(Handle, u8),
    /// The hedge timer.
    Fire(Handle),
    /// A back-off on the same route is over.
    Retry(Handle),
    /// A committed answer ends.
    End(Handle),
    /// An attempt whose cancel was ignored ends at its provider.
    Gone(u8),
    /// Lanes of a pod tick.
    Lanes(u16),
    /// Every second: breakers and delays.
    Second,
    /// Operator reads all pods.
    Scrape,
    /// A decision reaches the pods.
    Apply,
    /// A pod starts.
    Up(u16),
    /// A pod stops taking traffic.
    Down(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Moment,
    order: u64,
    event: Event,
}

impl Ord for Entry {
    /// The earliest is the greatest: the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The events to come.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Entry>,
    order: u64,
}

impl Queue {
    /// Schedules an event.
    pub fn at(&mut self, at: Moment, event: Event) {
        self.order += 1;
        self.heap.push(Entry { at, order: self.order, event });
    }

    /// The next event.
    pub fn next(&mut self) -> Option<(Moment, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_time_and_at_equal_times_in_order() {
        let mut queue = Queue::default();
        queue.at(Moment::from_secs(2), Event::Second);
        queue.at(Moment::from_secs(1), Event::Gone(1));
        queue.at(Moment::from_secs(1), Event::Gone(2));
        let order: Vec<Event> = std::iter::from_fn(|| queue.next()).map(|(_, event)| event).collect();
        assert_eq!(order, [Event::Gone(1), Event::Gone(2), Event::Second]);
    }
}
