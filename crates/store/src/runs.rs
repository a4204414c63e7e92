//! Finding runs: the list, one by its id, beginning or name, the last calibration.

use crate::columns::{purpose, run_outcome};
use crate::error::Error;
use crate::file::Store;
use model::names;
use model::plan::Purpose;
use model::record::RunStatus;
use rusqlite::{OptionalExtension, Row};

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunListing {
    /// Sorts by time, unique.
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// What it is for.
    pub purpose: Purpose,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// Microseconds since the epoch; absent where the run is unfinished.
    pub ended_at_us: Option<i64>,
    pub workload: String,
    /// The base, then the candidates, as the user named them.
    pub subjects: Vec<String>,
}

impl Store {
    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunListing>, Error> {
        self.sql("list the runs", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT run_key, id, name, purpose, outcome, started_at_us, ended_at_us, workload_name
                 FROM runs ORDER BY started_at_us DESC, id DESC",
            )?;
            let mut subjects = connection
                .prepare_cached("SELECT reference FROM subjects WHERE run_key = ? ORDER BY side")?;
            statement
                .query_map([], |row| {
                    let subjects = subjects.query_map([row.get::<_, i64>("run_key")?], |row| row.get(0))?;
                    listing(row, subjects.collect::<rusqlite::Result<_>>()?)
                })?
                .collect()
        })
    }

    /// The id of the run that `wanted` means: `last`, an id, a name, or the beginning of one id.
    pub fn find_run(&self, wanted: &str) -> Result<String, Error> {
        let runs = self.runs()?;
        let Some(newest) = runs.first() else {
            return Err(Error::NoRuns { path: self.path().to_path_buf() });
        };
        if wanted == "last" {
            return Ok(newest.id.clone());
        }
        // A full id wins over a name, and a name over a beginning: what is written in full is meant.
        let meanings: [&dyn Fn(&RunListing) -> bool; 3] =
            [&|run| run.id == wanted, &|run| run.name.as_deref() == Some(wanted), &|run| {
                !wanted.is_empty() && run.id.starts_with(wanted)
            }];
        for meaning in meanings {
            let found: Vec<&RunListing> = runs.iter().filter(|run| meaning(run)).collect();
            match found.as_slice() {
                [] => {}
                [one] => return Ok(one.id.clone()),
                several => {
                    return Err(Error::AmbiguousRun {
                        path: self.path().to_path_buf(),
                        wanted: wanted.to_owned(),
                        candidates: several.iter().map(|run| run.id.clone()).collect(),
                    });
                }
            }
        }
        let known = runs.iter().flat_map(|run| run.name.as_deref().into_iter().chain([run.id.as_str()]));
        Err(Error::NoSuchRun {
            path: self.path().to_path_buf(),
            wanted: wanted.to_owned(),
            hint: names::hint(wanted, known),
            newest: newest.id.clone(),
        })
    }

    /// The id of the newest calibration that was finished since the host booted, by the same version: only
    /// then do its figures hold for a run of now.
    pub fn last_calibration(&self, boot_id: &str, tool_version: &str) -> Result<Option<String>, Error> {
        self.sql("look for a calibration", |connection| {
            connection
                .query_row(
                    "SELECT id FROM runs JOIN hosts USING (host_key)
                     WHERE purpose = 'calibrate' AND outcome = 'done' AND boot_id = ? AND tool_version = ?
                     ORDER BY started_at_us DESC, id DESC LIMIT 1",
                    [boot_id, tool_version],
                    |row| row.get(0),
                )
                .optional()
        })
    }
}

fn listing(row: &Row<'_>, subjects: Vec<String>) -> rusqlite::Result<RunListing> {
    Ok(RunListing {
        id: row.get("id")?,
        name: row.get("name")?,
        purpose: purpose(row, "purpose")?,
        status: run_outcome(row, "outcome")?.map_or(RunStatus::Unfinished, RunStatus::Ended),
        started_at_us: row.get("started_at_us")?,
        ended_at_us: row.get("ended_at_us")?,
        workload: row.get("workload_name")?,
        subjects,
    })
}
