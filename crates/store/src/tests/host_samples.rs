//! Samples of the host, with their names once, and those of before schema 18.

use super::{RUN, started};
use crate::{Error, Writer};
use model::event::RunEvent;
use model::host::HostSample;
use model::plan::Purpose;
use std::collections::BTreeMap;

fn sample(at_us: i64, names: impl IntoIterator<Item = &'static str>) -> HostSample {
    let readings = names.into_iter().zip(1_000_000_000_u64..).map(|(name, value)| (name.to_owned(), value));
    HostSample { at_us, readings: readings.collect() }
}

/// Names as they are on a host with one disk.
const NAMES: [&str; 6] = [
    "disk.nvme0n1.write_bytes",
    "pressure.memory.full_us",
    "stat.cpu.softirq_ticks",
    "stat.ctxt",
    "vmstat.allocstall_normal",
    "vmstat.pgfault",
];

#[test]
fn samples_of_every_kind_are_read_in_their_order() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    let old = sample(5, ["stat.ctxt", "vmstat.pgfault"]);
    let text = crate::columns::json(&old.readings).unwrap();
    writer
        .store()
        .connection
        .execute("INSERT INTO host_samples (run_key, at_us, readings_json) VALUES (1, 5, ?)", [text])
        .unwrap();
    let largest = HostSample { at_us: 9, readings: BTreeMap::from([("stat.ctxt".to_owned(), u64::MAX)]) };
    let new = [sample(6, NAMES), sample(7, NAMES), sample(8, []), largest];
    for sample in &new {
        writer.write(RUN, &RunEvent::HostSampled(sample.clone())).unwrap();
    }
    let expected: Vec<HostSample> = [old].into_iter().chain(new).collect();
    let store = writer.store();
    assert_eq!(store.host_samples(RUN).unwrap(), expected);
    let mut one_by_one = Vec::new();
    store
        .each_host_sample::<Error>(RUN, |sample| {
            one_by_one.push(sample);
            Ok(())
        })
        .unwrap();
    assert_eq!(one_by_one, expected);

    // As a query by hand has them; of a value beyond 2^63 SQLite knows the first digits.
    let mut rows = store
        .connection
        .prepare("SELECT at_us, name, value FROM host_readings WHERE run_key = 1 AND at_us < 9 ORDER BY 1, 2")
        .unwrap();
    let rows: Vec<(i64, String, i64)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let readings = expected[..4].iter().flat_map(|sample| {
        sample.readings.iter().map(|(name, value)| (sample.at_us, name.clone(), value.cast_signed()))
    });
    assert_eq!(rows, readings.collect::<Vec<_>>());
}

#[test]
fn names_are_stored_once_and_a_sample_takes_less_than_half() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    for at_us in 0..3 {
        writer.write(RUN, &RunEvent::HostSampled(sample(at_us, NAMES))).unwrap();
    }
    let number =
        |sql: &str| -> i64 { writer.store().connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(number("SELECT count(*) FROM reading_names"), 1);
    let with_names = crate::columns::json(&sample(0, NAMES).readings).unwrap().len();
    let without = number("SELECT max(length(readings_json)) FROM host_samples").unsigned_abs();
    assert!(2 * without < with_names as u64, "{without} bytes in place of {with_names}");
}

#[test]
fn a_sample_with_more_values_than_names_is_not_read_as_another() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    writer.write(RUN, &RunEvent::HostSampled(sample(6, NAMES))).unwrap();
    writer.store().connection.execute("UPDATE host_samples SET readings_json = '[1]'", []).unwrap();
    let error = writer.store().host_samples(RUN).unwrap_err();
    assert!(format!("{error:?}").contains("1 values for 6 names"), "{error:?}");
}
