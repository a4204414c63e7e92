//! The log of Postgres: checkpoints with `log_checkpoints`, vacuums with `log_autovacuum_min_duration`. Four lines of a 16.3:
//!
//! ```text
//! 2026-11-27 20:48:25.076 UTC [2] LOG:  checkpoint starting: immediate force wait
//! 2026-11-27 20:48:25.392 UTC [2] LOG:  checkpoint complete: wrote 1285 buffers (15.7%); .. total=0.317 s; ..
//! 2026-11-27 20:48:27.556 UTC [25] LOG:  automatic analyze of table "template1.pg_catalog.pg_type"
//!         system usage: CPU: user: 0.00 s, system: 0.00 s, elapsed: 0.01 s
//! ```

use super::Found;

/// What earlier lines have begun to tell; times are microseconds.
#[derive(Debug, Default)]
pub struct Lines {
    checkpoint_from_us: Option<i64>,
    /// When a vacuum ended, and what it was: how long it took is on a later line.
    vacuum: Option<(i64, String)>,
}

const CHECKPOINT: &str = "checkpoint";

impl Lines {
    pub fn stamped(&mut self, at_us: i64, said: &str, found: &mut Found) {
        self.end_vacuum(0, found);
        let Some((_, said)) = said.split_once("LOG:  ") else { return };
        if said.starts_with("checkpoint starting:") || said.starts_with("restartpoint starting:") {
            self.checkpoint_from_us = Some(at_us);
        } else if said.starts_with("checkpoint complete:") || said.starts_with("restartpoint complete:") {
            let took_us = said.split_once("total=").and_then(|(_, took)| seconds(took)).unwrap_or(0);
            let from_us = self.checkpoint_from_us.take().unwrap_or(at_us - took_us);
            found.add(CHECKPOINT, from_us, at_us);
        } else if let Some(what) = vacuum(said) {
            self.vacuum = Some((at_us, what));
            // Up to 13 an analyze has its time on the same line.
            self.continued(said, found);
        }
    }

    pub fn continued(&mut self, line: &str, found: &mut Found) {
        let elapsed =
            line.split_once("elapsed").and_then(|(_, took)| seconds(took.trim_start_matches([':', ' '])));
        if let Some(took_us) = elapsed.filter(|_| line.contains("system usage:")) {
            self.end_vacuum(took_us, found);
        }
    }

    fn end_vacuum(&mut self, took_us: i64, found: &mut Found) {
        if let Some((at_us, what)) = self.vacuum.take() {
            found.add(what, at_us - took_us, at_us);
        }
    }

    /// A checkpoint that has begun goes on.
    pub fn end(&mut self, end_us: i64, found: &mut Found) {
        self.end_vacuum(0, found);
        if let Some(from_us) = self.checkpoint_from_us.take() {
            found.add(CHECKPOINT, from_us, end_us);
        }
    }
}

/// `autovacuum of sbtest1`: of the catalogs without their names, of which there are dozens.
fn vacuum(said: &str) -> Option<String> {
    let (kind, table) = said.strip_prefix("automatic ")?.split_once(" of table \"")?;
    let kind = match kind {
        "vacuum" => "autovacuum",
        "analyze" => "autoanalyze",
        _ if kind.ends_with("to prevent wraparound") => "autovacuum against wraparound",
        _ if kind.ends_with("vacuum") => "aggressive autovacuum",
        _ => return None,
    };
    let mut names = table.split_once('"')?.0.splitn(3, '.').skip(1);
    Some(match (names.next()?, names.next()?) {
        ("pg_catalog" | "information_schema", _) => format!("{kind} of the catalogs"),
        // Whatever a table is called, a work is one line.
        (_, table) => format!("{kind} of {}", table.replace(|character: char| character.is_control(), "?")),
    })
}

/// `0.317 s; sync files=58`, in microseconds.
fn seconds(text: &str) -> Option<i64> {
    let seconds: f64 = text.split_once(" s")?.0.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "of a log's own times, which are far from the ends of the type"
    )]
    let micros = (seconds * 1e6) as i64;
    (0.0..1e9).contains(&seconds).then_some(micros)
}
