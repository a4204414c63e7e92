//! The error log of MySQL and MariaDB says little of what InnoDB does: that its page cleaner took longer than it should, in MySQL 8 with
//! `log_error_verbosity = 3` alone. A line of MySQL 8.0.15, and how 5.7 says the same:
//!
//! ```text
//! 2026-11-27T21:02:11.519203Z 0 [Note] [MY-011953] [InnoDB] Page cleaner took 5037ms to flush 0 and evict 0 pages
//! 2026-11-27T21:02:11.519203Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 5037ms. The settings might not be optimal.
//! ```

use super::Found;

/// What stands before the time that it took.
const TOOK: [&str; 2] = ["Page cleaner took ", "page_cleaner: 1000ms intended loop took "];

/// Takes in a line behind its time, in microseconds.
pub fn stamped(at_us: i64, said: &str, found: &mut Found) {
    let took = TOOK.iter().find_map(|words| said.split_once(words));
    let took_ms = took.and_then(|(_, took)| took.split_once("ms")?.0.parse::<u32>().ok());
    if let Some(took_ms) = took_ms {
        found.add("page cleaner late", at_us - i64::from(took_ms) * 1000, at_us);
    }
}
