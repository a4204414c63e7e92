//! The end of a part of a launch: what was written is kept, and nothing else stays behind.

use super::RealWorld;
use crate::campaign::action::{DATABASE, Role, WorkerId};
use crate::campaign::world::{Failure, Performed};
use crate::clock::Stopwatch;
use crate::marked_dir;
use crate::process::{output, supervisor};
use crate::real::profile::Profiler;
use model::event::RunEvent;
use model::wire::Reply;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes that are kept of a text which an engine, a worker or a tool wrote.
pub(super) const KEPT_BYTES: u64 = 128 << 10;

impl RealWorld {
    /// Ends workers that have done what they were there for, and the servers whose data is needed on.
    pub(super) fn stop(
        &mut self,
        workers: &[WorkerId],
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        let interrupted = Arc::clone(&self.interrupted);
        for profile in self.profiler.as_mut().map(Profiler::finish).unwrap_or_default() {
            tell(RunEvent::Profiled(Box::new(profile)));
        }
        for id in workers {
            self.drop_tables(*id, tell);
            if let Some(worker) = self.workers.remove(id)
                && let Some(Reply::Bye { heap_peak }) = worker.stop(&|| interrupted.load(Ordering::Relaxed))
            {
                self.heap_peak = self.heap_peak.max(heap_peak.0);
            }
            // The data of others is about to be removed: they are killed, which writes nothing.
            if let Some(server) = self.servers.remove(id)
                && id.role == Role::Builder
            {
                let watch = Stopwatch::start();
                let stopped = server.stop(&|| interrupted.load(Ordering::Relaxed));
                self.pauses.engine_worked(watch.elapsed());
                stopped.map_err(|error| self.fail_server(*id, "stopping its server", &error))?;
            }
        }
        Ok(Performed::Done)
    }

    /// What the engine and the worker wrote, with the names under which it is kept.
    pub(super) fn texts(&self, id: WorkerId) -> Vec<(String, String)> {
        let directory = self.worker_directory(id);
        let role = match id.role {
            Role::Builder => "image",
            Role::Reader => "read",
            Role::Writer => "write",
        };
        let log = match self.servers.get(&id) {
            Some(server) => server.log_file().to_owned(),
            None => directory.join(DATABASE).join("LOG"),
        };
        let texts = [("LOG", log), ("stderr", directory.join("stderr"))].into_iter().map(|(name, path)| {
            (format!("{role}/{name}"), output::head_and_tail(&path, KEPT_BYTES).unwrap_or_default())
        });
        texts.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Tells what was written below the directories that are about to be removed: why it failed stands there.
    pub(super) fn tell_texts(&self, tell: &mut dyn FnMut(RunEvent)) {
        for id in &self.made {
            for (name, text) in self.texts(*id) {
                tell(RunEvent::RawOutput { launch: self.launch, side: id.side, name, text });
            }
        }
    }

    pub(super) fn remove_directories(&mut self, workers: &[WorkerId]) -> Result<Performed, Failure> {
        for id in workers {
            let removed = marked_dir::remove_marked_dir(&self.worker_directory(*id));
            removed.map_err(|error| self.fail(*id, "removing its directory", &error))?;
            self.made.remove(id);
        }
        self.end_orphans();
        Ok(Performed::Done)
    }

    /// Ends every worker, frozen or not, and removes what they left.
    pub(super) fn abandon(&mut self) {
        // Dropping a worker or a server kills it.
        self.workers.clear();
        self.servers.clear();
        self.pauses.forget();
        self.end_orphans();
        for id in std::mem::take(&mut self.made) {
            let _ = marked_dir::remove_marked_dir(&self.worker_directory(id));
        }
    }

    /// Ends one worker, frozen or not, and removes what it left. The others go on.
    pub(super) fn abandon_side(&mut self, id: WorkerId, tell: &mut dyn FnMut(RunEvent)) {
        for (name, text) in self.texts(id) {
            tell(RunEvent::RawOutput { launch: self.launch, side: id.side, name, text });
        }
        // Dropping a worker or a server kills it.
        self.workers.remove(&id);
        self.servers.remove(&id);
        if self.made.remove(&id) {
            let _ = marked_dir::remove_marked_dir(&self.worker_directory(id));
        }
    }

    /// Ends what engines and tools have left behind: it would take time from whatever is measured next.
    fn end_orphans(&self) {
        if self.workers.is_empty() && self.servers.is_empty() {
            supervisor::end_orphans();
        }
    }
}
