//! The order of the cases: those that have the host for themselves one after another, then the others in two lanes.
//!
//! A lane has its own copy of the binary and its own cache, because a case finds the processes and databases that it left behind by their paths.

use super::scratch::{Scratch, Shared};
use super::{Case, Ending, expect, leftovers, processes};
use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// What became of a case.
pub struct Record {
    pub name: String,
    pub outcome: &'static str,
    pub seconds: f64,
    pub reason: Option<String>,
    pub was_tried_twice: bool,
}

pub struct Lanes<'a> {
    /// Of the first lane.
    pub first: Shared,
    pub is_ci: bool,
    /// Told of each case that has ended, with what is done about it.
    pub tell: &'a (dyn Fn(&Record, &str) + Sync),
}

impl Lanes<'_> {
    /// The records stand in the order in which the cases ended.
    pub fn run(&self, cases: &[Case]) -> anyhow::Result<Vec<Record>> {
        let (shared, alone): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.shares_host);
        let mut records: Vec<Record> = alone.iter().map(|case| self.run_case(case, &self.first)).collect();
        if let [only] = shared[..] {
            records.push(self.run_case(only, &self.first));
        } else if !shared.is_empty() {
            records.extend(self.in_two_lanes(&shared)?);
        }
        Ok(records)
    }

    fn in_two_lanes(&self, cases: &[&Case]) -> anyhow::Result<Vec<Record>> {
        let second = self.first.twin()?;
        let waiting = Mutex::new(cases.iter());
        let records = Mutex::new(Vec::new());
        let lane = |shared: &Shared| {
            let next = || waiting.lock().ok()?.next();
            while let Some(case) = next() {
                let record = self.run_case(case, shared);
                if let Ok(mut records) = records.lock() {
                    records.push(record);
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| lane(&second));
            lane(&self.first);
        });
        let records = records.into_inner().ok().context("a lane has panicked")?;
        ensure!(records.len() == cases.len(), "{} of {} cases have ended", records.len(), cases.len());
        Ok(records)
    }

    fn run_case(&self, case: &Case, shared: &Shared) -> Record {
        let mut record = self.try_case(case, shared);
        if record.outcome == "failed" {
            // One in a hundred verdicts may be wrong, and other guests of the host stop ours for seconds: a case that fails once is
            // said and tried once more, and one that fails twice fails.
            (self.tell)(&record, ", and is tried once more");
            record = Record { was_tried_twice: true, ..self.try_case(case, shared) };
        }
        (self.tell)(&record, "");
        record
    }

    fn try_case(&self, case: &Case, shared: &Shared) -> Record {
        let began = Instant::now();
        let ending = Scratch::new(shared, &case.name).and_then(|scratch| {
            let found_before = leftovers::databases(&shared.cache)?;
            let ending = (case.body)(&scratch);
            // Checked after a failure too: a leftover process would spoil the cases that follow.
            let left = nothing_left(&scratch, &found_before);
            let ending =
                ending.with_context(|| format!("outputs are in `{}`", scratch.directory.display()))?;
            left?;
            scratch.remove()?;
            Ok(ending)
        });
        let (outcome, reason) = match ending {
            Ok(Ending::Passed) => ("passed", None),
            Ok(Ending::Skipped { reason }) if self.is_ci => {
                ("failed", Some(format!("skipped in CI: {reason}")))
            }
            Ok(Ending::Skipped { reason } | Ending::NotHere { reason }) => ("skipped", Some(reason)),
            Err(error) => ("failed", Some(format!("{error:#}"))),
        };
        let seconds = began.elapsed().as_secs_f64();
        Record { name: case.name.clone(), outcome, seconds, reason, was_tried_twice: false }
    }
}

/// No process of ours is alive and no database is in a cache that was not there before.
fn nothing_left(scratch: &Scratch, found_before: &[PathBuf]) -> anyhow::Result<()> {
    processes::all_gone(&scratch.shared.binary)?;
    processes::none_below(&scratch.shared.cache)?;
    let mut found = leftovers::databases(&scratch.shared.cache)?;
    found.extend(leftovers::databases(&scratch.directory)?);
    found.retain(|path| !found_before.contains(path));
    ensure!(found.is_empty(), "left behind: {}", expect::paths(&found));
    Ok(())
}
