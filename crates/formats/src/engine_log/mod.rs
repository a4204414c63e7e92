//! What an engine did for itself, and when, as its log tells: checkpoints, vacuums, flushes, compactions, writes that it held up.
//!
//! Lines of logs have times of the clock of their host in a zone that most of them do not name. How far that is from UTC follows from the
//! last line, which was written when the file was last changed: zones differ from UTC by quarters of an hour. Where a zone changes between
//! summer and winter within one log, what is before the change is an hour off.

mod mysql;
mod postgres;
mod rocksdb;
mod stamp;

use std::collections::BTreeMap;

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogOf {
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    RocksDb,
}

/// What an engine did within one stretch of time, in microseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub from_us: i64,
    pub to_us: i64,
    /// `checkpoint`, `autovacuum of sbtest1`.
    pub what: String,
}

/// All that a log tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineWork {
    /// Of what was before, or after, the log says nothing; in microseconds since the epoch.
    pub known_from_us: i64,
    pub known_to_us: i64,
    /// In the order in which they began.
    pub works: Vec<Work>,
}

/// When a log was last written, and read; in microseconds since the epoch.
#[derive(Debug, Clone, Copy)]
pub struct LogTimes {
    pub written_at_us: i64,
    pub read_at_us: i64,
}

/// Of one kind of work what begins within this after the last is one with it: an engine that flushes ten times a second does so all the time.
const GAP_US: i64 = 1_000_000;
const QUARTER_US: i64 = 15 * 60 * 1_000_000;
/// The last line of a log was written this long before or after its file was last changed, at most. Not tuned: a line without a time may
/// follow it.
const MOST_SKEW_US: i64 = 60 * 1_000_000;

/// Reads a log line by line.
pub struct LogReader {
    lines: Lines,
    found: Found,
    first_us: Option<i64>,
    last_us: Option<i64>,
}

enum Lines {
    Postgres(postgres::Lines),
    Mysql,
    RocksDb(rocksdb::Lines),
}

/// Works by what they are, by the log's own clock.
#[derive(Debug, Default)]
struct Found {
    by_what: BTreeMap<String, Vec<(i64, i64)>>,
}

impl Found {
    fn add(&mut self, what: impl Into<String>, from_us: i64, to_us: i64) {
        let spans = self.by_what.entry(what.into()).or_default();
        match spans.last_mut() {
            // They are told of when they end, so that a long one comes after what began later.
            Some(last) if from_us <= last.1 + GAP_US && to_us >= last.0 => {
                *last = (last.0.min(from_us), last.1.max(to_us));
            }
            _ => spans.push((from_us, to_us.max(from_us))),
        }
    }
}

impl LogReader {
    /// A reader of nothing yet.
    pub fn new(of: LogOf) -> LogReader {
        let lines = match of {
            LogOf::Postgres => Lines::Postgres(postgres::Lines::default()),
            LogOf::Mysql => Lines::Mysql,
            LogOf::RocksDb => Lines::RocksDb(rocksdb::Lines::default()),
        };
        LogReader { lines, found: Found::default(), first_us: None, last_us: None }
    }

    /// Takes in one line; one that it does not understand is passed over.
    pub fn line(&mut self, line: &str) {
        let stamped = stamp::of(line);
        if let Some((at_us, _)) = stamped {
            self.first_us.get_or_insert(at_us);
            self.last_us = self.last_us.max(Some(at_us));
        }
        match (&mut self.lines, stamped) {
            (Lines::Postgres(lines), Some((at_us, said))) => lines.stamped(at_us, said, &mut self.found),
            (Lines::Postgres(lines), None) => lines.continued(line, &mut self.found),
            (Lines::Mysql, Some((at_us, said))) => mysql::stamped(at_us, said, &mut self.found),
            (Lines::RocksDb(lines), Some((at_us, said))) => lines.stamped(at_us, said, &mut self.found),
            (Lines::Mysql | Lines::RocksDb(_), None) => {}
        }
    }

    /// What was read, by UTC. Absent where no line has a time, or where the times do not agree with when the file was written.
    pub fn finish(mut self, times: LogTimes) -> Option<EngineWork> {
        let (first_us, last_us) = self.first_us.zip(self.last_us)?;
        let ahead_us = last_us - times.written_at_us;
        let zone_us = (ahead_us + QUARTER_US / 2).div_euclid(QUARTER_US) * QUARTER_US;
        if (ahead_us - zone_us).abs() > MOST_SKEW_US {
            return None;
        }
        let known_to_us = match self.lines {
            Lines::Postgres(_) | Lines::Mysql => times.read_at_us,
            // It may have lines that it has not written yet.
            Lines::RocksDb(_) => times.written_at_us.max(last_us - zone_us),
        };
        let end_us = known_to_us + zone_us;
        match &mut self.lines {
            Lines::Postgres(lines) => lines.end(end_us, &mut self.found),
            Lines::RocksDb(lines) => lines.end(end_us, &mut self.found),
            Lines::Mysql => {}
        }
        let mut works: Vec<Work> = Vec::new();
        for (what, spans) in self.found.by_what {
            works.extend(spans.into_iter().map(|(from_us, to_us)| Work {
                from_us: from_us - zone_us,
                to_us: to_us - zone_us,
                what: what.clone(),
            }));
        }
        works.sort_by(|left, right| (left.from_us, &left.what).cmp(&(right.from_us, &right.what)));
        Some(EngineWork { known_from_us: first_us - zone_us, known_to_us, works })
    }
}

impl EngineWork {
    /// One line of what is known, then one for each work, as [`EngineWork::parse`] reads them. What does not fit into so many bytes is
    /// not known.
    ///
    /// ```text
    /// known 1795813025169000 1795813062000000
    /// 1795813025076000 1795813025392000 checkpoint
    /// ```
    pub fn to_text(&self, most_bytes: usize) -> String {
        let head = |to_us: i64| format!("known {} {to_us}\n", self.known_from_us);
        let room = most_bytes.saturating_sub(head(self.known_to_us).len());
        let mut lines = String::new();
        for work in &self.works {
            let line = format!("{} {} {}\n", work.from_us, work.to_us, work.what);
            if lines.len() + line.len() > room {
                return head(work.from_us) + &lines;
            }
            lines.push_str(&line);
        }
        head(self.known_to_us) + &lines
    }

    /// Absent where the text is another one.
    pub fn parse(text: &str) -> Option<EngineWork> {
        let mut lines = text.lines();
        let numbers = |text: &str| -> Option<(i64, i64)> {
            let (from, to) = text.split_once(' ')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let (known_from_us, known_to_us) = numbers(lines.next()?.strip_prefix("known ")?)?;
        let work = |line: &str| {
            let (from, rest) = line.split_once(' ')?;
            let (to, what) = rest.split_once(' ')?;
            Some(Work { from_us: from.parse().ok()?, to_us: to.parse().ok()?, what: what.to_owned() })
        };
        Some(EngineWork { known_from_us, known_to_us, works: lines.filter_map(work).collect() })
    }

    /// What it did between two moments, what took most of that time first; absent where the log does not tell of all of it.
    pub fn between(&self, from_us: i64, to_us: i64) -> Option<Vec<&str>> {
        if from_us < self.known_from_us || to_us > self.known_to_us {
            return None;
        }
        let mut time_of: BTreeMap<&str, i64> = BTreeMap::new();
        for work in self.works.iter().filter(|work| work.from_us <= to_us && work.to_us >= from_us) {
            *time_of.entry(&work.what).or_default() += work.to_us.min(to_us) - work.from_us.max(from_us);
        }
        let mut works: Vec<(&str, i64)> = time_of.into_iter().collect();
        works.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        Some(works.into_iter().map(|(what, _)| what).collect())
    }
}

#[cfg(test)]
mod tests;
