//! Counters that changed where the rate did.

use crate::made::{Wobble, found, rounds, series, step};
use analysis::Error;
use analysis::change_points::{ErrorFloor, Findings, Series};
use analysis::moved_with::{CounterSeries, Moved, MovedRule, moved_with};
use analysis::rounds::RoundValues;

fn rate() -> Findings {
    let findings = found(&series(&rounds(&step(10, 10, -0.1), 0.01, 1)));
    assert_eq!(findings.changes.len(), 1);
    findings
}

fn moved(rate: &Findings, counters: &[&RoundValues]) -> Vec<Moved> {
    let counters: Vec<CounterSeries<'_>> =
        counters.iter().map(|values| CounterSeries { values, identity: None }).collect();
    moved_with(&rate.changes[0], rate, &counters, &MovedRule::default()).expect("the same versions")
}

fn names(moved: &[Moved]) -> Vec<usize> {
    moved.iter().map(|moved| moved.counter).collect()
}

#[test]
fn a_counter_is_told_where_it_changed_at_the_same_place_only() {
    let here = rounds(&step(10, 10, 0.3), 0.01, 2);
    let nowhere = rounds(&[0.0; 20], 0.01, 3);
    let elsewhere = rounds(&step(5, 15, 0.3), 0.01, 4);
    let told = moved(&rate(), &[&nowhere, &here, &elsewhere]);
    assert_eq!(names(&told), [1]);
    assert!(told[0].low < 0.3f64.exp() && 0.3f64.exp() < told[0].high && told[0].low > 1.25, "{told:?}");
    assert!(told[0].exclusivity > 0.99 && (told[0].score - 10.0).abs() < 0.1);
}

#[test]
fn the_larger_of_equally_sure_counters_comes_first() {
    let small = rounds(&step(10, 10, 0.3), 0.01, 5);
    let large = rounds(&step(10, 10, -0.9), 0.01, 6);
    assert_eq!(names(&moved(&rate(), &[&small, &large])), [1, 0]);
}

#[test]
fn arithmetic_twins_are_one_line() {
    let requests = rounds(&step(10, 10, 0.5), 0.05, 7);
    let bytes = requests
        .rounds()
        .iter()
        .map(|cells| cells.iter().map(|cell| cell.map(|cell| 2.0 * cell + 8.0)).collect());
    let bytes = RoundValues::new(20, bytes.collect()).unwrap();
    let other = rounds(&step(10, 10, 0.5), 0.05, 8);
    let told = moved(&rate(), &[&requests, &bytes, &other]);
    assert_eq!(told.len(), 2, "{told:?}");
    let leader = told.iter().find(|moved| !moved.twins.is_empty()).unwrap();
    assert_eq!((leader.counter, leader.twins.as_slice()), (1, [0].as_slice()));
    // What is known to be an identity is one line whatever the noise.
    let counters = [&requests, &other].map(|values| CounterSeries { values, identity: Some(1) });
    let rate = rate();
    let told = moved_with(&rate.changes[0], &rate, &counters, &MovedRule::default()).unwrap();
    assert_eq!((told.len(), told[0].twins.len()), (1, 1));
}

#[test]
fn a_glitch_has_its_counters_too() {
    let at = |size: f64| {
        let mut levels = vec![0.0; 16];
        levels[6] = size;
        levels
    };
    let rate = found(&series(&rounds(&at(-0.1), 0.01, 9)));
    let with = rounds(&at(0.4), 0.01, 10);
    let without = rounds(&step(6, 10, 0.4), 0.01, 11);
    let told = moved(&rate, &[&without, &with]);
    assert_eq!(names(&told), [1]);
    assert!((told[0].ratio.ln() - 0.4).abs() < 0.03);
}

#[test]
fn single_runs_have_counters_with_a_floor() {
    let mut wobble = Wobble::new(12);
    let mut values = |size: f64| -> Vec<Option<f64>> {
        step(8, 8, size).into_iter().map(|level| Some(level + 0.01 * wobble.normal())).collect()
    };
    let rate = found(&Series::of_single_runs(&values(-0.4), ErrorFloor::default()).unwrap());
    let counter = RoundValues::new(16, vec![values(0.7)]).unwrap();
    let flat = RoundValues::new(16, vec![values(0.0)]).unwrap();
    let told = moved(&rate, &[&flat, &counter]);
    assert_eq!(names(&told), [1]);
}

#[test]
fn other_versions_are_an_error() {
    let rate = rate();
    let values = rounds(&[0.0; 3], 0.01, 13);
    let counters = [CounterSeries { values: &values, identity: None }];
    let error = moved_with(&rate.changes[0], &rate, &counters, &MovedRule::default()).unwrap_err();
    assert_eq!(error, Error::LengthsDiffer { left: 20, right: 3 });
    assert_eq!(moved(&rate, &[]), []);
}
