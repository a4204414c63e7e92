//! `dbdyno import iostat`.

#![no_main]

use formats::import::of_iostat;
use formats::iostat;
use formats::samples::FirstReport;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for first in [FirstReport::SinceBoot, FirstReport::Interval] {
        fuzz::import(bytes, |text| Ok(of_iostat(&iostat::parse(text)?, first, fuzz::SOURCE)));
    }
});
