//! Threads of a process and what they are there for.

use crate::process::tree;
use model::profile::FOREGROUND;
use std::fs;
use std::path::Path;

/// The threads of a process, by number.
pub fn of(process: u32) -> Vec<u32> {
    tree::threads(process)
}

/// Whether a process still has this thread.
pub fn is_alive(process: u32, thread: u32) -> bool {
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

/// What a thread is there for, by its name or, of Postgres, the title of its process.
pub fn kind(process: u32, thread: u32) -> String {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let name = read(format!("/proc/{process}/task/{thread}/comm"));
    let title = read(format!("/proc/{process}/cmdline"));
    kind_of(name.trim(), title.trim_end_matches('\0').trim()).to_owned()
}

fn kind_of<'a>(name: &'a str, title: &'a str) -> &'a str {
    if let Some(title) = title.strip_prefix("postgres: ") {
        const HELPERS: [&str; 9] = [
            "checkpointer",
            "background writer",
            "walwriter",
            "autovacuum launcher",
            "autovacuum worker",
            "stats collector",
            "io worker",
            "logical replication launcher",
            "parallel worker",
        ];
        return HELPERS.into_iter().find(|helper| title.starts_with(helper)).unwrap_or(FOREGROUND);
    }
    match name {
        // With a number behind it, as the thread pools of RocksDB do.
        _ if name.starts_with("rocksdb:low") || name.starts_with("rocksdb:bot") => "compaction",
        _ if name.starts_with("rocksdb:high") => "flush",
        "connection" | "one_connection" => FOREGROUND,
        // Of a worker: the threads that do the operations, and those that see to the rest.
        _ if name.starts_with("client-") => FOREGROUND,
        "dbdyno-worker" => "worker",
        _ if name.starts_with("rocksdb:") => &name["rocksdb:".len()..],
        // InnoDB names its threads since 8.0.27: ib_pg_flush_co, ib_srv_purge-1, ..
        _ if name.starts_with("ib_") => name,
        _ => FOREGROUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_names_and_processes_by_their_titles() {
        for (name, title, kind) in [
            ("rocksdb:low0", "dbdyno worker", "compaction"),
            ("rocksdb:high1", "dbdyno worker", "flush"),
            ("rocksdb:dump_st", "dbdyno worker", "dump_st"),
            ("client-3", "dbdyno worker", FOREGROUND),
            ("dbdyno-worker", "dbdyno worker", "worker"),
            ("postgres", "postgres: checkpointer ", "checkpointer"),
            ("postgres", "postgres: io worker 1", "io worker"),
            ("postgres", "postgres: dbdyno dbdyno [local] idle", FOREGROUND),
            ("ib_pg_flush_co", "mysqld --no-defaults", "ib_pg_flush_co"),
            ("connection", "mysqld --no-defaults", FOREGROUND),
        ] {
            assert_eq!(kind_of(name, title.trim()), kind, "{name}, {title}");
        }
    }

    #[test]
    fn this_thread_is_alive_and_one_that_ended_is_not() {
        let own = std::process::id();
        assert!(of(own).contains(&own) && is_alive(own, own));
        let ended = std::thread::spawn(|| fs::read_link("/proc/thread-self").unwrap()).join().unwrap();
        let ended = ended.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert!(!is_alive(own, ended));
    }
}
