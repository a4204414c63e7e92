//! `dbdyno import fio-json`, and the log of histograms beside it.

#![no_main]

use formats::import::of_fio;
use formats::{fio_histograms, fio_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| Ok(of_fio(&fio_json::parse(text)?, fuzz::SOURCE)));
    fuzz::import(bytes, |text| fio_histograms::parse(text).map(|_| Vec::new()));
});
