//! The tables of a campaign as cells, before any layout.

use super::columns::{Column, ColumnGroup, RATE};
use super::headers::broken;
use super::phrases;
use super::view::{CampaignView, Comparison, StepView, SubjectView};
use crate::grids::{Column as GridColumn, Grid, Kind};
use crate::groups::{self, GroupRow};
use crate::layout::{GREEN, RED, marked, printable};
use model::block::{BASE, Side};
use model::figures::{NONE, quantity};
use model::verdict::Verdict;
use model::workload::Group;

/// The steps that summaries are about.
pub(super) fn shown_steps(view: &CampaignView) -> Vec<&StepView> {
    view.steps.iter().filter(|step| !step.helper).collect()
}

/// Relative rates: a row for each subject, a column for each step; the last row has the base's rates.
/// `header_width` is the most that a header takes.
pub(super) fn relative_rates(view: &CampaignView, header_width: usize) -> Grid {
    let steps = shown_steps(view);
    let mut columns = vec![GridColumn { header: "rate, relative".into(), kind: Kind::Name }];
    columns.extend(steps.iter().map(|step| GridColumn {
        header: broken(&printable(&step.name), header_width).into(),
        kind: Kind::Number,
    }));
    let mut rows: Vec<Vec<String>> = view
        .subjects
        .iter()
        .map(|subject| {
            let cells = steps.iter().map(|step| relative_cell(step, subject, view.margin));
            std::iter::once(subject.label.clone()).chain(cells).collect()
        })
        .collect();
    let base = steps.iter().map(|step| mean(step, BASE, RATE).map_or_else(|| NONE.to_owned(), short));
    rows.push(std::iter::once("base, ops/s".to_owned()).chain(base).collect());
    Grid { columns, rows }
}

/// Groups in short: a row for each candidate, a column for each group with its geometric mean.
pub(super) fn group_means(view: &CampaignView) -> Option<Grid> {
    let mut groups: Vec<Group> = view.groups.iter().map(|row| row.group).collect();
    groups.dedup();
    if groups.is_empty() {
        return None;
    }
    let mut columns = vec![GridColumn { header: "group, geometric mean".into(), kind: Kind::Name }];
    columns.extend(groups.iter().map(|group| GridColumn { header: group.name().into(), kind: Kind::Number }));
    let candidates = view.subjects.iter().filter(|subject| subject.side != BASE);
    let rows = candidates.map(|subject| {
        let cell = |group: &Group| {
            let row = view.groups.iter().find(|row| row.group == *group && row.side == subject.side);
            row.map_or_else(|| NONE.to_owned(), groups::mean)
        };
        std::iter::once(subject.label.clone()).chain(groups.iter().map(cell)).collect()
    });
    Some(Grid { rows: rows.collect(), columns })
}

/// One group in full: a row for each candidate, with what the posts say of it.
pub(super) fn group_details(view: &CampaignView, group: Group) -> Option<Grid> {
    let of_group: Vec<(String, &GroupRow)> =
        view.groups.iter().filter(|row| row.group == group).map(|row| (label(view, row.side), row)).collect();
    (!of_group.is_empty()).then(|| groups::grid(&format!("group {}", group.name()), &of_group))
}

fn relative_cell(step: &StepView, subject: &SubjectView, margin: f64) -> String {
    if subject.side == BASE {
        let measured = mean(step, BASE, RATE).is_some();
        return if measured { "1.00".to_owned() } else { NONE.to_owned() };
    }
    let Some(comparison) = deciding(step, subject.side) else { return NONE.to_owned() };
    let text = phrases::relative_rate(comparison, margin);
    match comparison.verdict {
        Verdict::Regression => marked(RED, &text),
        Verdict::Improvement => marked(GREEN, &text),
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => text,
    }
}

/// The comparison of a candidate that carries the verdict of a step.
pub(super) fn deciding(step: &StepView, side: Side) -> Option<&Comparison> {
    step.comparisons.iter().find(|comparison| comparison.side == side && comparison.decides)
}

fn mean(step: &StepView, side: Side, metric: &str) -> Option<f64> {
    step.rows.iter().find(|row| row.side == side)?.mean.get(metric)
}

/// A rate in few characters: `612K`, `1.2M`.
fn short(rate: f64) -> String {
    match rate {
        10_000_000.0.. => format!("{:.0}M", rate / 1e6),
        1_000_000.0..10_000_000.0 => format!("{:.1}M", rate / 1e6),
        10_000.0..1_000_000.0 => format!("{:.0}K", rate / 1e3),
        1000.0..10_000.0 => format!("{:.1}K", rate / 1e3),
        _ => quantity(rate),
    }
}

/// The columns of one group of a step, a row for each subject; absent where no trial has any of them.
pub(super) fn group(step: &StepView, group: ColumnGroup, view: &CampaignView) -> Option<Grid> {
    let columns: Vec<&'static Column> =
        step.columns.iter().copied().filter(|column| column.group == group).collect();
    if columns.is_empty() {
        return None;
    }
    let mut grid_columns = vec![GridColumn {
        header: format!("{}\n{}", printable(&step.name), group.title()).into(),
        kind: Kind::Name,
    }];
    grid_columns
        .extend(columns.iter().map(|column| GridColumn { header: column.header.into(), kind: Kind::Number }));
    let rows = step.rows.iter().map(|row| {
        let label = label(view, row.side);
        let cells = columns.iter().map(|column| phrases::cell(row.mean.get(column.metric), column));
        std::iter::once(label).chain(cells).collect()
    });
    Some(Grid { columns: grid_columns, rows: rows.collect() })
}

/// Tickers per operation of a step: a row for each ticker, a column for each subject; absent where there are none.
pub(super) fn tickers(step: &StepView, view: &CampaignView) -> Option<Grid> {
    let names: std::collections::BTreeSet<&String> =
        step.rows.iter().flat_map(|row| row.mean.tickers.keys()).collect();
    if names.is_empty() {
        return None;
    }
    let mut columns = vec![GridColumn {
        header: format!("{}\ntickers/op", printable(&step.name)).into(),
        kind: Kind::Name,
    }];
    columns.extend(
        step.rows.iter().map(|row| GridColumn { header: label(view, row.side).into(), kind: Kind::Number }),
    );
    let rows = names.into_iter().map(|name| {
        let cells =
            step.rows.iter().map(|row| model::figures::quantity_or_none(row.mean.tickers.get(name).copied()));
        std::iter::once(name.clone()).chain(cells).collect()
    });
    Some(Grid { columns, rows: rows.collect() })
}

/// The trees of the last round of a step; absent where none was read.
pub(super) fn shapes(step: &StepView, view: &CampaignView) -> Option<Grid> {
    let mut grid =
        Grid::new(&[("tree, last round", Kind::Name), ("subject", Kind::Name), ("shape", Kind::Prose)]);
    grid.rows = step
        .shapes
        .iter()
        .map(|row| {
            vec![crate::phrases::shape_moment(row), label_of(view, &row.subject), crate::phrases::shape(row)]
        })
        .collect();
    (!grid.rows.is_empty()).then_some(grid)
}

fn label(view: &CampaignView, side: Side) -> String {
    view.subjects.get(side).map_or_else(|| format!("side {side}"), |subject| subject.label.clone())
}

/// The label of a subject as the user named it.
fn label_of(view: &CampaignView, subject: &str) -> String {
    let known = view.subjects.iter().find(|known| known.subject == subject);
    known.map_or_else(|| subject.to_owned(), |known| known.label.clone())
}
