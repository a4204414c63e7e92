//! Imports: written, listed, found, read back.

use crate::{Filter, Writer};
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use model::listing::Entry;

fn value(file: usize, subject: &str, value: Option<f64>, said: &str) -> ImportedValue {
    ImportedValue {
        file,
        subject: subject.to_owned(),
        step: "readrandom.t24".to_owned(),
        metric: "ops_per_s".to_owned(),
        unit: "ops/s".to_owned(),
        value,
        said: said.to_owned(),
        place: "line 7".to_owned(),
    }
}

fn import(id: &str, name: Option<&str>) -> ImportRecord {
    let file = |file: &str, text: &str| ImportedFile {
        file: file.to_owned(),
        sha256: "ab".repeat(32),
        text: text.to_owned(),
    };
    ImportRecord {
        id: id.to_owned(),
        name: name.map(str::to_owned),
        format: "db_bench-report".to_owned(),
        imported_at_us: 5,
        tool_version: "0.1.0".to_owned(),
        files: vec![file("a/report.tsv", "ops_sec\n"), file("b/report.tsv", "")],
        values: vec![
            value(0, "8.5.4", Some(0.1 + 0.2), "0.3"),
            value(1, "8.6.7", None, "failed"),
            value(0, "8.5.4", Some(1e300), ""),
        ],
    }
}

fn listed(writer: &Writer) -> Vec<Entry> {
    writer.store().entries(&Filter::default(), 0, 9).unwrap().entries
}

#[test]
fn an_import_is_read_back_as_it_was_written() {
    let mut writer = Writer::in_memory().unwrap();
    let (first, second) = (import("20261121-1", None), import("20261121-2", Some("published")));
    writer.write_import(&first).unwrap();
    writer.write_import(&second).unwrap();
    assert_eq!(writer.store().load_import("20261121-1").unwrap(), first);
    assert_eq!(writer.store().load_import("20261121-2").unwrap(), second);
    let listed = listed(&writer);
    assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["20261121-2", "20261121-1"]);
    assert_eq!(listed[0].subjects, ["a/report.tsv", "b/report.tsv"]);
}

#[test]
fn an_import_is_found_by_id_name_or_the_beginning_of_one_id() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write_import(&import("20261121-1", None)).unwrap();
    writer.write_import(&import("20261122-1", Some("published"))).unwrap();
    let find = |wanted: &str| writer.store().find_import(wanted).unwrap();
    assert_eq!(find("20261121-1").as_deref(), Some("20261121-1"));
    assert_eq!(find("published").as_deref(), Some("20261122-1"));
    assert_eq!(find("20261122").as_deref(), Some("20261122-1"));
    assert_eq!((find("2026"), find(""), find("other")), (None, None, None));
    let mut newest = import("20261123-1", Some("published"));
    // The clock was set back.
    newest.imported_at_us -= 1;
    writer.write_import(&newest).unwrap();
    assert_eq!(writer.store().find_import("published").unwrap(), Some(newest.id));
}

#[test]
fn an_import_that_cannot_be_written_leaves_nothing() {
    let mut writer = Writer::in_memory().unwrap();
    let mut broken = import("20261121-1", None);
    broken.values.push(value(9, "8.7.3", None, "of a file that is not there"));
    let error = writer.write_import(&broken).unwrap_err().to_string();
    assert!(error.contains("write import 20261121-1"), "{error}");
    assert!(listed(&writer).is_empty());
    writer.write_import(&import("20261121-1", None)).unwrap();
    writer.write_import(&import("20261121-1", None)).unwrap_err();
    assert_eq!(listed(&writer).len(), 1);
}
