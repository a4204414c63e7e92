//! The CPUs: their frequency, threads that share a core, clock, layout of addresses, memory nodes, guests of the same host.

use super::{Patient, Question, mended_by};
use crate::proc::facts::{Root, is_numbered};
use model::doctor::Check;

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    vec![
        governor(patient),
        boost(patient),
        smt(patient),
        usable(patient),
        clock_source(patient),
        aslr(patient),
        numa(patient),
        steal(patient),
    ]
}

fn governor(patient: &Patient) -> Check {
    let question = Question {
        id: "cpu-governor",
        want: "performance",
        why: "a governor that follows the load runs short operations at a low frequency: schedutil has halved the rates in published \
              results, which had to be withdrawn",
    };
    match patient.fact("cpu.governor") {
        None => question.unknown("no frequency is set here; on a virtual machine the hypervisor sets it"),
        Some("performance") => question.ok("performance"),
        Some(other) => {
            let root = Root::of_this_host();
            let cpus =
                root.names("/sys/devices/system/cpu").into_iter().filter(|name| is_numbered(name, "cpu"));
            let files = cpus.map(|cpu| {
                (format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"), "performance")
            });
            mended_by(question.fail(other, "cpupower frequency-set -g performance"), files)
        }
    }
}

fn boost(patient: &Patient) -> Check {
    let question = Question {
        id: "cpu-boost",
        want: "off",
        why: "the frequency that a CPU boosts to depends on its temperature and on what its other cores do: what is measured later \
              runs slower",
    };
    match (patient.fact("cpu.no_turbo"), patient.fact("cpu.boost")) {
        (Some("1"), _) | (None, Some("0")) => question.ok("off"),
        (Some(_), _) => mended_by(
            question.warn("on", "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
            [("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned(), "1")],
        ),
        (None, Some(_)) => mended_by(
            question.warn("on", "echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
            [("/sys/devices/system/cpu/cpufreq/boost".to_owned(), "0")],
        ),
        (None, None) => question.unknown("this host does not say"),
    }
}

fn smt(patient: &Patient) -> Check {
    let question = Question {
        id: "cpu-smt",
        want: "off",
        why: "two threads of one core share its units: how fast one runs depends on what the other does",
    };
    match patient.fact("cpu.smt") {
        Some("0") => question.ok("off"),
        // Not by `--fix`: control groups of the first version lose the CPUs for good.
        Some(_) => {
            question.warn("on: two threads share a core", "echo off > /sys/devices/system/cpu/smt/control")
        }
        None => question.unknown("this host does not say"),
    }
}

fn usable(patient: &Patient) -> Check {
    let question = Question {
        id: "cpu-usable",
        want: "all",
        why: "what is begun from a shell that is kept on some CPUs is kept there too",
    };
    let host = &patient.host;
    match host.withheld_from() {
        Some(online) => question.warn(
            format!("{} of {online} CPUs", host.cpus),
            format!("taskset --all-tasks --cpu-list --pid 0-{} $$, or another container", online - 1),
        ),
        None => question.ok(format!("{} CPUs, {}", host.cpus, host.cpu_model)),
    }
}

/// Clocks that are read without a call of the kernel.
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

fn clock_source(patient: &Patient) -> Check {
    let question = Question {
        id: "clock-source",
        want: "tsc",
        why: "each operation reads the clock twice; from hpet or acpi_pm that takes a microsecond, and engines read it too",
    };
    match patient.fact("clock.source") {
        Some(clock) if FAST_CLOCKS.contains(&clock) => question.ok(clock),
        Some(clock) => question.fail(
            clock,
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is among \
             available_clocksource",
        ),
        None => question.unknown("this host does not say"),
    }
}

fn aslr(patient: &Patient) -> Check {
    let question = Question {
        id: "aslr",
        want: "on (2)",
        why: "each launch draws its own layout of addresses, and launches are averaged; without it one layout is measured again and \
              again, and a difference of layout looks like one of code",
    };
    match patient.fact("kernel.randomize_va_space") {
        Some("2") => question.ok("on (2)"),
        Some(other) => mended_by(
            question
                .warn(format!("kernel.randomize_va_space = {other}"), "sysctl kernel.randomize_va_space=2"),
            [("/proc/sys/kernel/randomize_va_space".to_owned(), "2")],
        ),
        None => question.unknown("this host does not say"),
    }
}

fn numa(patient: &Patient) -> Check {
    let question = Question {
        id: "numa",
        want: "one node, or no automatic balancing",
        why: "the kernel moves pages between nodes while something is measured, and a launch is as fast as where its memory happens \
              to be",
    };
    match (patient.number("numa.nodes"), patient.fact("kernel.numa_balancing")) {
        (None, _) => question.unknown("this host does not say"),
        (Some(0 | 1), _) => question.ok("one node"),
        (Some(nodes), Some("0") | None) => question.ok(format!("{nodes} nodes, balancing off")),
        (Some(nodes), Some(_)) => mended_by(
            question.warn(format!("{nodes} nodes, balancing on"), "sysctl kernel.numa_balancing=0"),
            [("/proc/sys/kernel/numa_balancing".to_owned(), "0")],
        ),
    }
}

/// Of the time that was looked at, in percent: three and six ticks of the sixty of two CPUs.
const STEAL_WARNS: f64 = 5.0;
const STEAL_FAILS: f64 = 10.0;

fn steal(patient: &Patient) -> Check {
    let question = Question {
        id: "steal",
        want: "below 5 %",
        why: "the host of this virtual machine gave its CPUs to others while this one was ready to run",
    };
    match patient.moment.steal_percent {
        None => question.unknown("this host does not say"),
        Some(percent) if percent >= STEAL_FAILS => {
            question.fail(format!("{percent:.1} %"), "measure at another time, or on a dedicated machine")
        }
        Some(percent) if percent >= STEAL_WARNS => {
            question.warn(format!("{percent:.1} %"), "measure at another time, or on a dedicated machine")
        }
        Some(percent) => question.ok(format!("{percent:.1} %")),
    }
}
