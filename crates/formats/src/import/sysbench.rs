//! Reports of sysbench as values.

use super::{Case, Source, percentile_metric, real};
use crate::sysbench::{Counted, SysbenchRun};
use model::import::ImportedValue;

/// What a test is called where the text has no command line.
const UNNAMED: &str = "sysbench";
/// What is said of the rate of a run that failed, or was cut off.
const NO_REPORT: &str = "no report";

/// The values of sysbench's reports, one after another: `ops_per_s` is of queries, of events where there are none. The
/// test is named after the script and the threads: `oltp_read_only.t8`, and `oltp_read_only.t8@10s` up to a checkpoint.
pub fn of_sysbench(runs: &[SysbenchRun], source: Source<'_>) -> Vec<ImportedValue> {
    runs.iter().flat_map(|run| of_run(run, source)).collect()
}

fn of_run(run: &SysbenchRun, source: Source<'_>) -> Vec<ImportedValue> {
    let mut step = run.script.clone().unwrap_or_else(|| UNNAMED.to_owned());
    step.extend(run.threads.map(|threads| format!(".t{threads}")));
    step.extend(run.checkpoint_s.map(|seconds| format!("@{seconds}s")));
    let place = format!("line {}", run.line);
    let case = Case { file: source.file, subject: source.subject, step: &step, place: &place };
    // Tables that are prepared have no threads.
    if !run.has_report() && run.threads.is_some() {
        return vec![case.said("ops_per_s", "ops/s", None, NO_REPORT)];
    }
    let mut values = Vec::new();
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    let counted = |counted: Option<Counted>| real(counted.map(|it| it.count));
    let rate = |counted: Option<Counted>| counted.and_then(|it| it.per_s);
    add("ops_per_s", "ops/s", run.ops_per_s());
    add("transactions_per_s", "1/s", rate(run.transactions));
    add("latency_us_min", "us", run.latency.us_min);
    add("latency_us_mean", "us", run.latency.us_mean);
    if let Some(percentile) = &run.latency.percentile {
        add(&percentile_metric(&percentile.percent), "us", Some(percentile.us));
    }
    add("latency_us_max", "us", run.latency.us_max);
    add("seconds", "s", run.seconds);
    add("operations", "", counted(run.queries).or(real(run.events)));
    add("transactions", "", counted(run.transactions));
    add("read_queries", "", real(run.queries_by_kind.read));
    add("write_queries", "", real(run.queries_by_kind.write));
    add("other_queries", "", real(run.queries_by_kind.other));
    add("ignored_errors_per_s", "1/s", rate(run.ignored_errors));
    add("reconnects_per_s", "1/s", rate(run.reconnects));
    add("thread_events_mean", "", run.fairness.events.map(|it| it.mean));
    add("thread_events_stddev", "", run.fairness.events.map(|it| it.stddev));
    add("thread_s_mean", "s", run.fairness.seconds.map(|it| it.mean));
    add("thread_s_stddev", "s", run.fairness.seconds.map(|it| it.stddev));
    values
}
