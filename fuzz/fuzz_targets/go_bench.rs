//! `dbdyno import go-bench`.

#![no_main]

use formats::go_bench;
use formats::import::of_go_bench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_go_bench(&go_bench::parse(text)?, fuzz::SOURCE)));
});
