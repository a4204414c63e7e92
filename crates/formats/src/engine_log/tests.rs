//! Logs of real engines, whole and cut off, and what is kept of them.

use super::*;

const POSTGRES: &str = include_str!("../../fixtures/engine_log/postgres/16.3.txt");
const MYSQL: &str = include_str!("../../fixtures/engine_log/mysql/8.0.15.txt");
const FILL: &str = include_str!("../../fixtures/engine_log/rocksdb/10.6.2.fill.txt");
const OVERWRITE: &str = include_str!("../../fixtures/engine_log/rocksdb/10.6.2.overwrite.txt");
const OLD: &str = include_str!("../../fixtures/engine_log/rocksdb/5.18.4.txt");

const SECOND_US: i64 = 1_000_000;
const HOUR_US: i64 = 3_600 * SECOND_US;

/// Of a log that was written when its last line says, in a zone so far from UTC, and read three seconds later.
fn read(of: LogOf, text: &str, zone_us: i64) -> Option<EngineWork> {
    let mut reader = LogReader::new(of);
    text.lines().for_each(|line| reader.line(line));
    let written_at_us = text.lines().rev().find_map(stamp::of)?.0 - zone_us;
    reader.finish(LogTimes { written_at_us, read_at_us: written_at_us + 3 * SECOND_US })
}

/// Seconds since the log begins.
fn shown(work: &EngineWork) -> String {
    let since = |at_us: i64| (at_us - work.known_from_us) as f64 / SECOND_US as f64;
    let mut lines = vec![format!("known to {:.3}", since(work.known_to_us))];
    lines.extend(
        work.works
            .iter()
            .map(|one| format!("{:.3} {:.3} {}", since(one.from_us), since(one.to_us), one.what)),
    );
    lines.join("\n")
}

#[test]
fn postgres_tells_of_checkpoints_and_vacuums() {
    insta::assert_snapshot!(shown(&read(LogOf::Postgres, POSTGRES, 0).unwrap()));
}

#[test]
fn rocksdb_tells_of_flushes_and_compactions_and_of_writes_that_it_stops() {
    for (name, text) in [("fill", FILL), ("overwrite", OVERWRITE), ("5.18.4", OLD)] {
        insta::assert_snapshot!(name, shown(&read(LogOf::RocksDb, text, 0).unwrap()));
    }
}

#[test]
fn mysql_tells_of_its_page_cleaner() {
    let work = read(LogOf::Mysql, MYSQL, 0).unwrap();
    assert_eq!(work.works.len(), 1, "{work:?}");
    let Work { from_us, to_us, what } = &work.works[0];
    assert_eq!((what.as_str(), to_us - from_us), ("page cleaner late", 7_936_000));
    let older = "2026-11-27T21:01:23.772243Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 7936ms. The settings \
                 might not be optimal. (flushed=0 and evicted=0, during the time.)";
    assert_eq!(read(LogOf::Mysql, older, 0).unwrap().works, work.works);
}

#[test]
fn the_zone_of_a_log_follows_from_when_it_was_written() {
    let utc = read(LogOf::Postgres, POSTGRES, 0).unwrap();
    for zone_us in [HOUR_US, -5 * HOUR_US, 5 * HOUR_US + 3 * QUARTER_US, 14 * HOUR_US] {
        let local = read(LogOf::Postgres, POSTGRES, zone_us).unwrap();
        assert_eq!(shown(&local), shown(&utc), "{zone_us}");
        assert_eq!(local.known_from_us, utc.known_from_us - zone_us);
    }
    // A file that was changed long after its last line is not the log that it looks like.
    assert_eq!(read(LogOf::Postgres, POSTGRES, 7 * 60 * SECOND_US), None);
    assert_eq!(read(LogOf::Postgres, "no time\n", 0), None);
}

#[test]
fn a_log_that_ends_anywhere_tells_of_what_it_has() {
    for (of, text) in [
        (LogOf::Postgres, POSTGRES),
        (LogOf::Mysql, MYSQL),
        (LogOf::RocksDb, OVERWRITE),
        (LogOf::RocksDb, OLD),
    ] {
        let whole = read(of, text, 0).unwrap();
        let names = |work: &EngineWork| work.works.iter().map(|one| one.what.clone()).collect::<Vec<_>>();
        let all = names(&whole);
        for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            let Some(cut) = read(of, &text[..end], 0) else { continue };
            assert!(cut.works.iter().all(|one| one.from_us <= one.to_us), "{end}: {cut:?}");
            assert!(cut.works.iter().all(|one| one.to_us <= cut.known_to_us), "{end}: {cut:?}");
            assert!(names(&cut).iter().all(|what| all.contains(what)), "{end}: {cut:?}");
        }
    }
}

#[test]
fn a_checkpoint_that_has_begun_goes_on() {
    let begun = "2026-11-27 20:48:55.420 UTC [2] LOG:  checkpoint starting: time\n";
    let work = read(LogOf::Postgres, begun, 0).unwrap();
    assert_eq!(shown(&work), "known to 3.000\n0.000 3.000 checkpoint");
}

#[test]
fn a_table_of_any_name_is_one_line() {
    let said = "2026-11-27 20:48:57.794 UTC [52] LOG:  automatic vacuum of table \"bench.public.a\rb.c\r\": index scans: 1\n";
    let work = read(LogOf::Postgres, said, 0).unwrap();
    assert_eq!(work.works[0].what, "autovacuum of a?b.c?");
    assert_eq!(EngineWork::parse(&work.to_text(usize::MAX)), Some(work));
}

#[test]
fn what_an_engine_did_in_a_stretch_of_time_is_named_the_longest_first() {
    let work = |from_us: i64, to_us: i64, what: &str| Work { from_us, to_us, what: what.to_owned() };
    let log = EngineWork {
        known_from_us: 0,
        known_to_us: 100,
        works: vec![
            work(0, 12, "flush"),
            work(11, 40, "checkpoint"),
            work(15, 16, "flush"),
            work(50, 60, "compaction"),
        ],
    };
    assert_eq!(log.between(10, 20), Some(vec!["checkpoint", "flush"]));
    assert_eq!(log.between(41, 49), Some(vec![]));
    assert_eq!(log.between(60, 70), Some(vec!["compaction"]), "both ends belong to it");
    assert_eq!((log.between(-1, 5), log.between(95, 101)), (None, None));
}

#[test]
fn what_is_kept_is_read_again_and_what_does_not_fit_is_not_known() {
    let work = read(LogOf::Postgres, POSTGRES, 0).unwrap();
    let text = work.to_text(usize::MAX);
    assert_eq!(EngineWork::parse(&text), Some(work.clone()));
    let short = work.to_text(200);
    assert!(short.len() <= 200, "{short}");
    let short = EngineWork::parse(&short).unwrap();
    let kept = short.works.len();
    assert!(kept >= 2 && short.works[..] == work.works[..kept], "{short:?}");
    assert_eq!(short.known_to_us, work.works[kept].from_us);
    assert_eq!(EngineWork::parse(""), None);
    assert_eq!(EngineWork::parse("2026-11-27 20:48:55.420 UTC [2] LOG:  checkpoint starting: time\n"), None);
}
