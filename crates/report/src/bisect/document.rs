//! A bisection as a document.

use super::text::{about_search, answer, cost, grid, left_out, legend, refusal};
use super::{BisectView, Status, Tried};
use crate::charts::{Chart, Line, Mark, Point, Releases};
use crate::document::{Block, Caution, Document, Figure, Section, Sentence, Table};
use analysis::bisect::FoundStep;
use model::verdict::Verdict;

/// The document of a bisection.
pub fn document(view: &BisectView) -> Document {
    let mut blocks: Vec<Block> = figure(view).map(Block::Figure).into_iter().collect();
    if !view.is_refused() {
        blocks.push(Block::Table(Table { caption: String::new(), grid: grid(view) }));
        blocks.push(Block::Paragraph(legend(view)));
    }
    let mut sections =
        vec![Section { id: "versions".to_owned(), title: "Versions".to_owned(), folded: false, blocks }];
    let left_out = left_out(view);
    sections.extend((!left_out.is_empty()).then(|| Section {
        id: "left-out".to_owned(),
        title: "Versions that cannot be measured".to_owned(),
        folded: true,
        blocks: vec![Block::Items(left_out)],
    }));
    Document {
        title: format!("{} from {} to {}", view.step, view.name(0), view.last_name()),
        kind: "bisection",
        runs: vec![view.id.clone()],
        verdicts: vec![Sentence {
            verdict: verdict(view),
            text: if view.is_refused() { format!("{}.", refusal(view)) } else { answer(view) },
        }],
        preface: about_search(view),
        cautions: cautions(view),
        sections,
        command: None,
        colophon: vec![cost(view)],
    }
}

/// What colours the answer: a step that was confirmed is a verdict, one that was not a suspicion.
fn verdict(view: &BisectView) -> Option<Verdict> {
    match view.first_step() {
        Some(step) if step.confirmed => Some(view.wanted.verdict()),
        Some(_) => Some(Verdict::Suspect),
        None => Some(view.findings.stretches.first()?.ends?.verdict),
    }
}

fn cautions(view: &BisectView) -> Vec<Caution> {
    let of = |id: &str, text: &str| Caution { id: id.to_owned(), step: None, text: text.to_owned() };
    let stopped = view.stopped.iter().map(|why| of("stopped", why));
    let warnings = view.warnings.iter().map(|warning| match warning.split_once(": ") {
        Some((id, text)) => of(id, text),
        None => of("warning", warning),
    });
    stopped.chain(warnings).collect()
}

/// What was measured, in the order of the versions, with the steps that were found; absent where that is no line.
fn figure(view: &BisectView) -> Option<Figure> {
    let tried = view.tried();
    let named: Vec<&FoundStep> = view.findings.steps();
    let is_named = |version: usize| named.iter().any(|step| step.first_bad == version);
    let drawn: Vec<&Tried> =
        tried.iter().filter(|one| one.ratio.is_some() || one.version == 0 || is_named(one.version)).collect();
    let points: Vec<Option<Point>> = drawn.iter().map(|one| point(view, one)).collect();
    let changes = named.iter().filter_map(|step| {
        Some(Mark {
            release: drawn.iter().position(|one| one.version == step.first_bad)?,
            confirmed: step.confirmed,
        })
    });
    let good = view.name(0);
    (points.iter().flatten().count() > 1).then(|| Figure {
        name: "relative-rate".to_owned(),
        caption: format!(
            "Rate relative to {good}, the mean of the launches of the search and at the last version the comparison of \
             the ends; a diamond stands at the first version after a step. What was not measured is left out."
        ),
        chart: Chart::Releases(Releases {
            title: format!("{} of {}", view.step, view.workload),
            axis: format!("{} relative to {good}", view.metric.name()),
            reference: Some(1.0),
            confidence: Some(1.0 - view.alpha),
            releases: drawn.iter().map(|one| view.name(one.version).to_owned()).collect(),
            lines: vec![Line { name: view.step.clone(), points, changes: changes.collect() }],
        }),
    })
}

/// The good end is what all are relative to. Only the comparison of the ends has an interval: the launches of the search
/// are as few as it needs.
fn point(view: &BisectView, tried: &Tried) -> Option<Point> {
    let bare = |value| Point { value, low: None, high: None };
    let ends = view.findings.stretches.first().and_then(|whole| whole.ends);
    match (tried.status, ends) {
        (Status::GoodEnd, _) => Some(bare(1.0)),
        (Status::BadEnd, Some(ends)) => Some(Point { value: ends.ratio?, low: ends.low, high: ends.high }),
        (Status::BadEnd | Status::Measured | Status::NotMeasurable | Status::NotTried, _) => {
            tried.ratio.map(bare)
        }
    }
}
