//! `dbdyno import pgbench-log`.

#![no_main]

use formats::import::of_pgbench_log;
use formats::pgbench_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_pgbench_log(&pgbench_log::parse(text)?, fuzz::SOURCE)));
});
