//! Steps summarised by group: what every report says of one, and its table.

use crate::grids::{Column, Grid, Kind};
use crate::layout::{GREEN, RED, marked};
use model::block::Side;
use model::figures::{self, NONE};
use model::verdict::Verdict;
use model::workload::Group;

/// One group of one candidate against the base.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    pub group: Group,
    pub side: Side,
    /// Steps of the group that have a ratio.
    pub members: u32,
    /// Steps that are slower, by their verdicts.
    pub slower: u32,
    /// Steps that are faster.
    pub faster: u32,
    /// Steps without a difference beyond the margin.
    pub unchanged: u32,
    /// Steps that are open, and those that can have no verdict.
    pub inconclusive: u32,
    /// Geometric mean of the members' ratios, over the rounds or launches in which all of them have one.
    pub mean: Option<Interval>,
    /// Whether the interval of the mean leaves 1 out, where the design supports a verdict.
    pub verdict: Verdict,
    /// The member that lost most, with an interval that holds for all members at once.
    pub worst: Option<(String, Interval)>,
    /// As the posts have it: of single ratios, biased by selection.
    pub quoted: Option<Quoted>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub ratio: f64,
    /// Lower end; absent where there is none.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
}

/// What the posts say of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Quoted {
    pub min: f64,
    /// The step that has it.
    pub min_step: String,
    pub max: f64,
    /// The step that has it.
    pub max_step: String,
    /// Arithmetic mean of the ratios.
    pub avg: f64,
    pub median: f64,
}

impl Quoted {
    /// Of these ratios; absent where there are none.
    pub(crate) fn of(mut ratios: Vec<(&str, f64)>) -> Option<Quoted> {
        ratios.sort_by(|left, right| left.1.total_cmp(&right.1));
        let (first, last) = (ratios.first()?, ratios.last()?);
        let (upper, lower) = (ratios[ratios.len() / 2].1, ratios[(ratios.len() - 1) / 2].1);
        let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        Some(Quoted {
            min: first.1,
            min_step: first.0.to_owned(),
            max: last.1,
            max_step: last.0.to_owned(),
            avg: analysis::student::mean(&values)?,
            median: 0.5 * (upper + lower),
        })
    }
}

/// The geometric mean, marked where the group has a verdict.
pub(crate) fn mean(row: &GroupRow) -> String {
    let Some(mean) = row.mean else { return NONE.to_owned() };
    let text = figures::ratio(mean.ratio);
    match row.verdict {
        Verdict::Regression => marked(RED, &format!("{text}*")),
        Verdict::Improvement => marked(GREEN, &format!("{text}*")),
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => text,
    }
}

/// Groups in full, a row for each with its label, with what the posts say of them.
pub(crate) fn grid(title: &str, rows: &[(String, &GroupRow)]) -> Grid {
    let headers = [
        ("mean", Kind::Number),
        ("and interval", Kind::Word),
        ("slower", Kind::Number),
        ("faster", Kind::Number),
        ("same", Kind::Number),
        ("open", Kind::Number),
        ("worst step", Kind::Prose),
        ("min", Kind::Number),
        ("max", Kind::Number),
        ("avg", Kind::Number),
        ("median", Kind::Number),
    ];
    let mut columns = vec![Column { header: title.to_owned().into(), kind: Kind::Name }];
    columns.extend(headers.map(|(header, kind)| Column { header: header.into(), kind }));
    let rows = rows.iter().map(|(label, row)| std::iter::once(label.clone()).chain(cells(row)).collect());
    Grid { columns, rows: rows.collect() }
}

fn cells(row: &GroupRow) -> Vec<String> {
    let interval = |of: &Interval| figures::interval(of.low, of.high);
    let mut cells = vec![mean(row), row.mean.as_ref().map_or_else(|| NONE.to_owned(), interval)];
    cells.extend([row.slower, row.faster, row.unchanged, row.inconclusive].map(|count| count.to_string()));
    cells.push(row.worst.as_ref().map_or_else(
        || NONE.to_owned(),
        |(step, of)| format!("{step} {} {}", figures::ratio(of.ratio), interval(of)),
    ));
    let quoted = row.quoted.as_ref().map(|quoted| [quoted.min, quoted.max, quoted.avg, quoted.median]);
    cells.extend(quoted.map_or([NONE; 4].map(str::to_owned), |of| of.map(|ratio| format!("{ratio:.2}"))));
    cells
}

/// Which steps are the extremes of each group; empty where no group has several.
pub(crate) fn extremes(rows: &[(String, &GroupRow)]) -> String {
    let of_row = |(label, row): &(String, &GroupRow)| {
        let quoted = row.quoted.as_ref().filter(|_| row.members > 1)?;
        Some(format!(
            "{label} {:.2} ({}) to {:.2} ({})",
            quoted.min, quoted.min_step, quoted.max, quoted.max_step
        ))
    };
    let named: Vec<String> = rows.iter().filter_map(of_row).collect();
    if named.is_empty() { String::new() } else { format!("Extremes: {}.", named.join("; ")) }
}

/// What the columns mean; `units` is what the mean goes over: rounds or launches.
pub(crate) fn legend(units: &str) -> String {
    format!(
        "Groups: mean is the geometric mean over the {units} in which all steps of the group have a value; slower, \
         faster, same and open count the verdicts of its steps; the interval of the worst step holds for all steps of \
         the group at once. min, max, avg and median are of the steps' single ratios, as the posts give them: with more \
         steps they lie further apart where nothing changed."
    )
}
