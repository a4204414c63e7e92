//! What was found on several hosts, in every format.

use super::{plain, shown};
use crate::render::text::TextOptions;
use crate::schema_check::check;
use crate::{json, table};
use findings::hosts::{Run, UncountedRun, UnfinishedJob, WhyUncounted};
use findings::judge::Evidence;
use findings::{Comparison, Finding, hosts};
use model::job::JobState;
use model::record::RunRecord;
use serde_json::Value;
use testing::compared::{EQUAL, Truth, record};

const SLOW: Truth = Truth { write: 1.0, read: 0.93 };
const FAST: Truth = Truth { write: 1.05, read: 0.93 };

fn finding(of: &[(&str, &Truth)]) -> Finding {
    let on = |(host, truth): &(&str, &Truth)| {
        let mut run = record(truth);
        run.id = format!("20261127-1600{host}");
        run.host.name = (*host).to_owned();
        run.host.cpu_model = if *host == "lab-3" { "Xeon".to_owned() } else { "EPYC".to_owned() };
        run.host.cpus = 8;
        run.host.memory_bytes = 32 << 30;
        run.host.kernel = "6.12".to_owned();
        run
    };
    let records: Vec<RunRecord> = of.iter().map(on).collect();
    let views: Vec<Comparison> =
        records.iter().map(|record| Comparison::of(record, &Evidence::default())).collect();
    let runs: Vec<Run<'_>> = records.iter().zip(&views).collect();
    Finding::Hosts(hosts::build(&runs, &[]).remove(0))
}

pub(super) fn three() -> Finding {
    finding(&[("lab-1", &SLOW), ("lab-2", &SLOW), ("lab-3", &EQUAL)])
}

fn text(finding: &Finding, width: usize) -> String {
    shown(finding, "text", TextOptions { detail: true, ..plain(width) })
}

#[test]
fn three_hosts_in_text() {
    insta::assert_snapshot!("hosts_three_at_80", text(&three(), 80));
    insta::assert_snapshot!("hosts_three_at_120", text(&three(), 120));
}

#[test]
fn seven_hosts_have_a_mean_and_no_column_each() {
    let names: Vec<String> = (1..=7).map(|number| format!("lab-{number}")).collect();
    let of: Vec<(&str, &Truth)> = names.iter().map(|name| (name.as_str(), &FAST)).collect();
    insta::assert_snapshot!("hosts_seven_at_120", text(&finding(&of), 120));
}

#[test]
fn scripts_have_every_host_of_every_case() {
    let finding = three();
    check("hosts", &json(&finding).unwrap());
    let table = table(&finding);
    assert_eq!(table.rows.len(), 2 * 3);
    let page = shown(&finding, "html", plain(80));
    assert!(page.contains("Relative rate by host"), "a page has the chart");
}

#[test]
fn a_run_that_is_in_no_count_and_a_job_that_is_not_done_are_named_in_every_format() {
    let Finding::Hosts(mut view) = three() else { panic!("not over hosts") };
    view.uncounted.push(UncountedRun {
        host: "lab-4".to_owned(),
        run: "20261127-1600lab-4".to_owned(),
        workload: "small".to_owned(),
        design: "rounds",
        why: WhyUncounted::Alone,
    });
    let message = Some("it was killed by signal 9".to_owned());
    view.unfinished.push(UnfinishedJob { host: "lab-5".to_owned(), state: JobState::Failed, message });
    let finding = Finding::Hosts(view);
    let alone = "no other host has a run of this workload and design to compare it with";
    let sentence = format!("run 20261127-1600lab-4 of lab-4 ({alone})");
    for format in ["text", "markdown", "html"] {
        let shown = shown(&finding, format, TextOptions { detail: true, ..plain(200) });
        for part in [sentence.as_str(), "lab-5 (failed: it was killed by signal 9)"] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
        assert!(shown.matches(alone).count() >= 2, "it is not in the table: {shown}");
    }
    let object = json(&finding).unwrap();
    check("hosts", &object);
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object["uncounted_runs"][0]["why"], "alone");
    assert_eq!(object["unfinished_jobs"][0]["state"], "failed");
}

#[test]
fn what_holds_over_hosts_stands_before_their_runs_and_is_of_none_of_them() {
    let runs = [super::finding(super::comparison()), super::finding(super::comparison())];
    let all: Vec<Finding> = std::iter::once(three()).chain(runs).collect();
    let documents = all.iter().map(crate::document).collect();
    let joined = crate::render::joined(documents);
    assert_eq!(joined.title, "rocksdb@8.7.3 against rocksdb@8.5.4 on 3 hosts");
    let page = crate::render::html::render(&joined);
    let places = ["<h2>Changes by host", "<h2>Overview"]
        .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        joined.found[0].text.starts_with("readrandom slower on 2 of 3 hosts"),
        "{}",
        joined.found[0].text
    );
    assert_eq!(joined.sections[0].title, "rocksdb@8.7.3 against rocksdb@8.5.4 on 3 hosts");
}
