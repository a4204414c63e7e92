//! Self-tests of calibrations: which count for which run.

use super::{ended, host, started};
use crate::Writer;
use model::event::RunEvent;
use model::host::Host;
use model::plan::{Plan, Purpose};
use model::self_test::{Gains, SelfTestRecord};
use model::server_host::ServerHost;
use model::units::Nanos;

fn tested(run: &str, step: &str) -> SelfTestRecord {
    SelfTestRecord {
        run: run.to_owned(),
        started_at_us: run.parse().unwrap(),
        boot_id: "boot-a".to_owned(),
        workload: "small".to_owned(),
        workload_sha256: "cd".repeat(32),
        step: step.to_owned(),
        family: 2,
        gains: Gains { launches: 14, wall: vec![0.1 + 0.2, -1e-300], adjusted: vec![-7.0, 3.5] },
    }
}

fn begin(writer: &mut Writer, run: &str, purpose: Purpose, change: impl Fn(&mut Plan, &mut Host)) {
    let mut event = started(run, run.parse().unwrap(), purpose);
    if let RunEvent::Started { plan, host, .. } = &mut event {
        change(plan, host);
    }
    writer.write(run, &event).unwrap();
}

fn counting(writer: &Writer, run: &str) -> Vec<String> {
    let found = writer.store().self_tests(run).unwrap();
    let known = writer.store().self_tests_known(run).unwrap();
    assert_eq!(known, (u32::try_from(found.len()).unwrap(), found.last().map(|one| one.started_at_us)));
    found.into_iter().map(|one| one.run).collect()
}

#[test]
fn those_of_the_same_host_and_version_count_whatever_boot_and_end_and_come_back_as_they_were() {
    let mut writer = Writer::in_memory().unwrap();
    let same = |_: &mut Plan, _: &mut Host| {};
    begin(&mut writer, "1", Purpose::Calibrate, same);
    writer.write("1", &ended(1)).unwrap();
    begin(&mut writer, "2", Purpose::Calibrate, |_, host| host.boot_id = "boot-b".to_owned());
    begin(&mut writer, "3", Purpose::Calibrate, |plan, _| plan.tool_version = "0.2.0".to_owned());
    begin(&mut writer, "4", Purpose::Calibrate, |_, host| host.kernel = "7.0".to_owned());
    begin(&mut writer, "5", Purpose::Calibrate, |_, host| host.name = "other".to_owned());
    begin(&mut writer, "6", Purpose::Calibrate, same);
    begin(&mut writer, "7", Purpose::Compare, same);
    for run in ["1", "2", "3", "4", "5"] {
        writer.keep_self_tests(run, &[tested(run, "readrandom")]).unwrap();
    }
    // 6 is of before there were self-tests: it has none.
    assert_eq!(counting(&writer, "7"), ["1", "2"]);
    assert_eq!(counting(&writer, "5"), ["5"]);
    assert_eq!(writer.store().self_tests("7").unwrap()[0], tested("1", "readrandom"));
    writer.keep_self_tests("1", &[tested("1", "fillseq"), tested("1", "readrandom")]).unwrap();
    assert_eq!(counting(&writer, "7"), ["1", "1", "2"]);
    writer.keep_self_tests("99", &[]).unwrap_err();
}

/// With clients elsewhere, processes are frozen over ssh: another harness.
#[test]
fn those_with_clients_on_another_host_count_for_runs_with_clients_there() {
    let mut writer = Writer::in_memory().unwrap();
    let clients = |name: &str| {
        let clients = Host { name: name.to_owned(), ..host() };
        let server_host =
            ServerHost { target: "lab-1".to_owned(), address: None, clients, round_trip: Nanos(1) };
        move |plan: &mut Plan, _: &mut Host| plan.layout.server_host = Some(Box::new(server_host.clone()))
    };
    begin(&mut writer, "1", Purpose::Calibrate, |_, _| {});
    begin(&mut writer, "2", Purpose::Calibrate, clients("desk"));
    begin(&mut writer, "3", Purpose::Calibrate, clients("other"));
    for run in ["1", "2", "3"] {
        writer.keep_self_tests(run, &[tested(run, "readrandom")]).unwrap();
    }
    begin(&mut writer, "4", Purpose::Compare, clients("desk"));
    begin(&mut writer, "5", Purpose::Compare, |_, _| {});
    assert_eq!(counting(&writer, "4"), ["2"]);
    assert_eq!(counting(&writer, "5"), ["1"]);
}

#[test]
fn a_new_start_parts_what_was_measured_before_from_what_came_after() {
    let mut writer = Writer::in_memory().unwrap();
    for (run, purpose) in [
        ("10", Purpose::Calibrate),
        ("20", Purpose::Compare),
        ("30", Purpose::Calibrate),
        ("40", Purpose::Calibrate),
        ("50", Purpose::Compare),
    ] {
        begin(&mut writer, run, purpose, |_, _| {});
        if purpose == Purpose::Calibrate {
            writer.keep_self_tests(run, &[tested(run, "readrandom")]).unwrap();
        }
    }
    let name = host().name;
    assert_eq!(counting(&writer, "50"), ["10", "30", "40"]);
    writer.begin_self_tests_anew("other", 5).unwrap();
    writer.begin_self_tests_anew(&name, 30).unwrap();
    assert_eq!(counting(&writer, "20"), ["10"]);
    assert_eq!(counting(&writer, "50"), ["30", "40"]);
    writer.begin_self_tests_anew(&name, 60).unwrap();
    assert_eq!(counting(&writer, "50"), ["30", "40"]);
}
