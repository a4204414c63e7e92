//! A comparison in which every kind of verdict occurs.

use findings::comparison::{
    BothSides, ComparedMetric, ComparedStep, GroupRow, Interval, MovedCounter, Quoted, ShapeRow, StepView,
    TimeParts, TrialReason, Trials, Worst,
};
use findings::differs::{Difference, DifferenceKind};
use findings::judge::Evidence;
use findings::{ComparedRun, Comparison, Finding};
use model::block::Side;
use model::counter::Counter;
use model::event::Moment;
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::record::{RunRecord, RunWarning};
use model::shape::{Level, Shape};
use model::units::Bytes;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use model::workload::Group;
use testing::compared::{self, EQUAL};

pub(super) const CANDIDATE: &str = "rocksdb@8.7.3";

/// Values of base and candidate, and the ends of the interval of their ratio; an infinite one is not bounded.
type Measured = [f64; 4];

fn metric(metric: Metric, [base, candidate, low, high]: Measured) -> ComparedMetric {
    let end = |end: f64| Some(end).filter(|end| end.is_finite());
    ComparedMetric {
        metric,
        base: Some(base),
        candidate: Some(candidate),
        ratio: Some(candidate / base),
        low: end(low),
        high: end(high),
        confidence: Some(0.99),
        error: None,
        repeats: 0,
        moved: None,
    }
}

fn rates(wall: Measured, adjusted: Measured, cpu: Measured) -> Vec<ComparedMetric> {
    vec![
        metric(Metric::OpsPerSecond, wall),
        metric(Metric::OpsPerSecondAdjusted, adjusted),
        metric(Metric::CpuMicrosPerOp, cpu),
    ]
}

fn counter(counter: Counter, measured: Measured, moved: bool) -> ComparedMetric {
    let moved = MovedCounter { moved, score: if moved { 8.0 } else { 0.4 }, twin_of: None };
    ComparedMetric {
        confidence: Some(0.99),
        moved: Some(moved),
        ..metric(Metric::Counter(counter), measured)
    }
}

/// A warning of which only the sentence matters.
pub(super) fn note(id: &str, text: &str) -> Warning {
    Warning::Recorded { id: id.to_owned(), text: text.to_owned() }
}

fn time(base: [f64; 3], candidate: [f64; 3]) -> Option<TimeParts> {
    let part = |index: usize| BothSides { base: base[index], candidate: candidate[index] };
    let wall = BothSides { base: base.iter().sum(), candidate: candidate.iter().sum() };
    Some(TimeParts { wall, cpu: part(0), run_delay: part(1), other: part(2) })
}

fn readrandom() -> ComparedStep {
    let mut metrics = rates(
        [612_345.2, 587_238.6, 0.948, 0.970],
        [614_000.0, 589_000.0, 0.950, 0.968],
        [1.634, 1.702, 1.031, 1.052],
    );
    metrics.extend([
        counter(Counter::MinorFaults, [0.011, 0.0112, 0.97, 1.05], false),
        counter(Counter::VoluntarySwitches, [0.02, 0.031, 1.41, 1.70], true),
        counter(Counter::ReadCalls, [0.41, 0.55, 1.29, 1.39], true),
    ]);
    ComparedStep {
        side: 1,
        verdict: Verdict::Regression,
        layout: Some(Layout::Beyond),
        decides: Some(Metric::OpsPerSecond),
        confirmed: true,
        discovered: false,
        p_value: Some(0.0004),
        repeats: 14,
        seconds: 28.2,
        metrics,
        time: time([1.62, 0.004, 0.01], [1.69, 0.004, 0.011]),
        visible_change: Some(0.018),
        warnings: Vec::new(),
    }
}

fn seekrandom() -> ComparedStep {
    let mut metrics = rates(
        [98_321.0, 98_544.0, 0.974, 1.028],
        [99_001.0, 99_130.0, 0.991, 1.012],
        [10.12, 10.11, 0.992, 1.006],
    );
    metrics.push(counter(Counter::ReadCalls, [1.2, 1.21, 0.99, 1.02], false));
    ComparedStep {
        verdict: Verdict::NoChange,
        layout: Some(Layout::Within),
        decides: Some(Metric::OpsPerSecondAdjusted),
        confirmed: false,
        p_value: Some(0.41),
        metrics,
        time: time([10.0, 0.12, 0.05], [9.99, 0.11, 0.05]),
        visible_change: Some(0.031),
        warnings: vec![Warning::ContentionAdjusted],
        ..readrandom()
    }
}

fn fillseq() -> ComparedStep {
    ComparedStep {
        verdict: Verdict::Improvement,
        layout: Some(Layout::Beyond),
        confirmed: false,
        p_value: Some(0.008),
        metrics: rates(
            [1_204_117.0, 1_251_080.0, 1.004, f64::INFINITY],
            [1_310_000.0, 1_360_000.0, 1.011, 1.070],
            [2.31, 2.22, 0.93, 0.99],
        ),
        time: time([0.81, 0.01, 0.01], [0.78, 0.01, 0.01]),
        visible_change: Some(0.042),
        ..readrandom()
    }
}

fn overwrite() -> ComparedStep {
    let machine = "too noisy: seeing a change of 2 % here would need about 410 launches, of at most 14; \
                   run `dbdyno doctor`, or use a quieter host";
    let mut metrics = rates(
        [402_900.0, 391_004.0, 0.81, 1.17],
        [455_000.0, 449_000.0, 0.90, 1.07],
        [4.92, 5.33, 1.02, 1.14],
    );
    metrics.push(counter(Counter::StorageWriteBytes, [911.0, 1298.0, 1.31, 1.54], true));
    ComparedStep {
        verdict: Verdict::Inconclusive,
        layout: None,
        confirmed: false,
        p_value: Some(0.52),
        repeats: 8,
        metrics,
        time: time([1.9, 0.3, 0.28], [2.0, 0.29, 0.27]),
        visible_change: Some(0.187),
        warnings: vec![note("machine-too-noisy", machine)],
        ..readrandom()
    }
}

fn readwhilewriting() -> ComparedStep {
    let none = |metric: ComparedMetric| ComparedMetric {
        base: None,
        candidate: None,
        ratio: None,
        low: None,
        high: None,
        confidence: None,
        ..metric
    };
    let dropped = "dropped: the budget allows 7 launches of all steps, 9 are the least (after launch 1)";
    ComparedStep {
        verdict: Verdict::RatioOnly,
        layout: None,
        confirmed: false,
        p_value: None,
        repeats: 0,
        seconds: 0.0,
        metrics: rates([1.0; 4], [1.0; 4], [1.0; 4]).into_iter().map(none).collect(),
        time: None,
        visible_change: None,
        warnings: vec![Warning::NoLaunches, note("dropped", dropped)],
        ..readrandom()
    }
}

fn step(name: &str, group: Group, mut case: ComparedStep) -> StepView {
    case.metrics.iter_mut().for_each(|metric| metric.repeats = case.repeats);
    StepView {
        name: name.to_owned(),
        group,
        helper: false,
        columns: Vec::new(),
        rows: Vec::new(),
        cases: vec![case],
        shapes: Vec::new(),
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

fn shape_row(side: Side, megabytes: u64) -> ShapeRow {
    let level = |files: u64, megabytes: u64| Level { files, bytes: Bytes::from_mib(megabytes) };
    ShapeRow {
        step: "overwrite".to_owned(),
        side,
        moment: Moment::After,
        launch: 14,
        shape: Shape {
            levels: vec![level(2, 24), level(4, megabytes), Level::default(), level(11, 128)],
            memtable: Bytes(3_200_000),
            pending_compaction: Bytes(0),
        },
    }
}

fn record() -> RunRecord {
    let mut record = compared::record(&EQUAL);
    record.ended_at_us = Some(581_000_000);
    record.plan.seed = 42;
    let workload = &mut record.plan.workload;
    workload.name = "quick".to_owned();
    workload.tells = "the CPU cost of foreground operations on data that fits in the block cache".to_owned();
    workload.does_not_tell =
        "write amplification, write stalls, tail latency and anything that waits for a device".to_owned();
    let figure = |name: &str, value, spread| HostFigure { name: name.to_owned(), value, spread };
    record.fingerprint = Some(Fingerprint {
        at_us: 1_793_000_000_000_000,
        host: "bench-1".to_owned(),
        boot_id: "b".to_owned(),
        device: Some("nvme0n1".to_owned()),
        figures: vec![figure("memory_latency_ns", 181.4, 0.012), figure("fsync_us", 308.25, 0.21)],
    });
    record.host = Host {
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
    };
    record.cost = Some(HarnessCost {
        sampler_core_percent: 0.31,
        block_edge_us: 412.0,
        client_cpu_ns_per_op: Some(163.0),
        controller_peak_bytes: 21 << 20,
        worker_heap_peak_bytes: 3 << 20,
        step_pauses: None,
    });
    record
}

/// A comparison with five steps, one of each kind.
pub(super) fn comparison() -> Comparison {
    let mut view = Comparison::of(&record(), &Evidence::default());
    let load = "load average 3.1 on 8 CPUs when the run began: other processes take part of the time";
    view.warnings = vec![RunWarning { step: None, warning: note("busy-host", load) }];
    view.subjects[1].differs = differs();
    view.steps = vec![
        step("fillseq", Group::Writes, fillseq()),
        step("overwrite", Group::Writes, overwrite()),
        step("readwhilewriting", Group::Point, readwhilewriting()),
        step("readrandom", Group::Point, readrandom()),
        step("seekrandom", Group::Range, seekrandom()),
    ];
    view.steps[1].shapes = vec![shape_row(0, 64), shape_row(1, 61)];
    view.groups = vec![GroupRow {
        group: Group::Writes,
        candidate: CANDIDATE.to_owned(),
        side: 1,
        members: 2,
        slower: 0,
        faster: 1,
        unchanged: 0,
        inconclusive: 1,
        mean: Some(Interval { ratio: 1.012, low: Some(0.981), high: Some(1.044), confidence: 0.99 }),
        verdict: Verdict::Inconclusive,
        worst: Some(Worst {
            step: "overwrite".to_owned(),
            interval: Interval { ratio: 0.986, low: Some(0.94), high: None, confidence: 0.9975 },
        }),
        quoted: Some(Quoted {
            min: 0.986,
            min_step: "overwrite".to_owned(),
            max: 1.039,
            max_step: "fillseq".to_owned(),
            avg: 1.0125,
            median: 1.0125,
        }),
    }];
    view.trials = Trials {
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
    };
    view
}

/// A view with the record that the others of it were made from.
pub(super) fn finding(view: Comparison) -> Finding {
    Finding::Comparison(Box::new(ComparedRun { view, record: record(), host: Vec::new() }))
}

/// Of a record what it says.
pub(super) fn found(record: &RunRecord) -> Finding {
    let view = Comparison::of(record, &Evidence::default());
    Finding::Comparison(Box::new(ComparedRun { view, record: record.clone(), host: Vec::new() }))
}
