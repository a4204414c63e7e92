//! Profiles: stacks that were sampled in launches of their own.

use crate::columns::{from_json, json, side, signed, small, unsigned};
use crate::error::Error;
use crate::file::Store;
use model::block::TrialKey;
use model::profile::Profile;
use model::units::Nanos;
use rusqlite::{Connection, Row, params};

impl Store {
    /// The profiles of a run, in the order in which they were sampled.
    pub fn profiles(&self, id: &str) -> Result<Vec<Profile>, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read the profiles of run {id}"), |connection| {
            let sql = "SELECT * FROM profiles WHERE run_key = ? ORDER BY profile_key";
            connection.prepare_cached(sql)?.query_map([key], profile)?.collect()
        })
    }

    /// The last launch that a run has, one of profiles included; 0 if it has none.
    pub fn last_launch(&self, id: &str) -> Result<u32, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read the launches of run {id}"), |connection| {
            let sql = "SELECT max(launch) FROM (SELECT launch FROM launches WHERE run_key = ?1
                       UNION ALL SELECT launch FROM profiles WHERE run_key = ?1)";
            let last: Option<u32> = connection.prepare_cached(sql)?.query_row([key], |row| row.get(0))?;
            Ok(last.unwrap_or(0))
        })
    }
}

pub(crate) fn insert(connection: &Connection, run: i64, profile: &Profile) -> rusqlite::Result<()> {
    let Profile { trial, quality, names, stacks, waits, counters, waiting, .. } = profile;
    connection
        .prepare_cached(
            "INSERT INTO profiles (run_key, launch, step, side, operations, cpu_ns, unsampled_operations,
                 unsampled_cpu_ns, wall_ns, looks, waits_json, quality_json, names_json, stacks_json, counters_json, waiting_json)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run,
            trial.launch,
            trial.step,
            signed(trial.side as u64),
            signed(profile.operations),
            signed(profile.cpu.0),
            signed(profile.unsampled_operations),
            signed(profile.unsampled_cpu.0),
            signed(profile.wall.0),
            signed(profile.looks),
            json(waits)?,
            json(quality)?,
            json(names)?,
            json(stacks)?,
            json(counters)?,
            json(waiting)?,
        ])
        .map(|_| ())
}

fn profile(row: &Row<'_>) -> rusqlite::Result<Profile> {
    Ok(Profile {
        trial: TrialKey { launch: small(row, "launch")?, step: row.get("step")?, side: side(row, "side")? },
        operations: unsigned(row, "operations")?,
        cpu: Nanos(unsigned(row, "cpu_ns")?),
        unsampled_operations: unsigned(row, "unsampled_operations")?,
        unsampled_cpu: Nanos(unsigned(row, "unsampled_cpu_ns")?),
        wall: Nanos(unsigned(row, "wall_ns")?),
        looks: unsigned(row, "looks")?,
        waits: from_json(row, "waits_json")?,
        quality: from_json(row, "quality_json")?,
        names: from_json(row, "names_json")?,
        stacks: from_json(row, "stacks_json")?,
        counters: from_json(row, "counters_json")?,
        waiting: from_json(row, "waiting_json")?,
    })
}
