//! `dbdyno import otava-csv`.

#![no_main]

use formats::import::of_otava;
use formats::otava_csv;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_otava(&otava_csv::parse(text)?, fuzz::SOURCE)));
});
