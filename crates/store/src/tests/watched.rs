//! What watches have found: written, changed, read back; runs by the beginning of their names.

use super::{ended, started};
use crate::Writer;
use model::plan::Purpose;
use model::watched::{Identity, WatchState, Watched};

fn change(watch: &str, step: &str) -> Watched {
    Watched {
        number: 0,
        identity: Identity {
            watch: watch.to_owned(),
            host: "h".to_owned(),
            workload: "w".to_owned(),
            step: step.to_owned(),
            base: "postgres@17.11".to_owned(),
            candidate: "postgres@git:master".to_owned(),
            is_slower: true,
        },
        ratio: 0.9,
        low: 0.85,
        high: 0.95,
        last_without: None,
        first_with: "postgres@1f2e3d4c5b6a".to_owned(),
        state: WatchState::New,
        is_told: false,
        first_run: "run-1".to_owned(),
        last_run: "run-1".to_owned(),
    }
}

#[test]
fn a_change_keeps_its_number_whatever_becomes_of_it() {
    let mut writer = Writer::in_memory().unwrap();
    let stored = writer.write_watched(None, &[change("a", "read"), change("b", "read")]).unwrap();
    assert_eq!(stored.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2]);
    let known = Watched {
        state: WatchState::Known,
        is_told: true,
        last_without: Some("postgres@0".to_owned()),
        last_run: "run-2".to_owned(),
        ..stored[1].clone()
    };
    let again = writer.write_watched(None, &[known.clone(), change("a", "write")]).unwrap();
    assert_eq!((again[0].number, again[1].number), (2, 3));
    assert_eq!(writer.store().watched(Some("b")).unwrap(), [known]);
    writer.mark_told(1).unwrap();
    let told = writer.store().watched(None).unwrap().into_iter().map(|one| one.is_told);
    assert_eq!(told.collect::<Vec<_>>(), [true, true, false]);
    let steps: Vec<String> =
        writer.store().watched(Some("a")).unwrap().into_iter().map(|one| one.identity.step).collect();
    assert_eq!(steps, ["read", "write"]);
    assert_eq!(writer.store().watched(None).unwrap().len(), 3);
    assert!(writer.store().watched(Some("c")).unwrap().is_empty());
}

#[test]
fn runs_below_a_name_are_those_that_have_ended_and_none_of_a_longer_name() {
    let mut writer = Writer::in_memory().unwrap();
    let runs = [("e", "n/b"), ("d", "n/a"), ("c", "n"), ("b", "night"), ("a", "n-2"), ("f", "n")];
    for (at_us, (run, name)) in (1..).zip(runs) {
        writer.write(run, &started(run, at_us, Purpose::Campaign)).unwrap();
        if run != "f" {
            writer.write(run, &ended(at_us)).unwrap();
        }
        writer.name_run(run, name).unwrap();
    }
    assert_eq!(writer.store().runs_below("n").unwrap(), ["e", "d", "c"]);
    assert!(writer.store().runs_below("nig").unwrap().is_empty());
    writer.write_watched(Some("d"), &[]).unwrap();
    writer.write_watched(Some("d"), &[]).unwrap();
    assert_eq!(writer.store().runs_to_judge("n").unwrap(), ["e", "c"]);
}
