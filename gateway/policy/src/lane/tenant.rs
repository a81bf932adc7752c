//! Who holds how much of a lane.
//!
//! Only tenants with something running or waiting have an entry, so the map is bounded by the pod's own
//! limits (keyed limiters that keep idle keys leak, governor#171). The hasher is fixed: keys are keyed hashes
//! already, and a random one would make replays differ.

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
}

impl Tenants {
    /// Something of this tenant starts running.
    pub(super) fn start(&mut self, tenant: u64, weight: u32) {
        self.entry(tenant, weight).in_flight += 1;
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
        let limit = u64::from(limit);
        if held >= (limit * u64::from(max_percent) / 100).max(1) && max_percent < 100 {
            return true;
        }
        let near = u64::from(in_flight) * 100 >= limit * NEAR_PERCENT;
        let alone = self.active.len() == usize::from(entry.is_some());
        if !near || alone {
            return false;
        }
        let weight = u64::from(entry.map_or(weight, |entry| entry.weight).max(1));
        let all = self.weights + if entry.is_some() { 0 } else { weight };
        held >= (limit * weight).div_ceil(all).max(1)
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
        self.active.is_empty() && self.weights == 0
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
        change(entry);
        if entry.in_flight == 0 && entry.waiting == 0 {
            self.weights -= u64::from(entry.weight);
            self.active.remove(&tenant);
        }
    }
}
