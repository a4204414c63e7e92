//! The tables of a post's results, and a paragraph for each finding of a comparison.

use crate::grids::{self, Column, Grid, Kind};
use crate::groups::{self, GroupRow};
use crate::layout::printable;
use crate::markdown::{escaped, table};
use crate::phrases;
use crate::verdicts::{RunVerdicts, StepVerdict};
use crate::view::{CandidateView, Figure, ReportView, StepRow};
use model::block::Side;
use model::figures::{NONE, chosen_percent, interval, quantity, quantity_or_none, ratio};
use model::plan::Plan;
use model::record::RunRecord;
use model::verdict::Verdict;
use std::borrow::Cow;

/// The base named, relative rates by group as the posts have them, then by step, then the rates themselves.
pub(super) fn tables(run: &RunVerdicts<'_>, groups: &[&GroupRow], record: &RunRecord) -> Vec<String> {
    let base = format!(
        "The base is {}: relative QPS is QPS of a candidate over QPS of the base; below 1 the candidate is slower.",
        run.base
    );
    let mut parts = vec![escaped(&base)];
    if !groups.is_empty() {
        parts.push("### Relative QPS by group".to_owned());
        parts.push(table(&by_group(groups, &record.plan)));
        parts.push(escaped(&groups_legend(run)));
    }
    let steps = steps(run);
    if !steps.is_empty() {
        parts.push("### Relative QPS by step".to_owned());
        parts.push(table(&by_step(run, &steps, relative)));
        parts.push(escaped(&legend(run)));
        parts.push("### QPS".to_owned());
        parts.push(table(&by_step(run, &steps, absolute)));
    }
    parts
}

fn groups_legend(run: &RunVerdicts<'_>) -> String {
    format!(
        "min, max, avg and median are of the single ratios of a group's steps: with more steps they lie further apart \
         where nothing changed. The geometric mean is over the {} in which all steps of the group have a value, and * \
         marks one whose interval leaves 1 out.",
        run.repeats.name()
    )
}

/// min, max, avg and median of single ratios, and the mean with its interval, which the posts have not.
fn by_group(groups: &[&GroupRow], plan: &Plan) -> Grid {
    let mut grid = Grid::new(&[
        ("group", Kind::Word),
        ("candidate", Kind::Name),
        ("steps", Kind::Number),
        ("min", Kind::Number),
        ("max", Kind::Number),
        ("avg", Kind::Number),
        ("median", Kind::Number),
        ("geometric mean", Kind::Number),
        ("interval", Kind::Word),
        ("min in", Kind::Name),
        ("max in", Kind::Name),
    ]);
    let mut rows: Vec<&&GroupRow> = groups.iter().collect();
    rows.sort_by_key(|row| (row.group, row.side));
    grid.rows = rows
        .into_iter()
        .map(|row| {
            let mut cells =
                vec![row.group.name().to_owned(), subject(plan, row.side), row.members.to_string()];
            let quoted = row.quoted.as_ref();
            let numbers = quoted.map(|of| [of.min, of.max, of.avg, of.median]);
            cells
                .extend(numbers.map_or([NONE; 4].map(str::to_owned), |of| of.map(|one| format!("{one:.2}"))));
            cells.push(groups::mean(row));
            cells.push(row.mean.map_or_else(|| NONE.to_owned(), |mean| interval(mean.low, mean.high)));
            cells.extend([
                quoted.map_or_else(|| NONE.to_owned(), |of| of.min_step.clone()),
                quoted.map_or_else(|| NONE.to_owned(), |of| of.max_step.clone()),
            ]);
            cells
        })
        .collect();
    grid
}

fn subject(plan: &Plan, side: Side) -> String {
    plan.subjects.get(side).map_or_else(|| format!("side {side}"), |subject| subject.reference.to_string())
}

/// Each step once, in the order of the workload.
fn steps<'a>(run: &RunVerdicts<'a>) -> Vec<&'a str> {
    let mut steps: Vec<&str> = Vec::new();
    for step in &run.steps {
        if !steps.contains(&step.step) {
            steps.push(step.step);
        }
    }
    steps
}

/// A row for each step: the base's rate, then a cell for each candidate.
fn by_step(run: &RunVerdicts<'_>, steps: &[&str], cell: fn(&StepVerdict<'_>) -> String) -> Grid {
    let mut candidates: Vec<(Side, &str)> =
        run.steps.iter().map(|step| (step.side, step.candidate)).collect();
    candidates.dedup();
    let mut columns = vec![
        Column { header: "step".into(), kind: Kind::Name },
        Column { header: Cow::Owned(format!("{}, 1/s", run.base)), kind: Kind::Number },
    ];
    columns.extend(
        candidates
            .iter()
            .map(|(_, name)| Column { header: Cow::Owned((*name).to_owned()), kind: Kind::Number }),
    );
    let of = |name: &str, side: Side| run.steps.iter().find(|step| step.step == name && step.side == side);
    let rows = steps.iter().map(|name| {
        let base = candidates.iter().find_map(|(side, _)| wall(of(name, *side)?).0);
        let mut cells = vec![(*name).to_owned(), quantity_or_none(base)];
        cells
            .extend(candidates.iter().map(|(side, _)| of(name, *side).map_or_else(|| NONE.to_owned(), cell)));
        cells
    });
    Grid { columns, rows: rows.collect() }
}

/// The wall rates of base and candidate.
fn wall(step: &StepVerdict<'_>) -> (Option<f64>, Option<f64>) {
    step.wall_rate().map_or((None, None), |rate| (rate.base, rate.candidate))
}

fn absolute(step: &StepVerdict<'_>) -> String {
    quantity_or_none(wall(step).1)
}

/// `0.959* [0.948, 0.970]`, `~ [0.991, 1.012]`; no number stands where it would be noise.
fn relative(step: &StepVerdict<'_>) -> String {
    let Some(center) = step.deciding.ratio else { return NONE.to_owned() };
    let interval = match (step.deciding.low, step.deciding.high) {
        (None, None) => String::new(),
        (low, high) => format!(" {}", interval(low, high)),
    };
    let shown = match (step.verdict, step.confirmed) {
        (Verdict::Regression | Verdict::Improvement, true) => format!("{}*", ratio(center)),
        (Verdict::Regression | Verdict::Improvement, false) => format!("{}'", ratio(center)),
        (Verdict::NoChange, _) => "~".to_owned(),
        (Verdict::Inconclusive, _) => "?".to_owned(),
        (Verdict::Suspect, _) => format!("{}s", ratio(center)),
        (Verdict::RatioOnly, _) => ratio(center),
    };
    let adjusted = if step.adjusted_mark().is_empty() { "" } else { " (adjusted)" };
    format!("{shown}{interval}{adjusted}")
}

fn legend(run: &RunVerdicts<'_>) -> String {
    format!(
        "* a difference that holds with all steps taken together, at {}; ' one that holds by itself only; ~ no \
         difference beyond {}; ? no difference found, nor ruled out; s no more than a suspicion; without a mark no \
         verdict; - not measured. In brackets the interval.{}",
        chosen_percent(1.0 - run.alpha),
        chosen_percent(run.margin),
        if run.steps.iter().any(|step| !step.adjusted_mark().is_empty()) {
            " Adjusted: of the rate from which the time spent waiting for a CPU is taken out."
        } else {
            ""
        }
    )
}

/// What differs between a candidate and the base beside the code: each of it may be the reason.
pub(super) fn differs(candidate: &CandidateView, view: &ReportView) -> Vec<String> {
    let tables = grids::differs(candidate).map(|grid| table(&grid));
    let lists = grids::differing_lists(candidate, view);
    let mut parts: Vec<String> = tables.into_iter().chain(lists.iter().map(|list| escaped(list))).collect();
    if !parts.is_empty() && view.candidates.len() > 1 {
        parts.insert(0, format!("### {}", escaped(&printable(&candidate.subject))));
    }
    parts
}

/// A paragraph for each step of a comparison that differs.
pub(super) fn of_rows(view: &ReportView) -> Vec<String> {
    let rows = view.candidates.iter().flat_map(|candidate| {
        candidate.rows.iter().filter(|row| row.is_directional()).map(move |row| (candidate, row))
    });
    rows.map(|(candidate, row)| paragraph(view, candidate, row)).collect()
}

fn paragraph(view: &ReportView, candidate: &CandidateView, row: &StepRow) -> String {
    let word = match row.verdict {
        Verdict::Regression => "slower",
        Verdict::Improvement => "faster",
        Verdict::Suspect | Verdict::NoChange | Verdict::Inconclusive | Verdict::RatioOnly => {
            "perhaps different, no more than a suspicion,"
        }
    };
    let mut sentences = vec![format!(
        "{} on {}: {word} than {}: {} (n = {}).",
        candidate.subject,
        row.step,
        view.base,
        change_of(row.deciding(), "operations per second"),
        row.launches
    )];
    if !row.confirmed {
        sentences.push("It holds by itself only, not with all steps taken together.".to_owned());
    }
    if row.cpu.ratio.is_some() {
        sentences.push(format!("CPU per operation: {}.", change_of(&row.cpu, "us")));
    }
    if !row.moved().is_empty() {
        sentences.push(format!(
            "Moved as well, per operation: {}. What moved with a rate is not thereby its cause.",
            phrases::moved(row)
        ));
    }
    sentences.join(" ")
}

/// "612,345 to 587,239 operations per second, ratio 0.959 [0.948, 0.970]".
fn change_of(figure: &Figure, unit: &str) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), quantity);
    let ratio = figure.ratio.map_or_else(|| NONE.to_owned(), ratio);
    format!(
        "{} to {} {unit}, ratio {ratio} {}",
        value(figure.base),
        value(figure.candidate),
        interval(figure.low, figure.high)
    )
}
