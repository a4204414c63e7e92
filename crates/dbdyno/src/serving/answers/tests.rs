//! The whole site without a network: a store that is written by the store's own writer, requests in, answers out.

use super::super::access::{Access, Token};
use super::super::asked::{Answer, Asked, Kind, Method};
use super::Site;
use findings::build_noise::BUILD_NOISE;
use model::block::{Block, BlockKind, Outcome, TrialKey};
use model::event::{RunEvent, RunOutcome};
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::{HarnessCost, Host};
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use model::job::{Job, JobState};
use model::plan::{Design, Layout, Plan, Purpose};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::path::Path;
use store::{QueuedRun, Writer};

const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "the cost of reads"
    does_not_tell = "the cost of writes"
    block_ms = 100
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
    [[step]]
    name = "seekrandom"
    group = "range"
    operation = "seek-random"
    nexts = 10
    database = "image"
"#;

const NASTY: &str = "<b>\"nightly\" & 'more'</b>/../\n";

fn plan(purpose: Purpose) -> Plan {
    let layout = match purpose {
        Purpose::Campaign => Layout { design: Design::Rounds, rounds: 3, ..Layout::default() },
        Purpose::Compare | Purpose::Calibrate => Layout::default(),
    };
    Plan { purpose, layout, ..testing::plan(WORKLOAD, &["rocksdb@8.5.4", "rocksdb@8.7.3"]) }
}

/// How fast memory was before two of the runs.
const MEMORY_LATENCY_NS: [(&str, f64); 2] =
    [("20261121-091500-aaaa", 181.0), ("20261121-101500-bbbb", 240.0)];

/// The events of a run with three launches, but for its end.
fn events(id: &str, at_us: i64, purpose: Purpose) -> Vec<RunEvent> {
    let host = Host { name: "bench-1".to_owned(), boot_id: "boot".to_owned(), cpus: 8, ..Host::default() };
    let mut events = vec![RunEvent::Started {
        run: id.to_owned(),
        at_us,
        plan: Box::new(plan(purpose)),
        host: Box::new(host),
    }];
    if let Some(latency_ns) = MEMORY_LATENCY_NS.into_iter().find_map(|(of, ns)| (of == id).then_some(ns)) {
        let figure = HostFigure { name: "memory_latency_ns".to_owned(), value: latency_ns, spread: 0.01 };
        events.push(RunEvent::HostMeasured(Box::new(Fingerprint {
            at_us: at_us - 1,
            host: "bench-1".to_owned(),
            boot_id: "boot".to_owned(),
            device: None,
            figures: vec![figure],
        })));
    }
    for launch in 1..=3 {
        events.push(RunEvent::LaunchStarted { launch, at_us: at_us + i64::from(launch) });
        for step in ["readrandom", "seekrandom"] {
            for side in 0..2 {
                let trial = TrialKey { launch, step: step.to_owned(), side };
                let kind = match purpose {
                    Purpose::Campaign => BlockKind::Whole,
                    Purpose::Compare | Purpose::Calibrate => BlockKind::Cycle(0),
                };
                let block = testing::block(trial.clone(), 1000 * (1 + side as u64), Nanos::from_secs(1));
                events.push(RunEvent::BlockMeasured(Box::new(Block { kind, ..block })));
                events.push(RunEvent::TrialEnded { trial, outcome: Outcome::Done, latency: None });
            }
        }
        let took = Nanos::from_secs(4);
        events.push(RunEvent::LaunchEnded {
            launch,
            took,
            max_launches: 3,
            active_steps: Vec::new(),
            look: (launch == 3).then_some(1.0),
        });
    }
    events.push(RunEvent::RawOutput {
        launch: 1,
        side: 1,
        name: format!("read/{NASTY}"),
        text: "<script>a log</script>".to_owned(),
    });
    events
}

/// Two comparisons, a campaign that still runs, a calibration, an import.
fn written(path: &Path) {
    let mut writer = Writer::open(path).unwrap();
    for (id, at_us, purpose, has_ended) in [
        ("20261121-091500-aaaa", 1_795_000_000_000_000, Purpose::Compare, true),
        ("20261121-101500-bbbb", 1_795_000_100_000_000, Purpose::Compare, true),
        ("20261121-111500-cccc", 1_795_000_200_000_000, Purpose::Calibrate, true),
        ("20261121-121500-dddd", 1_795_000_300_000_000, Purpose::Campaign, false),
    ] {
        for event in events(id, at_us, purpose) {
            writer.write(id, &event).unwrap();
        }
        if has_ended {
            let cost = HarnessCost::default();
            let ended = RunEvent::Ended { at_us: at_us + 60_000_000, outcome: RunOutcome::Done, cost };
            writer.write(id, &ended).unwrap();
        }
    }
    writer.name_run("20261121-091500-aaaa", NASTY).unwrap();
    let value = ImportedValue {
        file: 0,
        subject: "pg17".to_owned(),
        step: "read-only".to_owned(),
        metric: "ops_per_s".to_owned(),
        unit: "1/s".to_owned(),
        value: Some(612_345.0),
        said: "612345".to_owned(),
        place: "line 17".to_owned(),
    };
    writer
        .write_import(&ImportRecord {
            id: "20261121-131500-eeee".to_owned(),
            name: Some("nov".to_owned()),
            format: "sysbench".to_owned(),
            imported_at_us: 1_795_000_400_000_000,
            tool_version: "0.1.0".to_owned(),
            files: vec![ImportedFile {
                file: "sb.o".to_owned(),
                sha256: "ab".repeat(32),
                text: "t".to_owned(),
            }],
            values: vec![value],
        })
        .unwrap();
}

struct Served {
    directory: tempfile::TempDir,
    site: Site,
}

fn served() -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    written(&path);
    Served { site: Site::new(path, Access::new("127.0.0.1:7117".parse().unwrap(), None)), directory }
}

fn get(site: &Site, target: &str) -> Answer {
    site.answer(&Asked {
        target: target.to_owned(),
        hosts: vec!["127.0.0.1:7117".to_owned()],
        ..Asked::default()
    })
}

fn body(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

fn location(answer: &Answer) -> &str {
    answer.headers.iter().find(|(name, _)| *name == "Location").map_or("", |(_, value)| value)
}

#[test]
fn every_page_is_there_and_shows_what_the_store_has() {
    let served = served();
    let check = |target: &str, parts: &[&str]| {
        let answer = get(&served.site, target);
        let body = body(&answer);
        assert_eq!(answer.status, 200, "{target}: {body}");
        for part in parts {
            assert!(body.contains(part), "{target} does not show {part}: {body}");
        }
        assert!(!body.contains("<b>\"nightly"), "{target}: {body}");
    };
    check(
        "/",
        &["1 to 5 of 5", "20261121-131500-eeee", "/live/20261121-121500-dddd", "&lt;b&gt;", "bench-1"],
    );
    check("/?purpose=compare&from=2026-11-01", &["1 to 2 of 2"]);
    check("/?q=nightly", &["1 to 1 of 1"]);
    check("/?page=9", &["This page is empty"]);
    check("/runs/20261121-091500-aaaa", &["rocksdb@8.7.3", "report.json"]);
    check("/runs/20261121-091500-aaaa?step=readrandom", &["Shown: 1 of 2 steps"]);
    check("/runs/20261121-111500-cccc", &["rocksdb@8.5.4 against itself", "Too few launches", "<svg"]);
    check("/runs/20261121-111500-cccc?step=readrandom", &["Shown: 1 of 2 steps", "Too few launches"]);
    check("/runs/20261121-121500-dddd", &["8.7.3", "readrandom"]);
    check("/runs/20261121-131500-eeee", &["read-only"]);
    check("/runs/20261121-091500-aaaa/report.json", &["\"schema\": 1"]);
    check("/runs/20261121-091500-aaaa/report.md", &["| readrandom"]);
    check("/runs/20261121-121500-dddd/report.csv", &["readrandom"]);
    check("/runs/20261121-091500-aaaa/report.csv", &["readrandom"]);
    check("/runs/20261121-091500-aaaa/report.junit.xml", &["<testsuites"]);
    check("/runs/20261121-111500-cccc/report.post.md", &["# rocksdb@8.5.4 against itself"]);
    check("/runs/20261121-131500-eeee/report.json", &["612345"]);
    check("/runs/20261121-091500-aaaa/raw", &["rocksdb@8.7.3", "%3Cb%3E"]);
    check("/runs/20261121-111500-cccc", &["href=\"/hosts/bench-1\""]);
    check("/hosts", &["href=\"/hosts/bench-1\"", ">2<"]);
    check("/hosts/bench-1", &["memory_latency_ns of bench-1", "boot boot", "240 ±1.0 %", "+32.6 %"]);
    check("/watches", &["No watch has found a change yet"]);
    check("/history", &["Choose a workload"]);
    check("/history?workload=small", &["Choose a step", "seekrandom"]);
    check(
        "/history?workload=small&step=readrandom",
        &["rocksdb@8.5.4", ">1,000<", ">2,000<", "a build against itself"],
    );
    check("/history?workload=small&step=readrandom&engine=mysql", &["No run of small"]);
    check(
        "/compare?a=20261121-091500-aaaa&b=20261121-101500-bbbb",
        &["side by side", ">1.000<", "memory_latency_ns", ">240 (+32.6 %)<", "href=\"/hosts/bench-1\""],
    );
    check("/compare?a=20261121-091500-aaaa&b=20261121-121500-dddd", &["they differ in design"]);
    check("/live/20261121-121500-dddd", &["round 3 of 3, 12 of 12 trials", "rocksdb@8.7.3"]);
    check("/live/20261121-121500-dddd.json", &["\"ended\":false", "\"schema\":1"]);
    check("/live/20261121-091500-aaaa.json", &["\"ended\":true", "/runs/20261121-091500-aaaa"]);
    drop(served.directory);
}

#[test]
fn what_was_found_stands_in_the_list_whether_the_run_keeps_it_or_not() {
    let served = served();
    let path = served.directory.path().join("s.sqlite");
    let kept = r#"[{"verdict":"regression","text":"kept <b>beside</b> the run"}]"#;
    Writer::open(&path).unwrap().set_found("20261121-101500-bbbb", kept).unwrap();
    // As long as there is time for it runs are judged anew; what was is kept.
    let list = (0..5).map(|_| body(&get(&served.site, "/"))).last().unwrap();
    assert!(list.contains("kept &lt;b&gt;beside&lt;/b&gt; the run"), "{list}");
    assert!(list.contains("faster than rocksdb@8.5.4 on 2 of 2 steps"), "{list}");
    let report = get(&served.site, "/runs/20261121-091500-aaaa");
    // The same bytes again, from memory.
    assert!(std::sync::Arc::ptr_eq(&report.body, &get(&served.site, "/runs/20261121-091500-aaaa").body));
    // Named anew, it is made anew.
    Writer::open(&path).unwrap().name_run("20261121-091500-aaaa", "another").unwrap();
    let named_anew = get(&served.site, "/runs/20261121-091500-aaaa");
    assert!(!std::sync::Arc::ptr_eq(&report.body, &named_anew.body));
    // What its host has measured of builds of one source since says which changes may be their layout.
    Writer::open(&path).unwrap().name_run("20261121-101500-bbbb", BUILD_NOISE).unwrap();
    assert!(!std::sync::Arc::ptr_eq(&named_anew.body, &get(&served.site, "/runs/20261121-091500-aaaa").body));
}

#[test]
fn raw_output_is_text_and_nothing_else() {
    let served = served();
    let list = body(&get(&served.site, "/runs/20261121-091500-aaaa/raw"));
    let link = list.split("href=\"").find(|part| part.contains("/raw/1/1/")).unwrap();
    let answer = get(&served.site, link.split('"').next().unwrap());
    assert_eq!(
        (answer.status, answer.kind, body(&answer).as_str()),
        (200, Kind::TEXT, "<script>a log</script>")
    );
    let headers: BTreeMap<&str, String> = answer.all_headers().into_iter().collect();
    assert_eq!(headers["Content-Type"], "text/plain; charset=utf-8");
    assert_eq!(headers["X-Content-Type-Options"], "nosniff");
    assert!(headers["Content-Security-Policy"].contains("default-src 'none'"));
    assert_eq!(get(&served.site, "/runs/20261121-091500-aaaa/raw/9/1/LOG").status, 404);
}

#[test]
fn less_than_an_id_leads_to_the_address_that_stays() {
    let served = served();
    let check = |target: &str, expected: &str| {
        let answer = get(&served.site, target);
        assert_eq!((answer.status, location(&answer)), (303, expected), "{target}: {}", body(&answer));
    };
    check("/runs/last", "/runs/20261121-121500-dddd");
    check("/runs/20261121-09?step=a+b&subject=c", "/runs/20261121-091500-aaaa?step=a%20b&subject=c");
    check("/runs/20261121-09", "/runs/20261121-091500-aaaa");
    check("/runs/nov", "/runs/20261121-131500-eeee");
    check("/runs/nov/report.csv", "/runs/20261121-131500-eeee/report.csv");
    check("/live/20261121-091500-aaaa", "/runs/20261121-091500-aaaa");
    check(
        "/compare?run=20261121-101500-bbbb&run=20261121-091500-aaaa",
        "/compare?a=20261121-091500-aaaa&b=20261121-101500-bbbb",
    );
}

#[test]
fn what_is_not_there_is_told_with_the_nearest_names() {
    let served = served();
    let check = |target: &str, status: u16, parts: &[&str]| {
        let answer = get(&served.site, target);
        let body = body(&answer);
        assert_eq!(answer.status, status, "{target}: {body}");
        for part in parts {
            assert!(body.contains(part), "{target} does not say {part}: {body}");
        }
    };
    check("/nowhere", 404, &["No such page"]);
    check("/hosts/bench-2", 404, &["No such host", "href=\"/hosts\""]);
    check("/runs/20261121-091500-aaab", 404, &["No such run", "20261121-091500-aaaa"]);
    check("/runs/2026", 404, &["Several runs", "href=\"/runs/20261121-101500-bbbb\""]);
    check("/runs/20261121-091500-aaaa?step=readrandm", 404, &["did you mean `readrandom`?"]);
    check("/runs/20261121-091500-aaaa?subject=rocksdb%408.7.4", 404, &["rocksdb@8.7.3"]);
    check("/runs/%3Cscript%3E", 404, &["&lt;script&gt;"]);
    check("/compare?run=20261121-091500-aaaa", 400, &["1 were picked"]);
    check("/compare?a=20261121-091500-aaaa", 400, &["Pick two runs"]);
    check(&format!("/?q={}", "x".repeat(70_000)), 414, &["too long"]);
    check(&format!("/?q={}", "x".repeat(10_000)), 200, &["Nothing in the store is like that"]);
}

#[test]
fn only_get_and_head_are_answered_and_only_at_our_own_address() {
    let served = served();
    let asked =
        Asked { target: "/".to_owned(), hosts: vec!["127.0.0.1:7117".to_owned()], ..Asked::default() };
    let post = served.site.answer(&Asked { method: Method::Other, ..asked.clone() });
    assert_eq!((post.status, post.headers), (405, vec![("Allow", "GET, HEAD".to_owned())]));
    assert_eq!(served.site.answer(&Asked { method: Method::Head, ..asked.clone() }).status, 200);
    let rebound = Asked { hosts: vec!["evil.example:7117".to_owned()], ..asked.clone() };
    assert_eq!(served.site.answer(&rebound).status, 421);
    for (name, value) in served.site.answer(&asked).all_headers() {
        assert!(value.is_ascii() && !value.contains(['\r', '\n']), "{name}: {value}");
    }
    let path = served.directory.path().join("s.sqlite");
    let access = Access::new("10.0.0.5:7117".parse().unwrap(), Some(Token::drawn().unwrap()));
    let closed = Site::new(path, access);
    let refused = closed.answer(&Asked { hosts: vec!["10.0.0.5:7117".to_owned()], ..asked });
    assert_eq!((refused.status, refused.kind), (401, Kind::TEXT));
    assert!(!body(&refused).contains("20261121"));
}

#[test]
fn a_store_that_cannot_be_read_is_told_as_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    let site = Site::new(path.clone(), Access::new("127.0.0.1:7117".parse().unwrap(), None));
    let missing = get(&site, "/");
    assert!(missing.status == 404 && body(&missing).contains("dbdyno compare"), "{}", body(&missing));
    std::fs::write(&path, "no database at all, but longer than the header of one\n".repeat(40)).unwrap();
    let stranger = get(&site, "/");
    assert!(
        stranger.status == 500 && body(&stranger).contains("is not a store of dbdyno"),
        "{}",
        body(&stranger)
    );
    std::fs::write(&path, "").unwrap();
    let empty = get(&site, "/");
    assert!(
        empty.status == 503 && empty.headers.contains(&("Retry-After", "2".to_owned())),
        "{}",
        body(&empty)
    );
    drop(Writer::open(&path).unwrap());
    let begun = get(&site, "/");
    assert!(begun.status == 200 && body(&begun).contains("dbdyno compare"), "{}", body(&begun));
}

const CAMPAIGN: &str = "20261127-160000-3fa9";

/// A run of the campaign that a host has measured.
fn on_host(writer: &mut Writer, host: &str, number: i64) -> String {
    let id = format!("{CAMPAIGN}-{number}");
    let queued = QueuedRun {
        name: format!("lab-{number}"),
        plan: plan(Purpose::Campaign),
        written_options: Vec::new(),
    };
    writer.queue(CAMPAIGN, &[queued]).unwrap();
    for mut event in events(&id, 1_795_000_500_000_000 + number, Purpose::Campaign) {
        if let RunEvent::Started { host: begun, .. } = &mut event {
            begun.name = host.to_owned();
        }
        writer.write(&id, &event).unwrap();
    }
    writer.begin_queued(CAMPAIGN, &id).unwrap();
    let cost = HarnessCost::default();
    writer
        .write(&id, &RunEvent::Ended { at_us: 1_795_000_900_000_000, outcome: RunOutcome::Done, cost })
        .unwrap();
    id
}

fn job(number: u32, host: &str, state: JobState, changed_at_us: i64) -> Job {
    Job {
        campaign: CAMPAIGN.to_owned(),
        number,
        host: host.to_owned(),
        state,
        message: None,
        seed: 7,
        plan: String::new(),
        changed_at_us,
        slurm: None,
    }
}

#[test]
fn a_campaign_says_what_holds_over_hosts_leads_to_each_run_and_is_made_anew_when_something_of_it_is_new() {
    let served = served();
    let path = served.directory.path().join("s.sqlite");
    let target = format!("/campaigns/{CAMPAIGN}");
    assert_eq!(get(&served.site, &target).status, 404);
    let mut writer = Writer::open(&path).unwrap();
    let jobs = [job(1, "lab-1", JobState::Done, 1), job(2, "lab-2", JobState::Running, 1)];
    writer.write_jobs(&jobs).unwrap();
    let first_run = on_host(&mut writer, "lab-1", 1);
    let one = body(&get(&served.site, &target));
    assert!(one.contains("on 1 host") && one.contains("Not all is measured on: lab-2 (running)"), "{one}");

    let second_run = on_host(&mut writer, "lab-2", 2);
    writer.write_jobs(&[job(2, "lab-2", JobState::Done, 2)]).unwrap();
    let both = get(&served.site, &target);
    let shown = body(&both);
    assert!(shown.contains("on 2 hosts") && !shown.contains("Not all is measured"), "{shown}");
    for run in [&first_run, &second_run] {
        assert!(shown.contains(&format!("href=\"/runs/{run}\"")), "no way to {run}: {shown}");
    }
    // The same bytes again, until a run of it is another one.
    let again = || get(&served.site, &target).body;
    assert!(std::sync::Arc::ptr_eq(&both.body, &again()));
    let of_another = "20261121-101500-bbbb";
    writer.name_run(of_another, "named").unwrap();
    assert!(std::sync::Arc::ptr_eq(&both.body, &again()), "a run of no concern made it anew");
    writer.name_run(&second_run, "named anew").unwrap();
    let named_anew = again();
    assert!(!std::sync::Arc::ptr_eq(&both.body, &named_anew));
    writer.write_jobs(&[job(1, "lab-1", JobState::Unreachable, 3)]).unwrap();
    assert!(body(&get(&served.site, &target)).contains("Not all is measured on: lab-1 (unreachable)"));
}
