//! `dbdyno import table`, which finds by itself where the releases are, or is told.

#![no_main]

use formats::import::of_table;
use formats::table::{self, Choices, Releases};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for releases in [None, Some(Releases::InRows), Some(Releases::InColumns)] {
        let choices = Choices { releases, metric: None };
        fuzz::import(bytes, |text| Ok(of_table(&table::parse(text, &choices)?, fuzz::SOURCE)));
    }
});
