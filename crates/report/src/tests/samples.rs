//! Views built in code: a comparison in which every kind of verdict occurs.

use crate::command::Again;
use crate::differs::{Difference, DifferenceKind};
use crate::groups::{GroupRow, Interval, Quoted};
use crate::summary;
use crate::view::{
    CandidateView, CounterFigure, Figure, Note, ReportView, RunFacts, ShapeRow, Sides, StepRow, TimeParts,
    TrialReason, Trials,
};
use model::counter::Counter;
use model::event::{Moment, RunOutcome};
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::Purpose;
use model::record::{RunStatus, RunWarning};
use model::shape::{Level, Shape};
use model::units::Bytes;
use model::verdict::Verdict;
use model::workload::Group;

pub(super) const BASE: &str = "rocksdb@8.5.4";
pub(super) const CANDIDATE: &str = "rocksdb@8.7.3";

/// Values of base and candidate, and the ends of the interval of their ratio.
pub(super) struct Measured(pub f64, pub f64, pub Option<f64>, pub Option<f64>);

pub(super) fn figure(metric: Metric, measured: Measured) -> Figure {
    let Measured(base, candidate, low, high) = measured;
    Figure {
        metric,
        base: Some(base),
        candidate: Some(candidate),
        ratio: Some(candidate / base),
        low,
        high,
        confidence: Some(0.995),
    }
}

fn counter(counter: Counter, measured: Measured, moved: bool) -> CounterFigure {
    let figure = Figure { confidence: Some(0.99), ..figure(Metric::Counter(counter), measured) };
    CounterFigure { counter, figure, moved, score: if moved { 8.0 } else { 0.4 }, twin_of: None }
}

pub(super) fn note(id: &str, text: &str) -> Note {
    Note { id: id.to_owned(), text: text.to_owned() }
}

fn time(base: [f64; 3], candidate: [f64; 3]) -> Option<TimeParts> {
    let part = |index: usize| Sides { base: base[index], candidate: candidate[index] };
    let sum = Sides { base: base.iter().sum(), candidate: candidate.iter().sum() };
    Some(TimeParts { wall: sum, cpu: part(0), run_delay: part(1), other: part(2) })
}

pub(super) fn readrandom() -> StepRow {
    StepRow {
        step: "readrandom".to_owned(),
        group: Group::Point,
        verdict: Verdict::Regression,
        decides: Metric::OpsPerSecond,
        confirmed: true,
        p_value: Some(0.0004),
        launches: 14,
        seconds: 28.2,
        wall: figure(Metric::OpsPerSecond, Measured(612_345.2, 587_238.6, Some(0.948), Some(0.970))),
        adjusted: Some(figure(
            Metric::OpsPerSecondAdjusted,
            Measured(614_000.0, 589_000.0, Some(0.950), Some(0.968)),
        )),
        cpu: figure(Metric::CpuMicrosPerOp, Measured(1.634, 1.702, Some(1.031), Some(1.052))),
        counters: vec![
            counter(Counter::MinorFaults, Measured(0.011, 0.0112, Some(0.97), Some(1.05)), false),
            counter(Counter::VoluntarySwitches, Measured(0.02, 0.031, Some(1.41), Some(1.70)), true),
            counter(Counter::ReadCalls, Measured(0.41, 0.55, Some(1.29), Some(1.39)), true),
        ],
        time: time([1.62, 0.004, 0.01], [1.69, 0.004, 0.011]),
        visible_change: Some(0.018),
        notes: Vec::new(),
    }
}

fn seekrandom() -> StepRow {
    StepRow {
        step: "seekrandom".to_owned(),
        group: Group::Range,
        verdict: Verdict::NoChange,
        decides: Metric::OpsPerSecondAdjusted,
        confirmed: false,
        p_value: Some(0.41),
        wall: figure(Metric::OpsPerSecond, Measured(98_321.0, 98_544.0, Some(0.974), Some(1.028))),
        adjusted: Some(figure(
            Metric::OpsPerSecondAdjusted,
            Measured(99_001.0, 99_130.0, Some(0.991), Some(1.012)),
        )),
        cpu: figure(Metric::CpuMicrosPerOp, Measured(10.12, 10.11, Some(0.992), Some(1.006))),
        counters: vec![counter(Counter::ReadCalls, Measured(1.2, 1.21, Some(0.99), Some(1.02)), false)],
        time: time([10.0, 0.12, 0.05], [9.99, 0.11, 0.05]),
        visible_change: Some(0.031),
        notes: vec![note(
            "contention-adjusted",
            "decided on the contention-adjusted rate: the wall rate is too noisy to tell",
        )],
        ..readrandom()
    }
}

fn fillseq() -> StepRow {
    StepRow {
        step: "fillseq".to_owned(),
        group: Group::Writes,
        verdict: Verdict::Improvement,
        confirmed: false,
        p_value: Some(0.008),
        wall: figure(Metric::OpsPerSecond, Measured(1_204_117.0, 1_251_080.0, Some(1.004), None)),
        adjusted: Some(figure(
            Metric::OpsPerSecondAdjusted,
            Measured(1_310_000.0, 1_360_000.0, Some(1.011), Some(1.070)),
        )),
        cpu: figure(Metric::CpuMicrosPerOp, Measured(2.31, 2.22, Some(0.93), Some(0.99))),
        counters: Vec::new(),
        time: time([0.81, 0.01, 0.01], [0.78, 0.01, 0.01]),
        visible_change: Some(0.042),
        ..readrandom()
    }
}

fn overwrite() -> StepRow {
    let machine = "too noisy to tell: seeing a change of 2 % here would need about 410 launches, of at most 14; \
                   run `dbdyno doctor`, or use a quieter host";
    StepRow {
        step: "overwrite".to_owned(),
        group: Group::Writes,
        verdict: Verdict::Inconclusive,
        confirmed: false,
        p_value: Some(0.52),
        launches: 8,
        wall: figure(Metric::OpsPerSecond, Measured(402_900.0, 391_004.0, Some(0.81), Some(1.17))),
        adjusted: Some(figure(
            Metric::OpsPerSecondAdjusted,
            Measured(455_000.0, 449_000.0, Some(0.90), Some(1.07)),
        )),
        cpu: figure(Metric::CpuMicrosPerOp, Measured(4.92, 5.33, Some(1.02), Some(1.14))),
        counters: vec![counter(
            Counter::StorageWriteBytes,
            Measured(911.0, 1298.0, Some(1.31), Some(1.54)),
            true,
        )],
        time: time([1.9, 0.3, 0.28], [2.0, 0.29, 0.27]),
        visible_change: Some(0.187),
        notes: vec![note("machine-too-noisy", machine)],
        ..readrandom()
    }
}

fn readwhilewriting() -> StepRow {
    let none = |metric| Figure {
        metric,
        base: None,
        candidate: None,
        ratio: None,
        low: None,
        high: None,
        confidence: None,
    };
    StepRow {
        step: "readwhilewriting".to_owned(),
        group: Group::Point,
        verdict: Verdict::RatioOnly,
        confirmed: false,
        p_value: None,
        launches: 0,
        seconds: 0.0,
        wall: none(Metric::OpsPerSecond),
        adjusted: Some(none(Metric::OpsPerSecondAdjusted)),
        cpu: none(Metric::CpuMicrosPerOp),
        counters: Vec::new(),
        time: None,
        visible_change: None,
        notes: vec![
            note("no-launches", "no launch has a rate on both sides"),
            note(
                "dropped",
                "dropped: the budget allows 7 launches of all steps, 9 are the least (after launch 1)",
            ),
        ],
        ..readrandom()
    }
}

fn difference(kind: DifferenceKind, what: &str, base: Option<&str>, candidate: Option<&str>) -> Difference {
    Difference {
        kind,
        what: what.to_owned(),
        base: base.map(str::to_owned),
        candidate: candidate.map(str::to_owned),
    }
}

fn differs() -> Vec<Difference> {
    use DifferenceKind::{Compiler, DefaultInEffect, DefaultPinned, Fact, Library, MissingSymbol};
    use DifferenceKind::{OptionInEffect, OptionOfOneRelease};
    let new = |option| difference(OptionOfOneRelease, option, None, Some("0"));
    vec![
        difference(OptionInEffect, "block_based_table_factory.block_size", Some("4096"), Some("8192")),
        difference(DefaultInEffect, "compaction_readahead_size", Some("0"), Some("2097152")),
        new("bottommost_file_compaction_delay"),
        new("compaction_verify_record_count"),
        new("compression_opts.checksum"),
        new("memtable_max_range_deletions"),
        difference(OptionOfOneRelease, "access_hint_on_compaction_start", Some("NORMAL"), None),
        difference(DefaultPinned, "level_compaction_dynamic_level_bytes", Some("false"), Some("true")),
        difference(
            Compiler,
            "compiler",
            Some("GCC: (GNU) 7.3.1 20180303"),
            Some("GCC: (GNU) 11.2.1 20220127"),
        ),
        difference(Library, "library size", Some("51.2 MiB"), Some("52.0 MiB")),
        difference(Library, "library sha256", Some("5d41402abc4b"), Some("7d793037a076")),
        difference(Fact, "fast crc32", Some("Not supported on x86"), Some("Supported on x86")),
        difference(MissingSymbol, "rocksdb_wait_for_compact", None, Some("present")),
    ]
}

fn shape_row(subject: &str, megabytes: u64) -> ShapeRow {
    ShapeRow {
        step: "overwrite".to_owned(),
        subject: subject.to_owned(),
        moment: Moment::After,
        launch: 14,
        shape: Shape {
            levels: vec![
                Level { files: 2, bytes: Bytes::from_mib(24) },
                Level { files: 4, bytes: Bytes::from_mib(megabytes) },
                Level::default(),
                Level { files: 11, bytes: Bytes::from_mib(128) },
            ],
            memtable: Bytes(3_200_000),
            pending_compaction: Bytes(0),
        },
    }
}

/// A comparison with five steps, one of each kind.
pub(super) fn comparison() -> ReportView {
    let rows = vec![fillseq(), overwrite(), readwhilewriting(), readrandom(), seekrandom()];
    ReportView {
        run: RunFacts {
            id: "20261121-091500-3fa9".to_owned(),
            name: None,
            purpose: Purpose::Compare,
            status: RunStatus::Ended(RunOutcome::Done),
            workload: "quick".to_owned(),
            tool_version: "0.1.0".to_owned(),
            seed: 42,
            launches: 14,
            max_launches: 14,
            elapsed_s: Some(580.0),
            again: Again { plan: None, command: "dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3".to_owned() },
        },
        tells: "the CPU cost of foreground operations on data that fits in the block cache".to_owned(),
        does_not_tell: "write amplification, write stalls, tail latency and anything that waits for a device"
            .to_owned(),
        base: BASE.to_owned(),
        candidates: vec![CandidateView {
            groups: vec![GroupRow {
                group: Group::Writes,
                side: 1,
                members: 2,
                slower: 0,
                faster: 1,
                unchanged: 0,
                inconclusive: 1,
                mean: Some(Interval { ratio: 1.012, low: Some(0.981), high: Some(1.044), confidence: 0.995 }),
                verdict: Verdict::Inconclusive,
                worst: Some((
                    "overwrite".to_owned(),
                    Interval { ratio: 0.986, low: Some(0.94), high: None, confidence: 0.9975 },
                )),
                quoted: Some(Quoted {
                    min: 0.986,
                    min_step: "overwrite".to_owned(),
                    max: 1.039,
                    max_step: "fillseq".to_owned(),
                    avg: 1.0125,
                    median: 1.0125,
                }),
            }],
            side: 1,
            subject: CANDIDATE.to_owned(),
            summary: summary::sentence(&rows, CANDIDATE, BASE, 0.02),
            rows,
            differs: differs(),
        }],
        margin: 0.02,
        alpha: 0.01,
        host: Host {
            name: "bench-1".to_owned(),
            boot_id: "b".to_owned(),
            kernel: "6.8.0-45-generic".to_owned(),
            cpu_model: "AMD EPYC 7763".to_owned(),
            cpus: 8,
            memory_bytes: 64 << 30,
            governor: Some("performance".to_owned()),
            virtual_machine: true,
            load_1m: Some("0.12".to_owned()),
            ..Host::default()
        },
        warnings: vec![RunWarning {
            step: None,
            id: "busy-host".to_owned(),
            text: "load average 3.1 on 8 CPUs when the run began: other processes take part of the time"
                .to_owned(),
        }],
        of_servers: false,
        cost: Some(HarnessCost {
            sampler_core_percent: 0.31,
            block_edge_us: 412.0,
            client_cpu_ns_per_op: Some(163.0),
            controller_peak_bytes: 21 << 20,
            worker_heap_peak_bytes: 3 << 20,
            step_pauses: None,
        }),
        trials: Trials {
            done: 118,
            failed: 2,
            skipped: 0,
            reasons: vec![TrialReason {
                step: "overwrite".to_owned(),
                subject: CANDIDATE.to_owned(),
                skipped: false,
                reason: "the worker was killed by signal 11".to_owned(),
                launches: vec![3, 4],
            }],
        },
        shapes: vec![shape_row(BASE, 64), shape_row(CANDIDATE, 61)],
    }
}
