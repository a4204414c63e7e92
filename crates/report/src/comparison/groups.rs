//! The tables of groups of steps.

use crate::document::Kind::{Name, Number, Prose, Word};
use crate::document::{Cell, Column, Table};
use findings::Comparison;
use findings::comparison::{GroupRow, Interval, Repeats};
use model::figures::{self, NONE, or_none, ratio};
use model::verdict::Verdict;
use model::workload::Group;

/// Groups in short: a row for each candidate, a column for each group with its geometric mean.
pub(super) fn group_means(view: &Comparison) -> Option<Table> {
    let present = |group: &Group| view.groups.iter().any(|row| row.group == *group);
    let groups: Vec<Group> = Group::ALL.iter().copied().filter(present).collect();
    let mut columns = vec![Column::new("group, geometric mean", Name)];
    columns.extend(groups.iter().map(|group| Column::new(group.name(), Number)));
    let rows = view.candidates().iter().map(|subject| {
        let cell = |group: &Group| {
            let row = view.groups.iter().find(|row| row.group == *group && row.side == subject.side);
            row.map_or_else(|| NONE.into(), group_mean)
        };
        std::iter::once(Cell::from(&subject.label)).chain(groups.iter().map(cell)).collect::<Vec<_>>()
    });
    Table::of(columns, rows).unless_empty().filter(|table| table.columns.len() > 1)
}

/// The geometric mean, with a sign where the group has a verdict; that of a single step stands with the step.
fn group_mean(row: &GroupRow) -> Cell {
    let Some(mean) = row.mean else { return NONE.into() };
    let text = ratio(mean.ratio);
    match row.verdict {
        _ if row.members == 1 => text.into(),
        Verdict::Regression | Verdict::Improvement => Cell::of(row.verdict, true, text),
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => text.into(),
    }
}

/// Groups in full, a row for each with its label, with what Small Datum says of them.
pub(super) fn groups(title: &str, rows: &[(String, &GroupRow)]) -> Table {
    let columns = [
        (title, Name),
        ("mean", Number),
        ("and interval", Word),
        ("slower", Number),
        ("faster", Number),
        ("same", Number),
        ("inconcl.", Number),
        ("worst step", Prose),
        ("min", Number),
        ("max", Number),
        ("avg", Number),
        ("median", Number),
    ];
    let mut table = Table::new(&columns);
    table.fill(rows.iter().map(|(label, row)| {
        let interval = |of: &Interval| figures::interval(of.low, of.high);
        let mut cells = vec![Cell::from(label), group_mean(row)];
        cells.push(or_none(row.mean.as_ref(), interval).into());
        cells.extend(
            [row.slower, row.faster, row.unchanged, row.inconclusive]
                .map(|count| Cell::from(count.to_string())),
        );
        cells.push(row.worst.as_ref().map_or_else(
            || NONE.into(),
            |worst| {
                format!("{} {} {}", worst.step, ratio(worst.interval.ratio), interval(&worst.interval)).into()
            },
        ));
        let quoted = row.quoted.as_ref().map(|quoted| [quoted.min, quoted.max, quoted.avg, quoted.median]);
        cells.extend(
            quoted.map_or([NONE; 4].map(Cell::from), |of| of.map(|ratio| format!("{ratio:.2}").into())),
        );
        cells
    }));
    table
}

/// Which steps are the extremes of each group; absent where no group has several.
pub(super) fn extremes(rows: &[(String, &GroupRow)]) -> Option<String> {
    let of_row = |(label, row): &(String, &GroupRow)| {
        let quoted = row.quoted.as_ref().filter(|_| row.members > 1)?;
        Some(format!(
            "{label} {:.2} ({}) to {:.2} ({})",
            quoted.min, quoted.min_step, quoted.max, quoted.max_step
        ))
    };
    let named: Vec<String> = rows.iter().filter_map(of_row).collect();
    (!named.is_empty()).then(|| format!("Extremes: {}.", named.join("; ")))
}

/// What the columns of groups mean.
pub(super) fn groups_legend(repeats: Repeats) -> String {
    let tested = match repeats {
        Repeats::Launches => "and is not tested",
        Repeats::Rounds => "with a sign if its interval excludes 1",
    };
    format!(
        "Groups: mean is the geometric mean over the {} in which all steps of the group have a value, {tested}; slower, faster, same and inconcl. count the verdicts of its steps; the interval of the \
         worst step holds for all steps of the group at once. min, max, avg and median summarise the ratios of the single \
         steps, as Small Datum does: with more steps they spread further even if nothing changed.",
        repeats.many()
    )
}
