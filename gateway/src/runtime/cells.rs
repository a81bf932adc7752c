//! All latency cells of the pod.
//!
//! Bounded by configuration: cohorts x routes x listed models x 2 x 4; a wildcard model is one name. A cell appears with
//! its first attempt and goes when its route or cohort has left the configuration and nobody holds it.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use hedgerow_config::state::CellKey;

use super::cell::{CellId, CellRuntime};

/// The cells by short name.
#[derive(Default)]
pub struct Cells {
    by_id: RwLock<HashMap<CellId, Arc<CellRuntime>>>,
}

impl Cells {
    /// The cell `id`, made when it is missing or when `identity` changed.
    pub fn get(&self, id: CellId, identity: &str, key: impl FnOnce() -> CellKey) -> Arc<CellRuntime> {
        if let Some(cell) = self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(&id)
            && cell.identity == identity
        {
            return cell.clone();
        }
        let mut cells = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        let generation = match cells.get(&id) {
            Some(cell) if cell.identity == identity => return cell.clone(),
            Some(old) => old.generation + 1,
            None => 0,
        };
        let cell = Arc::new(CellRuntime::new(key(), id, generation, identity.to_owned()));
        cells.insert(id, cell.clone());
        cell
    }

    /// The cell `id` if it exists.
    pub fn find(&self, id: CellId) -> Option<Arc<CellRuntime>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// All cells.
    pub fn all(&self) -> Vec<Arc<CellRuntime>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Drops cells for which `keep` is false and that no attempt holds.
    pub fn retain(&self, keep: impl Fn(&CellRuntime) -> bool) {
        let mut cells = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|_, cell| Arc::strong_count(cell) > 1 || keep(cell));
    }
}
