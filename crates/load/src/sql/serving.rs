//! Which thread of a server on this host serves a connection.

use super::connection::Connection;
use super::error::SqlError;
use model::workload::sql::Dialect;
use std::collections::BTreeMap;
use std::fs;

/// A few milliseconds of work for one thread, whatever the release: long against what an idle server's other threads do.
const MYSQL_WORK: &str = "SELECT BENCHMARK(300000, 1 + 1)";

/// The number of the thread in the system; absent where the server does not tell and it cannot be seen.
pub fn thread(connection: &mut Connection) -> Result<Option<i32>, SqlError> {
    match connection.dialect() {
        Dialect::Postgres => {
            let backend = connection.read("SELECT pg_backend_pid()")?;
            Ok(backend.first().and_then(|pid| pid.parse().ok()))
        }
        // Which thread it is most releases tell only where they measure themselves, which costs. So it is given work, and
        // the one that works is it.
        Dialect::Mysql => {
            let Some(server) = connection.peer() else { return Ok(None) };
            let before = cpu_of_threads(server);
            connection.run(MYSQL_WORK)?;
            let after = cpu_of_threads(server);
            let spent = after.iter().map(|(thread, after)| {
                (after.saturating_sub(before.get(thread).copied().unwrap_or_default()), *thread)
            });
            Ok(spent.max().filter(|(spent, _)| *spent > 0).map(|(_, thread)| thread))
        }
    }
}

/// Nanoseconds of CPU of each thread of a process; none where the kernel does not tell.
fn cpu_of_threads(process: i32) -> BTreeMap<i32, u64> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return BTreeMap::new() };
    let of_thread = |entry: fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let times = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        Some((thread, times.split(' ').next()?.parse().ok()?))
    };
    threads.flatten().filter_map(of_thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_works_has_the_time() {
        const WORK: u64 = 5_000_000;
        let own = i32::try_from(std::process::id()).unwrap();
        let (worked, of_thread) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let busy = std::thread::spawn(move || {
            while crate::clock::thread_cpu().0 < WORK {
                std::hint::spin_loop();
            }
            // SAFETY: it asks for the number of the calling thread.
            worked.send(unsafe { libc::gettid() }).unwrap();
            ended.recv().unwrap_err();
        });
        let thread = of_thread.recv().unwrap();
        // The kernel adds up a thread's time when it is switched or ticks.
        while cpu_of_threads(own)[&thread] < WORK {
            std::thread::yield_now();
        }
        drop(end);
        busy.join().unwrap();
    }
}
