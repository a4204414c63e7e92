//! Sentences and words that every format uses alike, so that text, Markdown and JSON cannot disagree.

use crate::summary::is_single_step;
use crate::verdicts::Repeats;
use crate::view::{CounterFigure, Figure, ReportView, ShapeRow, StepRow, TrialReason};
use model::event::RunOutcome;
use model::figures::{self, NONE, bytes, chosen_percent, count, percent, quantity, ratio, span};
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::Purpose;
use model::record::RunStatus;
use model::units::Bytes;
use model::verdict::Verdict;

/// At most this many counters stand in a row; JSON has all.
const MOVED_SHOWN: usize = 3;

/// The first line: what the workload tells and does not tell.
pub(crate) fn headline(view: &ReportView) -> String {
    format!("Workload {} tells {}. It does not tell {}.", view.run.workload, view.tells, view.does_not_tell)
}

/// Which run, how it ended, how far it came.
pub(crate) fn run_line(view: &ReportView) -> String {
    let run = &view.run;
    let name = run.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let purpose = match run.purpose {
        Purpose::Compare => "comparison",
        Purpose::Calibrate => "calibration",
        Purpose::Campaign => "campaign",
    };
    let status = match run.status {
        RunStatus::Ended(RunOutcome::Done) => "done",
        RunStatus::Ended(RunOutcome::Interrupted) => "interrupted by the user",
        RunStatus::Ended(RunOutcome::Failed) => "failed",
        RunStatus::Unfinished => "UNFINISHED: it still runs, or it was killed",
    };
    let elapsed = run.elapsed_s.map(|elapsed| format!(" in {}", span(elapsed))).unwrap_or_default();
    format!(
        "Run {}{name}: {purpose}, {status}; {} of at most {}{elapsed}.",
        run.id,
        run.launches,
        count(u64::from(run.max_launches), "launch", "launches")
    )
}

/// What it was measured on, as far as it is known.
pub(crate) fn host_line(host: &Host) -> String {
    let known = |text: &str, before: &str| (!text.is_empty()).then(|| format!("{before}{text}"));
    let facts = [
        known(&host.cpu_model, ""),
        (host.cpus > 0).then(|| cpus(host)),
        (host.memory_bytes > 0).then(|| format!("{} of memory", bytes(Bytes(host.memory_bytes)))),
        known(&host.kernel, "Linux "),
        host.governor.as_ref().map(|governor| format!("governor {governor}")),
        host.virtual_machine.then(|| "a virtual machine".to_owned()),
        host.load_1m.as_ref().map(|load| format!("load {load} at the start")),
    ];
    format!("Host {}: {}.", host.name, facts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The CPUs that were at hand, and of how many where the others were withheld.
pub(crate) fn cpus(host: &Host) -> String {
    let all = host.withheld_from().unwrap_or(host.cpus);
    format!("{} {}", cpu_count(host), if all == 1 { "CPU" } else { "CPUs" })
}

/// The same as a bare number: `8`, `2 of 8`.
pub(crate) fn cpu_count(host: &Host) -> String {
    let of = host.withheld_from().map(|online| format!(" of {online}")).unwrap_or_default();
    format!("{}{of}", host.cpus)
}

/// The verdict of a row, in the words of the glossary.
pub(crate) fn verdict(row: &StepRow) -> &'static str {
    verdict_word(row.verdict)
}

/// A verdict, in the words of the glossary.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "regression",
        Verdict::Improvement => "improvement",
        Verdict::NoChange => "no difference",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Suspect => "suspect",
        Verdict::RatioOnly => "no verdict",
    }
}

/// The relative rate that decides, with its interval. Where no difference was found there is no number that
/// could be read as one, only the interval.
pub(crate) fn relative_rate(row: &StepRow) -> String {
    let figure = row.deciding();
    let mark = match row.decides {
        Metric::OpsPerSecondAdjusted => "*",
        Metric::OpsPerSecond | Metric::CpuMicrosPerOp | Metric::Counter(_) => "",
    };
    let Some(center) = figure.ratio else { return NONE.to_owned() };
    let bounded = figure.low.is_some() || figure.high.is_some();
    match (row.is_directional(), bounded) {
        (true, _) => format!("{mark}{} {}", ratio(center), figures::interval(figure.low, figure.high)),
        (false, true) => format!("{mark}~ {}", figures::interval(figure.low, figure.high)),
        // Nothing was tested: the ratio is all there is, and the notes say so.
        (false, false) if row.verdict == Verdict::RatioOnly => format!("{mark}{}", ratio(center)),
        (false, false) => format!("{mark}~"),
    }
}

/// A relative cost: a number only where the interval leaves no doubt that it moved.
pub(crate) fn relative_cost(figure: &Figure) -> String {
    match figure.ratio {
        Some(center) if figure.excludes_one() || figure.confidence.is_none() => ratio(center),
        Some(_) => "~".to_owned(),
        None => NONE.to_owned(),
    }
}

/// The same with its interval.
pub(crate) fn relative_cost_with_interval(figure: &Figure) -> String {
    let cost = relative_cost(figure);
    match figure.confidence {
        Some(_) => format!("{cost} {}", figures::interval(figure.low, figure.high)),
        None => cost,
    }
}

/// What else moved: the clearest counters, without those that the columns for CPU show already.
pub(crate) fn moved(row: &StepRow) -> String {
    use model::counter::Counter::{ForegroundCpuNanos, UserCpuMicros};
    let moved = row.moved();
    let shown: Vec<String> = moved
        .iter()
        .filter(|counter| !matches!(counter.counter, ForegroundCpuNanos | UserCpuMicros))
        .take(MOVED_SHOWN)
        .map(|counter| moved_counter(counter))
        .collect();
    // Too few launches to test is not the same as nothing moved.
    let tested = row.counters.iter().any(|counter| counter.figure.confidence.is_some());
    match shown.as_slice() {
        [] if tested => "~".to_owned(),
        [] => NONE.to_owned(),
        shown => shown.join(", "),
    }
}

fn moved_counter(counter: &CounterFigure) -> String {
    let name = counter.counter.metric_name().trim_end_matches("_per_op").replace('_', " ");
    format!("{name} {}", counter.figure.ratio.map_or_else(|| NONE.to_owned(), ratio))
}

/// The confidence at which the intervals of both rates hold together, which is the one that is named: that of the
/// verdict.
pub(crate) fn joint(confidence: f64) -> f64 {
    1.0 - 2.0 * (1.0 - confidence)
}

/// "99 % interval -5.2 to -3.0 %".
pub(crate) fn interval_as_change(figure: &Figure) -> Option<String> {
    let joint = joint(figure.confidence?);
    let end = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
    let interval = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("interval {} to {} %", end(low), end(high)),
        (Some(low), None) => format!("above {} %", end(low)),
        (None, Some(high)) => format!("below {} %", end(high)),
        (None, None) => return None,
    };
    Some(format!("{} {interval}", chosen_percent(joint)))
}

/// "readrandom 1.8 %, seekrandom 3.1 %": how small a change each step would have shown.
pub(crate) fn visible_changes(rows: &[StepRow]) -> Option<String> {
    let steps: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{} {}", row.step, percent(row.visible_change?))))
        .collect();
    (!steps.is_empty()).then(|| format!("Smallest change visible, at 90 % power: {}.", steps.join(", ")))
}

/// The notes of all rows, those of one sentence gathered: "fillseq, overwrite: sentence".
pub(crate) fn notes(rows: &[StepRow]) -> Vec<String> {
    let mut gathered: Vec<(Vec<&str>, String)> = Vec::new();
    let mut add = |step, text: String| match gathered.iter_mut().find(|(_, known)| *known == text) {
        Some((steps, _)) => steps.push(step),
        None => gathered.push((vec![step], text)),
    };
    for row in rows {
        if is_single_step(row) {
            add(&row.step, "single step: it holds by itself, not with all steps taken together".to_owned());
        }
        for note in &row.notes {
            add(&row.step, note.text.clone());
        }
    }
    gathered.into_iter().map(|(steps, text)| format!("{}: {text}", steps.join(", "))).collect()
}

/// What measuring itself cost. The client of a server is a process of its own.
pub(crate) fn cost(cost: &HarnessCost, of_servers: bool) -> String {
    let client = match cost.client_cpu_ns_per_op {
        Some(client) => {
            format!("{} us per operation, part of both sides' CPU us/op", quantity(client / 1e3))
        }
        None if of_servers => "a process of its own, no part of CPU us/op".to_owned(),
        None => "not measured".to_owned(),
    };
    format!(
        "Cost of measuring: client {client}; sampler {} % of one core; {} us per block to thaw, freeze and read \
         counters; controller {}, client heap {} at most.",
        quantity(cost.sampler_core_percent),
        quantity(cost.block_edge_us),
        bytes(Bytes(cost.controller_peak_bytes)),
        bytes(Bytes(cost.worker_heap_peak_bytes))
    )
}

/// "Trials: 118 done, 2 failed, 0 skipped."
pub(crate) fn trials(view: &ReportView) -> String {
    let trials = &view.trials;
    format!("Trials: {} done, {} failed, {} skipped.", trials.done, trials.failed, trials.skipped)
}

/// "failed: overwrite of rocksdb@8.7.3 in launches 3, 4: reason".
pub(crate) fn trial_reason(reason: &TrialReason) -> String {
    Repeats::Launches.trial_reason(reason)
}

/// "L0 2 files 12.0 MiB, L1 4 files 64.0 MiB; memtable 3.1 MiB; debt 0 B".
pub(crate) fn shape(row: &ShapeRow) -> String {
    let levels: Vec<String> = (0..)
        .zip(&row.shape.levels)
        .filter(|(_, level)| level.files > 0)
        .map(|(index, level): (u32, _)| {
            format!("L{index} {} {}", count(level.files, "file", "files"), bytes(level.bytes))
        })
        .collect();
    let levels = if levels.is_empty() { "no files".to_owned() } else { levels.join(", ") };
    format!("{levels}; memtable {}; debt {}", bytes(row.shape.memtable), bytes(row.shape.pending_compaction))
}

/// "overwrite, after".
pub(crate) fn shape_moment(row: &ShapeRow) -> String {
    format!("{} {}", row.moment.name(), row.step)
}

/// How to see the run again.
pub(crate) fn again(view: &ReportView) -> String {
    format!("Again: dbdyno report {} (dbdyno {}, seed {})", view.run.id, view.run.tool_version, view.run.seed)
}

/// What the columns mean.
pub(crate) fn legend(view: &ReportView) -> String {
    let adjusted = view
        .candidates
        .iter()
        .flat_map(|candidate| &candidate.rows)
        .any(|row| row.decides == Metric::OpsPerSecondAdjusted);
    let adjusted = if adjusted {
        "; * marks the contention-adjusted rate, from which the time spent waiting for a CPU is taken out"
    } else {
        ""
    };
    format!(
        "Relative is candidate over base, with its {} interval, valid although a step may stop early; n counts \
         launches; ~ means no difference found (margin {}); - in an interval means not bounded{adjusted}.",
        chosen_percent(1.0 - view.alpha),
        chosen_percent(view.margin)
    )
}
