//! RocksDB's LOG: flushes, compactions, and writes that it stops or slows down. Three lines of a 10.6.2, cut:
//!
//! ```text
//! 2026/11/27-20:57:10.933704 1405892 [WARN] [/column_family.cc:1046] [default] Stopping writes because we have 2 immutable memtables ..
//! 2026/11/27-20:57:10.936131 1405896 EVENT_LOG_v1 {"time_micros": 1795813030936124, "job": 2, "event": "flush_started", ..
//! 2026/11/27-20:57:26.626273 1396444 EVENT_LOG_v1 {"time_micros": 1795813046626266, "job": 5, "event": "compaction_started", ..
//! ```
//!
//! It writes lines within five seconds, and all when the database is closed. How long writes were held up it does not say: it thinks again
//! whenever a flush or a compaction has ended, and says so again if they are held up on.

use super::Found;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What earlier lines have begun to tell; times are microseconds.
#[derive(Debug, Default)]
pub struct Lines {
    /// When each job began; a job may be a flush or a compaction.
    begun_us: BTreeMap<(&'static str, u64), i64>,
    /// Since when writes are held up, by what is said of it.
    held_up_us: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize)]
struct Event {
    job: u64,
    event: String,
}

/// More jobs than this do not run at a time: those whose end is missing are forgotten.
const MOST_JOBS: usize = 1000;

impl Lines {
    pub fn stamped(&mut self, at_us: i64, said: &str, found: &mut Found) {
        if let Some((_, event)) = said.split_once("EVENT_LOG_v1 ") {
            // Its end is missing if the process was killed; the beginning of a long one is enough for serde in no case.
            if let Ok(event) = serde_json::from_str::<Event>(event) {
                self.event(at_us, &event, found);
            }
        } else if let Some(what) = held_up(said) {
            self.held_up_us.entry(what).or_insert(at_us);
        }
    }

    fn event(&mut self, at_us: i64, event: &Event, found: &mut Found) {
        let (what, begins) = match event.event.as_str() {
            "flush_started" => ("flush", true),
            "flush_finished" => ("flush", false),
            "compaction_started" => ("compaction", true),
            "compaction_finished" => ("compaction", false),
            _ => return,
        };
        if begins {
            self.begun_us.insert((what, event.job), at_us);
            if self.begun_us.len() > MOST_JOBS {
                self.begun_us.pop_first();
            }
            return;
        }
        let from_us = self.begun_us.remove(&(what, event.job)).unwrap_or(at_us);
        found.add(what, from_us, at_us);
        self.write_on(at_us, found);
    }

    fn write_on(&mut self, at_us: i64, found: &mut Found) {
        for (what, from_us) in std::mem::take(&mut self.held_up_us) {
            found.add(what, from_us, at_us);
        }
    }

    /// What has begun goes on.
    pub fn end(&mut self, end_us: i64, found: &mut Found) {
        for ((what, _), from_us) in std::mem::take(&mut self.begun_us) {
            found.add(what, from_us, end_us);
        }
        self.write_on(end_us, found);
    }
}

/// `writes stopped: immutable memtables`.
fn held_up(said: &str) -> Option<String> {
    let how = [("Stopping writes because", "stopped"), ("Stalling writes because", "slowed")];
    let (how, why) = how.iter().find_map(|(words, how)| Some((*how, said.split_once(words)?.1)))?;
    let reasons = ["immutable memtables", "level-0 files", "pending compaction bytes"];
    let reason = reasons.iter().find(|reason| why.contains(*reason))?;
    Some(format!("writes {how}: {reason}"))
}
