//! Spend of the pod since its start, by role.

use std::sync::{Mutex, PoisonError};

use hedgerow_config::{money::Picos, state::SpendState};
use hedgerow_policy::ledger::{Basis, Booked, Role};

/// Sums in 1e-12 units.
#[derive(Default)]
pub struct Spend(Mutex<SpendState>);

impl Spend {
    /// Adds a booked attempt; unpriced ones add nothing.
    pub fn add(&self, booked: &Booked) {
        let Some(cost) = booked.cost else { return };
        let cost = Picos(cost.0);
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sums.total += cost;
        match booked.role {
            Role::Winner => sums.winners += cost,
            Role::Loser => sums.losers += cost,
            Role::Retry => sums.retries += cost,
        }
        if booked.basis != Basis::Exact {
            sums.estimated += cost;
        }
    }

    /// The sums.
    pub fn state(&self) -> SpendState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
