//! Stores that are added to others: each run once, with all that it has, in whatever order.

use super::{RUN, events, other_process, runs_of, started, trial, versions};
use crate::merge::tables::{BY_THEMSELVES, OF_IMPORTS, OF_RUNS, SHARED, WITH_A_RULE};
use crate::{Error, Merged, MergedBy, Store, Writer, check, merge, named};
use model::block::{BASE, BlockKind};
use model::counter::Counters;
use model::event::RunEvent;
use model::plan::Purpose;
use model::units::Nanos;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod contents;
mod drawn;

const BY: MergedBy<'_> = MergedBy { origin: "bench-1", at_us: 7_000_000, tool_version: "0.2.0" };

/// A store in which these events were written of a run.
fn with(path: &Path, run: &str, events: &[RunEvent]) {
    let mut writer = Writer::open(path).unwrap();
    for event in events {
        let event = match event {
            RunEvent::Started { at_us, plan, host, .. } => RunEvent::Started {
                run: run.to_owned(),
                at_us: *at_us,
                plan: plan.clone(),
                host: host.clone(),
            },
            event => event.clone(),
        };
        writer.write(run, &event).unwrap();
    }
}

/// One more block of a run that has not ended.
fn block(cycle: u32, wall: Nanos) -> RunEvent {
    let of = super::block(trial(1, "readrandom", BASE), BlockKind::Cycle(cycle), Counters::new());
    RunEvent::BlockMeasured(Box::new(model::block::Block { wall, ..of }))
}

/// All rows of all tables but of those that say when and where from something was merged.
fn rows(path: &Path) -> Vec<(String, i64)> {
    let connection = other_process(path);
    let tables = OF_RUNS.iter().chain(&OF_IMPORTS).map(|owned| owned.table);
    let tables =
        tables.chain(SHARED.iter().map(|shared| shared.table)).chain(BY_THEMSELVES).chain(WITH_A_RULE);
    let count = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        (table.to_owned(), connection.query_row(&count, [], |row| row.get(0)).unwrap())
    };
    tables.map(count).collect()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn merged(into: &Path, from: &Path) -> Merged {
    merge(&mut Writer::open(into).unwrap(), from, BY).unwrap()
}

#[test]
fn a_run_is_taken_with_all_that_it_has_and_only_once() {
    let place = Place::new();
    let (lab, host) = (place.file("lab.sqlite"), place.file("host.sqlite"));
    // The keys of the two stores are not the same: the lab has another run, with counters in another order.
    with(&lab, "lab", &events(5_000));
    with(&host, "first", &[started("first", 1, Purpose::Compare)]);
    with(&host, RUN, &events(1_000));
    let bytes = fs::read(&host).unwrap();

    let first = merged(&lab, &host);
    assert_eq!(first.added, ["first", RUN]);
    assert_eq!(
        (first.known, first.diverged.len(), first.schema as usize),
        (0, 0, crate::migrations::VERSIONS)
    );
    let after = rows(&lab);
    let again = merged(&lab, &host);
    assert_eq!((again.added.len(), again.continued.len(), again.known), (0, 0, 2));
    assert_eq!(rows(&lab), after);

    let (ours, theirs) = (Store::open_existing(&lab).unwrap(), Store::open_existing(&host).unwrap());
    assert_eq!(ours.load_run(RUN).unwrap(), theirs.load_run(RUN).unwrap());
    assert_eq!(ours.host_samples(RUN).unwrap(), theirs.host_samples(RUN).unwrap());
    for name in &ours.load_run(RUN).unwrap().raw_outputs {
        assert_eq!(ours.raw_output(RUN, name).unwrap(), theirs.raw_output(RUN, name).unwrap());
    }
    drop((ours, theirs));
    assert_eq!(check(&lab).unwrap().damage, Vec::<String>::new());
    assert_eq!(fs::read(&host).unwrap(), bytes, "the other store was changed");
    let origin: (String, i64, String) = other_process(&lab)
        .query_row(
            "SELECT store, merged_at_us, origins.tool_version FROM origins JOIN runs USING (run_key) WHERE id = ?",
            [RUN],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(origin, (BY.origin.to_owned(), BY.at_us, BY.tool_version.to_owned()));
}

#[test]
fn a_store_can_be_merged_while_a_run_writes_to_it_and_none_of_its_files_is_changed() {
    let place = Place::new();
    let (lab, host) = (place.file("lab.sqlite"), place.file("host.sqlite"));
    let all = events(1_000);
    let mut running = Writer::open(&host).unwrap();
    for event in &all[..10] {
        running.write(RUN, event).unwrap();
    }
    running.flush().unwrap();
    let wal = place.file("host.sqlite-wal");
    let before = (fs::read(&host).unwrap(), fs::read(&wal).unwrap());
    assert!(!before.1.is_empty(), "what is committed is still in the log");
    assert_eq!(merged(&lab, &host).added, [RUN]);
    assert!(
        (fs::read(&host).unwrap(), fs::read(&wal).unwrap()) == before,
        "a file of the other store was changed"
    );
    for event in &all[10..] {
        running.write(RUN, event).unwrap();
    }
    drop(running);
    assert_eq!(merged(&lab, &host).continued, [RUN]);
}

#[test]
fn a_run_that_went_on_replaces_what_was_merged_of_it_and_is_not_replaced_by_it() {
    let place = Place::new();
    let (lab, early, late) =
        (place.file("lab.sqlite"), place.file("early.sqlite"), place.file("late.sqlite"));
    let all = events(1_000);
    with(&early, RUN, &all[..10]);
    with(&late, RUN, &all);
    assert_eq!(merged(&lab, &early).added, [RUN]);
    Writer::open(&lab).unwrap().name_run(RUN, "kept").unwrap();

    let late_merged = merged(&lab, &late);
    assert_eq!((late_merged.continued, late_merged.added.len()), (vec![RUN.to_owned()], 0));
    let run = Store::open_existing(&lab).unwrap().load_run(RUN).unwrap();
    assert_eq!(run.name.as_deref(), Some("kept"));
    let whole = Store::open_existing(&late).unwrap().load_run(RUN).unwrap();
    assert_eq!(run.blocks, whole.blocks);
    assert_eq!(run.status, whole.status);
    assert_eq!(merged(&lab, &early).known, 1);
    assert_eq!(Store::open_existing(&lab).unwrap().load_run(RUN).unwrap(), run);
    assert_eq!(check(&lab).unwrap().damage, Vec::<String>::new());
}

#[test]
fn a_run_whose_end_alone_is_new_is_continued() {
    let place = Place::new();
    let (lab, early, late) =
        (place.file("lab.sqlite"), place.file("early.sqlite"), place.file("late.sqlite"));
    let all = events(1_000);
    with(&early, RUN, &all[..all.len() - 1]);
    with(&late, RUN, &all);
    merged(&lab, &early);
    assert_eq!(merged(&lab, &late).continued, [RUN]);
}

#[test]
fn a_run_that_went_on_in_both_is_left_as_it_is_here() {
    let place = Place::new();
    let (lab, other) = (place.file("lab.sqlite"), place.file("other.sqlite"));
    let begun = &events(1_000)[..10];
    with(&lab, RUN, &[begun, &[block(1, Nanos(7))]].concat());
    with(&other, RUN, &[begun, &[block(1, Nanos(8))]].concat());
    let before = Store::open_existing(&lab).unwrap().load_run(RUN).unwrap();
    let taken = merged(&lab, &other);
    assert_eq!((taken.diverged, taken.added.len()), (vec![RUN.to_owned()], 0));
    assert_eq!(Store::open_existing(&lab).unwrap().load_run(RUN).unwrap(), before);
    // Nor is another run that happens to have the same id.
    let stranger = place.file("stranger.sqlite");
    with(&stranger, RUN, &events(2_000));
    assert_eq!(merged(&lab, &stranger).diverged, [RUN]);
}

#[test]
fn a_store_of_every_earlier_version_can_be_merged_and_stays_as_it_is() {
    let place = Place::new();
    for version in 1..crate::migrations::VERSIONS {
        let (lab, old) =
            (place.file(&format!("lab-{version}.sqlite")), place.file(&format!("{version}.sqlite")));
        versions::of_version(&old, version);
        with(&lab, RUN, &events(1_000));
        let bytes = fs::read(&old).unwrap();
        let taken = merged(&lab, &old);
        assert_eq!((taken.added, taken.schema as usize), (vec!["first".to_owned()], version));
        assert!(fs::read(&old).unwrap() == bytes, "the store of version {version} was changed");
        let run = Store::open_existing(&lab).unwrap().load_run("first").unwrap();
        assert_eq!((run.trials.len(), run.blocks.len(), run.launches.len()), (2, 1, 1));
        assert_eq!(check(&lab).unwrap().damage, Vec::<String>::new(), "of version {version}");
        // Neither the copy nor its directory is left.
        let hidden = fs::read_dir(place.0.path()).unwrap().filter_map(Result::ok);
        assert!(hidden.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with('.')));
    }
}

#[test]
fn what_cannot_be_merged_is_refused_and_changes_nothing() {
    let place = Place::new();
    let (lab, newer) = (place.file("lab.sqlite"), place.file("newer.sqlite"));
    with(&lab, RUN, &events(1_000));
    with(&newer, "other", &[started("other", 1, Purpose::Compare)]);
    other_process(&newer).pragma_update(None, "user_version", 9_999).unwrap();
    let text = place.file("text.sqlite");
    fs::write(&text, "not a database, but long enough to have a header").unwrap();
    let before = rows(&lab);
    let mut writer = Writer::open(&lab).unwrap();
    let refused = |writer: &mut Writer, from: &Path| merge(writer, from, BY).unwrap_err();
    assert!(matches!(refused(&mut writer, &newer), Error::Newer { found: 9_999, .. }));
    assert!(matches!(refused(&mut writer, &text), Error::NotAStore { .. }));
    assert!(matches!(refused(&mut writer, &lab), Error::SameStore { .. }));
    assert!(matches!(refused(&mut writer, &place.file("none.sqlite")), Error::Missing { .. }));
    // A reference that leads nowhere, deep in the middle: what was taken before it is not kept.
    let astray = place.file("astray.sqlite");
    with(&astray, "astray", &events(3_000));
    other_process(&astray)
        .execute_batch("PRAGMA foreign_keys = OFF; UPDATE subjects SET build_key = 77;")
        .unwrap();
    assert!(matches!(refused(&mut writer, &astray), Error::Sql { .. }));
    // Pages that were overwritten are those of the other store, and it is named.
    let damaged = place.file("damaged.sqlite");
    with(&damaged, "damaged", &events(3_000));
    let file = fs::OpenOptions::new().write(true).open(&damaged).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 20_000], middle).unwrap();
    let error = refused(&mut writer, &damaged);
    assert!(matches!(&error, Error::Damaged { path, .. } if *path == damaged), "{error}");
    drop(writer);
    assert_eq!(rows(&lab), before);
}

#[test]
fn of_a_spool_directory_whole_stores_are_taken() {
    let place = Place::new();
    let spool = place.file("spool");
    fs::create_dir(&spool).unwrap();
    assert!(matches!(named(std::slice::from_ref(&spool)).unwrap_err(), Error::EmptySpool { .. }));
    for name in ["b.sqlite", "a.sqlite", ".c.sqlite.Xy12", ".d.sqlite", "e.sqlite.7.partial", "a.sqlite-wal"]
    {
        fs::write(spool.join(name), "").unwrap();
    }
    let alone = place.file("alone.sqlite");
    let found = named(&[alone.clone(), spool.clone()]).unwrap();
    assert_eq!(found, [alone, spool.join("a.sqlite"), spool.join("b.sqlite")]);
}

#[test]
fn every_table_of_the_schema_has_its_place_in_a_merge_and_every_reference_is_followed() {
    let writer = runs_of(&[]);
    let connection = &writer.store().connection;
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables: BTreeSet<String> =
        texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
            .into_iter()
            .collect();
    let owned = || OF_RUNS.iter().chain(&OF_IMPORTS);
    let placed: BTreeSet<String> = owned()
        .map(|owned| owned.table)
        .chain(SHARED.iter().map(|shared| shared.table))
        .chain(BY_THEMSELVES)
        .chain(WITH_A_RULE)
        .map(str::to_owned)
        .collect();
    assert_eq!(tables, placed);
    for table in owned() {
        let followed: BTreeSet<String> =
            table.owners.iter().chain(table.shared).map(|(column, to)| format!("{column} {to}")).collect();
        let sql =
            format!("SELECT \"from\" || ' ' || \"table\" FROM pragma_foreign_key_list('{}')", table.table);
        assert_eq!(texts(&sql).into_iter().collect::<BTreeSet<_>>(), followed, "of {}", table.table);
    }
}

/// Of each of four runs how much each of three stores has: nothing, a beginning, or all.
fn shares() -> impl Strategy<Value = Vec<[usize; 4]>> {
    prop::collection::vec(prop::array::uniform4(prop::sample::select(vec![0, 1, 10, 14, 20])), 3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn in_whatever_order_stores_are_merged_each_run_is_as_far_as_the_furthest(shares in shares(), turned in 0..3_usize) {
        let place = Place::new();
        let run = |number: usize| format!("20261121-0915{number:02}-3fa9");
        let stores: Vec<PathBuf> = (0..3).map(|store| place.file(&format!("{store}.sqlite"))).collect();
        for (store, shares) in stores.iter().zip(&shares) {
            with(store, "common", &[started("common", 1, Purpose::Compare)]);
            for (number, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0) {
                with(store, &run(number), &events(1_000)[..*share]);
            }
        }
        let lab = place.file("lab.sqlite");
        for place in 0..3 {
            merged(&lab, &stores[(place + turned) % 3]);
        }
        let lab = Store::open_existing(&lab).unwrap();
        for number in 0..4 {
            let furthest = shares.iter().zip(&stores).max_by_key(|(shares, _)| shares[number]).unwrap();
            if furthest.0[number] == 0 {
                prop_assert!(lab.load_run(&run(number)).is_err());
            } else {
                let expected = Store::open_existing(furthest.1).unwrap().load_run(&run(number)).unwrap();
                prop_assert_eq!(lab.load_run(&run(number)).unwrap(), expected);
            }
        }
    }
}
