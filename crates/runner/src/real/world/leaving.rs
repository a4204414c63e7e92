//! The end of a part of a launch: what was written is kept, and nothing else stays behind.

use super::RealWorld;
use crate::campaign::action::{DATABASE, DataAfter, Role, WorkerId};
use crate::campaign::world::{Failure, Performed};
use crate::clock::Stopwatch;
use crate::marked_dir;
use crate::process::{output, supervisor};
use crate::real::engine_work;
use crate::real::profile::Profiler;
use formats::engine_log::LogOf;
use model::event::RunEvent;
use model::plan::Design;
use model::record::ENGINE_WORK_OUTPUT;
use model::wire::Reply;
use model::workload::sql::Dialect;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes that are kept of a text which an engine, a worker or a tool wrote.
pub(super) const KEPT_BYTES: u64 = 128 << 10;

/// The most that is kept of what the log of an engine tells of its work.
const WORK_BYTES: usize = 512 << 10;
/// Where MyRocks has its files: of MariaDB, and of others.
const MYROCKS_DIRECTORIES: [&str; 2] = ["#rocksdb", ".rocksdb"];

impl RealWorld {
    /// Ends workers that have done what they were there for, and their servers.
    pub(super) fn stop(
        &mut self,
        workers: &[WorkerId],
        data: DataAfter,
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
            // Dropping a server kills it.
            if let Some(server) = self.servers.remove(id)
                && data == DataAfter::Needed
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
        if let Some(worker) = self.workers.get(&id) {
            worker.bring_stderr();
        }
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
        let work =
            self.engine_work(id).into_iter().map(|text| (format!("{role}/{ENGINE_WORK_OUTPUT}"), text));
        texts.filter(|(_, text)| !text.is_empty()).chain(work).collect()
    }

    /// What the logs of an engine tell of its work: of a step in one go it shows what fell into it, of blocks nothing.
    fn engine_work(&self, id: WorkerId) -> Vec<String> {
        if self.plan.layout.design == Design::Interleaved || self.plan.workload.is_fio() {
            return Vec::new();
        }
        let data = self.data_directory(id);
        let logs = match self.servers.get(&id) {
            Some(server) => {
                let of_server = match server.address().dialect {
                    Dialect::Postgres => Some(LogOf::Postgres),
                    Dialect::Mysql => Some(LogOf::Mysql),
                    Dialect::Mongodb => None,
                };
                let own = of_server.map(|of| (server.log_file().to_owned(), of));
                let of_myrocks =
                    MYROCKS_DIRECTORIES.map(|below| (data.join(below).join("LOG"), LogOf::RocksDb));
                own.into_iter().chain(of_myrocks).collect()
            }
            None => vec![(data.join("LOG"), LogOf::RocksDb)],
        };
        let works = logs.into_iter().filter_map(|(path, of)| engine_work::of(&path, of));
        works.map(|work| work.to_text(WORK_BYTES)).collect()
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
