//! Reading row by row gives what reading a run as a whole does.

use super::{RUN, events, written};
use crate::Error;
use model::block::{Second, TrialKey};
use model::event::RunEvent;
use model::units::Nanos;
use std::collections::BTreeMap;

/// A run with an event of every kind, and seconds.
fn with_seconds() -> Vec<RunEvent> {
    let mut all = events(1_000);
    let trial = TrialKey { launch: 1, step: "readrandom".to_owned(), side: 0 };
    let seconds = (0..3).map(|second| RunEvent::SecondMeasured {
        trial: trial.clone(),
        second: Second {
            second,
            operations: u64::from(second) + u64::from(u32::MAX),
            p50: Nanos(5),
            p99: Nanos(50),
            max: Nanos(500),
        },
    });
    let last = all.len() - 1;
    all.splice(last..last, seconds);
    all
}

#[test]
fn row_by_row_is_the_same_as_the_whole() {
    let writer = written(&with_seconds());
    let store = writer.store();
    let whole = store.load_run(RUN).unwrap();

    let head = store.load_head(RUN).unwrap();
    assert_eq!((&head.id, &head.name, head.status), (&whole.id, &whole.name, whole.status));
    assert_eq!((head.started_at_us, head.ended_at_us), (whole.started_at_us, whole.ended_at_us));
    assert_eq!((&head.plan, &head.host), (&whole.plan, &whole.host));

    let mut blocks = Vec::new();
    store
        .each_block::<Error>(RUN, |block| {
            blocks.push(block);
            Ok(())
        })
        .unwrap();
    assert_eq!(blocks, whole.blocks);
    assert!(!blocks[0].counters.is_empty());

    let mut trials = Vec::new();
    store
        .each_trial::<Error>(RUN, |row| {
            trials.extend(row.ended);
            Ok(())
        })
        .unwrap();
    assert_eq!(trials, whole.trials);

    let mut seconds: BTreeMap<TrialKey, Vec<Second>> = BTreeMap::new();
    store
        .each_second::<Error>(RUN, |(trial, second)| {
            seconds.entry(trial).or_default().push(second);
            Ok(())
        })
        .unwrap();
    assert_eq!(seconds, whole.seconds);
    assert_eq!(seconds.values().map(Vec::len).sum::<usize>(), 3);

    let mut samples = Vec::new();
    store
        .each_host_sample::<Error>(RUN, |sample| {
            samples.push(sample);
            Ok(())
        })
        .unwrap();
    assert_eq!(samples, store.host_samples(RUN).unwrap());
}

#[test]
fn a_trial_without_an_end_is_handed_on_without_one() {
    // The blocks are there, the ends of their trials are not.
    let writer = written(&events(1_000)[..11]);
    let mut ended = Vec::new();
    writer
        .store()
        .each_trial::<Error>(RUN, |row| {
            ended.push(row.ended.is_some());
            Ok(())
        })
        .unwrap();
    assert_eq!(ended, [false, false]);
}

#[test]
fn the_first_error_of_the_reader_ends_the_reading() {
    #[derive(Debug)]
    struct Full;
    impl From<Error> for Full {
        fn from(error: Error) -> Full {
            panic!("{error}")
        }
    }
    let writer = written(&with_seconds());
    let mut read = 0;
    let result = writer.store().each_second(RUN, |_| {
        read += 1;
        if read == 2 { Err(Full) } else { Ok(()) }
    });
    assert!(result.is_err());
    assert_eq!(read, 2);
}
