//! `dbdyno import pgbench`.

#![no_main]

use formats::import::of_pgbench;
use formats::pgbench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_pgbench(&pgbench::parse(text)?, fuzz::SOURCE)));
});
