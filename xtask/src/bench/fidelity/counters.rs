//! What an engine counts of its work, by what it says of its state: one `name = value` a line, or `name COUNT : value`.

use model::workload::sql::Dialect;
use std::collections::BTreeMap;

/// All numbers of a state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters(BTreeMap<String, f64>);

impl Counters {
    pub fn parse(text: &str) -> Counters {
        let number = |line: &str| {
            let (name, value) = line.split_once(" = ").or_else(|| line.split_once(" COUNT : "))?;
            Some((name.trim().to_owned(), value.trim().parse::<f64>().ok()?))
        };
        Counters(text.lines().filter_map(number).collect())
    }

    /// What has been counted since; of what either does not have nothing.
    pub fn since(&self, before: &Counters) -> Counters {
        let delta = |(name, value): (&String, &f64)| Some((name.clone(), value - before.0.get(name)?));
        Counters(self.0.iter().filter_map(delta).collect())
    }

    pub fn sum(&self, names: &[&str]) -> Option<f64> {
        names.iter().map(|name| self.0.get(*name).copied()).sum()
    }
}

/// What the classic client and its library have the server receive or send beside what ours has.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// So much for each of this.
    pub bytes: f64,
    /// And so much for each column that an answer describes.
    pub bytes_a_column: f64,
    pub of_each: &'static str,
    pub why: &'static str,
}

/// MariaDB prepares them for sysbench; as text, as MySQL has them of everybody, BEGIN is 4 bytes shorter and COMMIT 3.
const TRANSACTIONS_AS_TEXT: Known = Known {
    bytes: 7.0,
    bytes_a_column: 0.0,
    of_each: "Com_commit",
    why: "intended: BEGIN and COMMIT as text",
};
/// MariaDB's library, which Debian's sysbench has, is sent more in each answer with rows: an end of the columns' descriptions, and in each of those the
/// length of a name of its type, which is 0. Ours and MySQL's library do without them. MariaDB describes the columns of a prepared statement once.
const NO_END_OF_COLUMNS: Known = Known {
    bytes: 7.0,
    bytes_a_column: 1.0,
    of_each: "Com_select",
    why: "intended: no end of columns, no names of types",
};

/// One thing that is compared.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    pub name: &'static str,
    /// The names of the server that are added up.
    of: &'static [&'static str],
    /// The largest relative difference that is none.
    pub tolerance: f64,
    /// Less than this per event is what a server does by itself meanwhile.
    pub little: f64,
    /// They may differ by this per event, by what the server does by itself in one of the runs, or as the clients do.
    pub apart: f64,
    /// What makes them differ by that.
    pub why_apart: &'static str,
    /// What they differ by, exactly.
    pub known: Option<Known>,
}

/// Rows and statements are the same but for what random keys make of ranges at the ends of a table.
const SAME: f64 = 0.005;
const BLOCKS: f64 = 0.01;
const LOG: f64 = 0.03;
const NETWORK: f64 = 0.01;

const fn measure(name: &'static str, of: &'static [&'static str], tolerance: f64) -> Measure {
    Measure { name, of, tolerance, little: 0.01, apart: 0.0, why_apart: "", known: None }
}

/// Of a log a server writes some bytes by itself.
const fn bytes_of_log(of: &'static [&'static str]) -> Measure {
    Measure { little: 8.0, apart: 8.0, why_apart: BY_ITSELF, ..measure("log bytes", of, LOG) }
}

/// All processes of a server, which is not one of its own counters.
pub static CPU: Measure = Measure { little: 0.0, ..measure("CPU ns", &[], 0.03) };
/// By the clock on the wall: how fast the clients are beside each other is no fidelity, and judged by nothing.
pub static RATE: Measure = Measure { little: 0.0, ..measure("events/s", &[], f64::INFINITY) };
/// Bytes that a background writer writes in a second. db_bench's is given new bytes ten times a second, each time a little late on a busy host, and
/// writes 2 to 6 % less than it is told; ours catches up.
pub static WRITER: Measure = Measure {
    little: 0.0,
    apart: 250_000.0,
    why_apart: "intended: its limiter waits too long",
    ..measure("written/s", &[], 0.05)
};

pub const ROCKSDB: &[Measure] = &[
    measure("keys written", &["rocksdb.number.keys.written"], SAME),
    measure("bytes written", &["rocksdb.bytes.written"], SAME),
    measure("keys read", &["rocksdb.number.keys.read"], SAME),
    measure("bytes read", &["rocksdb.bytes.read"], SAME),
    measure("batched reads", &["rocksdb.number.multiget.keys.read"], SAME),
    measure("seeks", &["rocksdb.number.db.seek"], SAME),
    measure("steps forward", &["rocksdb.number.db.next"], SAME),
    measure("steps back", &["rocksdb.number.db.prev"], SAME),
    measure("bytes iterated", &["rocksdb.db.iter.bytes.read"], SAME),
    measure("blocks", &["rocksdb.block.cache.hit", "rocksdb.block.cache.miss"], BLOCKS),
    bytes_of_log(&["rocksdb.wal.bytes"]),
];

/// Of steps with a background writer: what that writes depends on how long the step takes.
pub const ROCKSDB_READS: &[Measure] = &[
    measure("keys read", &["rocksdb.number.keys.read"], SAME),
    measure("seeks", &["rocksdb.number.db.seek"], SAME),
    measure("steps forward", &["rocksdb.number.db.next"], SAME),
    measure("steps back", &["rocksdb.number.db.prev"], SAME),
];

const BY_ITSELF: &str = "the server's own";

const POSTGRES: &[Measure] = &[
    measure("commits", &["pg_stat_database.xact_commit"], SAME),
    // Those of the catalogue are in them, which a connection reads anew when tables were made or dropped: some hundred in one run or the other.
    Measure {
        apart: 0.03,
        why_apart: BY_ITSELF,
        ..measure("rows returned", &["pg_stat_database.tup_returned"], SAME)
    },
    Measure {
        apart: 0.03,
        why_apart: BY_ITSELF,
        ..measure("rows fetched", &["pg_stat_database.tup_fetched"], SAME)
    },
    measure("rows inserted", &["pg_stat_database.tup_inserted"], SAME),
    measure("rows updated", &["pg_stat_database.tup_updated"], SAME),
    measure("rows deleted", &["pg_stat_database.tup_deleted"], SAME),
    measure("blocks", &["pg_stat_database.blks_hit", "pg_stat_database.blks_read"], BLOCKS),
    measure("blocks by IO", &["pg_stat_io[client backend, relation, normal].hits"], BLOCKS),
    Measure { apart: 0.1, why_apart: BY_ITSELF, ..measure("log records", &["pg_stat_wal.wal_records"], LOG) },
    bytes_of_log(&["pg_stat_wal.wal_bytes"]),
];

const MYSQL: &[Measure] = &[
    // With BEGIN and COMMIT, and what either client asks while it connects, which falls out.
    measure("statements", &["Questions"], SAME),
    measure("selects", &["Com_select"], SAME),
    measure("commits", &["Com_commit"], SAME),
    measure("rows read", &["Innodb_rows_read"], SAME),
    measure("rows inserted", &["Innodb_rows_inserted"], SAME),
    measure("rows updated", &["Innodb_rows_updated"], SAME),
    measure("rows deleted", &["Innodb_rows_deleted"], SAME),
    // Releases that count no rows of InnoDB count these.
    measure("handler writes", &["Handler_write"], SAME),
    measure("handler updates", &["Handler_update"], SAME),
    measure("handler deletes", &["Handler_delete"], SAME),
    measure("index lookups", &["Handler_read_key"], SAME),
    measure("index steps", &["Handler_read_next"], SAME),
    measure("blocks", &["Innodb_buffer_pool_read_requests"], BLOCKS),
    Measure { known: Some(TRANSACTIONS_AS_TEXT), ..measure("bytes received", &["Bytes_received"], NETWORK) },
    Measure { known: Some(NO_END_OF_COLUMNS), ..measure("bytes sent", &["Bytes_sent"], NETWORK) },
    // What was logged, not what was written: that depends on how many commits a write has.
    bytes_of_log(&["Innodb_lsn_current"]),
];

/// In the order of the table.
pub fn measures(dialect: Dialect) -> &'static [Measure] {
    match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::Mysql => MYSQL,
        // sysbench does not speak to it.
        Dialect::Mongodb => &[],
    }
}

impl Measure {
    /// What of the classic client's is known to be missing in ours, per event, of statements whose answers describe so many columns.
    pub fn known_per_event(&self, long: &Counters, short: &Counters, events: f64, columns: f64) -> f64 {
        let of_each = |known: Known| {
            let times = long.sum(&[known.of_each])? - short.sum(&[known.of_each])?;
            Some((known.bytes + known.bytes_a_column * columns) * times / events)
        };
        self.known.and_then(of_each).unwrap_or(0.0)
    }

    /// Per event, of a long run less a short one; absent if the server does not count it, or neither run did any of it.
    pub fn per_event(&self, long: &Counters, short: &Counters, events: f64) -> Option<f64> {
        Some((long.sum(self.of)? - short.sum(self.of)?) / events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_between_two_states_is_their_difference() {
        let before = Counters::parse("a.x = 10\na.y = text\nb = 1\n");
        let after = Counters::parse("a.x = 25\na.y = text\nb = 1.5\nc = 4\n-- SHOW\n");
        let since = after.since(&before);
        assert_eq!(since.sum(&["a.x"]), Some(15.0));
        assert_eq!(since.sum(&["a.x", "b"]), Some(15.5));
        assert_eq!((since.sum(&["c"]), since.sum(&["a.x", "none"])), (None, None));
        let of = measure("m", &["a.x"], SAME);
        let short = Counters::parse("a.x = 5\n");
        assert_eq!(of.per_event(&since, &short, 5.0), Some(2.0));
    }
}
