//! `dbdyno import db_bench-text`.

#![no_main]

use formats::db_bench;
use formats::import::of_db_bench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_db_bench(&db_bench::parse(text)?, fuzz::SOURCE)));
});
