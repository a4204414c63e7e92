//! Workloads that insert and delete at a stated rate beside their queries, as the Insert Benchmark does: the three tables that Small
//! Datum's reports of it begin with, and its metrics lines.

use super::tables::sign;
use crate::document::{Block, Cell, Column, Kind, Level, PostPart, Section, Table};
use crate::signs::Tone;
use findings::Comparison;
use findings::background_rates::BackgroundRate;
use findings::comparison::{Repeats, StepView, SubjectView, Values};
use model::block::{BASE, Side};
use model::counter::Counter;
use model::figures::{NONE, or_none, quantity, quantity_or_none, ratio};
use model::metric::{DeviceMetric, Metric};

use Kind::{Name, Number};

/// The tables, then the lines of each step; nothing if no step has such a rate beside it.
pub(super) fn sections(view: &Comparison) -> Vec<Section> {
    if view.background_rates.is_empty() {
        return Vec::new();
    }
    let tables = [absolute(view), relative(view), rates(view)];
    let blocks = tables.into_iter().flatten().map(Block::Table).collect();
    let overview = Section::new("by-subject", "Rates by subject", blocks).in_post(PostPart::Results);
    std::iter::once(overview).chain(metrics_lines(view)).collect()
}

/// The steps that clients run for themselves.
fn own_steps(view: &Comparison) -> Vec<&StepView> {
    let is_beside = |step: &StepView| view.companions.contains(&step.name);
    view.judged_steps().filter(|step| !is_beside(step) && step.rate(BASE).is_some()).collect()
}

/// Whether a stream beside the step had less than its share.
fn missed(view: &Comparison, step: &StepView, side: Side) -> bool {
    let of_step = view.background_rates.iter().filter(|stream| stream.step == step.name);
    of_step.filter_map(|stream| stream.of_side(side)).any(|one| one.missed)
}

/// A row for each subject, a column for each step.
fn by_subject(
    first: &str,
    view: &Comparison,
    steps: &[&StepView],
    cell: impl Fn(&StepView, &SubjectView) -> Cell,
) -> Option<Table> {
    let columns = steps.iter().map(|step| Column::new(&step.name, Number));
    let row = |subject: &SubjectView| -> Vec<Cell> {
        let label = Cell::from(&subject.label);
        std::iter::once(label).chain(steps.iter().map(|step| cell(step, subject))).collect()
    };
    let table =
        Table::of(std::iter::once(Column::new(first, Name)).chain(columns), view.subjects.iter().map(row));
    (!steps.is_empty()).then_some(table)
}

fn absolute(view: &Comparison) -> Option<Table> {
    let cell = |step: &StepView, subject: &SubjectView| {
        let rate = quantity_or_none(step.rate(subject.side));
        if missed(view, step, subject.side) {
            return Cell::toned(format!("({rate})"), Tone::Faint);
        }
        Cell::plain(rate)
    };
    let steps = own_steps(view);
    let any_missed =
        steps.iter().any(|step| view.subjects.iter().any(|subject| missed(view, step, subject.side)));
    let brackets = if any_missed {
        "; in brackets if what was to run beside the step had less than 95 % of its rate, which leaves no verdict"
    } else {
        ""
    };
    let table = by_subject("QPS", view, &steps, cell)?;
    Some(table.captioned(format!("Operations per second: rows of l.*, queries of the others{brackets}.")))
}

fn relative(view: &Comparison) -> Option<Table> {
    let cell = |step: &StepView, subject: &SubjectView| {
        let over = step.rate(subject.side).zip(step.rate(BASE)).map(|(rate, base)| rate / base);
        let case = step.case(subject.side);
        let over = case.and_then(|case| case.ratio()).or(over);
        match case {
            _ if missed(view, step, subject.side) => {
                Cell::toned(format!("({})", or_none(over, ratio)), Tone::Faint)
            }
            Some(case) => Cell::signed(sign(case), or_none(over, ratio)),
            None => Cell::plain(or_none(over, ratio)),
        }
    };
    let table = by_subject("relative QPS", view, &own_steps(view), cell)?;
    Some(table.captioned(format!("Relative to {}.", view.base)))
}

/// What each subject did of the rates, below what was asked for.
fn rates(view: &Comparison) -> Option<Table> {
    let columns = view.background_rates.iter().map(|stream| Column::new(&stream.stream, Number));
    let target = view.background_rates.iter().map(|stream| Cell::plain(quantity(stream.target)));
    let target: Vec<Cell> = std::iter::once(Cell::plain("target")).chain(target).collect();
    let cell = |stream: &BackgroundRate, side: Side| match stream.of_side(side) {
        Some(one) if one.missed => Cell::toned(quantity(one.achieved), Tone::Bad),
        Some(one) => Cell::plain(quantity(one.achieved)),
        None => NONE.into(),
    };
    let row = |subject: &SubjectView| -> Vec<Cell> {
        let cells = view.background_rates.iter().map(|stream| cell(stream, subject.side));
        std::iter::once(Cell::from(&subject.label)).chain(cells).collect()
    };
    let rows = std::iter::once(target).chain(view.subjects.iter().map(row));
    let table = Table::of(std::iter::once(Column::new("rate beside", Name)).chain(columns), rows);
    Some(table.captioned(
        "Operations per second of what runs concurrently with the queries, and the rate that was asked for.",
    ))
}

/// The lines of each step in rounds, under the names that Small Datum's reports have.
fn metrics_lines(view: &Comparison) -> Option<Section> {
    if view.repeats != Repeats::Rounds {
        return None;
    }
    let table = |step: &&StepView| {
        let headers = NAMES.iter().map(|name| Column::new(*name, Number));
        let rows = view.subjects.iter().filter_map(|subject| {
            let line = line(view, step, subject.side)?;
            let cells = line.into_iter().map(quantity_or_none);
            Some(std::iter::once(subject.label.clone()).chain(cells).collect::<Vec<_>>())
        });
        Table::of(std::iter::once(Column::new(&step.name, Name)).chain(headers), rows).unless_empty()
    };
    let mut blocks: Vec<Block> = own_steps(view).iter().filter_map(table).map(Block::Table).collect();
    if blocks.is_empty() {
        return None;
    }
    blocks.push(Block::Paragraph(format!(
        "The columns of Small Datum's reports of the Insert Benchmark. ips, qps: rows inserted and queries a second; rps, rmbps, wps, wmbps: \
         requests and MB a second of the device; rpq, rkbpq: its reads and KB read per query, of l.* per row; wpi, wkbpi: its writes and KB \
         written per row inserted; csps, cspq: context switches a second and per operation; cpups, cpupq: CPU in percent of all CPUs, and in \
         microseconds per operation; dbgb1, dbgb2, rss: GB of tables, of the whole data directory and of memory; maxop: the longest operation in seconds; p50, p99: the rate that is \
         reached in half and in 99 % of the seconds. Of servers and their client alone, where the scripts have the whole host. {NONE}: not known."
    )));
    let section = Section::new("metrics-lines", "Metrics lines", blocks);
    Some(section.at(Level::Folded).in_post(PostPart::Results))
}

const NAMES: [&str; 20] = [
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups", "cspq",
    "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99",
];
const KB_OF_MB: f64 = 1024.0;
const MICROS_OF_SECOND: f64 = 1e6;

/// The values of a subject in the order of [`NAMES`]; absent if it has none of the step.
fn line(view: &Comparison, step: &StepView, side: Side) -> Option<[Option<f64>; 20]> {
    let values = mean(step, side)?;
    let rate = values.get(Metric::OpsPerSecond);
    let stream = view.background_rates.iter().find(|stream| stream.step == step.name);
    let (ips, qps) = match stream {
        Some(stream) => (stream.of_side(side).map(|one| one.achieved), rate),
        None => (rate, None),
    };
    let scaled = |metric: Metric| values.get(metric).map(|value| value / metric.scale());
    let device = |what| scaled(Metric::Device { what, with_drain: false });
    let over = |value: Option<f64>, by: Option<f64>| Some(value? / by?);
    let counter = |counter| values.get(Metric::Counter(counter));
    let (rps, wps) = (device(DeviceMetric::ReadsPerSecond), device(DeviceMetric::WritesPerSecond));
    let (rmbps, wmbps) =
        (device(DeviceMetric::ReadBytesPerSecond), device(DeviceMetric::WriteBytesPerSecond));
    let cspq = counter(Counter::VoluntarySwitches)
        .zip(counter(Counter::InvoluntarySwitches))
        .map(|(voluntary, not)| voluntary + not);
    let client_us = counter(Counter::ClientCpuNanos).map_or(0.0, |nanos| nanos / 1000.0);
    let cpupq = values.get(Metric::CpuMicrosPerOp).map(|micros| micros + client_us);
    let a_second = |per_op: Option<f64>| Some(per_op? * rate?);
    let cpups =
        a_second(cpupq).map(|micros| 100.0 * micros / (MICROS_OF_SECOND * f64::from(view.host.cpus.max(1))));
    let in_kb = |mbps: Option<f64>| mbps.map(|mbps| mbps * KB_OF_MB);
    let inserted = ips.or(rate);
    Some([
        ips,
        qps,
        rps,
        rmbps,
        wps,
        wmbps,
        over(rps, rate),
        over(in_kb(rmbps), rate),
        over(wps, inserted),
        over(in_kb(wmbps), inserted),
        a_second(cspq),
        cpups,
        cspq,
        cpupq,
        scaled(Metric::DatabaseBytes),
        scaled(Metric::Counter(Counter::DirectoryBytes)),
        scaled(Metric::Counter(Counter::ResidentPeakBytes)),
        values.get(Metric::LatencyMax).map(|micros| micros / MICROS_OF_SECOND),
        values.get(Metric::RateIn50Percent),
        values.get(Metric::RateIn99Percent),
    ])
}

fn mean(step: &StepView, side: Side) -> Option<&Values> {
    step.rows.iter().find(|row| row.side == side).map(|row| &row.mean)
}
