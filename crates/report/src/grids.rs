//! The tables of a report as cells, before any layout: text and Markdown show the same ones.

use crate::differs::{Difference, DifferenceKind};
use crate::groups::GroupRow;
use crate::layout::{GREEN, RED, marked};
use crate::phrases;
use crate::view::{CandidateView, Figure, ReportView, ShapeRow, Sides, StepRow};
use model::figures::{NONE, quantity, quantity_or_none};
use model::verdict::Verdict;
use std::borrow::Cow;

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    pub columns: Vec<Column>,
    /// Cells in rows, one for each column.
    pub rows: Vec<Vec<String>>,
}

/// A column's header and what its cells are.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What stands over it; it may have several lines.
    pub header: Cow<'static, str>,
    /// What its cells are.
    pub kind: Kind,
}

/// What the cells of a column are, which decides how they are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the right, so that digits line up; never broken.
    Number,
    /// To the left; shortened in the middle where there is no room.
    Name,
    /// To the left; never broken.
    Word,
    /// To the left; wrapped where there is no room.
    Prose,
}

impl Grid {
    pub(crate) fn new(columns: &[(&'static str, Kind)]) -> Grid {
        let columns =
            columns.iter().map(|(header, kind)| Column { header: Cow::Borrowed(*header), kind: *kind });
        Grid { columns: columns.collect(), rows: Vec::new() }
    }
}

use Kind::{Name, Number, Prose, Word};

/// The verdicts alone, for narrow terminals.
pub(crate) fn verdicts(candidate: &CandidateView) -> Grid {
    let mut grid = Grid::new(&[
        ("step", Name),
        ("QPS\nbase", Number),
        ("QPS\ncandidate", Number),
        ("relative QPS\nand interval", Number),
        ("verdict", Word),
        ("n", Number),
    ]);
    grid.rows = candidate.rows.iter().map(verdict_cells).collect();
    grid
}

/// What goes with the verdicts, for narrow terminals.
pub(crate) fn costs(candidate: &CandidateView) -> Grid {
    let mut grid = Grid::new(&[
        ("step", Name),
        ("CPU us/op\nbase", Number),
        ("CPU us/op\ncandidate", Number),
        ("relative CPU\nand interval", Number),
        ("moved as well,\nper operation", Prose),
    ]);
    grid.rows = candidate
        .rows
        .iter()
        .map(|row| {
            let mut cells = vec![row.step.clone()];
            cells.extend(cost_cells(row, phrases::relative_cost_with_interval(&row.cpu)));
            cells
        })
        .collect();
    grid
}

/// Verdicts and costs in one; the interval of the cost takes 15 columns more.
pub(crate) fn wide(candidate: &CandidateView, cost: fn(&Figure) -> String) -> Grid {
    let mut grid = Grid::new(&[
        ("step", Name),
        ("QPS\nbase", Number),
        ("QPS\ncandidate", Number),
        ("relative QPS\nand interval", Number),
        ("verdict", Word),
        ("n", Number),
        ("CPU us\nbase", Number),
        ("CPU us\ncand.", Number),
        ("CPU\nrel.", Number),
        ("moved as well,\nper operation", Prose),
    ]);
    grid.rows = candidate
        .rows
        .iter()
        .map(|row| {
            let mut cells = verdict_cells(row);
            cells.extend(cost_cells(row, cost(&row.cpu)));
            cells
        })
        .collect();
    grid
}

/// The groups of steps that have more than one, with their labels.
pub(crate) fn groups(candidate: &CandidateView) -> Vec<(String, &GroupRow)> {
    let of_several = candidate.groups.iter().filter(|row| row.members > 1);
    of_several.map(|row| (format!("{}, {} steps", row.group.name(), row.members), row)).collect()
}

fn verdict_cells(row: &StepRow) -> Vec<String> {
    vec![
        row.step.clone(),
        quantity_or_none(row.wall.base),
        quantity_or_none(row.wall.candidate),
        phrases::relative_rate(row),
        painted_verdict(row),
        row.launches.to_string(),
    ]
}

/// Red and green only repeat what the word says.
fn painted_verdict(row: &StepRow) -> String {
    let word = phrases::verdict(row);
    match row.verdict {
        Verdict::Regression => marked(RED, word),
        Verdict::Improvement => marked(GREEN, word),
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => word.to_owned(),
    }
}

fn cost_cells(row: &StepRow, relative: String) -> [String; 4] {
    [quantity_or_none(row.cpu.base), quantity_or_none(row.cpu.candidate), relative, phrases::moved(row)]
}

/// Where the time of an operation went; absent where no row knows.
pub(crate) fn time(candidate: &CandidateView) -> Option<Grid> {
    let mut grid = Grid::new(&[
        ("where the time goes", Name),
        ("wall us/op", Number),
        ("= CPU", Number),
        ("+ run delay", Number),
        ("+ blocked, other", Number),
    ]);
    let cells = |row: &StepRow| {
        let time = row.time?;
        let parts = [time.wall, time.cpu, time.run_delay, time.other].map(from_to);
        Some([row.step.clone()].into_iter().chain(parts).collect())
    };
    grid.rows = candidate.rows.iter().filter_map(cells).collect();
    (!grid.rows.is_empty()).then_some(grid)
}

/// A part of the time of an operation. Two digits after the point: a hundredth of a microsecond is about the
/// least that can matter.
fn from_to(sides: Sides) -> String {
    let value = |value: f64| {
        let rounded = if value.abs() < 0.005 { 0.0 } else { value };
        if rounded.abs() < 100.0 { format!("{rounded:.2}") } else { quantity(rounded) }
    };
    format!("{} \u{2192} {}", value(sides.base), value(sides.candidate))
}

/// What differs beside the code, without what is named in [`differing_lists`]; absent where nothing does.
pub(crate) fn differs(candidate: &CandidateView) -> Option<Grid> {
    let mut grid = Grid::new(&[
        ("differs beside the code", Name),
        ("base", Prose),
        ("candidate", Prose),
        ("option is", Word),
    ]);
    let shown = candidate.differs.iter().filter(|one| !is_listed(one));
    grid.rows = shown
        .map(|one| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
            vec![one.what.clone(), value(&one.base), value(&one.candidate), remark(one.kind).to_owned()]
        })
        .collect();
    (!grid.rows.is_empty()).then_some(grid)
}

fn remark(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Planted => "a test",
        DifferenceKind::OptionInEffect => "set",
        DifferenceKind::DefaultInEffect => "in effect",
        DifferenceKind::DefaultPinned => "pinned",
        DifferenceKind::Unknown => "unknown",
        DifferenceKind::Elsewhere
        | DifferenceKind::Config
        | DifferenceKind::OptionOfOneRelease
        | DifferenceKind::Compiler
        | DifferenceKind::Library
        | DifferenceKind::Fact
        | DifferenceKind::MissingSymbol => "",
    }
}

/// Releases years apart have dozens of new options; the first ones show of what kind they are.
const MOST_LISTED: usize = 8;

/// Things that one side only has, as sentences: a table of dozens of new options would hide what changed.
pub(crate) fn differing_lists(candidate: &CandidateView, view: &ReportView) -> Vec<String> {
    let mut lists = Vec::new();
    for (kind, what) in [
        (DifferenceKind::OptionOfOneRelease, "Options of"),
        (DifferenceKind::MissingSymbol, "C functions of"),
    ] {
        let of_kind = || candidate.differs.iter().filter(move |one| one.kind == kind);
        let names = |present: fn(&Difference) -> bool| -> Vec<String> {
            of_kind().filter(|one| present(one)).map(|one| one.what.clone()).collect()
        };
        for (subject, names) in [
            (&view.base, names(|one| one.candidate.is_none())),
            (&candidate.subject, names(|one| one.base.is_none())),
        ] {
            if !names.is_empty() {
                let shown = names[..names.len().min(MOST_LISTED)].join(", ");
                let more = match names.len().saturating_sub(MOST_LISTED) {
                    0 => String::new(),
                    more => format!(" and {more} more, all in --format json"),
                };
                lists.push(format!("{what} {subject} only ({}): {shown}{more}.", names.len()));
            }
        }
    }
    lists
}

fn is_listed(one: &Difference) -> bool {
    matches!(one.kind, DifferenceKind::OptionOfOneRelease | DifferenceKind::MissingSymbol)
}

/// The trees of both sides; absent where no step has a tree of its own.
pub(crate) fn shapes<'a>(rows: impl IntoIterator<Item = &'a ShapeRow>) -> Option<Grid> {
    let mut grid = Grid::new(&[("tree, last launch", Name), ("side", Name), ("shape", Prose)]);
    grid.rows = rows
        .into_iter()
        .map(|row| vec![phrases::shape_moment(row), row.subject.clone(), phrases::shape(row)])
        .collect();
    (!grid.rows.is_empty()).then_some(grid)
}
