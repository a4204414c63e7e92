//! Statistics of real releases, recorded by `fixtures/rocksdb/record_stats.py`, and what is cut off.

use super::*;
use crate::tests::refused;

/// Release, two texts of one process. Of the same 60,000 writes of 416 bytes; no compression.
const RECORDED: [(&str, &str); 8] = [
    ("5.18.4", include_str!("../../fixtures/rocksdb/5.18.4.stats.txt")),
    ("6.0.2", include_str!("../../fixtures/rocksdb/6.0.2.stats.txt")),
    ("6.29.5", include_str!("../../fixtures/rocksdb/6.29.5.stats.txt")),
    ("8.0.0", include_str!("../../fixtures/rocksdb/8.0.0.stats.txt")),
    ("8.1.1", include_str!("../../fixtures/rocksdb/8.1.1.stats.txt")),
    ("8.7.3", include_str!("../../fixtures/rocksdb/8.7.3.stats.txt")),
    ("10.6.2", include_str!("../../fixtures/rocksdb/10.6.2.stats.txt")),
    ("11.8.1", include_str!("../../fixtures/rocksdb/11.8.1.stats.txt")),
];

const WITH_BLOBS: [(&str, &str); 3] = [
    ("7.10.2", include_str!("../../fixtures/rocksdb/7.10.2.blob.stats.txt")),
    ("8.0.0", include_str!("../../fixtures/rocksdb/8.0.0.blob.stats.txt")),
    ("10.6.2", include_str!("../../fixtures/rocksdb/10.6.2.blob.stats.txt")),
];

fn recorded(release: &str) -> Vec<RocksDbStats> {
    let (_, text) = RECORDED.iter().find(|(known, _)| *known == release).unwrap();
    parse_all(text).unwrap()
}

#[track_caller]
fn check_near(found: Option<u64>, expected: f64, tolerance: f64) {
    let found = found.unwrap() as f64;
    assert!((found - expected).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}

#[test]
fn every_release_tells_the_same_of_the_same_writes() {
    for (release, text) in RECORDED {
        let both = parse_all(text).unwrap();
        assert_eq!(both.len(), 2, "{release}");
        let stats = &both[1];
        assert_eq!(parse(text).unwrap(), *stats, "the last one counts in {release}");
        assert_eq!(stats.writes, Some(60_000), "{release}");
        // 30,000 keys are left: 12 MB in some fifty files of 256 KB.
        check_near(stats.lsm_bytes, 30_000.0 * 416.0, 400_000.0);
        check_near(stats.files, 49.0, 3.0);
        check_near(stats.ingest_bytes, 60_000.0 * 420.0, 1_600_000.0);
        check_near(stats.flush_bytes, 60_000.0 * 420.0, 1_000_000.0);
        assert!(stats.compaction_write_bytes > stats.flush_bytes, "{release}");
        assert!(stats.compaction_read_bytes < stats.compaction_write_bytes, "{release}");
        assert!(stats.stall_count().unwrap() > 50, "{release}");
        assert!(stats.stall_s.unwrap() > 0.5 && stats.stall_percent.unwrap() > 30.0, "{release}");
        let cpu_s = stats.compaction_cpu_s;
        assert_eq!(cpu_s.is_some(), release != "5.18.4", "{release}");
        assert!(cpu_s.is_none_or(|cpu_s| cpu_s < stats.compaction_s.unwrap()), "{release}");
        let sum: u64 = stats.levels.iter().filter_map(|row| row.compactions).sum();
        assert!(stats.levels.len() >= 2 && sum > 100, "{release}");
        let blobs = [stats.blob_bytes, stats.blob_files, stats.blob_read_bytes, stats.blob_write_bytes];
        let expected = if release.starts_with("5.") || release == "6.0.2" { None } else { Some(0) };
        assert_eq!(blobs, [expected; 4], "{release}");
    }
}

#[test]
fn the_numbers_are_those_that_stand_there() {
    let stats = recorded("8.0.0").pop().unwrap();
    assert_eq!(stats.uptime_s, Some(2.6));
    assert_eq!(stats.lsm_bytes, Some(12_624_855)); // 12.04 MB
    assert_eq!(stats.files, Some(48));
    // 67.11 MB/s and 62.42 MB/s over 2.6 s: finer than 0.17 GB and 0.16 GB
    assert_eq!(stats.compaction_write_bytes, Some(182_961_832));
    assert_eq!(stats.compaction_read_bytes, Some(170_175_496));
    assert_eq!(stats.compaction_write_bytes_per_s, Some(67.11 * 1_048_576.0));
    assert_eq!((stats.compaction_s, stats.compaction_cpu_s), (Some(2.16), Some(0.83)));
    assert_eq!(stats.flush_bytes, Some(25_769_804)); // 0.024 GB
    assert_eq!(stats.ingest_bytes, Some(26_254_246)); // 9.63 MB/s over 2.6 s
    assert_eq!((stats.stall_s, stats.stall_percent), (Some(1.289), Some(50.2)));
    assert_eq!(stats.stalls["memtable_compaction"], 36);
    assert_eq!(stats.stall_count(), Some(51 + 149 + 36));
    let last = stats.levels.last().unwrap();
    assert_eq!((last.level.as_str(), last.keys_in, last.keys_dropped), ("L3", Some(108_000), Some(29_000)));
    assert_eq!((last.score, last.write_amplification, last.compactions), (Some(0.8), Some(1.8), Some(52)));
}

#[test]
fn what_was_written_in_an_uptime_that_is_rounded_away_is_not_nothing() {
    let text = "** Compaction Stats [default] **\nLevel Files Size Comp(sec)\n\nUptime(secs): 0.0 total, 0.0 interval\n\
                Cumulative compaction: 0.00 GB write, 40.00 MB/s write, 0.00 GB read, 0.00 MB/s read, 0.0 seconds\n";
    let stats = parse(text).unwrap();
    assert_eq!((stats.compaction_write_bytes, stats.compaction_read_bytes), (Some(1_048_576), Some(0)));
}

#[test]
fn stalls_have_other_names_from_8_1_on_and_count_the_same() {
    for release in ["8.1.1", "8.7.3", "11.8.1"] {
        let stats = recorded(release).pop().unwrap();
        let of = |name: &str| stats.stalls[name];
        assert_eq!(stats.stalls.len(), 11, "{release}");
        assert_eq!(of("write-buffer-manager-limit-stops"), 0);
        assert_eq!(stats.stall_count(), Some(of("total-delays") + of("total-stops")), "{release}");
    }
    assert_eq!(recorded("8.1.1")[1].stall_count(), Some(216 + 38));
}

#[test]
fn five_eighteen_has_whole_seconds_in_its_table_and_a_decimal_below() {
    let stats = recorded("5.18.4").pop().unwrap();
    assert_eq!(stats.compaction_s, Some(2.8));
    assert_eq!(stats.levels.last().unwrap().compaction_s, Some(1.0));
}

#[test]
fn blob_files_are_counted_and_a_size_that_is_rounded_away_is_absent() {
    for (release, text) in WITH_BLOBS {
        let stats = parse(text).unwrap();
        assert!(stats.blob_files.unwrap() > 5, "{release}");
        assert_eq!(stats.blob_bytes, None, "0.0 GB of some files is no size: {release}");
        assert_eq!(stats.blob_write_bytes, Some(107_374_182), "{release}"); // 0.1 GB
    }
    let larger = WITH_BLOBS[2].1.replace("total size: 0.0 GB", "total size: 1.5 GB");
    assert_eq!(parse(&larger).unwrap().blob_bytes, Some(1_610_612_736));
}

#[test]
fn between_two_texts_totals_are_subtracted_and_what_is_there_now_is_not() {
    for (release, _) in RECORDED {
        let both = recorded(release);
        let between = both[1].since(&both[0]);
        assert_eq!(between.writes, Some(30_000), "{release}");
        assert_eq!(between.lsm_bytes, both[1].lsm_bytes, "{release}");
        let seconds = between.uptime_s.unwrap();
        assert!(seconds > 0.0 && seconds < both[1].uptime_s.unwrap(), "{release}");
        let rate = between.compaction_write_bytes.unwrap() as f64 / seconds;
        assert_eq!(between.compaction_write_bytes_per_s, Some(rate), "{release}");
        assert!(between.stall_count() < both[1].stall_count(), "{release}");
        let nothing = both[1].since(&both[1]);
        assert_eq!((nothing.compaction_write_bytes, nothing.stall_s), (Some(0), Some(0.0)), "{release}");
        assert_eq!((nothing.stall_percent, nothing.compaction_write_bytes_per_s), (None, None), "{release}");
    }
}

#[test]
fn statistics_are_found_in_whatever_stands_around_them() {
    let (_, text) = RECORDED[4];
    // A LOG begins with the part on the whole database, and 8.1 ends it without a newline.
    let (families, database) = text.split("==== later").next().unwrap().split_once("** DB Stats **").unwrap();
    let database = database.trim_end();
    let log = format!("2026/11/21 ------- DUMPING STATS -------\n\n** DB Stats **{database} {families}");
    let of_log = parse_all(&format!("{log}\n{log}")).unwrap();
    assert_eq!(of_log.len(), 2);
    assert_eq!(of_log[1], of_log[0]);
    assert_eq!(of_log[0], parse_all(text).unwrap()[0]);
}

#[test]
fn a_block_cache_may_follow_on_the_line_of_stalls() {
    let text = "** Compaction Stats [default] **\nLevel Files Size Comp(sec)\n\nUptime(secs): 2.0 total, 2.0 interval\n\
                Write Stall (count): l0-file-count-limit-delays: 3, total-stops: 0, Block cache LRUCache@0x55d#2 \
                capacity: 1.00 GB usage: 353.07 KB table_size: 1024 occupancy: 88 collections: 1\n";
    assert_eq!(parse(text).unwrap().stalls["l0-file-count-limit-delays"], 3);
}

#[test]
fn column_families_are_added_up() {
    let (_, text) = RECORDED[3];
    let one = text.split("\n==== later").next().unwrap();
    let (family, database) = one.split_once("** DB Stats **").unwrap();
    let two = format!("{family}{}** DB Stats **{database}", family.replace("[default]", "[other]"));
    let (of_one, of_two) = (parse(one).unwrap(), parse(&two).unwrap());
    let doubled = |value: Option<u64>| value.map(|value| value * 2);
    assert_eq!(of_two.lsm_bytes, doubled(of_one.lsm_bytes));
    assert_eq!(of_two.compaction_write_bytes, doubled(of_one.compaction_write_bytes));
    assert_eq!(of_two.stall_count(), of_one.stall_count().map(|count| count * 2));
    assert_eq!((of_two.writes, of_two.levels), (of_one.writes, of_one.levels));
}

#[test]
fn sums_that_no_number_holds_are_the_largest_there_is() {
    let many = format!("1{}", "0".repeat(30));
    let text = format!(
        "** Compaction Stats [default] **\nLevel Files Size Comp(sec)\n\nFlush(GB): cumulative {many}\n\
         Flush(GB): cumulative {many}\nCumulative compaction: {many} GB write, 0.0 GB read\n\
         Stalls(count): {max} level0_slowdown, 1 level0_slowdown, 1 level0_numfiles\n** DB Stats **\n\
         Cumulative writes: 1 writes, ingest: 1.00 GB, 1.0 MB/s\n",
        max = u64::MAX
    );
    let stats = parse(&text).unwrap();
    assert_eq!((stats.flush_bytes, stats.stall_count()), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!(stats.write_amplification(), Some(u64::MAX as f64 / f64::from(1 << 30)));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let check = refused("statistics of RocksDB", parse);
    check("", "1: there is no table `** Compaction Stats [..] **`");
    let head = "** Compaction Stats [default] **\nLevel Files Size Comp(sec)\n";
    check(&format!("{head} Sum 3/0 1.0 MB"), "3: a row of 4 columns has 3 values");
    check(&format!("{head} Sum 3/0 1.0 XB 2.0"), "3: `1.0` in column Size is no number");
    check(&format!("{head}\nUptime(secs): long total"), "4: `long` is no number of seconds");
    check(&format!("{head}\nStalls(count): none level0_slowdown"), "4: `none` is no number of stalls");
    check(&format!("{head}\nCumulative compaction: 0.17 GB read"), "4: how much it writes is missing");
}

#[test]
fn a_text_that_was_cut_off_is_an_error_or_has_less() {
    for (release, text) in RECORDED {
        let whole = parse_all(text).unwrap();
        for end in (0..text.len()).step_by(61) {
            match parse_all(&text[..end]) {
                Ok(found) => assert!(found.len() <= whole.len(), "{release}"),
                Err(error) => assert_eq!(error.line, text[..end].lines().count(), "{release}: {error}"),
            }
        }
    }
}
