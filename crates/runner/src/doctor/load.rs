//! What else this host does: other programs, another dbdyno, pressure of CPU, memory and IO.

use super::{Patient, Question};
use model::doctor::Check;

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    vec![
        other_load(patient),
        pressure(patient, "cpu"),
        pressure(patient, "memory"),
        pressure(patient, "io"),
        other_dbdyno(patient),
    ]
}

/// Of one CPU, in percent, while it was looked at.
const BUSY_PROCESS: f64 = 10.0;
/// Of all CPUs together.
const BUSY_HOST: f64 = 20.0;

fn other_load(patient: &Patient) -> Check {
    let question = Question {
        id: "other-load",
        want: "no other program at work",
        why: "what others do takes CPU, caches and the device from the side that is measured at that moment",
    };
    let Some(busy) = patient.moment.busy_percent else { return question.unknown("this host does not say") };
    let busiest: Vec<String> = patient
        .moment
        .busiest
        .iter()
        .filter(|process| process.percent >= BUSY_PROCESS)
        .map(|process| {
            format!("{} (process {}) {:.0} % of a CPU", process.name, process.pid, process.percent)
        })
        .collect();
    let found = format!("{busy:.0} % of all CPUs busy");
    match (busiest.is_empty(), busy >= BUSY_HOST) {
        (true, false) => question.ok(found),
        (false, false) => question.warn(format!("{found}: {}", busiest.join(", ")), "end it, or wait for it"),
        (_, true) => {
            let who = if busiest.is_empty() { String::new() } else { format!(": {}", busiest.join(", ")) };
            question.fail(format!("{found}{who}"), "end it, or wait for it")
        }
    }
}

/// Of the last ten seconds in which somebody waited, in percent.
const PRESSURE_WARNS: f64 = 10.0;

fn pressure(patient: &Patient, resource: &str) -> Check {
    let (id, why) = match resource {
        "cpu" => ("pressure-cpu", "processes were ready to run and had no CPU"),
        "memory" => ("pressure-memory", "processes waited for memory to be reclaimed or read back"),
        _ => ("pressure-io", "processes waited for a device"),
    };
    let question = Question { id, want: "below 10 % of the last ten seconds", why };
    match patient.moment.pressure.get(resource) {
        None => question.unknown("this kernel does not count it"),
        Some(percent) if *percent >= PRESSURE_WARNS => {
            question.warn(format!("{percent:.0} %"), "wait until it is over, or end what causes it")
        }
        Some(percent) => question.ok(format!("{percent:.0} %")),
    }
}

fn other_dbdyno(patient: &Patient) -> Check {
    let question =
        Question { id: "other-dbdyno", want: "none", why: "two runs on one host measure each other" };
    match &patient.moment.other_runs[..] {
        [] => question.ok("none"),
        pids => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            question.fail(format!("process {}", pids.join(", ")), "wait until it has ended")
        }
    }
}
