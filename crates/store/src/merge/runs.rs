//! What becomes of each run of the other store.
//!
//! A run is measured at one place at a time, but may be merged before it has ended, and go on there. So of two states of one run the one
//! that has all blocks of the other and more is the later one.

use super::{Merged, MergedBy};
use rusqlite::{Connection, params};

/// Writes down which runs are taken, and which of ours make room for them.
pub(super) fn choose(connection: &Connection) -> rusqlite::Result<Merged> {
    let mut merged = Merged { added: add_new(connection)?, ..Merged::default() };
    let (both, unlike) = of_both(connection)?;
    merged.known = both - unlike.len() as u64;
    for pair in unlike {
        match pair.later(connection)? {
            Later::Theirs => {
                connection.execute("INSERT INTO temp.taken_runs VALUES (?)", [pair.theirs])?;
                connection.execute(
                    "INSERT INTO temp.replaced_runs SELECT run_key, id, name FROM main.runs WHERE run_key = ?",
                    [pair.ours],
                )?;
                merged.continued.push(pair.id);
            }
            Later::Ours => merged.known += 1,
            Later::Neither => merged.diverged.push(pair.id),
        }
    }
    Ok(merged)
}

/// Says of each run that was taken where it came from; a name that it was given here stays.
pub(super) fn keep_origins(connection: &Connection, by: MergedBy<'_>) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO main.origins (run_key, merged_at_us, store, tool_version)
         SELECT ours.run_key, ?, ?, ? FROM temp.taken_runs JOIN other.runs AS theirs ON theirs.run_key = key
         JOIN main.runs AS ours ON ours.id = theirs.id",
        params![by.at_us, by.origin, by.tool_version],
    )?;
    connection.execute(
        "UPDATE main.runs SET name = replaced.name FROM temp.replaced_runs AS replaced
         WHERE replaced.id = runs.id AND replaced.name IS NOT NULL",
        [],
    )?;
    // What its host held against what is known there is not judged again here.
    connection.execute(
        "INSERT OR IGNORE INTO main.watch_runs
         SELECT id FROM temp.taken_runs JOIN other.runs ON run_key = key WHERE name >= 'watch/' AND name < 'watch0'",
        [],
    )?;
    Ok(())
}

fn add_new(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare(
            "INSERT INTO temp.taken_runs SELECT run_key FROM other.runs WHERE id NOT IN (SELECT id FROM main.runs)",
        )?
        .execute([])?;
    connection
        .prepare("SELECT id FROM temp.taken_runs JOIN other.runs ON run_key = key ORDER BY run_key")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// A run that both stores have, by its keys.
struct Pair {
    id: String,
    ours: i64,
    theirs: i64,
}

enum Later {
    Ours,
    Theirs,
    /// Each has what the other has not.
    Neither,
}

/// How many runs both have, and those of which they do not have equally much.
fn of_both(connection: &Connection) -> rusqlite::Result<(u64, Vec<Pair>)> {
    // Sums differ if anything does that a run measures. They are read from the rows of runs, trials and blocks alone.
    let amounts = |schema: &str, run: &str| {
        format!(
            "SELECT {run}.started_at_us, {run}.seed, {run}.ended_at_us, {run}.outcome,
                 (SELECT count(*) FROM {schema}.launches WHERE run_key = {run}.run_key),
                 (SELECT count(took_ns) FROM {schema}.launches WHERE run_key = {run}.run_key),
                 (SELECT count(*) FROM {schema}.resumes WHERE run_key = {run}.run_key),
                 (SELECT count(*) FROM {schema}.profiles WHERE run_key = {run}.run_key),
                 (SELECT count(outcome) FROM {schema}.trials WHERE run_key = {run}.run_key),
                 (SELECT count(*) FROM {schema}.trials JOIN {schema}.blocks USING (trial_key)
                  WHERE run_key = {run}.run_key),
                 (SELECT sum(operations) FROM {schema}.trials JOIN {schema}.blocks USING (trial_key)
                  WHERE run_key = {run}.run_key),
                 (SELECT sum(wall_ns) FROM {schema}.trials JOIN {schema}.blocks USING (trial_key)
                  WHERE run_key = {run}.run_key)"
        )
    };
    let sql = format!(
        "SELECT ours.id, ours.run_key, theirs.run_key, EXISTS ({} EXCEPT {})
         FROM main.runs AS ours JOIN other.runs AS theirs USING (id) ORDER BY ours.run_key",
        amounts("main", "ours"),
        amounts("other", "theirs"),
    );
    let mut both = 0;
    let mut unlike = Vec::new();
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        both += 1;
        if row.get(3)? {
            unlike.push(Pair { id: row.get(0)?, ours: row.get(1)?, theirs: row.get(2)? });
        }
    }
    Ok((both, unlike))
}

impl Pair {
    fn later(&self, connection: &Connection) -> rusqlite::Result<Later> {
        if !self.began_alike(connection)? {
            return Ok(Later::Neither);
        }
        let ours = ("main", self.ours);
        let theirs = ("other", self.theirs);
        Ok(match (has_more(connection, ours, theirs)?, has_more(connection, theirs, ours)?) {
            (true, true) => Later::Neither,
            (true, false) => Later::Ours,
            (false, true) => Later::Theirs,
            // The same was measured, but one has not seen the end, or was gone on with.
            (false, false) if steps_on(connection, theirs)? > steps_on(connection, ours)? => Later::Theirs,
            (false, false) => Later::Ours,
        })
    }

    /// Whether it is one run, and not two that got the same id.
    fn began_alike(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row(
            "SELECT (ours.started_at_us, ours.seed, ours.workload_sha256)
                  = (theirs.started_at_us, theirs.seed, theirs.workload_sha256)
             FROM main.runs AS ours JOIN other.runs AS theirs
             WHERE ours.run_key = ? AND theirs.run_key = ?",
            [self.ours, self.theirs],
            |row| row.get(0),
        )
    }
}

/// Whether a state of a run has something measured that the other has not. What was put aside meanwhile is still there.
fn has_more(connection: &Connection, of: (&str, i64), than: (&str, i64)) -> rusqlite::Result<bool> {
    let measured = |(schema, key): (&str, i64)| {
        format!(
            "SELECT launch, step, side, kind, cycle, blocks.started_at_us, operations, wall_ns
             FROM {schema}.trials JOIN {schema}.blocks USING (trial_key) WHERE run_key = {key}
             UNION ALL
             SELECT launch, step, side, 'profile', NULL, NULL, operations, wall_ns
             FROM {schema}.profiles WHERE run_key = {key}"
        )
    };
    let sql =
        format!("SELECT EXISTS (SELECT * FROM ({}) EXCEPT SELECT * FROM ({}))", measured(of), measured(than));
    connection.query_row(&sql, [], |row| row.get(0))
}

/// How far a state of a run has come apart from its blocks: each of these only grows.
fn steps_on(connection: &Connection, (schema, key): (&str, i64)) -> rusqlite::Result<i64> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM {schema}.resumes WHERE run_key = {key}) * 2
              + (SELECT count(*) + count(took_ns) FROM {schema}.launches WHERE run_key = {key})
              + (SELECT count(outcome) FROM {schema}.trials WHERE run_key = {key})
              + (SELECT count(outcome) FROM {schema}.runs WHERE run_key = {key})"
    );
    connection.query_row(&sql, [], |row| row.get(0))
}
