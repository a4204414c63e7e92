//! `dbdyno import vmstat`.

#![no_main]

use formats::import::of_vmstat;
use formats::samples::FirstReport;
use formats::vmstat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for first in [FirstReport::SinceBoot, FirstReport::Interval] {
        fuzz::import(bytes, |text| Ok(of_vmstat(&vmstat::parse(text)?, first, fuzz::SOURCE)));
    }
});
