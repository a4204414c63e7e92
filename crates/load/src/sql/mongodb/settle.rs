//! Settling of MongoDB: a checkpoint, and a cache of WiredTiger that has little left to write.

use super::server::{ADMIN, if_known};
use crate::clock;
use crate::sql::error::SqlError;
use crate::sql::settle::{Floor, Wait, not_supported};
use model::units::Nanos;
use model::workload::Settle;
use serde_json::json;

/// Pause between two looks at the server.
const POLL_PAUSE: Nanos = Nanos::from_millis(250);
/// Dirty bytes are few below this share of the cache; eviction leaves more alone only if it has something else to do.
const FEW_DIRTY: f64 = 0.02;
/// If they became no fewer in so many looks in a row, they are not going to: 5 s.
const POLLS_AT_FLOOR: u32 = 20;

const DIRTY: &str = "wiredTiger.cache.tracked dirty bytes in the cache";
const CACHE: &str = "wiredTiger.cache.maximum bytes configured";

pub(super) fn settle(wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
    match to {
        Settle::None => Ok(()),
        Settle::Level0Compacted | Settle::FullyCompacted => Err(not_supported(to, "MongoDB")),
        Settle::Flushed | Settle::Drained | Settle::Postwrite => {
            // One that has no such command, as FerretDB has not, writes at each commit.
            if_known(wait.answer(&json!({ "fsync": 1, "$db": ADMIN }).to_string()))?;
            until_few_are_dirty(wait)
        }
    }
}

/// Returns at once if another storage engine counts no such bytes.
fn until_few_are_dirty(wait: &mut Wait) -> Result<(), SqlError> {
    let mut floor = Floor::new(POLLS_AT_FLOOR);
    loop {
        let status = if_known(wait.answer(&json!({ "serverStatus": 1 }).to_string()))?;
        let Some(share) = dirty_share(&status) else { return Ok(()) };
        if share <= FEW_DIRTY || floor.is_reached(share) {
            return Ok(());
        }
        if wait.is_over() {
            return Err(wait.timed_out(format!("{:.1} % of the cache are dirty", share * 100.0)));
        }
        clock::sleep_until(clock::now() + POLL_PAUSE);
    }
}

fn dirty_share(status: &[(String, String)]) -> Option<f64> {
    let of = |wanted: &str| status.iter().find(|(name, _)| name == wanted)?.1.parse::<f64>().ok();
    let (dirty, cache) = (of(DIRTY)?, of(CACHE)?);
    (cache > 0.0).then_some(dirty / cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dirty_share_is_that_of_the_cache() {
        let status = |dirty: &str| {
            [(DIRTY, dirty), (CACHE, "1000")].map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        assert_eq!(dirty_share(&status("20")), Some(0.02));
        assert_eq!(dirty_share(&[]), None);
    }
}
