//! What this process may do: open files, look at counters of the CPU, attach to other processes.

use super::{Patient, Question, mended_by};
use model::doctor::Check;

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    vec![open_files(patient), perf(patient), ptrace(patient)]
}

/// RocksDB keeps all its files open: a database of 4 TB in files of 64 MiB.
const LEAST_FILES: u64 = 65_536;

fn open_files(patient: &Patient) -> Check {
    let question = Question {
        id: "open-files",
        want: "a hard limit of 65536 or more",
        why: "an engine that may not keep its files open closes and opens them again for each read; workers raise their own limit to \
              the hard one",
    };
    let found = match patient.moment.open_files {
        Some((soft, hard)) if hard >= LEAST_FILES => return question.ok(format!("{soft}, raised to {hard}")),
        Some((soft, hard)) => format!("{soft}, can be raised to {hard}"),
        None => return question.unknown("this host does not say"),
    };
    question.warn(
        found,
        "ulimit -Hn 1048576 as root, or LimitNOFILE of the service, or /etc/security/limits.conf",
    )
}

fn perf(patient: &Patient) -> Check {
    let question = Question {
        id: "perf",
        want: "root, or kernel.perf_event_paranoid at most 1",
        why: "at 2 profiles and counters leave out the kernel, above 2 they are refused",
    };
    match patient.fact("kernel.perf_event_paranoid").and_then(|value| value.parse::<i64>().ok()) {
        None => question.unknown("this kernel has no perf events"),
        Some(level) if level <= 1 => question.ok(format!("kernel.perf_event_paranoid = {level}")),
        Some(level) if patient.moment.is_root => {
            question.ok(format!("root (kernel.perf_event_paranoid = {level})"))
        }
        Some(level) => mended_by(
            question.warn(
                format!("kernel.perf_event_paranoid = {level}"),
                "sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0",
            ),
            [
                ("/proc/sys/kernel/perf_event_paranoid".to_owned(), "1"),
                ("/proc/sys/kernel/kptr_restrict".to_owned(), "0"),
            ],
        ),
    }
}

fn ptrace(patient: &Patient) -> Check {
    let question = Question {
        id: "ptrace",
        want: "root, or kernel.yama.ptrace_scope 0",
        why: "stacks of a server's threads are read by attaching to it",
    };
    match patient.fact("kernel.yama.ptrace_scope") {
        None => question.ok("not restricted by this kernel"),
        Some("0") => question.ok("kernel.yama.ptrace_scope = 0"),
        Some(scope @ ("1" | "2")) if patient.moment.is_root => {
            question.ok(format!("root (kernel.yama.ptrace_scope = {scope})"))
        }
        Some("3") => {
            question.warn("kernel.yama.ptrace_scope = 3", "reboot: it can only be lowered by a reboot")
        }
        Some(scope) => mended_by(
            question.warn(format!("kernel.yama.ptrace_scope = {scope}"), "sysctl kernel.yama.ptrace_scope=0"),
            [("/proc/sys/kernel/yama/ptrace_scope".to_owned(), "0")],
        ),
    }
}
