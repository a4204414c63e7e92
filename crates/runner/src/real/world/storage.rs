//! What the storage of a side is told while a plan is carried out.

use super::RealWorld;
use crate::campaign::action::WorkerId;
use crate::campaign::world::{Failure, Performed};
use crate::real::page_cache;

impl RealWorld {
    /// The devices as the side's configuration wants them.
    pub(super) fn set_storage(&mut self, id: WorkerId) -> Result<(), Failure> {
        let set = self.storage.set_for(id.side);
        set.map_err(|error| self.fail(id, "setting its device", &error))
    }

    /// Puts a side's files out of the page cache; below a loop device its file may be in the page cache too.
    pub(super) fn evict(&mut self, id: WorkerId) -> Result<Performed, Failure> {
        let target = &self.plan.subjects[id.side].config.storage.target;
        let own = self.storage.file_system(id.side).map(|own| &*own);
        let evicted = match (own.or(self.loop_file_system.as_ref()), target) {
            (_, Some(target)) => page_cache::evict_file(target),
            (Some(file_system), None) => file_system.evict(),
            (None, None) => page_cache::evict(&self.database(id)),
        };
        evicted.map_err(|error| self.fail(id, "putting its files out of the page cache", &error))?;
        Ok(Performed::Done)
    }
}
