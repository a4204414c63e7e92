//! `dbdyno import db_bench-report`.

#![no_main]

use formats::benchmark_sh_report;
use formats::import::of_report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_report(&benchmark_sh_report::parse(text)?, fuzz::SOURCE)));
});
