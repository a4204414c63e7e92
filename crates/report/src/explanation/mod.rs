//! Why steps differ, as a document and as a table.

mod counterfactual;
mod flames;
mod functions;
mod json;
mod sized;

pub use json::json;
use sized::sized;

use crate::comparison::differs;
use crate::document::Kind::{Name, Number};
use crate::document::{Block, Document, Section, Sentence, Table};
use crate::query_plans;
use crate::render::separated::number;
use findings::change::Change;
use findings::comparison::{BothSides, TimeParts};
use findings::explanation::{Explained, ExplanationView, Matched, Moved};
use model::figures::{interval, or_none, quantity_or_none, ratio};

/// Rows of a table of what moved; JSON has all.
const MOST_MOVED: usize = 12;

/// The document of an explanation.
pub fn document(view: &ExplanationView) -> Document {
    let of_cases = view.cases.iter().zip(1..).map(|(case, number)| section(case, number));
    let sections = view
        .chains
        .iter()
        .zip(1..)
        .map(|(chain, number)| counterfactual::section(chain, number))
        .chain(of_cases);
    let found = match view.cases.as_slice() {
        [] => {
            vec![sentence("no step differs: name one, and what moved in it is shown all the same".to_owned())]
        }
        cases => cases.iter().map(|case| sentence(in_short(case))).collect(),
    };
    Document {
        title: format!("Why: {}", view.id),
        kind: "explanation",
        runs: vec![view.id.clone()],
        found,
        intro: vec![
            "What moved together with a rate need not be its cause. A pattern names what such changes were when they were looked into; its remedy, tested by \
             --test, says whether it is the cause here."
                .to_owned(),
        ],
        sections: sections.collect(),
        footer: vec![format!("The run: dbdyno report {}", view.id)],
        ..Document::default()
    }
}

fn sentence(text: String) -> Sentence {
    Sentence { verdict: None, text }
}

/// "readrandom of rocksdb@9.3.1: -13.9 % [-20.1, -9.3]; CPU is 97 % of it; contention".
fn in_short(case: &Explained) -> String {
    let rate = case.rate.map(|of| format!(" {}", sized(of))).unwrap_or_default();
    let cpu = case.time.and_then(|time| share(time.cpu, time.wall));
    let cpu = cpu
        .map(|share| format!("; CPU is {:.0} % of the change of its time", 100.0 * share))
        .unwrap_or_default();
    let largest = case.profile.as_ref().map(functions::largest).unwrap_or_default();
    let patterns: Vec<&str> = case.patterns.iter().map(|one| one.pattern.id.as_str()).collect();
    let patterns =
        if patterns.is_empty() { String::new() } else { format!("; looks like {}", patterns.join(", ")) };
    let tests = counterfactual::in_short(&case.tests);
    let plans = query_plans::in_short(&case.plan_changes);
    format!("{} of {}:{rate}{tests}{plans}{cpu}{largest}{patterns}.", case.step, case.candidate)
}

/// What part of the change of all is the change of one; absent if all hardly changed.
fn share(part: BothSides, all: BothSides) -> Option<f64> {
    const LEAST: f64 = 0.005;
    let change = all.candidate - all.base;
    (change.abs() > LEAST * all.base).then(|| (part.candidate - part.base) / change)
}

fn section(case: &Explained, number: usize) -> Section {
    let mut blocks = Vec::new();
    if let Some(time) = case.time {
        blocks.push(Block::Table(times(time).captioned("Where the time of an operation went.")));
    }
    blocks.extend(case.tests.iter().flat_map(counterfactual::blocks));
    let plan = |one| query_plans::block(one, &case.base, &case.candidate, "Another query plan: ");
    blocks.extend(case.plan_changes.iter().map(plan));
    if let Some(profile) = &case.profile {
        blocks.push(Block::Paragraph(functions::about(profile)));
        blocks.push(Block::Table(functions::times(profile)));
        blocks.push(Block::Table(functions::table(profile)));
        blocks.extend(functions::waits(profile).map(Block::Table));
        blocks.extend(functions::events(profile).map(Block::Table));
        blocks.extend(functions::counters(profile).map(Block::Table));
        blocks.extend(flames::figures(case, profile).map(Block::Figure));
    }
    for matched in &case.patterns {
        blocks.push(Block::Paragraph(about_pattern(matched)));
    }
    if !case.moved.is_empty() {
        let left = case.moved.len().saturating_sub(MOST_MOVED);
        let more = if left > 0 { format!(" {left} more are in --format json.") } else { String::new() };
        blocks.push(Block::Table(
            moved(case).captioned(format!("What moved with it, the clearest first.{more}")),
        ));
    }
    blocks.extend(differs::differs(&case.differs).map(Block::Table));
    let lists = differs::differing_lists(&case.differs, &case.base, &case.candidate);
    blocks.extend(lists.into_iter().map(Block::Paragraph));
    if blocks.is_empty() {
        blocks.push(Block::Paragraph("Nothing else that was measured changed.".to_owned()));
    }
    let title = format!("{} of {} against {}", case.step, case.candidate, case.base);
    Section::new(format!("case-{number}"), title, blocks)
}

fn times(time: TimeParts) -> Table {
    let mut table = Table::new(&[
        ("part", Name),
        ("base us/op", Number),
        ("candidate us/op", Number),
        ("change", Number),
        ("of the whole", Number),
    ]);
    let rows = [
        ("CPU", time.cpu),
        ("waiting for a CPU", time.run_delay),
        ("blocked: locks, device, network", time.other),
        ("all", time.wall),
    ];
    table.fill(rows.map(|(part, sides)| {
        let of_whole = or_none(share(sides, time.wall), |share| format!("{:.0} %", 100.0 * share));
        let change = sides.candidate - sides.base;
        [
            part.to_owned(),
            format!("{:.2}", sides.base),
            format!("{:.2}", sides.candidate),
            format!("{change:+.2}"),
            of_whole,
        ]
    }));
    table
}

/// "Looks like contention: .. Shown by: voluntary switches x 1.55, CPU/op x 1.04. Known from: .."
fn about_pattern(Matched { pattern, evidence }: &Matched) -> String {
    let evidence: Vec<String> =
        evidence.iter().map(|(metric, of)| format!("{} x {}", metric.label(), ratio(*of))).collect();
    let remedy = pattern.remedy.as_ref().map_or_else(String::new, |remedy| {
        format!(" `dbdyno explain RUN --test` measures whether the configuration `{remedy}` takes the change away.")
    });
    format!(
        "Looks like {}: {}. Shown by: {}. Known from: {}.{remedy}",
        pattern.id,
        pattern.says,
        evidence.join(", "),
        pattern.reference
    )
}

fn moved(case: &Explained) -> Table {
    let rows = case.moved.iter().take(MOST_MOVED);
    Table::by_columns(
        rows,
        &[
            ("metric", Name, &|one: &&Moved| one.metric.label().to_owned()),
            ("base", Number, &|one| quantity_or_none(one.base)),
            ("candidate", Number, &|one| quantity_or_none(one.candidate)),
            ("ratio", Number, &|one| ratio(one.change.ratio)),
            ("interval", Name, &|one| {
                one.change
                    .low
                    .or(one.change.high)
                    .map_or_else(String::new, |_| interval(one.change.low, one.change.high))
            }),
        ],
    )
}

/// A line for each metric that moved, and for each pattern.
pub fn table(view: &ExplanationView) -> Table {
    let headers = ["step", "candidate", "what", "base", "candidate_value", "ratio", "low", "high"];
    let mut table = Table::for_scripts(&headers);
    for case in &view.cases {
        let row = |what: &str, numbers: [Option<f64>; 5]| {
            let first = [case.step.clone(), case.candidate.clone(), what.to_owned()];
            first.into_iter().chain(numbers.map(number)).collect::<Vec<String>>()
        };
        table.fill(case.moved.iter().map(|one| {
            let Change { ratio, low, high } = one.change;
            row(one.metric.name(), [one.base, one.candidate, Some(ratio), low, high])
        }));
        table.fill(case.patterns.iter().map(|one| row(&format!("pattern {}", one.pattern.id), [None; 5])));
    }
    table
}

#[cfg(test)]
pub mod tests;
