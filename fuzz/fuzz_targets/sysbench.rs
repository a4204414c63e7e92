//! `dbdyno import sysbench`.

#![no_main]

use formats::import::of_sysbench;
use formats::sysbench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_sysbench(&sysbench::parse(text)?, fuzz::SOURCE)));
});
