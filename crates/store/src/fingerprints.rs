//! Fingerprints of hosts: kept when they are measured, read back by host or by the run that began after one.

use crate::columns::{from_json, json};
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::fingerprint::Fingerprint;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// A host of which there are fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredHost {
    pub name: String,
    pub fingerprints: u64,
    /// When it was measured last, in microseconds since the epoch.
    pub last_at_us: i64,
}

impl Writer {
    /// Keeps a fingerprint beside those of before; one that is there already is not kept twice.
    pub fn keep_fingerprint(&mut self, fingerprint: &Fingerprint) -> Result<(), Error> {
        self.flush()?;
        self.store().sql("keep a fingerprint of this host", |connection| {
            fingerprint_key(connection, fingerprint).map(|_| ())
        })
    }
}

impl Store {
    /// The fingerprints of a host, the newest first, at most so many.
    pub fn fingerprints(&self, host: &str, most: u32) -> Result<Vec<Fingerprint>, Error> {
        self.sql(format!("read the fingerprints of {host}"), |connection| {
            connection
                .prepare_cached(
                    "SELECT * FROM fingerprints WHERE host_name = ? ORDER BY at_us DESC, fingerprint_key DESC LIMIT ?",
                )?
                .query_map(params![host, most], fingerprint)?
                .collect()
        })
    }

    /// The hosts of which there are fingerprints, in the order of the alphabet.
    pub fn measured_hosts(&self) -> Result<Vec<MeasuredHost>, Error> {
        self.sql("list the hosts that were measured", |connection| {
            connection
                .prepare_cached(
                    "SELECT host_name, count(*) AS fingerprints, max(at_us) AS last_at_us FROM fingerprints
                     GROUP BY host_name ORDER BY host_name",
                )?
                .query_map([], |row| {
                    Ok(MeasuredHost {
                        name: row.get("host_name")?,
                        fingerprints: row.get::<_, i64>("fingerprints")?.unsigned_abs(),
                        last_at_us: row.get("last_at_us")?,
                    })
                })?
                .collect()
        })
    }

    /// How fast the host of a run was when it began; absent if it was not measured, or if there is no run of exactly this id.
    pub fn fingerprint_of_run(&self, id: &str) -> Result<Option<Fingerprint>, Error> {
        self.sql(format!("read the fingerprint of run {id}"), |connection| {
            connection
                .prepare_cached(
                    "SELECT fingerprints.* FROM fingerprints JOIN runs USING (fingerprint_key) WHERE id = ?",
                )?
                .query_row([id], fingerprint)
                .optional()
        })
    }
}

/// The row of a fingerprint, which is made if there is none. Stores that share a work directory are given the same one.
pub(crate) fn fingerprint_key(connection: &Connection, fingerprint: &Fingerprint) -> rusqlite::Result<i64> {
    let Fingerprint { at_us, host, boot_id, device, figures } = fingerprint;
    let known = connection
        .prepare_cached(
            "SELECT fingerprint_key FROM fingerprints WHERE host_name = ? AND at_us = ? AND device IS ?",
        )?
        .query_row(params![host, at_us, device], |row| row.get(0))
        .optional()?;
    if let Some(key) = known {
        return Ok(key);
    }
    connection
        .prepare_cached(
            "INSERT INTO fingerprints (host_name, at_us, boot_id, device, figures_json) VALUES (?, ?, ?, ?, ?)",
        )?
        .insert(params![host, at_us, boot_id, device, json(figures)?])
}

pub(crate) fn of_run(connection: &Connection, run_key: i64) -> rusqlite::Result<Option<Fingerprint>> {
    connection
        .prepare_cached(
            "SELECT fingerprints.* FROM fingerprints JOIN runs USING (fingerprint_key) WHERE run_key = ?",
        )?
        .query_row([run_key], fingerprint)
        .optional()
}

fn fingerprint(row: &Row<'_>) -> rusqlite::Result<Fingerprint> {
    Ok(Fingerprint {
        at_us: row.get("at_us")?,
        host: row.get("host_name")?,
        boot_id: row.get("boot_id")?,
        device: row.get("device")?,
        figures: from_json(row, "figures_json")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::RunEvent;
    use model::fingerprint::HostFigure;
    use testing::compared::{EQUAL, record};

    fn of(host: &str, at_us: i64) -> Fingerprint {
        Fingerprint {
            at_us,
            host: host.to_owned(),
            boot_id: "b".to_owned(),
            device: Some("vda".to_owned()),
            figures: vec![HostFigure { name: "fsync_us".to_owned(), value: 0.1 + 0.2, spread: 0.01 }],
        }
    }

    #[test]
    fn fingerprints_of_a_host_are_read_back_the_newest_first_each_once() {
        let mut writer = Writer::in_memory().unwrap();
        let elsewhere = Fingerprint { device: None, ..of("bench-1", 9) };
        for one in [of("bench-1", 5), of("bench-1", 9), of("bench-2", 7), of("bench-1", 5), elsewhere.clone()]
        {
            writer.keep_fingerprint(&one).unwrap();
            writer.keep_fingerprint(&one).unwrap();
        }
        let read = |host, most| writer.store().fingerprints(host, most).unwrap();
        assert_eq!(read("bench-1", 9), [elsewhere, of("bench-1", 9), of("bench-1", 5)]);
        assert_eq!((read("bench-1", 1).len(), read("other", 9).len()), (1, 0));
        let hosts = writer.store().measured_hosts().unwrap();
        let hosts: Vec<_> =
            hosts.iter().map(|host| (host.name.as_str(), host.fingerprints, host.last_at_us)).collect();
        assert_eq!(hosts, [("bench-1", 3, 9), ("bench-2", 1, 7)]);
    }

    #[test]
    fn a_run_has_the_fingerprint_that_it_began_after_and_another_none() {
        let mut writer = Writer::in_memory().unwrap();
        for (run, measured) in [("a", Some(of("bench-1", 5))), ("b", None), ("c", Some(of("bench-1", 5)))] {
            let begun = record(&EQUAL);
            let started = RunEvent::Started {
                run: run.to_owned(),
                at_us: 10,
                plan: Box::new(begun.plan),
                host: Box::new(begun.host),
            };
            writer.write(run, &started).unwrap();
            if let Some(fingerprint) = measured {
                writer.write(run, &RunEvent::HostMeasured(Box::new(fingerprint))).unwrap();
            }
        }
        // A later one is of none of them.
        writer.keep_fingerprint(&of("bench-1", 99)).unwrap();
        let store = writer.store();
        for (run, expected) in [("a", Some(of("bench-1", 5))), ("b", None), ("c", Some(of("bench-1", 5)))] {
            assert_eq!(store.load_run(run).unwrap().fingerprint, expected);
            assert_eq!(store.fingerprint_of_run(run).unwrap(), expected);
        }
        assert_eq!(store.fingerprint_of_run("nobody").unwrap(), None);
        assert_eq!(store.fingerprints("bench-1", 9).unwrap().len(), 2, "two runs share one");
    }
}
