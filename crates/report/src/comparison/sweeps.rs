//! Steps at several numbers of clients: relative rates as a table, charts, and in words what depends on how many clients there are.

use crate::charts::{Bands, Chart, Line, Point, Releases};
use crate::document::Kind::{Name, Number, Word};
use crate::document::{Block, Cell, Column, Figure, PostPart, Section, Sentence, Table};
use crate::documents::ids::Ids;
use crate::documents::shared_confidence;
use findings::Comparison;
use findings::comparison::{AtClients, ComparedStep, Dependence, OverFewest, Sweep};
use model::block::Side;
use model::figures::{NONE, and_list, chosen_percent, count, interval, ratio};
use model::verdict::Verdict;

/// Of more steps than this only the table is shown.
const MOST_CHARTS: usize = 12;

/// "point-query of 18.6: the loss begins at 8 clients: relative rate 0.992 at 1, 0.901 at 8, 0.853 at 40 clients; at 40 clients it is 0.860
/// [0.803, 0.921] of that at 1." Of those whose change depends on the number of clients, the most first.
pub(super) fn sentences(view: &Comparison) -> Vec<Sentence> {
    let mut found: Vec<(&Sweep, Dependence, &AtClients, OverFewest)> = view
        .sweeps
        .iter()
        .filter_map(|sweep| {
            let (at, over) = farthest(sweep)?;
            Some((sweep, sweep.dependence?, at, over))
        })
        .collect();
    let size = |over: &OverFewest| over.ratio.ln().abs();
    found.sort_by(|left, right| size(&right.3).total_cmp(&size(&left.3)));
    let sentence = |(sweep, dependence, at, over): (&Sweep, Dependence, &AtClients, OverFewest)| {
        let of = match view.candidates() {
            [_] => String::new(),
            _ => format!(" of {}", view.label(sweep.side)),
        };
        let verdict = verdict(view, sweep, dependence);
        let change = if verdict == Some(Verdict::Improvement) { "gain" } else { "loss" };
        let what = match dependence {
            Dependence::Begins { at } => format!("the {change} begins at {}", clients(at)),
            Dependence::Ends { at } => format!("the {change} ends at {}", clients(at)),
            Dependence::Varies => "how it compares depends on the number of clients".to_owned(),
        };
        let rates: Vec<String> = sweep.at.iter().filter_map(|at| relative(view, sweep.side, at)).collect();
        Sentence {
            verdict,
            text: format!(
                "{}{of}: {what}: relative rate {}; at {} it is {} of that at {}.",
                sweep.step,
                and_list(&rates),
                clients(at.clients),
                sized(over),
                sweep.at[0].clients,
            ),
        }
    };
    found.into_iter().map(sentence).collect()
}

/// The verdict that begins or ends; of what varies none.
fn verdict(view: &Comparison, sweep: &Sweep, dependence: Dependence) -> Option<Verdict> {
    let at = match dependence {
        Dependence::Begins { .. } => sweep.at.last(),
        Dependence::Ends { .. } => sweep.at.first(),
        Dependence::Varies => None,
    };
    Some(case(view, sweep.side, at?)?.verdict)
}

/// The number of clients whose relative rate differs the most from that at the fewest.
fn farthest(sweep: &Sweep) -> Option<(&AtClients, OverFewest)> {
    let known = sweep.at.iter().filter_map(|at| Some((at, at.over_fewest?)));
    known.max_by(|left, right| left.1.ratio.ln().abs().total_cmp(&right.1.ratio.ln().abs()))
}

/// `0.860 [0.803, 0.921]`; of too few repeats the ratio alone.
fn sized(over: OverFewest) -> String {
    let ratio = ratio(over.ratio);
    match over.low.or(over.high) {
        Some(_) => format!("{ratio} {}", interval(over.low, over.high)),
        None => ratio,
    }
}

fn clients(number: u32) -> String {
    count(u64::from(number), "client", "clients")
}

fn case<'a>(view: &'a Comparison, side: Side, at: &AtClients) -> Option<&'a ComparedStep> {
    view.steps.iter().find(|step| step.name == at.step)?.case(side)
}

fn relative(view: &Comparison, side: Side, at: &AtClients) -> Option<String> {
    Some(format!("{} at {}", ratio(case(view, side, at)?.ratio()?), at.clients))
}

/// Everything by the number of clients.
pub(super) fn section(view: &Comparison, ids: &mut Ids) -> Option<Section> {
    if view.sweeps.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table(view)), Block::Paragraph(legend(view))];
    let mut steps: Vec<&str> = view.sweeps.iter().map(|sweep| sweep.step.as_str()).collect();
    steps.dedup();
    if steps.len() <= MOST_CHARTS {
        blocks.extend(steps.into_iter().map(|step| Block::Figure(chart(view, step, ids))));
    }
    Some(Section::new("clients", "By number of clients", blocks).in_post(PostPart::Results))
}

/// All numbers of clients that any step has.
fn numbers<'a>(sweeps: impl Iterator<Item = &'a Sweep>) -> Vec<u32> {
    let mut numbers: Vec<u32> = sweeps.flat_map(|sweep| sweep.at.iter().map(|at| at.clients)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn table(view: &Comparison) -> Table {
    let numbers = numbers(view.sweeps.iter());
    let fewest = numbers.first().copied().unwrap_or_default();
    let mut columns = vec![Column::new("step", Name), Column::new("candidate", Name)];
    columns.extend(numbers.iter().map(|number| Column::new(number.to_string(), Number)));
    columns.push(Column::new(format!("farthest from {fewest}"), Word));
    let rows = view.sweeps.iter().map(|sweep| {
        let cell = |number: &u32| {
            let at = sweep.at.iter().find(|at| at.clients == *number);
            let case = at.and_then(|at| case(view, sweep.side, at));
            case.and_then(|case| Some(Cell::of(case.verdict, case.confirmed, ratio(case.ratio()?))))
                .unwrap_or_else(|| NONE.into())
        };
        let farthest = farthest(sweep).map(|(at, over)| format!("{}: {}", at.clients, sized(over)));
        let mut cells: Vec<Cell> = vec![sweep.step.as_str().into(), view.label(sweep.side).into()];
        cells.extend(numbers.iter().map(cell));
        cells.push(farthest.map_or_else(|| NONE.into(), Cell::from));
        cells
    });
    Table::of(columns, rows).captioned("Relative rate at so many clients.")
}

fn legend(view: &Comparison) -> String {
    let over = view.sweeps.iter().flat_map(|sweep| sweep.at.iter().filter_map(|at| at.over_fewest));
    let confidence = shared_confidence(over.map(|over| over.confidence));
    let confidence =
        confidence.map(|confidence| format!(" ({})", chosen_percent(confidence))).unwrap_or_default();
    format!(
        "Relative rate: candidate over {}, with the sign of its verdict. farthest: the number of clients whose relative rate differs the most \
         from that at the fewest clients, and by what factor, with its interval by Student's t over the differences within each {}{confidence}; \
         those of all steps and candidates hold together at {}. A change is said to begin at a number of clients only if such an interval \
         excludes 1: that one of two changes is significant and the other is not proves no difference between them.",
        view.base,
        view.repeats.one(),
        chosen_percent(1.0 - view.alpha),
    )
}

fn chart(view: &Comparison, step: &str, ids: &mut Ids) -> Figure {
    let of_step = || view.sweeps.iter().filter(|sweep| sweep.step == step);
    let numbers = numbers(of_step());
    let point = |sweep: &Sweep, number: u32| {
        let at = sweep.at.iter().find(|at| at.clients == number)?;
        let deciding = case(view, sweep.side, at)?.deciding()?;
        Some(Point { value: deciding.ratio?, low: deciding.low, high: deciding.high })
    };
    let line = |sweep: &Sweep| Line {
        name: view.label(sweep.side).to_owned(),
        points: numbers.iter().map(|number| point(sweep, *number)).collect(),
        changes: Vec::new(),
    };
    let cases = of_step().flat_map(|sweep| sweep.at.iter().filter_map(|at| case(view, sweep.side, at)));
    Figure {
        name: ids.of("clients", step),
        caption: format!("{step}: rate relative to {} by the number of clients, with intervals.", view.base),
        chart: Chart::Releases(Releases {
            bands: Bands::Of(Vec::new()),
            title: format!("{step} by clients"),
            axis: format!("rate relative to {}", view.base),
            reference: Some(1.0),
            confidence: shared_confidence(cases.filter_map(|case| case.deciding()?.confidence)),
            releases: numbers.iter().map(ToString::to_string).collect(),
            lines: of_step().map(line).collect(),
        }),
    }
}
