//! Who holds how much of a lane.
//!
//! Only tenants with something running or waiting have an entry, so the map is bounded by the pod's own
//! limits (keyed limiters that keep idle keys leak, governor#171). The hasher is fixed: keys are keyed hashes
//! already, and a random one would make replays differ.
//!
//! Near the limit places are given as max-min fairness wants it (Bertsekas and Gallager, *Data Networks*, 6.5.2): a tenant
//! that holds its equal share may go on as long as another holds more per weight. Equal shares alone refuse those whom a
//! flood should not touch: of ten tenants in 40 places, one that holds 2 on average wants a fifth in one moment of twenty
//! (simulated: their p99 was three times as long, while the flooder held half of the lane).

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::time::Duration;

use super::reservation::Reservation;
use crate::time::Moment;

/// Occupancy in percent from which shares are enforced.
const NEAR_PERCENT: u64 = 90;

#[derive(Clone, Copy, Debug)]
struct Entry {
    in_flight: u32,
    waiting: u32,
    weight: u32,
    /// What refused ones of this tenant were promised.
    reservation: Reservation,
}

/// The active tenants of one scope (a lane, or the pod).
#[derive(Clone, Debug, Default)]
pub(super) struct Tenants {
    active: HashMap<u64, Entry, BuildHasherDefault<DefaultHasher>>,
    weights: u64,
    levels: Levels,
}

/// How many tenants hold how much per weight, and the most that one holds: known without looking at all of them.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// Tenants at each level above zero; level 1 is the first.
    tenants: Vec<u32>,
    highest: usize,
}

impl Levels {
    fn change(&mut self, from: u32, to: u32) {
        if let Some(count) = (from as usize).checked_sub(1).and_then(|at| self.tenants.get_mut(at)) {
            *count -= 1;
        }
        if let Some(at) = (to as usize).checked_sub(1) {
            if at >= self.tenants.len() {
                self.tenants.resize(at + 1, 0);
            }
            self.tenants[at] += 1;
            self.highest = self.highest.max(at + 1);
        }
        while self.highest > 0 && self.tenants[self.highest - 1] == 0 {
            self.highest -= 1;
        }
    }
}

impl Entry {
    /// What it holds per weight.
    fn level(&self) -> u32 {
        self.in_flight / self.weight.max(1)
    }
}

/// Whether so many of at most `limit` leave so little room that shares count.
pub(super) fn near(in_flight: u32, limit: u32) -> bool {
    u64::from(in_flight) * 100 >= u64::from(limit) * NEAR_PERCENT
}

impl Tenants {
    /// Something of this tenant starts running.
    pub(super) fn start(&mut self, tenant: u64, weight: u32) {
        let entry = self.entry(tenant, weight);
        let before = entry.level();
        entry.in_flight += 1;
        let after = entry.level();
        self.levels.change(before, after);
    }

    /// Something of this tenant starts waiting.
    pub(super) fn wait(&mut self, tenant: u64, weight: u32) {
        self.entry(tenant, weight).waiting += 1;
    }

    /// Something stops running.
    pub(super) fn end(&mut self, tenant: u64) {
        self.change(tenant, |entry| entry.in_flight = entry.in_flight.saturating_sub(1));
    }

    /// Something stops waiting.
    pub(super) fn leave(&mut self, tenant: u64) {
        self.change(tenant, |entry| entry.waiting = entry.waiting.saturating_sub(1));
    }

    /// Whether one more would pass the tenant's share of `limit`, with `in_flight` running in this scope.
    pub(super) fn at_share(
        &self,
        tenant: u64,
        weight: u32,
        limit: u32,
        in_flight: u32,
        max_percent: u8,
    ) -> bool {
        let entry = self.active.get(&tenant);
        let held = u64::from(entry.map_or(0, |entry| entry.in_flight));
        let near = near(in_flight, limit);
        let limit = u64::from(limit);
        if held >= (limit * u64::from(max_percent) / 100).max(1) && max_percent < 100 {
            return true;
        }
        let alone = self.active.len() == usize::from(entry.is_some());
        if !near || alone {
            return false;
        }
        let weight = u64::from(entry.map_or(weight, |entry| entry.weight).max(1));
        let all = self.weights + if entry.is_some() { 0 } else { weight };
        // Whoever holds most per weight is the one to stop; the others may catch up.
        held >= (limit * weight).div_ceil(all).max(1) && held / weight >= self.levels.highest as u64
    }

    /// Reserves a place for a refused one of a tenant that holds something, in its part of `spare`; `None` for others.
    pub(super) fn reserve(
        &mut self,
        tenant: u64,
        now: Moment,
        spare: f64,
        bounds: (Duration, Duration),
    ) -> Option<u32> {
        let all = self.weights.max(1) as f64;
        let entry = self.active.get_mut(&tenant)?;
        let part = spare * f64::from(entry.weight) / all;
        Some(entry.reservation.reserve(now, part, bounds))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.weights == 0 && self.levels.highest == 0
    }

    fn entry(&mut self, tenant: u64, weight: u32) -> &mut Entry {
        let weights = &mut self.weights;
        self.active.entry(tenant).or_insert_with(|| {
            let weight = weight.max(1);
            *weights += u64::from(weight);
            Entry { in_flight: 0, waiting: 0, weight, reservation: Reservation::default() }
        })
    }

    fn change(&mut self, tenant: u64, change: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.active.get_mut(&tenant) else { return };
        let before = entry.level();
        change(entry);
        self.levels.change(before, entry.level());
        if entry.in_flight == 0 && entry.waiting == 0 {
            self.weights -= u64::from(entry.weight);
            self.active.remove(&tenant);
        }
    }
}
