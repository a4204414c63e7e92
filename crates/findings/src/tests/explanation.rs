//! Why steps differ, of comparisons and of imports.

use super::view_of;
use crate::explanation::{ExplanationView, Known, of_comparison, of_import};
use crate::import;
use model::counter::Counter;
use model::metric::Metric;
use model::pattern::{self, Pattern};
use model::record::RunRecord;
use testing::compared::{EQUAL, Truth, record};

const READ: &str = "readrandom";

fn patterns() -> Vec<Pattern> {
    let files =
        [include_str!("../../../../patterns/all.toml"), include_str!("../../../../patterns/rocksdb.toml")];
    files.iter().flat_map(|text| pattern::parse(text, "test").unwrap()).collect()
}

fn explained(record: &RunRecord, steps: &[&str]) -> ExplanationView {
    let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
    of_comparison(&view_of(record), Known { patterns: &patterns(), ..Known::default() }, &steps)
}

/// The candidate's counter in each block of the step, by so many percent.
fn multiplied(record: &mut RunRecord, counter: Counter, base: u64, percent: u64) {
    for (place, block) in record.blocks.iter_mut().filter(|block| block.trial.step == READ).enumerate() {
        // A little of noise, which a test needs.
        let value = base + (place as u64 * 7) % 13;
        let value = if block.trial.side == 0 { value } else { value * percent / 100 };
        block.counters.insert(counter, value);
    }
}

#[test]
fn steps_that_differ_are_explained_and_others_if_they_are_named() {
    let slower = record(&Truth { write: 1.0, read: 0.9 });
    let cases = explained(&slower, &[]).cases;
    assert_eq!(cases.iter().map(|case| case.step.as_str()).collect::<Vec<_>>(), [READ]);
    assert!(cases[0].rate.unwrap().ratio < 0.92 && cases[0].time.is_some());
    assert!(explained(&record(&EQUAL), &[]).cases.is_empty());
    assert_eq!(explained(&record(&EQUAL), &[READ]).cases.len(), 1);
}

#[test]
fn what_moved_with_a_rate_shows_a_pattern_and_noise_shows_none() {
    let mut slower = record(&Truth { write: 1.0, read: 0.9 });
    multiplied(&mut slower, Counter::VoluntarySwitches, 50_000, 150);
    let case = &explained(&slower, &[]).cases[0];
    assert!(
        case.moved.iter().any(|one| one.metric == Metric::Counter(Counter::VoluntarySwitches)),
        "{:?}",
        case.moved
    );
    let ids: Vec<&str> = case.patterns.iter().map(|one| one.pattern.id.as_str()).collect();
    assert_eq!(ids, ["contention"]);
    let mut steady = record(&Truth { write: 1.0, read: 0.9 });
    multiplied(&mut steady, Counter::VoluntarySwitches, 50_000, 100);
    assert!(explained(&steady, &[]).cases[0].patterns.is_empty());
}

#[test]
fn small_reads_are_known_by_their_number_and_their_bytes() {
    let mut slower = record(&Truth { write: 1.0, read: 0.9 });
    multiplied(&mut slower, Counter::DiskReads, 10_000, 600);
    multiplied(&mut slower, Counter::DiskReadBytes, 800_000_000, 101);
    let case = &explained(&slower, &[]).cases[0];
    let found = case.patterns.iter().find(|one| one.pattern.id == "readahead-above-request-limit").unwrap();
    assert_eq!(found.pattern.remedy.as_deref(), Some("readahead-96k"));
    assert!(found.evidence[0].1 < 0.2, "{:?}", found.evidence);
}

#[test]
fn a_published_table_names_the_pattern_without_a_run() {
    let import = super::history::iostat_import();
    let found = of_import(&import::build(&import), &patterns(), &[]);
    let ids: Vec<(&str, &str)> = found
        .cases
        .iter()
        .flat_map(|case| {
            case.patterns.iter().map(move |one| (case.candidate.as_str(), one.pattern.id.as_str()))
        })
        .collect();
    assert!(ids.iter().any(|(_, id)| *id == "readahead-above-request-limit"), "{ids:?}");
}
