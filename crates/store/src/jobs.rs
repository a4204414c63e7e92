//! Campaigns on several hosts: a job for each of them, and how far it is.

use crate::columns;
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::job::Job;
use rusqlite::{Row, params};

impl Writer {
    /// Writes jobs, each in place of the one of the same number; all of them or none.
    pub fn write_jobs(&mut self, jobs: &[Job]) -> Result<(), Error> {
        self.flush()?;
        self.store().sql("write how far jobs are", |connection| {
            let transaction = connection.unchecked_transaction()?;
            for job in jobs {
                transaction.execute(
                    "INSERT OR REPLACE INTO jobs (campaign, job, host, state, message, seed, plan_toml, changed_at_us, slurm_json)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        job.campaign,
                        job.number,
                        job.host,
                        job.state.name(),
                        job.message,
                        job.seed.cast_signed(),
                        job.plan,
                        job.changed_at_us,
                        job.slurm.as_ref().map(columns::json).transpose()?
                    ],
                )?;
            }
            transaction.commit()
        })
    }

    /// Removes all jobs of a campaign: of one of which none could be begun. Runs stay.
    pub fn remove_jobs(&mut self, campaign: &str) -> Result<(), Error> {
        self.flush()?;
        self.store().sql(format!("remove the jobs of campaign {campaign}"), |connection| {
            connection.execute("DELETE FROM jobs WHERE campaign = ?", [campaign]).map(|_| ())
        })
    }
}

impl Store {
    /// The jobs of a campaign, by their numbers; none if it is measured on this host alone.
    pub fn jobs(&self, campaign: &str) -> Result<Vec<Job>, Error> {
        self.sql(format!("read the jobs of campaign {campaign}"), |connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM jobs WHERE campaign = ? ORDER BY job")?;
            statement.query_map([campaign], job)?.collect()
        })
    }

    /// The jobs of the newest campaigns on several hosts, the newest campaign first: at most so many.
    pub fn newest_jobs(&self, most: u32) -> Result<Vec<Job>, Error> {
        self.sql("read the newest jobs", |connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM jobs ORDER BY campaign DESC, job LIMIT ?")?;
            statement.query_map([most], job)?.collect()
        })
    }
}

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        campaign: row.get("campaign")?,
        number: row.get("job")?,
        host: row.get("host")?,
        state: columns::job_state(row, "state")?,
        message: row.get("message")?,
        seed: row.get::<_, i64>("seed")?.cast_unsigned(),
        plan: row.get("plan_toml")?,
        changed_at_us: row.get("changed_at_us")?,
        slurm: match row.get::<_, Option<String>>("slurm_json")? {
            Some(_) => Some(columns::from_json(row, "slurm_json")?),
            None => None,
        },
    })
}
