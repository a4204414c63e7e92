//! What the storage of a side is told while a plan is carried out.

use super::RealWorld;
use crate::campaign::action::WorkerId;
use crate::campaign::world::{Failure, Performed};
use crate::clock;
use crate::real::loop_device::LoopFileSystem;
use crate::real::page_cache;
use crate::server;
use model::units::Nanos;

impl RealWorld {
    /// The devices as the side's configuration wants them.
    pub(super) fn set_storage(&mut self, id: WorkerId) -> Result<(), Failure> {
        let set = self.storage.set_for(id.side);
        set.map_err(|error| self.fail(id, "setting its device", &error))
    }

    /// CPU time so far of the process that serves the slow device below a side; none if there is no such device.
    pub(super) fn slow_device_cpu(&mut self, id: WorkerId) -> Nanos {
        let own = self.storage.file_system(id.side).or(self.loop_file_system.as_mut());
        let pid = own.and_then(LoopFileSystem::slow_device).map(|device| device.pid());
        pid.and_then(clock::process_cpu).unwrap_or_default()
    }

    /// Puts a side's files out of the page cache; below a loop device its file may be in the page cache too. A server would else read in
    /// what its last process had cached as soon as it starts.
    pub(super) fn evict(&mut self, id: WorkerId) -> Result<Performed, Failure> {
        if let Some(files) = &self.plan.subjects[id.side].build.server {
            let forgotten = server::forget_caches(&self.database(id), files.dialect);
            forgotten
                .map_err(|error| self.fail(id, "removing what its server keeps of its caches", &error))?;
        }
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
