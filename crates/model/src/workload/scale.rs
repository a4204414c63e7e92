//! A workload at another size: fewer keys, shorter steps.

use super::{DataSet, Extent, Operation, Step, Workload};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a plan changes of a workload's size; what is absent stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    pub keys: Option<u64>,
    /// The file of fio, in units of 1,000,000 bytes.
    pub file_mb: Option<u64>,
    pub tables: Option<u32>,
    /// Rows of each table.
    pub rows: Option<u64>,
    /// Memory that a server is given, in units of 1,000,000 bytes.
    pub memory_mb: Option<u64>,
    /// Seconds of each step that is measured by time and reads only.
    pub read_seconds: Option<f64>,
    /// Seconds of each step that is measured by time and writes, or reads while a writer writes.
    pub write_seconds: Option<f64>,
    /// Foreground threads of each step that has not just one by its nature. A companion's rate goes with them.
    pub threads: Option<u32>,
    /// Whether what is due in a second at a stated rate comes at its beginning, or evenly spaced.
    pub in_bursts: Option<bool>,
}

impl Workload {
    /// The workload at this scale.
    pub fn scaled(mut self, scale: &Scale) -> Workload {
        if let Some(keys) = scale.keys {
            self.data.keys = keys;
        }
        if let (Some(megabytes), true) = (scale.file_mb, self.is_fio()) {
            self.data = DataSet::of_file(Bytes(megabytes * 1_000_000));
        }
        if let Some(tables) = &mut self.tables {
            tables.count = scale.tables.unwrap_or(tables.count);
            tables.rows = scale.rows.unwrap_or(tables.rows);
            self.data = DataSet::of_tables(tables);
        }
        if let Some(megabytes) = scale.memory_mb {
            self.memory = Some(Bytes(megabytes * 1_000_000));
        }
        for step in &mut self.steps {
            let seconds = if step.writes() { scale.write_seconds } else { scale.read_seconds };
            if let (Some(seconds), Extent::Time { .. } | Extent::Blocks, false) =
                (seconds, step.extent, step.is_companion())
            {
                step.extent = Extent::Time { wall: nanos(seconds) };
            }
            if let (Some(in_bursts), Some(_)) = (scale.in_bursts, step.rate) {
                step.in_bursts = in_bursts;
            }
            if let Some(threads) = scale.threads
                && step.threads_scale()
            {
                step.set_threads(threads);
            }
        }
        self
    }
}

impl Workload {
    /// The scale that makes a workload of this name as large as this one. What its steps do not share is absent.
    pub fn scale(&self) -> Scale {
        let tables = self.tables.as_ref();
        // A plan has `clients` or a scale of threads.
        let is_swept = self.steps.iter().any(|step| step.sweep_of.is_some());
        let is_scaled = |step: &&Step| step.threads_scale() && !is_swept;
        let threads = self.steps.iter().filter(is_scaled).map(|step| step.threads);
        Scale {
            keys: (tables.is_none() && !self.is_fio()).then_some(self.data.keys),
            file_mb: self.is_fio().then_some(self.data.size().0 / 1_000_000),
            tables: tables.map(|tables| tables.count),
            rows: tables.map(|tables| tables.rows),
            memory_mb: tables.and(self.memory).map(|memory| memory.0 / 1_000_000),
            read_seconds: the_only(self.seconds(false)).flatten(),
            write_seconds: the_only(self.seconds(true)).flatten(),
            threads: the_only(threads),
            in_bursts: self.steps.iter().any(|step| step.in_bursts).then_some(true),
        }
    }

    /// The seconds of the steps of one kind that a scale gives a time; absent of one that has none.
    fn seconds(&self, writes: bool) -> impl Iterator<Item = Option<f64>> {
        let of_kind = self.steps.iter().filter(move |step| step.writes() == writes && !step.is_companion());
        of_kind.filter_map(|step| match step.extent {
            Extent::Time { wall } => Some(Some(wall.as_secs_f64())),
            Extent::Blocks => Some(None),
            Extent::Operations { .. } | Extent::PerKey { .. } => None,
        })
    }
}

/// What all are, where they are all the same.
fn the_only<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

impl Step {
    /// Whether the number of its threads is the workload's choice: it has not just one by its nature.
    pub fn threads_scale(&self) -> bool {
        // A load that is a result, as in the Insert Benchmark, is that of all clients, a table each.
        let is_reported_load = self.operation == Operation::LoadTables && !self.helper;
        !self.threads_fixed && (is_reported_load || !self.operation.fills())
    }

    /// A concurrent step's rate is that of each client, so it goes with them.
    pub(super) fn set_threads(&mut self, threads: u32) {
        if let (true, Some(rate)) = (self.is_companion(), &mut self.rate) {
            *rate *= f64::from(threads) / f64::from(self.threads);
        }
        self.threads = threads;
    }
}

fn nanos(seconds: f64) -> Nanos {
    std::time::Duration::try_from_secs_f64(seconds).map_or(Nanos(u64::MAX), Nanos::from)
}
