//! Published tables, and tables that are wrong.

use super::*;

const IOSTAT: &str = include_str!("../../fixtures/tables/rocksdb-2024-iostat.tsv");
const SUMMARIES: &str = include_str!("../../fixtures/tables/summary_tables.tsv");
const QPS: &str = include_str!("../../fixtures/tables/rocksdb-2021-qps.tsv");

fn read(text: &str) -> Vec<TableValue> {
    parse(text, &Choices::default()).unwrap()
}

fn problem(text: &str) -> String {
    let error = parse(text, &Choices::default()).unwrap_err().to_string();
    error.strip_prefix("failed to parse table at line ").unwrap().to_owned()
}

#[test]
fn a_row_for_each_release() {
    let values = read(IOSTAT);
    assert_eq!(values.len(), 16 * 11);
    let found = values.iter().find(|value| value.release == "8.10" && value.metric == "rareqsz").unwrap();
    assert_eq!((found.value, found.said.as_str(), found.step.as_str()), (Some(4.6), "4.6", ""));
    assert_eq!((found.line, found.column), (12, 7));
}

#[test]
fn a_column_for_each_release_with_rows_of_the_same_name() {
    let choices = Choices { metric: Some("ops_per_s".to_owned()), ..Choices::default() };
    let values = parse(QPS, &choices).unwrap();
    assert_eq!(values.len(), 16 * 8);
    let steps: Vec<&str> = values.iter().step_by(8).map(|value| value.step.as_str()).collect();
    assert_eq!((steps[0], steps[3], steps[6]), ("1 fillrandom", "4 readrandom", "7 readrandom"));
    assert_eq!((values[1].release.as_str(), values[1].value), ("v611", Some(339_811.0)));
    assert!(values.iter().all(|value| value.metric == "ops_per_s"));
}

#[test]
fn names_of_rows_leave_out_numbers_that_are_not_needed() {
    let values = read("id,name,8.0,8.1\n1,a,5,6\n2,b,7,8\n");
    assert_eq!(values.iter().map(|value| value.step.as_str()).collect::<Vec<_>>(), ["a", "a", "b", "b"]);
    assert_eq!(values[0].metric, UNNAMED_METRIC);
}

/// The form of the summaries of the 42 microbenchmarks, and of the Insert Benchmark with its blocks.
#[test]
fn legends_blocks_and_trailing_names() {
    let summary = "col-1 : pg9.6\ncol-2 : pg16.2\n\ncol-1\tcol-2\n10\t20\tscan\n30\tNA\tinsert\n";
    let values = read(summary);
    let of = |at: usize| (values[at].release.as_str(), values[at].step.as_str(), values[at].value);
    assert_eq!((of(0), of(3)), (("pg9.6", "scan", Some(10.0)), ("pg16.2", "insert", None)));
    assert_eq!(values[2].line, 6);
    let blocks = read("ips\tp99\ttag\n5\t7\tmy5649\n-\n6\t8\tpg124\n");
    assert_eq!((blocks[3].release.as_str(), blocks[3].metric.as_str(), blocks[3].line), ("pg124", "p99", 4));
}

#[test]
fn separators_comments_quotes_and_steps_in_rows() {
    let values = read("# by hand\nversion;step;rate\n\"8.0\";read;\"5 MB\"\n8.1;read;6 MB\n");
    assert_eq!(
        (values[1].release.as_str(), values[1].step.as_str(), values[1].unit.as_str()),
        ("8.1", "read", "MB")
    );
    assert_eq!(values[0].line, 3);
    let empty_column = read("version,a,b\n1.0,5,NA\n1.1,6,-\n");
    assert_eq!(empty_column.iter().map(|value| value.metric.as_str()).collect::<Vec<_>>(), ["a", "a"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    assert_eq!(problem(""), "1: there is no header");
    assert_eq!(problem("# nothing\n"), "1: there is no header");
    assert_eq!(problem("version\trps\n"), "1: there is no row below the header");
    assert_eq!(
        problem("a word\n1\n"),
        "1: no tab, comma or semicolon separates its columns: this is no table"
    );
    assert_eq!(problem("version\trps\n8.0\t1\n8.1\t2\t3\n"), "3: it has 3 cells, its header has 2");
    assert_eq!(problem("version\trps\n8.0\t1\n8.1\n"), "3: it has 1 cells, its header has 2");
    assert_eq!(
        problem("version\trps\n8.0\t1\n8.1\tfast\n"),
        "3: column 2 (`rps`): `fast` is no number, nor a gap (`-`, `NA`)"
    );
    assert_eq!(
        problem("version\tsize\n8.0\t1MB\n8.1\t2KB\n"),
        "3: column 2 (`size`): `2KB` beside numbers with MB"
    );
    assert_eq!(
        problem("version,rps\n8.0,1\n8.0,2\n"),
        "3: 8.0 has `rps` in line 2 already; put repeats into files of their own"
    );
    assert_eq!(problem("version,rps\n,1\n"), "2: column 1 (`version`) names no release");
    assert_eq!(problem("version,rps\n8.0,NA\n"), "1: no column below the header holds numbers");
    assert_eq!(
        problem("min,max\n1,2\n"),
        "1: the header names no column of releases (version, release, build, ..), and no two releases: min, max"
    );
    let long = "x".repeat(1001);
    let too_long = "a name of 1001 bytes is longer than 1000: this is no table";
    assert_eq!(problem(&format!("version,{long}\n8.0,1\n")), format!("1: {too_long}"));
    assert_eq!(problem(&format!("version,test,rps\n8.0,{long},1\n")), format!("2: {too_long}"));
    assert_eq!(problem(&format!("test,8.0,8.1\n{long},1,2\n")), format!("2: {too_long}"));
    assert_eq!(problem("\u{7f}ELF\0\0\n"), "1: it holds a NUL byte: this is no text");
    assert!(
        problem("col-1 : a\ncol-1\tcol-2\n1\t2\tx\n").starts_with("2: the names above are of col-1 to col-1")
    );
}

/// Smallest, largest and mean ratios of pairs of builds are no series of releases.
#[test]
fn summaries_of_comparisons_are_refused() {
    assert!(
        problem(SUMMARIES).starts_with("1: the header names no column of releases"),
        "{}",
        problem(SUMMARIES)
    );
}

#[test]
fn a_table_that_was_cut_off_within_a_row_is_refused() {
    let cut = &IOSTAT[..IOSTAT.len() - 20];
    assert_eq!(problem(cut), "17: it has 9 cells, its header has 12");
}

#[test]
fn the_user_may_say_where_the_releases_are() {
    let choices = Choices { releases: Some(Releases::InRows), metric: None };
    let values = parse("when,rate\nmonday,5\ntuesday,6\n", &choices).unwrap();
    assert_eq!((values[1].release.as_str(), values[1].value), ("tuesday", Some(6.0)));
}

#[test]
fn text_that_is_marked_as_no_formula_is_read_without_the_mark() {
    let values = parse("version\tname\trps\n8.0\t'=x\t1\n8.1\t'quoted'\t2\n", &Choices::default()).unwrap();
    assert_eq!(values.iter().map(|value| value.step.as_str()).collect::<Vec<_>>(), ["=x", "'quoted'"]);
}
