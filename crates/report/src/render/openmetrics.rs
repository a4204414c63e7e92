//! Verdicts as OpenMetrics 1.0 text, for a scraper or a push gateway: gauges in base units, verdicts as state sets.

use crate::comparison as sentences;
use findings::comparison::{ComparedMetric, ComparedStep, StepView};
use findings::{ComparedRun, Comparison};
use model::block::{BASE, Side};
use model::event::RunOutcome;
use model::metric::Metric;
use model::record::RunStatus;
use model::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use strum::VariantArray;

/// The verdicts of runs as one exposition.
pub fn render(runs: &[&ComparedRun]) -> String {
    let mut exposition = Exposition::default();
    for run in runs.iter().map(|run| &run.view) {
        of_run(run, &mut exposition);
        for (step, case) in run.cases() {
            of_step(step, case, run, &mut exposition);
        }
        values(run, &mut exposition);
    }
    exposition.text()
}

/// A name in base units, and what its values have to be multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BaseUnit {
    /// With its unit at the end: `cpu_per_op_seconds`.
    pub(crate) name: String,
    /// The unit at the end of the name; empty where there is none.
    pub(crate) unit: &'static str,
    pub(crate) factor: f64,
}

/// Our metric names have their unit where it reads well; the standard wants it at the end and in base units.
pub(crate) fn base_unit(metric: &str, unit: &str) -> BaseUnit {
    // What is taken out of the name, what stands at its end instead, and the factor.
    let (word, ending, factor) = match unit {
        "us" => ("us", "seconds", 1e-6),
        "ns" => ("ns", "seconds", 1e-9),
        "s" => ("s", "seconds", 1.0),
        "B" => ("bytes", "bytes", 1.0),
        "%" => ("percent", "ratio", 0.01),
        "1/s" => ("per_s", "per_second", 1.0),
        "B/s" => ("bytes_per_s", "bytes_per_second", 1.0),
        _ => return BaseUnit { name: metric.to_owned(), unit: "", factor: 1.0 },
    };
    let padded = format!("_{metric}_").replacen(&format!("_{word}_"), "_", 1);
    let name = match padded.trim_matches('_') {
        "" => ending.to_owned(),
        rest => format!("{rest}_{ending}"),
    };
    BaseUnit { name, unit: ending, factor }
}

/// Samples by metric: those of one metric stand together, whichever run they are of.
#[derive(Default)]
struct Exposition {
    /// In the order in which they first came.
    metrics: Vec<Samples>,
}

struct Samples {
    name: String,
    kind: Kind,
    unit: &'static str,
    help: String,
    samples: Vec<String>,
}

/// By the name that the standard has for it.
#[derive(Debug, Clone, Copy, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Kind {
    Gauge,
    Info,
    StateSet,
}

/// A metric, before its samples.
struct Described<'a> {
    name: &'a str,
    kind: Kind,
    /// Empty where there is none.
    unit: &'static str,
    help: &'a str,
}

type Labels<'a> = Vec<(&'a str, String)>;

impl Exposition {
    /// Adds a sample; one that is absent or no number is left out.
    fn add(&mut self, metric: &Described<'_>, labels: &Labels<'_>, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let place = self.metrics.iter().position(|known| known.name == metric.name).unwrap_or_else(|| {
            self.metrics.push(Samples {
                name: metric.name.to_owned(),
                kind: metric.kind,
                unit: metric.unit,
                help: metric.help.to_owned(),
                samples: Vec::new(),
            });
            self.metrics.len() - 1
        });
        let suffix = match metric.kind {
            Kind::Info => "_info",
            Kind::Gauge | Kind::StateSet => "",
        };
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        self.metrics[place].samples.push(format!("{}{suffix}{{{}}} {value}", metric.name, labels.join(",")));
    }

    /// One sample for each state, 1 for the one that holds.
    fn add_state<'a>(&mut self, metric: &Described<'a>, labels: &Labels<'a>, states: &[&str], holds: &str) {
        for state in states {
            let mut labels = labels.clone();
            labels.push((metric.name, (*state).to_owned()));
            self.add(metric, &labels, Some(if *state == holds { 1.0 } else { 0.0 }));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Samples { name, kind, unit, help, samples } in &self.metrics {
            let kind: &'static str = kind.into();
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {}", escaped(help));
            for sample in samples {
                let _ = writeln!(text, "{sample}");
            }
        }
        text.push_str("# EOF\n");
        text
    }
}

/// Label values and help texts: backslash, quote and line feed.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn gauge<'a>(name: &'a str, unit: &'static str, help: &'a str) -> Described<'a> {
    Described { name, kind: Kind::Gauge, unit, help }
}

fn state_set(name: &'static str, help: &'static str) -> Described<'static> {
    Described { name, kind: Kind::StateSet, unit: "", help }
}

fn of_run(run: &Comparison, exposition: &mut Exposition) {
    let labels: Labels<'_> = vec![("run", run.run.id.clone())];
    let with = |more: &[(&'static str, String)]| {
        let mut all = labels.clone();
        all.extend(more.iter().cloned());
        all
    };
    let info = Described { name: "dbdyno_run", kind: Kind::Info, unit: "", help: "Which run." };
    let facts = with(&[
        ("workload", run.run.workload.clone()),
        ("base", run.base.clone()),
        ("host", run.host.name.clone()),
        ("tool_version", run.run.tool_version.clone()),
        ("seed", run.run.seed.to_string()),
    ]);
    exposition.add(&info, &facts, Some(1.0));
    let states = [
        RunStatus::Ended(RunOutcome::Done),
        RunStatus::Ended(RunOutcome::Interrupted),
        RunStatus::Ended(RunOutcome::Failed),
        RunStatus::Unfinished,
    ]
    .map(RunStatus::name);
    let status = state_set("dbdyno_run_status", "How the run ended, or that it did not.");
    exposition.add_state(&status, &labels, &states, run.run.status.name());
    let elapsed = gauge("dbdyno_run_elapsed_seconds", "seconds", "Wall time of the run.");
    exposition.add(&elapsed, &labels, run.run.elapsed_s);
    let trials = gauge("dbdyno_run_trials", "", "Trials by how they ended.");
    for (outcome, count) in
        [("done", run.trials.done), ("failed", run.trials.failed), ("skipped", run.trials.skipped)]
    {
        exposition.add(&trials, &with(&[("outcome", outcome.to_owned())]), Some(f64::from(count)));
    }
    let set_aside = gauge(
        "dbdyno_run_set_aside",
        "",
        "Turns with trials that other processes disturbed, excluded from all statistics.",
    );
    exposition.add(&set_aside, &labels, Some(sentences::disturbed(run).len() as f64));
    let left_out = gauge("dbdyno_run_left_out", "", "Subjects that could not be measured.");
    for one in &run.left_out {
        let more = [("subject", one.reference.to_string()), ("reason", one.reason.clone())];
        exposition.add(&left_out, &with(&more), Some(1.0));
    }
    let warnings = gauge("dbdyno_run_warnings", "", "What a reader of the numbers must know, by its id.");
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for warning in &run.warnings {
        *counts.entry(warning.warning.id()).or_default() += 1;
    }
    for (id, count) in counts {
        exposition.add(&warnings, &with(&[("id", id.to_owned())]), Some(f64::from(count)));
    }
}

fn of_step(step: &StepView, case: &ComparedStep, run: &Comparison, exposition: &mut Exposition) {
    let labels = labels(step, case.side, run);
    let states: Vec<&str> = Verdict::VARIANTS.iter().map(|verdict| verdict.name()).collect();
    let verdict = state_set("dbdyno_step_verdict", "Verdict on the step.");
    exposition.add_state(&verdict, &labels, &states, case.verdict.name());
    let mut add = |name: &str, unit: &'static str, help: &str, value: Option<f64>| {
        exposition.add(&gauge(&format!("dbdyno_step_{name}"), unit, help), &labels, value);
    };
    let confirmed = if case.confirmed { 1.0 } else { 0.0 };
    add(
        "confirmed",
        "",
        "1 if the verdict holds after correction for all steps of the run.",
        Some(confirmed),
    );
    let deciding = |of: fn(&ComparedMetric) -> Option<f64>| case.deciding().and_then(of);
    add("relative_rate_ratio", "ratio", "Candidate over base.", case.ratio());
    add("relative_rate_low_ratio", "ratio", "Lower end of its interval.", deciding(|one| one.low));
    add("relative_rate_high_ratio", "ratio", "Upper end of its interval.", deciding(|one| one.high));
    add("confidence_ratio", "ratio", "Confidence of the interval.", deciding(|one| one.confidence));
    add("p_value", "", "p value of the step.", case.p_value);
    let repeats = "Launches or rounds that the verdict rests on.";
    add("repeats", "", repeats, Some(f64::from(case.repeats)));
    add("measured_seconds", "seconds", "Wall time of both sides in them.", Some(case.seconds));
}

/// The labels of a side in a step. Two sides can be the same subject, so the side is one of them.
fn labels(step: &StepView, side: Side, run: &Comparison) -> Labels<'static> {
    vec![
        ("run", run.run.id.clone()),
        ("workload", run.run.workload.clone()),
        ("step", step.name.clone()),
        ("group", step.group.name().to_owned()),
        ("subject", run.name(side).to_owned()),
        ("side", side.to_string()),
    ]
}

/// The values of both sides in every metric; the base's once, as beside the first candidate that has it.
fn values(run: &Comparison, exposition: &mut Exposition) {
    let mut known: BTreeSet<(&str, Metric)> = BTreeSet::new();
    for (step, case) in run.cases() {
        for value in &case.metrics {
            let unit = base_unit(value.metric.name(), value.metric.unit());
            let name = format!("dbdyno_value_{}", unit.name);
            let help = format!("{} in base units.", value.metric.name());
            let metric = gauge(&name, unit.unit, &help);
            let scaled = |value: Option<f64>| value.map(|value| value * unit.factor);
            if value.base.is_some() && known.insert((&step.name, value.metric)) {
                exposition.add(&metric, &labels(step, BASE, run), scaled(value.base));
            }
            exposition.add(&metric, &labels(step, case.side, run), scaled(value.candidate));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_with_its_unit_at_the_end() {
        let all: BTreeMap<&str, &str> = Metric::all().map(|metric| (metric.name(), metric.unit())).collect();
        let mut names: BTreeMap<String, &str> = BTreeMap::new();
        for (metric, unit) in &all {
            let base = base_unit(metric, unit);
            let with_prefix = format!("dbdyno_value_{}", base.name);
            assert!(base.unit.is_empty() || with_prefix.ends_with(&format!("_{}", base.unit)), "{base:?}");
            assert!(base.name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'));
            assert!(!base.name.contains("_us_") && !base.name.contains("_ns_"), "{base:?}");
            assert_eq!(names.insert(base.name, metric), None, "{metric}");
        }
        let named = |metric: &str| base_unit(metric, all[metric]).name;
        assert_eq!(named("cpu_us_per_op"), "cpu_per_op_seconds");
        assert_eq!(named("ops_per_s"), "ops_per_second");
        assert_eq!(named("ops_per_s_adjusted"), "ops_adjusted_per_second");
        assert_eq!(named("latency_us_p99"), "latency_p99_seconds");
        assert_eq!(named("disk_read_bytes_per_s_with_drain"), "disk_read_with_drain_bytes_per_second");
        assert_eq!(named("stall_percent"), "stall_ratio");
        assert_eq!(named("drain_s"), "drain_seconds");
        assert_eq!(named("write_amplification"), "write_amplification");
    }
}
