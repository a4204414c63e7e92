//! Pages made of views: what stands in them, that nothing of a name becomes markup, that the policy lets our own script
//! and style run and nothing else.

use super::compare::{self, RunFigures, SubjectFigure};
use super::history::{self, HistoryPage, RunRates, SubjectRates, gathered};
use super::hosts::{self, HostPage, HostRow};
use super::links::FilterFields;
use super::live::{self, LiveView};
use super::message::{self, Message};
use super::raw;
use super::runs::{self, RunRow, RunsView};
use super::shell;
use super::watch;
use crate::document::Sentence;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use findings::conditions::RunConditions;
use findings::labels::told_apart;
use model::block::Second;
use model::event::RunOutcome;
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::Host;
use model::listing::{
    Choices, Entry, EntryKind, LiveFacts, LiveTrial, RunHead, TrialCounts, TrialEnd, TrialRate,
};
use model::plan::{Design, Purpose};
use model::reason::LeaveReason;
use model::record::{RawOutputName, RunStatus, RunWarning, StepExit};
use model::units::Nanos;
use model::verdict::Verdict;
use model::warning::Warning;
use model::watched::{Identity, WatchState, Watched};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const NASTY: &str = "</script><img src=x onerror=alert(1)>'\"&\n/..";

fn head(id: &str, purpose: Purpose, status: RunStatus) -> RunHead {
    RunHead {
        id: id.to_owned(),
        name: Some(NASTY.to_owned()),
        purpose,
        status,
        started_at_us: 1_000_000,
        ended_at_us: None,
        boot_id: String::new(),
        tool_version: String::new(),
    }
}

fn row(id: &str) -> RunRow {
    let entry = Entry {
        id: id.to_owned(),
        name: Some(NASTY.to_owned()),
        kind: EntryKind::Run(Purpose::Compare),
        status: RunStatus::Ended(RunOutcome::Done),
        began_at_us: 1_795_000_000_000_000,
        ended_at_us: Some(1_795_000_090_000_000),
        workload: NASTY.to_owned(),
        host: Some(NASTY.to_owned()),
        subjects: vec![NASTY.to_owned(); 5],
        trials: TrialCounts { done: 8, failed: 2, ..TrialCounts::default() },
        found: None,
    };
    RunRow { entry, verdicts: vec![Sentence { verdict: Some(Verdict::Regression), text: NASTY.to_owned() }] }
}

fn changed(change: impl Fn(&mut Entry)) -> RunRow {
    let mut row = row("a");
    change(&mut row.entry);
    row
}

fn list(rows: Vec<RunRow>, total: u64) -> RunsView {
    RunsView {
        fields: FilterFields::default(),
        choices: Choices {
            engines: vec!["rocksdb".to_owned()],
            workloads: vec![NASTY.to_owned()],
            hosts: vec![NASTY.to_owned()],
        },
        rows,
        total,
        page: 1,
        per_page: 50,
        problems: vec![NASTY.to_owned()],
    }
}

fn conditions(change: impl Fn(&mut model::plan::Plan, &mut Host)) -> RunConditions {
    let record = testing::rounds::record();
    let (mut plan, mut host) = (record.plan, record.host);
    change(&mut plan, &mut host);
    RunConditions::of(&plan, &host, None)
}

fn rates(
    id: &str,
    started_at_us: i64,
    conditions: &RunConditions,
    rates: &[f64],
) -> (RunConditions, RunRates) {
    let subject = |side: usize| SubjectRates {
        side,
        facts: conditions.subjects[side].clone(),
        other_binary: false,
        rates: rates.to_vec(),
        trials: TrialCounts { failed: 1, ..TrialCounts::default() },
    };
    let run = RunRates {
        head: RunHead { started_at_us, ..head(id, Purpose::Campaign, RunStatus::Unfinished) },
        step: "readrandom".to_owned(),
        subjects: vec![subject(0), subject(2)],
    };
    (conditions.clone(), run)
}

fn history_page() -> String {
    let own = conditions(|_, _| {});
    let elsewhere = conditions(|_, host| host.name = NASTY.to_owned());
    let runs = vec![
        rates("r1", 1_000_000, &own, &[100.0, 101.0, 102.0]),
        rates("r2", 2_000_000, &elsewhere, &[50.0]),
        rates("r3", 3_000_000, &own, &[110.0, 111.0]),
    ];
    history::page(&HistoryPage {
        workload: NASTY.to_owned(),
        step: "readrandom".to_owned(),
        engine: String::new(),
        workloads: vec![NASTY.to_owned()],
        steps: vec![NASTY.to_owned()],
        engines: Vec::new(),
        comparable: gathered(runs),
        older_runs: 7,
    })
}

fn side(id: &str, conditions: RunConditions, rate: f64) -> compare::Side {
    let figure = |subject: &str| SubjectFigure {
        subject: subject.to_owned(),
        rate: Some(rate),
        relative: "0.959 [0.948, 0.970] regression, 14 launches".to_owned(),
        notes: vec![NASTY.to_owned()],
    };
    let names = told_apart(conditions.subjects.iter().map(|one| one.reference.clone()));
    let ended = RunStatus::Ended(RunOutcome::Done);
    compare::Side {
        head: RunHead { ended_at_us: Some(9_000_000), ..head(id, Purpose::Campaign, ended) },
        figures: RunFigures {
            sentences: vec![Sentence { verdict: None, text: NASTY.to_owned() }],
            steps: BTreeMap::from([(
                "readrandom".to_owned(),
                names.iter().take(2).map(|name| figure(name)).collect(),
            )]),
        },
        conditions,
    }
}

fn live_view() -> LiveView {
    let rate = TrialRate {
        launch: 1,
        side: 0,
        ended: TrialEnd::Unfinished,
        operations: 123_456,
        wall: Nanos::from_secs(1),
    };
    let recorded = || Warning::Recorded { id: "busy-host".to_owned(), text: NASTY.to_owned() };
    let exit = |reason| StepExit { step: "fillseq".to_owned(), launch: 1, reason };
    let facts = LiveFacts {
        launch: Some((1, 1_795_000_000_000_000)),
        launches_took: BTreeMap::new(),
        launches_max: None,
        steps: BTreeMap::from([(
            "fillseq".to_owned(),
            TrialCounts { done: 2, failed: 1, unfinished: 1, ..TrialCounts::default() },
        )]),
        newest: vec![LiveTrial { step: NASTY.to_owned(), rate }],
        last_second: Some(Second {
            second: 4,
            operations: 99,
            p50: Nanos(1500),
            p99: Nanos(20_000),
            max: Nanos(3),
        }),
        alive_at_us: None,
        exits: vec![exit(LeaveReason::Recorded(NASTY.to_owned()))],
        warnings: vec![RunWarning { step: None, warning: recorded() }; 2],
    };
    LiveView {
        head: head("20261121-091500-3fa9", Purpose::Campaign, RunStatus::Unfinished),
        facts,
        workload: NASTY.to_owned(),
        design: Design::Rounds,
        subjects: vec!["rocksdb@8.5.4".to_owned(), NASTY.to_owned()],
        steps: vec!["fillseq".to_owned(), NASTY.to_owned()],
        rounds: 3,
        budget_s: 600.0,
        elapsed_s: 90.0,
        silent_s: Some(1.0),
    }
}

fn all_pages() -> Vec<String> {
    let own = conditions(|_, _| {});
    let output = RawOutputName { launch: 0, side: 1, name: NASTY.to_owned() };
    vec![
        runs::page(&list(vec![row("a"), row("b")], 120)),
        history_page(),
        compare::page(&side("a", own.clone(), 100.0), &side("b", own, 90.0)),
        live::page(&live_view()),
        raw::page("a", &[NASTY.to_owned()], &[output]),
        hosts::list(&[HostRow { name: NASTY.to_owned(), fingerprints: 0, last_at_us: None }], &[nasty_job()]),
        hosts::page(&host(vec![fingerprint(9, "b", 181.0), fingerprint(5, NASTY, 240.0)])),
        watch::page(&[watched(1, WatchState::New)]),
        message::page(&Message {
            title: NASTY.to_owned(),
            paragraphs: vec![NASTY.to_owned()],
            commands: vec![NASTY.to_owned()],
            links: vec![("/runs/a".to_owned(), NASTY.to_owned())],
        }),
    ]
}

fn watched(number: i64, state: WatchState) -> Watched {
    let nasty = || NASTY.to_owned();
    let identity = Identity {
        watch: nasty(),
        host: nasty(),
        workload: nasty(),
        step: nasty(),
        base: nasty(),
        candidate: nasty(),
        is_slower: true,
    };
    Watched {
        number,
        identity,
        ratio: 0.958,
        low: 0.947,
        high: 0.969,
        last_without: None,
        first_with: nasty(),
        state,
        is_told: true,
        first_run: format!("first-{number}"),
        last_run: nasty(),
    }
}

#[test]
fn what_a_watch_has_found_last_and_is_new_stands_first() {
    let states =
        [WatchState::Gone, WatchState::New, WatchState::Known, WatchState::New, WatchState::Accepted];
    let changes: Vec<Watched> = (1..).zip(states).map(|(number, state)| watched(number, state)).collect();
    let page = watch::page(&changes);
    let places = [4, 2, 3, 5, 1].map(|number| page.find(&format!("href=\"/runs/first-{number}\"")).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("-4.2 % [-5.3 %, -3.1 %]") && page.contains("not known"), "{page}");
    let empty = watch::page(&[]);
    assert!(empty.contains("No watch has found") && !empty.contains("<table"), "{empty}");
}

fn fingerprint(hour: i64, boot_id: &str, memory_latency_ns: f64) -> Fingerprint {
    let figure = |name: &str, value, spread| HostFigure { name: name.to_owned(), value, spread };
    Fingerprint {
        at_us: hour * 3_600_000_000,
        host: NASTY.to_owned(),
        boot_id: boot_id.to_owned(),
        device: Some(NASTY.to_owned()),
        figures: vec![figure("memory_latency_ns", memory_latency_ns, 0.011), figure("fsync_us", 310.0, 0.12)],
    }
}

fn host(fingerprints: Vec<Fingerprint>) -> HostPage {
    HostPage { name: NASTY.to_owned(), fingerprints, older: 0 }
}

#[test]
fn a_host_has_a_chart_of_each_figure_with_its_boots_and_says_what_changed() {
    let measured =
        [(30, "cccccccc", 182.0), (20, "bbbbbbbb", 181.0), (8, "aaaaaaaa", 240.0), (2, "aaaaaaaa", 241.0)];
    let page =
        hosts::page(&host(measured.map(|(hour, boot, latency)| fingerprint(hour, boot, latency)).to_vec()));
    assert_eq!(page.matches("<figure").count(), 2, "of what was measured, and of nothing else: {page}");
    for part in [
        "<h2>Latency of memory</h2>",
        "<h2>fsync of 4 KiB</h2>",
        ">boot aaaaaaaa<",
        ">boot cccccccc<",
        "1970-01-02 06:00:00",
        "181 ±1.1 %",
        "memory_latency_ns: 240 then 181 (-24.6 %); not steady: fsync_us",
        "href=\"/?host=",
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    assert_eq!(page.matches("memory_latency_ns: ").count(), 1, "only one is a change: {page}");
    let once = hosts::page(&host(vec![fingerprint(2, "a", 181.0)]));
    assert!(!once.contains("<figure") && once.contains("nothing to draw yet"), "{once}");
    let never = hosts::page(&host(Vec::new()));
    assert!(never.contains("This host was not measured") && !never.contains("<h2>"), "{never}");
}

#[test]
fn each_device_has_a_chart_and_is_held_against_itself_alone() {
    let other = |hour, fsync_us| {
        let mut one = Fingerprint { device: Some("nvme0n1".to_owned()), ..fingerprint(hour, "a", 500.0) };
        one.figures[1] = HostFigure { name: "fsync_us".to_owned(), value: fsync_us, spread: 0.0 };
        one
    };
    let measured =
        vec![other(11, 20.0), fingerprint(10, "a", 500.0), other(9, 20.5), fingerprint(8, "a", 181.0)];
    let page = hosts::page(&host(measured));
    assert_eq!(page.matches("<figure").count(), 3, "memory, and fsync of two devices: {page}");
    assert!(page.contains("fsync_us of nvme0n1"), "{page}");
    // Memory is that of the host, whichever device was measured; one device is not a change of the other.
    assert_eq!(page.matches("memory_latency_ns: 181 then 500").count(), 1, "{page}");
    assert!(!page.contains("fsync_us: "), "{page}");
}

#[test]
fn nothing_of_a_name_becomes_markup() {
    for page in all_pages() {
        assert!(!page.contains("<img") && !page.contains(NASTY), "{page}");
        assert!(page.contains("&lt;img src=x"), "the name is missing: {page}");
        assert!(!page.contains(" style=") && !page.contains("javascript:"), "{page}");
    }
    let json = live::json(&live_view()).unwrap();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["tables"]["newest"][0][0], NASTY);
}

#[test]
fn a_name_of_10_kb_is_shortened_where_it_is_shown() {
    let long = "x".repeat(10_000);
    let page = runs::page(&list(vec![changed(|entry| entry.name = Some(long.clone()))], 1));
    assert!(
        page.contains(&format!("title=\"{long}\"")) && !page.contains(&format!(">{long}")),
        "{}",
        page.len()
    );
}

#[test]
fn the_policy_names_every_style_and_script_of_a_page_and_is_the_one_that_the_page_brings() {
    let policy = shell::policy();
    assert!(policy.contains("connect-src 'self'") && policy.contains("form-action 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for page in all_pages() {
        assert!(page.contains(&format!("content=\"{policy}\"")), "{page}");
        for (tag, least) in [("style", 2), ("script", 2)] {
            let texts: Vec<&str> = page
                .split(&format!("<{tag}>"))
                .skip(1)
                .filter_map(|rest| rest.split(&format!("</{tag}>")).next())
                .collect();
            assert!(texts.len() >= least, "{tag}");
            for text in texts {
                let hash = STANDARD.encode(Sha256::digest(text.as_bytes()));
                assert!(policy.contains(&format!("'sha256-{hash}'")), "{tag} is not in the policy");
            }
        }
    }
}

#[test]
fn the_list_leads_to_its_pages_and_keeps_what_was_chosen() {
    let mut view = list(vec![row("a")], 120);
    view.fields.engine = "rocksdb".to_owned();
    view.fields.host = "a&b".to_owned();
    view.page = 2;
    let page = runs::page(&view);
    for part in [
        "51 to 51 of 120 runs and imports",
        "href=\"/?engine=rocksdb&amp;host=a%26b\"",
        "href=\"/?engine=rocksdb&amp;host=a%26b&amp;page=3\"",
        "page 2 of 3",
        "<option value=\"rocksdb\" selected>",
        "name=\"run\" value=\"a\"",
        "href=\"/runs/a\"",
        "2 failed",
        "1 min 30 s",
        "and 2 more",
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    let bisection = changed(|entry| {
        (entry.id, entry.kind) = ("bisected".to_owned(), EntryKind::Bisection);
    });
    let page = runs::page(&list(vec![bisection.clone()], 1));
    assert!(page.contains("<td>bisection</td>") && page.contains("bisected"), "{page}");
    assert!(page.contains("href=\"/runs/bisected\"") && !page.contains("checkbox"), "{page}");
    let unended = |row: RunRow| RunRow {
        entry: Entry { status: RunStatus::Unfinished, ended_at_us: None, ..row.entry },
        ..row
    };
    assert!(!runs::page(&list(vec![unended(bisection)], 1)).contains("href=\"/runs/bisected\""));
    assert!(runs::page(&list(vec![unended(row("a"))], 1)).contains("href=\"/live/a\""));
    let none = RunsView { fields: view.fields, ..list(Vec::new(), 0) };
    assert!(runs::page(&none).contains("Nothing in the store is like that."));
}

#[test]
fn runs_stand_together_only_where_they_may_be_compared() {
    let page = history_page();
    for part in [
        "2 runs on bench-1",
        "apart",
        "Not to be compared with the runs above:",
        "host: ",
        "7 older runs are",
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    // 110.5 of two launches has no interval; 101 of three has one.
    assert!(page.contains(">110<") || page.contains(">111<"), "{page}");
    assert!(page.contains("run unfinished") && page.contains("1 failed"), "{page}");
    let own = conditions(|_, _| {});
    for (what, other) in [
        ("text of the workload", conditions(|plan, _| plan.workload_sha256 = "ef".repeat(32))),
        ("rows", conditions(|plan, _| plan.workload.data.keys += 1)),
        ("design", conditions(|plan, _| plan.layout.design = Design::Sequential)),
        ("CPU", conditions(|_, host| host.cpus += 1)),
        (
            "definition of readrandom",
            conditions(|plan, _| {
                for step in &mut plan.workload.steps {
                    step.threads += 1;
                }
            }),
        ),
    ] {
        let apart = own.apart(&other, "readrandom");
        assert!(apart.iter().any(|one| one.what == what), "{what}: {apart:?}");
    }
    let slower_cpu = conditions(|plan, host| {
        host.cpu_model = "another".to_owned();
        plan.workload.steps[0].threads += 1;
    });
    let apart: Vec<String> = own.apart_anywhere(&slower_cpu).iter().map(ToString::to_string).collect();
    assert!(
        apart.len() == 1 && apart[0].starts_with("CPU (") && apart[0].contains(" and another"),
        "{apart:?}"
    );
    let threads = conditions(|plan, _| plan.workload.steps.iter_mut().for_each(|step| step.threads += 1));
    let apart = own.apart_anywhere(&threads);
    assert!(!apart.is_empty() && apart.iter().all(|one| one.what.starts_with("definition of ")), "{apart:?}");
    let kernel = conditions(|plan, host| {
        host.kernel = "6.18".to_owned();
        plan.seed += 1;
    });
    assert_eq!(own.apart(&kernel, "readrandom"), Vec::new());
    assert_eq!(own.also_differs(&kernel).len(), 2);
    let set = |swappiness: &str| {
        conditions(|_, host| {
            host.facts.insert("vm.swappiness".to_owned(), swappiness.to_owned());
        })
    };
    let settings: Vec<String> = set("60").also_differs(&set("1")).iter().map(ToString::to_string).collect();
    assert_eq!(settings, ["vm.swappiness (60 and 1)"]);
    // An older run does not say what its host was set to.
    assert_eq!(set("60").also_differs(&own), []);
}

#[test]
fn another_binary_of_the_same_name_is_told() {
    let own = conditions(|_, _| {});
    let rebuilt = conditions(|plan, _| plan.subjects[2].build.sha256 = "ef".repeat(32));
    let groups = gathered(vec![rates("old", 1, &rebuilt, &[1.0]), rates("new", 2, &own, &[1.0])]);
    assert_eq!(groups.len(), 1);
    let other: Vec<(&str, Vec<bool>)> = groups[0]
        .runs
        .iter()
        .map(|run| (run.head.id.as_str(), run.subjects.iter().map(|subject| subject.other_binary).collect()))
        .collect();
    assert_eq!(other, [("new", vec![false, false]), ("old", vec![false, true])]);
}

#[test]
fn a_ratio_stands_only_between_runs_that_may_be_compared() {
    let own = conditions(|_, _| {});
    let together = compare::page(&side("a", own.clone(), 100.0), &side("b", own.clone(), 90.0));
    assert!(
        together.contains(">0.900<") && together.contains("has no interval and no verdict"),
        "{together}"
    );
    let larger = conditions(|plan, _| plan.workload.data.keys *= 2);
    let apart = compare::page(&side("a", own, 100.0), &side("b", larger, 90.0));
    assert!(!apart.contains(">0.900<"), "{apart}");
    assert!(apart.contains("cannot be compared: they differ in rows and data"), "{apart}");
    assert!(apart.contains(">100<") && apart.contains(">90.0<"), "{apart}");
    // What the reports note stands once, with all that it is about.
    assert_eq!(apart.matches("Notes of A").count(), 1, "{apart}");
    assert!(
        apart.contains("<li>readrandom of rocksdb@8.4.4, readrandom of rocksdb@8.4.4+defaults: "),
        "{apart}"
    );
}

#[test]
fn both_sides_of_a_build_against_itself_are_shown() {
    let twins = conditions(|plan, _| {
        plan.subjects[1] = plan.subjects[0].clone();
        plan.subjects[1].planted_slowdown_percent = 400.0;
    });
    let page = compare::page(&side("a", twins.clone(), 100.0), &side("b", twins, 90.0));
    assert_eq!(page.matches(">rocksdb@8.4.4 (side 1)<").count(), 1, "{page}");
    assert_eq!(page.matches("injected slowdown: a test").count(), 1, "{page}");
}

#[test]
fn a_run_in_progress_says_how_far_it_has_come_and_whether_it_lives() {
    let read =
        |view: &LiveView| -> serde_json::Value { serde_json::from_str(&live::json(view).unwrap()).unwrap() };
    let view = live_view();
    let told = read(&view);
    assert_eq!((&told["schema"], &told["ended"], &told["share"]), (&1.into(), &false.into(), &0.25.into()));
    assert_eq!(
        told["fields"]["progress"],
        "round 1 of 3, 3 of 12 trials, 1 min 30 s, about 4 min 30 s left at this pace"
    );
    assert_eq!(told["tables"]["steps"][0][1], "2");
    assert_eq!(told["tables"]["warnings"][0][1], "2 times");
    assert!(live::page(&view).contains("http-equiv=\"refresh\""));

    let silent = read(&LiveView { silent_s: Some(61.0), ..view.clone() });
    let said = silent["fields"]["alive"].as_str().unwrap();
    assert!(
        said.contains("may have been killed") && said.contains("run --resume 20261121-091500-3fa9"),
        "{said}"
    );
    let facts = LiveFacts { launches_max: Some(14), ..view.facts.clone() };
    let interleaved = LiveView { design: Design::Interleaved, facts, rounds: 0, ..view.clone() };
    let told = read(&interleaved);
    assert_eq!(told["fields"]["progress"], "launch 1 of at most 14, 1 min 30 s of at most 10 min 0 s");
    assert_eq!(told["share"], 0.15);
    let head = RunHead { status: RunStatus::Ended(RunOutcome::Done), ..view.head };
    let ended = LiveView { head, subjects: Vec::new(), ..view };
    let told = read(&ended);
    assert_eq!((&told["ended"], &told["share"]), (&true.into(), &serde_json::Value::Null));
}

#[test]
fn a_report_gets_its_frame_and_keeps_its_own_text() {
    let report = crate::render::html::shell::page("r", maud::html! { p { "the report" } });
    let framed = shell::framed_report(&report, "a/b", &[("json", "JSON")], Some("a b"));
    for part in [
        "<p>the report</p>",
        "href=\"/runs/a%2Fb/report.json\"",
        "href=\"/runs/a%2Fb/raw\"",
        "href=\"/hosts/a%20b\"",
        "aria-label=\"dbdyno\"",
    ] {
        assert!(framed.contains(part), "{part} is missing: {framed}");
    }
    let (nav, text) = (framed.find("<nav").unwrap(), framed.find("the report").unwrap());
    assert!(framed.find("<body").unwrap() < nav && nav < text);
}

/// A job whose host and message a page must not obey.
fn nasty_job() -> model::job::Job {
    model::job::Job {
        campaign: "20261127-160000-3fa9".to_owned(),
        number: 1,
        host: NASTY.to_owned(),
        state: model::job::JobState::Failed,
        message: Some(NASTY.to_owned()),
        seed: 1,
        plan: NASTY.to_owned(),
        changed_at_us: 1_795_252_500_000_000,
        slurm: None,
    }
}
