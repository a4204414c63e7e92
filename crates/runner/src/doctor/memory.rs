//! Memory: huge pages, swapping, when dirty pages are written, what is free.

use super::{Patient, Question, mended_by};
use model::doctor::Check;
use model::units::Bytes;

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    vec![huge_pages(patient), swap(patient), dirty_limits(patient), free(patient)]
}

fn huge_pages(patient: &Patient) -> Check {
    let question = Question {
        id: "transparent-huge-pages",
        want: "madvise or never",
        why: "with `always` the kernel makes huge pages when it finds room: memory and speed of a launch depend on how fragmented \
              memory is",
    };
    match patient.fact("thp.enabled") {
        Some("always") => mended_by(
            question.warn("always", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
            [("/sys/kernel/mm/transparent_hugepage/enabled".to_owned(), "madvise")],
        ),
        Some(other) => question.ok(other),
        None => question.unknown("this kernel has none"),
    }
}

/// The highest value that keeps a cache of pages from pushing an engine's memory out.
const MOST_SWAPPINESS: u64 = 10;

fn swap(patient: &Patient) -> Check {
    let question = Question {
        id: "swap",
        want: "no swap, or vm.swappiness at most 10",
        why: "an engine's memory that was swapped out for the cache of files is read back while something else is measured",
    };
    let devices = patient.number("swap.devices");
    match (devices, patient.number("vm.swappiness")) {
        (Some(0), _) => question.ok("no swap"),
        (_, Some(swappiness)) if swappiness <= MOST_SWAPPINESS => {
            question.ok(format!("vm.swappiness = {swappiness}"))
        }
        (_, Some(swappiness)) => mended_by(
            question.warn(format!("vm.swappiness = {swappiness}"), "sysctl vm.swappiness=1, or swapoff -a"),
            [("/proc/sys/vm/swappiness".to_owned(), "1")],
        ),
        (_, None) => question.unknown("this host does not say"),
    }
}

/// A background limit above this lets writes of seconds gather.
const MOST_DIRTY: Bytes = Bytes(1 << 30);

fn dirty_limits(patient: &Patient) -> Check {
    let question = Question {
        id: "dirty-limits",
        want: "writing begins at 1 GiB of dirty pages or less",
        why: "the more dirty pages may gather, the longer is the burst in which they are written, in whatever step runs then",
    };
    let of_ratio = |ratio: u64| patient.host.memory_bytes / 100 * ratio;
    let bytes = patient.number("vm.dirty_background_bytes").filter(|bytes| *bytes > 0);
    let Some(limit) = bytes.or_else(|| patient.number("vm.dirty_background_ratio").map(of_ratio)) else {
        return question.unknown("this host does not say");
    };
    let found = format!("writing begins at {:.1} GiB", limit as f64 / f64::from(1 << 30));
    if limit <= MOST_DIRTY.0 {
        return question.ok(found);
    }
    mended_by(
        question.warn(found, "sysctl vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824"),
        [
            ("/proc/sys/vm/dirty_background_bytes".to_owned(), "268435456"),
            ("/proc/sys/vm/dirty_bytes".to_owned(), "1073741824"),
        ],
    )
}

fn free(patient: &Patient) -> Check {
    let question = Question {
        id: "memory-free",
        want: "what the plan takes, or half of all",
        why: "what does not fit is reclaimed or swapped while it is measured, or a process is killed for memory",
    };
    let all = patient.host.memory_bytes;
    let Some(available) = patient.moment.available_bytes else {
        return question.unknown("this host does not say");
    };
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let found = format!("{:.1} of {:.1} GiB", gib(available), gib(all));
    match patient.needs {
        Some(needs) if needs.memory.0 > available => question.fail(
            format!("{found}; the plan takes {:.1} GiB", gib(needs.memory.0)),
            "end other programs, or scale the workload down",
        ),
        None if available < all / 2 => question.warn(found, "end what takes the rest: ps aux --sort=-rss"),
        Some(_) | None => question.ok(found),
    }
}
