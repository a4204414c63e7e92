//! Verdicts in the layout of Go's benchstat, so that eyes trained on it find their way: a row for each step, the base
//! and each candidate with the spread of their repeats, then the change with p and n.
//!
//! What the numbers mean is ours: the change is that of the pairs, and `~` stands wherever no difference was found.

mod spread;

use crate::campaign::CampaignView;
use crate::groups::GroupRow;
use crate::layout::printable;
use crate::verdicts::{self, ComparedMetric, RunVerdicts, StepVerdict};
use crate::view::ReportView;
use model::block::{BASE, Side};
use model::record::RunRecord;
use model::verdict::Verdict;
use spread::{SpreadKey, Spreads};

/// The metrics that have a table of their own, with their units in its head.
const SHOWN: [(&str, &str); 2] = [("ops_per_s", "op/s"), ("cpu_us_per_op", "CPU-sec/op")];

/// The verdicts of a comparison; the record is that of the view.
pub fn of_comparison(view: &ReportView, record: &RunRecord) -> String {
    let groups: Vec<&GroupRow> = view.candidates.iter().flat_map(|candidate| &candidate.groups).collect();
    render(&verdicts::of_comparison(view), &spread::of_launches(view, record), &groups)
}

/// The verdicts of a campaign.
pub fn of_campaign(view: &CampaignView) -> String {
    let groups: Vec<&GroupRow> = view.groups.iter().collect();
    render(&verdicts::of_campaign(view), &spread::of_rounds(view), &groups)
}

fn render(run: &RunVerdicts<'_>, spreads: &Spreads, groups: &[&GroupRow]) -> String {
    let mut lines = head(run);
    let candidates = candidates(run);
    for (metric, unit) in SHOWN {
        let table = Table { run, spreads, groups, candidates: &candidates, metric, unit };
        if table.steps().is_empty() {
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
fn head(run: &RunVerdicts<'_>) -> Vec<String> {
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

/// Side and name of each candidate.
fn candidates<'a>(run: &RunVerdicts<'a>) -> Vec<(Side, &'a str)> {
    let mut candidates: Vec<(Side, &str)> =
        run.steps.iter().map(|step| (step.side, step.candidate)).collect();
    candidates.dedup();
    candidates
}

struct Table<'a> {
    run: &'a RunVerdicts<'a>,
    spreads: &'a Spreads,
    groups: &'a [&'a GroupRow],
    candidates: &'a [(Side, &'a str)],
    metric: &'static str,
    unit: &'static str,
}

impl Table<'_> {
    /// Whether verdicts stand in it. They may be those of the contention-adjusted rate.
    fn is_of_rates(&self) -> bool {
        self.metric == SHOWN[0].0
    }

    /// The steps of which some side has a value, in the order of the workload.
    fn steps(&self) -> Vec<&str> {
        let mut steps: Vec<&str> = Vec::new();
        for step in &self.run.steps {
            if self.value(step).is_some() && !steps.contains(&step.step) {
                steps.push(step.step);
            }
        }
        steps
    }

    fn value(&self, step: &StepVerdict<'_>) -> Option<ComparedMetric> {
        let known = step.metrics.iter().find(|one| one.metric == self.metric)?;
        known.base.or(known.candidate).map(|_| *known)
    }

    /// Two lines of heads, then a row for each step and each group that has a mean.
    fn cells(&self) -> Vec<Vec<String>> {
        let mut names = vec![String::new(), printable(self.run.base)];
        let mut units = vec![String::new(), self.unit.to_owned()];
        for (_, candidate) in self.candidates {
            names.extend([printable(candidate), String::new()]);
            units.extend([self.unit.to_owned(), "vs base".to_owned()]);
        }
        let mut rows = vec![names, units];
        rows.extend(self.steps().into_iter().map(|step| self.row(step)));
        if self.is_of_rates() {
            rows.extend(self.means());
        }
        rows
    }

    fn row(&self, name: &str) -> Vec<String> {
        let of_candidate =
            |side: Side| self.run.steps.iter().find(|step| step.step == name && step.side == side);
        let with_base = self.candidates.iter().find_map(|(side, _)| {
            let step = of_candidate(*side)?;
            self.value(step)?.base.map(|base| (*side, base))
        });
        let base = with_base.map(|(candidate, base)| self.measured(base, name, candidate, BASE));
        let mut cells = vec![printable(name), base.unwrap_or_default()];
        for (side, _) in self.candidates {
            let step = of_candidate(*side);
            let value = step.and_then(|step| self.value(step));
            let candidate = value.and_then(|value| value.candidate);
            cells.push(candidate.map(|value| self.measured(value, name, *side, *side)).unwrap_or_default());
            cells.push(step.map(|step| self.against_base(step, value.as_ref())).unwrap_or_default());
        }
        cells
    }

    /// `612.3k ± 1%`
    fn measured(&self, value: f64, step: &str, candidate: Side, side: Side) -> String {
        let key = SpreadKey { step: step.to_owned(), candidate, side, metric: self.metric };
        let spread = match self.spreads.get(&key) {
            Some(spread) => format!("{:.0}%", 100.0 * spread),
            None => "\u{221e}".to_owned(),
        };
        let base_units = if self.is_of_rates() { value } else { value / 1e6 };
        format!("{} \u{b1} {spread}", scaled(base_units))
    }

    /// `-4.10% (p=0.000 n=14)`, `~ (p=0.410 n=14)`; why a step was not measured stands below.
    fn against_base(&self, step: &StepVerdict<'_>, value: Option<&ComparedMetric>) -> String {
        if step.not_measured.is_some() {
            return "not measured".to_owned();
        }
        let n = step.repeats;
        if !self.is_of_rates() {
            let Some(value) = value else { return String::new() };
            let moved = value.low.is_some_and(|low| low > 1.0) || value.high.is_some_and(|high| high < 1.0);
            let tested = value.confidence.is_some();
            let change = value.ratio.filter(|_| moved || !tested).map_or_else(|| "~".to_owned(), percent);
            return format!("{change} (n={n})");
        }
        let p = step.p_value.map(|p| format!("p={p:.3} ")).unwrap_or_default();
        let change = step.deciding.ratio.map_or_else(|| "~".to_owned(), percent);
        match step.verdict {
            Verdict::Regression | Verdict::Improvement => format!("{change} ({p}n={n})"),
            Verdict::NoChange | Verdict::Inconclusive => format!("~ ({p}n={n})"),
            Verdict::Suspect => format!("{change} ({p}n={n}, no more than a suspicion)"),
            Verdict::RatioOnly => format!("{change} (n={n}, no verdict)"),
        }
    }

    /// Geometric means by group, where several steps have one.
    fn means(&self) -> Vec<Vec<String>> {
        let mut labels: Vec<(model::workload::Group, u32)> = Vec::new();
        for row in self.groups.iter().filter(|row| row.members > 1 && row.mean.is_some()) {
            if !labels.iter().any(|(group, _)| *group == row.group) {
                labels.push((row.group, row.members));
            }
        }
        let of = |group: model::workload::Group, side: Side| {
            self.groups.iter().find(|row| row.group == group && row.side == side)
        };
        labels
            .into_iter()
            .map(|(group, members)| {
                let mut cells = vec![format!("geomean {}, {members} steps", group.name()), String::new()];
                for (side, _) in self.candidates {
                    let row = of(group, *side);
                    cells.extend([String::new(), row.map(|row| mean(row)).unwrap_or_default()]);
                }
                cells
            })
            .collect()
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
fn foot(run: &RunVerdicts<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        "\u{b1} is the half width of the 95% interval of one side over its {}; vs base and p are of the pairs; n counts \
         {}; ~ means no difference found; \u{221e} stands where there are fewer than three.",
        run.repeats.name(),
        run.repeats.name()
    )];
    let single = run
        .steps
        .iter()
        .filter(|step| matches!(step.verdict, Verdict::Regression | Verdict::Improvement) && !step.confirmed);
    lines.extend(single.map(|step| {
        format!("{} of {}: by itself only, not with all steps taken together", step.step, step.candidate)
    }));
    lines.extend(run.steps.iter().filter(|step| step.not_measured.is_none()).flat_map(|step| {
        step.notes.iter().map(move |note| format!("{} of {}: {}", step.step, step.candidate, note.text))
    }));
    lines.extend(run.steps.iter().filter_map(|step| {
        Some(format!("{} of {}: not measured: {}", step.step, step.candidate, step.not_measured.as_ref()?))
    }));
    lines.extend(run.cautions());
    lines.into_iter().map(|line| printable(&line)).collect()
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
}
