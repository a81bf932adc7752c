//! User actions in flight, and the calls of clients that they belong to.

use hedgerow_policy::{
    breaker::Pass,
    lane::{Permit, Ticket},
    ledger::{Booked, Kind, Usage},
    time::Moment,
};

use super::queue::Handle;

/// What a client wants, over all of its tries.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Number: the identity of its draws.
    pub number: u64,
    /// Traffic class.
    pub class: u16,
    /// Session, for closed loops.
    pub session: Option<u32>,
    /// First try.
    pub born: Moment,
    /// Retries so far.
    pub retries: u32,
    /// Tenant.
    pub tenant: u64,
    /// Affinity key; 0 = none.
    pub affinity: u64,
}

/// One attempt.
#[derive(Debug)]
pub struct Leg {
    /// Number from 1.
    pub number: u8,
    /// Why.
    pub kind: Kind,
    /// Route.
    pub route: u8,
    /// When.
    pub started: Moment,
    /// When it ends if it is not cancelled.
    pub ends: Moment,
    /// When its first token comes, if one does.
    pub first: Moment,
    /// The prompt was not in the cache there.
    pub cold: bool,
    /// The breaker's leave.
    pub pass: Option<Pass>,
    /// Place among the waiting of its cell; hedges have none.
    pub place: Option<u32>,
    /// It got a 429 with this wait in seconds, or failed.
    pub fate: Fate,
}

/// How an attempt will end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// With an answer.
    Answer,
    /// With a 5xx.
    Failure,
    /// With a 429 that names a wait in seconds, or none.
    Refusal(Option<f64>),
}

/// Which leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The primary, or the retry that took its place.
    Primary,
    /// The hedge.
    Hedge,
}

/// A user action at a pod.
#[derive(Debug, Default)]
pub struct Action {
    /// Call that it belongs to.
    pub call: u32,
    /// Pod.
    pub pod: u16,
    /// Admitted.
    pub started: Moment,
    /// Place in its lane.
    pub permit: Option<Permit>,
    /// Place in a queue.
    pub ticket: Option<Ticket>,
    /// The primary.
    pub primary: Option<Leg>,
    /// The hedge.
    pub hedge: Option<Leg>,
    /// The answer that the client gets.
    pub winner: Option<(Leg, Side)>,
    /// Attempts started.
    pub attempts: u8,
    /// Retries among them.
    pub retries: u32,
    /// Routes used, as bits.
    pub used: u8,
    /// A hedge was sent.
    pub hedged: bool,
    /// No hedge can be sent any more.
    pub over: bool,
    /// First route.
    pub first_route: u8,
    /// First token that the prompt drew, for correlated legs.
    pub base: f64,
    /// Route of a retry that waits for its back-off.
    pub again: Option<u8>,
    /// What was booked.
    pub booked: Vec<(Booked, u8)>,
    /// Usage of the winner.
    pub winner_usage: Option<Usage>,
    /// Tokens that providers billed for all of its attempts.
    pub billed_tokens: u64,
    /// Its user waited longer than the model's tail begins.
    pub tail: bool,
    /// Losers read to the end, and those that finished.
    pub audited: (u64, u64),
    /// The most telling error so far.
    pub error: Option<Fate>,
}

/// Slots of user actions; memory follows the most at once.
#[derive(Debug, Default)]
pub struct Actions {
    slots: Vec<(u32, Action)>,
    free: Vec<u32>,
}

impl Actions {
    /// A new action.
    pub fn add(&mut self, call: u32, pod: u16) -> Handle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, Action::default()));
            (self.slots.len() - 1) as u32
        });
        let (generation, action) = &mut self.slots[slot as usize];
        // Vectors keep their memory from one action to the next.
        let mut booked = std::mem::take(&mut action.booked);
        booked.clear();
        *action = Action { call, pod, booked, ..Action::default() };
        Handle { slot, generation: *generation }
    }

    /// The action, unless it is over.
    pub fn get(&mut self, handle: Handle) -> Option<&mut Action> {
        let (generation, action) = self.slots.get_mut(handle.slot as usize)?;
        (*generation == handle.generation).then_some(action)
    }

    /// Ends it.
    pub fn end(&mut self, handle: Handle) {
        if let Some((generation, _)) = self.slots.get_mut(handle.slot as usize)
            && *generation == handle.generation
        {
            *generation = generation.wrapping_add(1);
            self.free.push(handle.slot);
        }
    }

    /// Actions that are not over.
    pub fn alive(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Action {
    /// The leg with this number and its side.
    pub fn side(&self, number: u8) -> Option<Side> {
        let has = |leg: &Option<Leg>| leg.as_ref().is_some_and(|leg| leg.number == number);
        if has(&self.primary) {
            Some(Side::Primary)
        } else if has(&self.hedge) {
            Some(Side::Hedge)
        } else {
            None
        }
    }

    /// Takes a leg.
    pub fn take(&mut self, side: Side) -> Option<Leg> {
        match side {
            Side::Primary => self.primary.take(),
            Side::Hedge => self.hedge.take(),
        }
    }

    /// Attempts in flight.
    pub fn in_flight(&self) -> u8 {
        u8::from(self.primary.is_some()) + u8::from(self.hedge.is_some())
    }
}
