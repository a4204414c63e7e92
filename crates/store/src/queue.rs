//! The runs of a campaign that have not begun: kept, so that one that was stopped or killed in its first workload goes on to the
//! others.

use crate::columns::{from_json, json};
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::plan::Plan;
use rusqlite::{OptionalExtension, Row, params};

/// A run that waits for its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedRun {
    /// What it is called once it has begun.
    pub name: String,
    pub plan: Plan,
    /// The options file that each side's build wrote.
    pub written_options: Vec<Option<String>>,
}

impl Writer {
    /// Queues the runs of a campaign in this order, all or, with an error, none. The campaign is a text of its own. Those of
    /// campaigns that never began go.
    pub fn queue(&mut self, campaign: &str, runs: &[QueuedRun]) -> Result<(), Error> {
        self.flush()?;
        self.store().sql(format!("queue the runs of campaign {campaign}"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            // Of a campaign of which no run has begun nothing shows that it waits: its command ended before that.
            transaction.execute(
                "DELETE FROM queued_runs WHERE campaign NOT IN (SELECT campaign FROM runs WHERE campaign IS NOT NULL)",
                [],
            )?;
            for run in runs {
                transaction.execute(
                    "INSERT INTO queued_runs (campaign, name, plan_json, written_options_json) VALUES (?, ?, ?, ?)",
                    params![campaign, run.name, json(&run.plan)?, json(&run.written_options)?],
                )?;
            }
            transaction.commit()
        })
    }

    /// Says that the next run of a campaign has begun as `run`: it has its name, and waits no more.
    ///
    /// # Errors
    /// A run that was not begun, and what SQLite says; then nothing is changed.
    pub fn begin_queued(&mut self, campaign: &str, run: &str) -> Result<(), Error> {
        self.flush()?;
        let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        self.store().sql(format!("begin run {run} of campaign {campaign}"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute(
                &format!(
                    "UPDATE runs SET campaign = ?1, name = (SELECT name FROM {FIRST}) WHERE run_key = ?2"
                ),
                params![campaign, key],
            )?;
            transaction.execute(
                &format!(
                    "DELETE FROM queued_runs WHERE queued_run_key = (SELECT queued_run_key FROM {FIRST})"
                ),
                [campaign],
            )?;
            transaction.commit()
        })
    }
}

/// The first that waits, of the campaign that is the first parameter.
const FIRST: &str = "(SELECT * FROM queued_runs WHERE campaign = ?1 ORDER BY queued_run_key LIMIT 1)";

pub(crate) const RUNS_OF_CAMPAIGN: &str = "SELECT id FROM runs WHERE campaign = ? ORDER BY run_key";

impl Store {
    /// The campaign that a run belongs to.
    pub fn campaign_of(&self, run: &str) -> Result<Option<String>, Error> {
        self.sql(format!("look for the campaign of run {run}"), |connection| {
            let found = connection
                .query_row("SELECT campaign FROM runs WHERE id = ?", [run], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
    }

    /// The runs of a campaign that have begun, in the order in which they did.
    pub fn runs_of_campaign(&self, campaign: &str) -> Result<Vec<String>, Error> {
        self.sql(format!("list the runs of campaign {campaign}"), |connection| {
            let mut statement = connection.prepare(RUNS_OF_CAMPAIGN)?;
            statement.query_map([campaign], |row| row.get(0))?.collect()
        })
    }

    /// The next run of a campaign that has not begun.
    pub fn next_queued(&self, campaign: &str) -> Result<Option<QueuedRun>, Error> {
        self.sql(format!("read the queue of campaign {campaign}"), |connection| {
            connection.query_row(&format!("SELECT * FROM {FIRST}"), [campaign], queued).optional()
        })
    }

    /// How many runs of a campaign have not begun.
    pub fn queued(&self, campaign: &str) -> Result<u32, Error> {
        self.sql(format!("read the queue of campaign {campaign}"), |connection| {
            connection.query_row("SELECT count(*) FROM queued_runs WHERE campaign = ?", [campaign], |row| {
                row.get(0)
            })
        })
    }
}

fn queued(row: &Row<'_>) -> rusqlite::Result<QueuedRun> {
    Ok(QueuedRun {
        name: row.get("name")?,
        plan: from_json(row, "plan_json")?,
        written_options: from_json(row, "written_options_json")?,
    })
}
