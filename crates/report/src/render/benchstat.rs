//! Verdicts in the layout of Go's benchstat, so that eyes trained on it find their way: a row for each step, the base
//! and each candidate with the spread of their repeats, then the change with p and n.
//!
//! What the numbers mean is ours: the change is that of the pairs, and `~` stands wherever no difference was found.

use crate::comparison::cautions;
use crate::render::layout::printable;
use analysis::launch::Totals;
use analysis::student;
use findings::comparison::{ComparedMetric, ComparedStep, GroupRow, StepView};
use findings::judge::Case;
use findings::{ComparedRun, Comparison};
use model::block::{BASE, Side};
use model::metric::Metric;
use model::record::RunRecord;
use model::verdict::Verdict;
use model::workload::Group;
use std::collections::BTreeMap;

/// The metrics that have a table of their own, with their units in its head.
const SHOWN: [(Metric, &str); 2] = [(Metric::OpsPerSecond, "op/s"), (Metric::CpuMicrosPerOp, "CPU-sec/op")];

/// Confidence of the spread of one side, as in benchstat.
const SPREAD_ALPHA: f64 = 0.05;

/// Half width of the interval of one side's mean, as a share of it, by step, candidate, side and metric. The base's
/// differs from candidate to candidate where their launches do.
type Spreads = BTreeMap<SpreadKey, f64>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SpreadKey {
    step: String,
    candidate: Side,
    side: Side,
    metric: Metric,
}

/// The verdicts of a run.
pub fn render(run: &ComparedRun) -> String {
    let spreads = spreads(run);
    let run = &run.view;
    let mut lines = head(run);
    for (metric, unit) in SHOWN {
        let table = Table { run, spreads: &spreads, metric, unit };
        if table.steps().next().is_none() {
            continue;
        }
        lines.push(String::new());
        lines.extend(aligned(&table.cells()));
    }
    lines.push(String::new());
    lines.extend(foot(run));
    lines.join("\n") + "\n"
}

/// Keys and values over the tables.
fn head(run: &Comparison) -> Vec<String> {
    let mut lines = vec![
        format!("run: {}", run.run.id),
        format!("status: {}", run.run.status.name()),
        format!("workload: {}", printable(&run.run.workload)),
        format!("host: {}", printable(&run.host.name)),
    ];
    if !run.host.cpu_model.is_empty() {
        lines.push(format!("cpu: {}", printable(&run.host.cpu_model)));
    }
    lines
}

struct Table<'a> {
    run: &'a Comparison,
    spreads: &'a Spreads,
    metric: Metric,
    unit: &'static str,
}

impl Table<'_> {
    /// Whether verdicts stand in it. They may be those of the contention-adjusted rate.
    fn is_of_rates(&self) -> bool {
        self.metric == Metric::OpsPerSecond
    }

    /// The steps of which some side has a value, in the order of the workload.
    fn steps(&self) -> impl Iterator<Item = &StepView> {
        self.run.judged_steps().filter(|step| step.cases.iter().any(|case| self.value(case).is_some()))
    }

    fn value<'a>(&self, case: &'a ComparedStep) -> Option<&'a ComparedMetric> {
        case.metric(self.metric).filter(|known| known.base.or(known.candidate).is_some())
    }

    /// Two lines of heads, then a row for each step and each group that has a mean.
    fn cells(&self) -> Vec<Vec<String>> {
        let mut names = vec![String::new(), printable(&self.run.base)];
        let mut units = vec![String::new(), self.unit.to_owned()];
        for candidate in self.run.candidates() {
            names.extend([printable(&candidate.subject), String::new()]);
            units.extend([self.unit.to_owned(), "vs base".to_owned()]);
        }
        let mut rows = vec![names, units];
        rows.extend(self.steps().map(|step| self.row(step)));
        if self.is_of_rates() {
            rows.extend(self.means());
        }
        rows
    }

    fn row(&self, step: &StepView) -> Vec<String> {
        let with_base = step.cases.iter().find_map(|case| Some((case.side, self.value(case)?.base?)));
        let base = with_base.map(|(candidate, base)| self.measured(base, step, candidate, BASE));
        let mut cells = vec![printable(&step.name), base.unwrap_or_default()];
        for candidate in self.run.candidates() {
            let case = step.case(candidate.side);
            let value = case.and_then(|case| self.value(case)?.candidate);
            let of = |value| self.measured(value, step, candidate.side, candidate.side);
            cells.push(value.map(of).unwrap_or_default());
            cells.push(case.map(|case| self.against_base(step, case)).unwrap_or_default());
        }
        cells
    }

    /// `612.3k ± 1%`
    fn measured(&self, value: f64, step: &StepView, candidate: Side, side: Side) -> String {
        let key = SpreadKey { step: step.name.clone(), candidate, side, metric: self.metric };
        let spread = match self.spreads.get(&key) {
            Some(spread) => format!("{:.0}%", 100.0 * spread),
            None => "\u{221e}".to_owned(),
        };
        let base_units = if self.is_of_rates() { value } else { value / 1e6 };
        format!("{} \u{b1} {spread}", scaled(base_units))
    }

    /// `-4.10% (p=0.000 n=14)`, `~ (p=0.410 n=14)`; why a step was not measured stands below.
    fn against_base(&self, step: &StepView, case: &ComparedStep) -> String {
        if self.run.not_measured(step, case).is_some() {
            return "not measured".to_owned();
        }
        let n = case.repeats;
        if !self.is_of_rates() {
            let Some(value) = self.value(case) else { return String::new() };
            let is_shown = value.excludes_one() || value.confidence.is_none();
            let change = value.ratio.filter(|_| is_shown).map_or_else(|| "~".to_owned(), percent);
            return format!("{change} (n={n})");
        }
        let p = case.p_value.map(|p| format!("p={p:.3} ")).unwrap_or_default();
        let change = case.ratio().map_or_else(|| "~".to_owned(), percent);
        match case.verdict {
            Verdict::Regression | Verdict::Improvement => format!("{change} ({p}n={n})"),
            Verdict::NoChange | Verdict::Inconclusive => format!("~ ({p}n={n})"),
            Verdict::Suspect => format!("{change} ({p}n={n}, suspect, not proven)"),
            Verdict::RatioOnly => format!("{change} (n={n}, no verdict)"),
        }
    }

    /// Geometric means by group, if several steps have one.
    fn means(&self) -> Vec<Vec<String>> {
        let groups = &self.run.groups;
        let mut labels: Vec<(Group, u32)> = Vec::new();
        for row in groups.iter().filter(|row| row.members > 1 && row.mean.is_some()) {
            if !labels.iter().any(|(group, _)| *group == row.group) {
                labels.push((row.group, row.members));
            }
        }
        let of = |group: Group, side: Side| groups.iter().find(|row| row.group == group && row.side == side);
        let row = |(group, members): (Group, u32)| {
            let mut cells = vec![format!("geomean {}, {members} steps", group.name()), String::new()];
            for candidate in self.run.candidates() {
                cells.extend([String::new(), of(group, candidate.side).map(mean).unwrap_or_default()]);
            }
            cells
        };
        labels.into_iter().map(row).collect()
    }
}

fn mean(row: &GroupRow) -> String {
    let Some(mean) = row.mean else { return String::new() };
    match row.verdict {
        Verdict::Regression | Verdict::Improvement => percent(mean.ratio),
        Verdict::NoChange | Verdict::Inconclusive => "~".to_owned(),
        Verdict::Suspect | Verdict::RatioOnly => format!("{} (no verdict)", percent(mean.ratio)),
    }
}

/// `-4.10%`
fn percent(ratio: f64) -> String {
    format!("{:+.2}%", 100.0 * (ratio - 1.0))
}

/// Four digits with the prefix of a power of 1000: `612.3k`, `1.634µ`.
fn scaled(value: f64) -> String {
    const PREFIXES: [(f64, &str); 8] = [
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "\u{b5}"),
        (1e-9, "n"),
    ];
    let (unit, prefix) = PREFIXES
        .into_iter()
        // What would be rounded up to 1000 takes the next prefix.
        .find(|(unit, _)| value.abs() >= 0.99995 * unit)
        .unwrap_or((1.0, ""));
    let scaled = value / unit;
    match scaled.abs() {
        99.995.. => format!("{scaled:.1}{prefix}"),
        9.9995..99.995 => format!("{scaled:.2}{prefix}"),
        _ => format!("{scaled:.3}{prefix}"),
    }
}

/// Columns of equal width: the first to the left, values to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let space = " ".repeat(width - cell.chars().count());
            // The change is read from its sign on, its p and n behind it.
            let to_the_left = column == 0 || (column > 2 && column % 2 == 1);
            if to_the_left { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// What must not be overlooked.
fn foot(run: &Comparison) -> Vec<String> {
    let mut lines = vec![format!(
        "\u{b1} is the half width of the 95% interval of one side over its {}; vs base and p are of the pairs; n counts \
         {}; ~ means no difference found; \u{221e} stands where there are fewer than three.",
        run.repeats.many(),
        run.repeats.many()
    )];
    let named =
        |(step, case): (&StepView, &ComparedStep)| format!("{} of {}", step.name, run.name(case.side));
    let alone = run.cases().filter(|(_, case)| case.is_alone());
    lines.extend(
        alone.map(|one| format!("{}: significant alone, but not after correction for all steps", named(one))),
    );
    let (without, with): (Vec<_>, Vec<_>) = run
        .cases()
        .map(|(step, case)| ((step, case), run.not_measured(step, case)))
        .partition(|(_, reason)| reason.is_some());
    for (one, _) in with {
        lines.extend(one.1.warnings.iter().map(|warning| format!("{}: {warning}", named(one))));
    }
    lines.extend(
        without
            .into_iter()
            .filter_map(|(one, reason)| Some(format!("{}: not measured: {}", named(one), reason?))),
    );
    lines.extend(cautions(run));
    lines.into_iter().map(|line| printable(&line)).collect()
}

/// Of every step and side of a run: over the launches that a verdict rests on, or over the rounds that count.
fn spreads(run: &ComparedRun) -> Spreads {
    let mut spreads = Spreads::new();
    for step in &run.view.steps {
        of_rounds(step, &run.view, &mut spreads);
        if step.rows.is_empty() {
            for case in &step.cases {
                of_launches(step, case, &run.record, &mut spreads);
            }
        }
    }
    spreads
}

fn of_launches(step: &StepView, case: &ComparedStep, record: &RunRecord, spreads: &mut Spreads) {
    let Some(definition) = record.plan.workload.steps.iter().find(|one| one.name == step.name) else {
        return;
    };
    let launches = Case::of(record, definition, case.side).summaries();
    let judged = &launches[..launches.len().min(case.repeats as usize)];
    let base: Vec<&Totals> = judged.iter().map(|launch| &launch.base).collect();
    let candidate: Vec<&Totals> = judged.iter().map(|launch| &launch.candidate).collect();
    for (side, launches) in [(BASE, base), (case.side, candidate)] {
        let rates = launches.iter().map(|totals| totals.operations / totals.wall_s).collect();
        // Absent where any launch has none: the server is not ours.
        let costs: Option<Vec<f64>> =
            launches.iter().map(|totals| Some(totals.process_cpu_s? / totals.operations)).collect();
        for ((metric, _), values) in SHOWN.into_iter().zip([rates, costs.unwrap_or_default()]) {
            let key = SpreadKey { step: step.name.clone(), candidate: case.side, side, metric };
            spreads.extend(spread(&values).map(|spread| (key, spread)));
        }
    }
}

fn of_rounds(step: &StepView, view: &Comparison, spreads: &mut Spreads) {
    for row in &step.rows {
        for (metric, _) in SHOWN {
            let values: Vec<f64> = row.rounds.iter().filter_map(|(_, values)| values.get(metric)).collect();
            let Some(spread) = spread(&values) else { continue };
            // The base is the same beside every candidate.
            let candidates: Vec<Side> = match row.side {
                BASE => view.subjects.iter().map(|subject| subject.side).collect(),
                side => vec![side],
            };
            spreads.extend(candidates.into_iter().map(|candidate| {
                (SpreadKey { step: step.name.clone(), candidate, side: row.side, metric }, spread)
            }));
        }
    }
}

/// Half width of Student's interval of the mean of the logarithms, as a share; absent below three values.
fn spread(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if logarithms.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (low, high) = student::interval(&logarithms, SPREAD_ALPHA)?;
    Some((0.5 * (high - low)).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_four_digits_and_a_prefix() {
        let values = [612_345.2, 1_204_117.0, 1.634e-6, 0.999_96, 999.96, 12.344, 3e-10, 0.0];
        let expected = ["612.3k", "1.204M", "1.634\u{b5}", "1.000", "1.000k", "12.34", "0.000", "0.000"];
        assert_eq!(values.map(scaled), expected);
        assert_eq!([0.9590, 1.2].map(percent), ["-4.10%", "+20.00%"]);
    }

    #[test]
    fn a_spread_needs_three_values_and_is_a_share() {
        assert_eq!(spread(&[1.0, 2.0]), None);
        assert_eq!(spread(&[1.0, 0.0, 2.0]), None);
        let narrow = spread(&[100.0, 101.0, 99.0]).unwrap();
        // t(0.975, 2) = 4.303, sd of the logarithms 0.01, over the root of 3.
        assert!((narrow - 0.0252).abs() < 0.0005, "{narrow}");
        let other_unit = spread(&[700.0, 707.0, 693.0]).unwrap();
        assert!((narrow - other_unit).abs() < 1e-12, "{narrow} {other_unit}");
    }
}
