//! Settings and state of servers and of RocksDB as texts: OPTIONS, `my.cnf`, `postgresql.conf`, counters, plans of queries, logs; what Slurm says.

#![no_main]

use formats::engine_log::{EngineWork, LogOf, LogReader, LogTimes};
use formats::options_file::{self, OptionsFile, OptionsPair};
use formats::server_config;
use formats::server_status::{self, ServerStatus};
use formats::slurm;
use libfuzzer_sys::fuzz_target;
use model::query_plan;

fuzz_target!(|bytes: &[u8]| {
    for read in [server_config::my_cnf, server_config::postgresql_conf] {
        fuzz::import(bytes, |text| read(text).map(|_| Vec::new()));
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(file) = options_file::parse(&text) {
        let _ = options_file::differences(OptionsPair { base: &OptionsFile::default(), candidate: &file });
    }
    let status = server_status::parse(&text);
    let _ = (status.hit_percent_since(&ServerStatus::default()), status.hit_percent_since(&status));
    for of in [LogOf::Postgres, LogOf::Mysql, LogOf::RocksDb] {
        let mut log = LogReader::new(of);
        text.lines().for_each(|line| log.line(line));
        let at_us = 1_795_813_030_000_000;
        if let Some(work) = log.finish(LogTimes { written_at_us: at_us, read_at_us: at_us }) {
            assert_eq!(EngineWork::parse(&work.to_text(usize::MAX)).as_ref(), Some(&work));
            let _ = work.between(at_us - 1_000_000, at_us);
        }
    }
    let _ = EngineWork::parse(&text).map(|work| work.between(0, 1).is_some());
    let _ = query_plan::of_text(&text);
    let _ = query_plan::without_values(&text);
    let _ = (slurm::submitted(&text).is_ok(), slurm::queue(&text).is_ok());
    let _ = (slurm::takes_jobs(&text), slurm::accounted(&text, "1_1").is_some());
});
