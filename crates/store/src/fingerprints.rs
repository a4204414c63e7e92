//! Fingerprints of hosts: kept when they are measured, read back by host.

use crate::columns::{from_json, json};
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::fingerprint::Fingerprint;
use rusqlite::{Row, params};

impl Writer {
    /// Keeps a fingerprint beside those of before.
    pub fn keep_fingerprint(&mut self, fingerprint: &Fingerprint) -> Result<(), Error> {
        self.flush()?;
        let Fingerprint { at_us, host, boot_id, figures } = fingerprint;
        self.store().sql("keep a fingerprint of this host", |connection| {
            connection
                .execute(
                    "INSERT INTO fingerprints (host_name, at_us, boot_id, figures_json) VALUES (?, ?, ?, ?)",
                    params![host, at_us, boot_id, json(figures)?],
                )
                .map(|_| ())
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
}

fn fingerprint(row: &Row<'_>) -> rusqlite::Result<Fingerprint> {
    Ok(Fingerprint {
        at_us: row.get("at_us")?,
        host: row.get("host_name")?,
        boot_id: row.get("boot_id")?,
        figures: from_json(row, "figures_json")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fingerprint::HostFigure;

    #[test]
    fn fingerprints_of_a_host_are_read_back_the_newest_first() {
        let mut writer = Writer::in_memory().unwrap();
        let of = |host: &str, at_us| Fingerprint {
            at_us,
            host: host.to_owned(),
            boot_id: "b".to_owned(),
            figures: vec![HostFigure { name: "fsync_us".to_owned(), value: 0.1 + 0.2, spread: 0.01 }],
        };
        for one in [of("bench-1", 5), of("bench-1", 9), of("bench-2", 7)] {
            writer.keep_fingerprint(&one).unwrap();
        }
        let read = |host, most| writer.store().fingerprints(host, most).unwrap();
        assert_eq!(read("bench-1", 9), [of("bench-1", 9), of("bench-1", 5)]);
        assert_eq!((read("bench-1", 1).len(), read("other", 9).len()), (1, 0));
    }
}
