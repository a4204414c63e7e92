//! The tables of a comparison, before any layout.

use super::found::verdict_words;
use crate::document::{Cell, Column, Kind, Table, Tone};
use crate::signs::{self, Sign};
use findings::Comparison;
use findings::comparison::{BothSides, ComparedMetric, ComparedStep, Repeats, ShapeRow, StepView};
use model::block::Side;
use model::counter::Counter;
use model::figures::{self, NONE, bytes, chosen_percent, count, or_none, quantity, quantity_or_none, ratio};
use model::metric::Metric;
use model::verdict::Verdict;
use std::collections::BTreeSet;

use Kind::{Name, Number, Prose, Word};

/// What the signs and numbers of relative rates mean, as far as they occur.
fn legend(view: &Comparison, cases: &[&ComparedStep]) -> String {
    let mut text = "Relative QPS is candidate over base; below 1 the candidate is slower".to_owned();
    if any(cases, &|_, one| one.is_bounded()) {
        let confidence = chosen_percent(1.0 - view.alpha);
        text.push_str(&match view.repeats {
            Repeats::Launches if view.control.is_some() => {
                format!(", with intervals that hold at {confidence} for all steps and candidates together")
            }
            Repeats::Launches => format!(", with its {confidence} interval, valid under early stopping"),
            Repeats::Rounds => format!(
                ", means over rounds, with intervals that hold at {confidence} for all candidates of a step together"
            ),
        });
    }
    if has_open_end(cases) {
        text.push_str("; - in an interval means not bounded");
    }
    let mut parts = vec![text + "."];
    parts.extend(legend_of_signs(view, cases));
    if cases.iter().any(|case| case.is_adjusted()) {
        parts.push(
            "adj: the contention-adjusted rate decided; it excludes the time that threads waited for a CPU."
                .to_owned(),
        );
    }
    parts.join(" ")
}

/// Whether it holds for some case that has the metric that carries its verdict.
pub(super) fn any(cases: &[&ComparedStep], is: &dyn Fn(&ComparedStep, &ComparedMetric) -> bool) -> bool {
    cases.iter().any(|case| case.deciding().is_some_and(|one| is(case, one)))
}

/// Whether an interval is bounded on one side only.
pub(super) fn has_open_end(cases: &[&ComparedStep]) -> bool {
    any(cases, &|_, one| one.is_bounded() && (one.low.is_none() || one.high.is_none()))
}

/// The sign of what may be said of it.
pub(super) fn sign(case: &ComparedStep) -> Option<Sign> {
    if case.did_unequal_work() { Some(Sign::Unequal) } else { Sign::of(case.verdict, case.counts()) }
}

/// The signs that occur, and what it means where there is none.
pub(super) fn legend_of_signs(view: &Comparison, cases: &[&ComparedStep]) -> Vec<String> {
    let signs: BTreeSet<Sign> = cases.iter().filter_map(|case| sign(case)).collect();
    let has_bare = any(cases, &|case, one| one.ratio.is_some() && sign(case).is_none());
    let of_signs = Some(signs::legend(&signs, view.margin)).filter(|signs| !signs.is_empty());
    of_signs.into_iter().chain(has_bare.then(|| "No sign: no verdict.".to_owned())).collect()
}

/// What the table of a candidate needs to be understood.
pub(super) fn legend_of(view: &Comparison, side: Side) -> String {
    let cases: Vec<&ComparedStep> = view.steps.iter().filter_map(|step| step.case(side)).collect();
    let mut parts = vec![legend(view, &cases), format!("n counts {}.", view.repeats.many())];
    let is_open = |case: &&ComparedStep| relative_cost(case.metric(Metric::CpuMicrosPerOp)) == OPEN;
    if cases.iter().any(is_open) && !cases.iter().any(|case| case.is_open()) {
        parts.push(format!("{OPEN}: no difference found, nor ruled out."));
    }
    if cases.iter().any(|case| tests_counters(case)) {
        parts.push("A counter that changed with a rate need not be the cause.".to_owned());
    }
    parts.join(" ")
}

/// Whether counters were tested beside its rates.
fn tests_counters(case: &ComparedStep) -> bool {
    case.metrics.iter().any(|one| one.moved.is_some())
}

/// The verdicts of a candidate and what goes with them.
pub(super) fn candidate(view: &Comparison, side: Side) -> Table {
    let mut columns = vec![
        Column::new("step", Name),
        Column::new("QPS\nbase", Number),
        Column::new("QPS\ncandidate", Number),
        Column::new("relative QPS\nand interval", Number),
        Column::new("verdict", Word),
        Column::new("n", Number),
        Column::new("CPU us\nbase", Number),
        Column::new("CPU us\ncand.", Number),
        Column::new("CPU\nrel.", Number),
        Column::new("and\ninterval", Word).optional(),
    ];
    let has_moved = view.steps.iter().filter_map(|step| step.case(side)).any(tests_counters);
    columns.extend(has_moved.then(|| Column::new("also changed,\nper operation", Prose)));
    let rows = view.steps.iter().filter_map(|step| {
        let case = step.case(side)?;
        let rate = case.metric(Metric::OpsPerSecond);
        let cpu = case.metric(Metric::CpuMicrosPerOp);
        let interval = cpu.filter(|cpu| cpu.confidence.is_some());
        let mut cells = vec![
            Cell::from(&step.name),
            quantity_or_none(rate.and_then(|rate| rate.base)).into(),
            quantity_or_none(rate.and_then(|rate| rate.candidate)).into(),
            relative(case),
            verdict(case, view.margin),
            case.repeats.to_string().into(),
            quantity_or_none(cpu.and_then(|cpu| cpu.base)).into(),
            quantity_or_none(cpu.and_then(|cpu| cpu.candidate)).into(),
            relative_cost(cpu).into(),
            or_none(interval, |cpu| figures::interval(cpu.low, cpu.high)).into(),
        ];
        cells.extend(has_moved.then(|| moved(case).into()));
        Some(cells)
    });
    Table::of(columns, rows)
}

/// The relative rate that decides, with its interval. Where no difference was found there is no number that could be read
/// as one, only the interval.
pub(super) fn relative(case: &ComparedStep) -> Cell {
    let Some((deciding, center)) = case.deciding_ratio() else {
        return NONE.into();
    };
    let mut parts = Vec::new();
    let sign = sign(case);
    if sign.is_none_or(Sign::has_number) {
        parts.push(ratio(center));
    }
    if deciding.is_bounded() {
        parts.push(figures::interval(deciding.low, deciding.high));
    }
    if case.is_adjusted() {
        parts.push("adj".to_owned());
    }
    Cell::signed(sign, parts.join(" "))
}

/// Colour only repeats what the word says.
fn verdict(case: &ComparedStep, margin: f64) -> Cell {
    let tone = match case.verdict {
        Verdict::Regression => Tone::Bad,
        Verdict::Improvement => Tone::Good,
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => Tone::Plain,
    };
    Cell::toned(verdict_words(case, margin), tone)
}

/// Of a cost that may have changed or not.
const OPEN: &str = "?";

/// A relative cost: a number only where the interval leaves no doubt that it moved.
fn relative_cost(cost: Option<&ComparedMetric>) -> String {
    match cost.and_then(|cost| Some((cost, cost.ratio?))) {
        Some((cost, center)) if cost.excludes_one() || cost.confidence.is_none() => ratio(center),
        Some(_) => OPEN.to_owned(),
        None => NONE.to_owned(),
    }
}

/// At most this many counters stand in a row; JSON has all.
const MOVED_SHOWN: usize = 3;

/// What else moved: the clearest counters, without those that the columns for CPU show already.
pub(super) fn moved(case: &ComparedStep) -> String {
    let is_cpu = |one: &&&ComparedMetric| {
        matches!(one.metric, Metric::Counter(Counter::ForegroundCpuNanos | Counter::UserCpuMicros))
    };
    let all = case.moved();
    let shown: Vec<String> = all
        .iter()
        .filter(|one| !is_cpu(one))
        .take(MOVED_SHOWN)
        .map(|one| {
            let name = one.metric.name().trim_end_matches("_per_op").replace('_', " ");
            format!("{name} {}", or_none(one.ratio, ratio))
        })
        .collect();
    // Too few launches to test is not the same as nothing moved.
    let tested = case.metrics.iter().any(|one| one.moved.is_some() && one.confidence.is_some());
    match shown.as_slice() {
        [] if tested => "nothing".to_owned(),
        [] => NONE.to_owned(),
        shown => shown.join(", "),
    }
}

/// How urgent a verdict is: what holds among all steps first.
fn urgency(case: &ComparedStep) -> Option<u8> {
    match case.verdict {
        Verdict::Regression if case.counts() => Some(0),
        Verdict::Regression => Some(1),
        Verdict::Suspect => Some(2),
        Verdict::Improvement if case.counts() => Some(3),
        Verdict::Improvement => Some(4),
        Verdict::Inconclusive | Verdict::NoChange | Verdict::RatioOnly => None,
    }
}

/// What differs, the largest loss first, at most so many; absent where nothing does.
pub(super) fn first(view: &Comparison, most: usize) -> Option<Table> {
    let mut found: Vec<(u8, f64, &StepView, &ComparedStep)> =
        view.cases().filter_map(|(step, case)| Some((urgency(case)?, case.ratio()?, step, case))).collect();
    found.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
    let columns = [
        Column::new("step", Name),
        Column::new("candidate", Name),
        Column::new("relative QPS\nand interval", Number),
        Column::new("CPU/op\nrel.", Number),
        Column::new("also changed, per operation", Prose),
    ];
    let rows = found.iter().take(most).map(|(_, _, step, case)| {
        [
            Cell::from(&step.name),
            view.label(case.side).into(),
            relative(case),
            relative_cost(case.metric(Metric::CpuMicrosPerOp)).into(),
            moved(case).into(),
        ]
    });
    let caption = match found.len() {
        more if more > most => format!("What to look at first: {most} of {more} differences."),
        _ => "What to look at first.".to_owned(),
    };
    Table::of(columns, rows).captioned(caption).unless_empty()
}

/// Where the time of an operation went; absent where no step knows.
pub(super) fn time(view: &Comparison, side: Side) -> Option<Table> {
    let columns = [
        ("where the time goes", Name),
        ("wall us/op", Number),
        ("= CPU", Number),
        ("+ run delay", Number),
        ("+ blocked, other", Number),
    ];
    let mut table = Table::new(&columns);
    table.fill(view.steps.iter().filter_map(|step| {
        let time = step.case(side)?.time?;
        let parts = [time.wall, time.cpu, time.run_delay, time.other].map(from_to);
        Some(std::iter::once(step.name.clone()).chain(parts))
    }));
    table.unless_empty()
}

/// A part of the time of an operation. Two digits after the point: a hundredth of a microsecond is about the
/// least that can matter.
fn from_to(sides: BothSides) -> String {
    let value = |value: f64| {
        let rounded = if value.abs() < 0.005 { 0.0 } else { value };
        if rounded.abs() < 100.0 { format!("{rounded:.2}") } else { quantity(rounded) }
    };
    format!("{} \u{2192} {}", value(sides.base), value(sides.candidate))
}

/// The trees of some steps; absent where none was read.
pub(super) fn shapes<'a>(view: &Comparison, rows: impl IntoIterator<Item = &'a ShapeRow>) -> Option<Table> {
    let last = format!("tree, last {}", view.repeats.one());
    let mut table = Table::new(&[(&last, Name), ("subject", Name), ("shape", Prose)]);
    table.fill(rows.into_iter().map(|row| {
        [format!("{} {}", row.moment.name(), row.step), view.label(row.side).to_owned(), shape(row)]
    }));
    table.unless_empty()
}

/// "L0 2 files 12.0 MiB, L1 4 files 64.0 MiB; memtable 3.1 MiB; debt 0 B".
fn shape(row: &ShapeRow) -> String {
    let levels: Vec<String> = (0..)
        .zip(&row.shape.levels)
        .filter(|(_, level)| level.files > 0)
        .map(|(index, level): (u32, _)| {
            format!("L{index} {} {}", count(level.files, "file", "files"), bytes(level.bytes))
        })
        .collect();
    let levels = if levels.is_empty() { "no files".to_owned() } else { levels.join(", ") };
    format!("{levels}; memtable {}; debt {}", bytes(row.shape.memtable), bytes(row.shape.pending_compaction))
}

/// The rates themselves: a row for each step, a column for each subject.
pub(super) fn rates(view: &Comparison) -> Option<Table> {
    let mut columns = vec![Column::new("step, QPS", Name)];
    columns.extend(view.subjects.iter().map(|subject| Column::new(&subject.label, Number)));
    let rows = view.judged_steps().map(|step| {
        let rates = view.subjects.iter().map(|subject| quantity_or_none(step.rate(subject.side)));
        std::iter::once(step.name.clone()).chain(rates).collect::<Vec<_>>()
    });
    Table::of(columns, rows).unless_empty()
}
