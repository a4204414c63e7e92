//! A bisection as a document.

use super::phrases::{about_search, answer, cost, left_out, legend, refusal, versions};
use crate::charts::{Chart, Line, Mark, Point, Releases};
use crate::document::{Block, Document, Figure, Notice, Section, Sentence};
use findings::bisection::{BisectView, Status, Version};
use model::verdict::Verdict;

/// The document of a bisection.
pub fn document(view: &BisectView) -> Document {
    let mut blocks: Vec<Block> = figure(view).map(Block::Figure).into_iter().collect();
    if !view.is_refused() {
        blocks.push(Block::Table(versions(view)));
        blocks.push(Block::Paragraph(legend(view)));
    }
    let mut sections = vec![Section::new("versions", "Versions", blocks)];
    let left_out = left_out(view);
    if !left_out.is_empty() {
        let blocks = vec![Block::Items(left_out)];
        sections.push(Section::new("left-out", "Versions that cannot be measured", blocks));
    }
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: format!("{} from {} to {}", view.found.step, view.found.good, view.found.bad),
        kind: "bisection",
        runs: vec![view.found.bisect.clone()],
        found: vec![Sentence {
            verdict: verdict(view),
            text: if view.is_refused() { format!("{}.", refusal(view)) } else { answer(view) },
        }],
        intro: about_search(view),
        warnings: warnings(view),
        sections,
        command: None,
        footer: vec![cost(view)],
    }
}

/// What colours the answer: a step that was confirmed is a verdict, one that was not a suspicion.
fn verdict(view: &BisectView) -> Option<Verdict> {
    match view.found.steps.first() {
        Some(step) if step.confirmed => Some(view.found.wanted),
        Some(_) => Some(Verdict::Suspect),
        None => Some(view.ends()?.verdict),
    }
}

fn warnings(view: &BisectView) -> Vec<Notice> {
    let stopped = view.found.stopped.iter().map(|why| Notice::of_all("stopped", why));
    let warnings = view.warnings.iter().map(|one| Notice::of_all(one.id(), one.to_string()));
    stopped.chain(warnings).collect()
}

/// What was measured, in the order of the versions, with the steps that were found; absent where that is no line.
fn figure(view: &BisectView) -> Option<Figure> {
    let found = &view.found;
    let is_named = |one: &Version| found.steps.iter().any(|step| step.first_bad == one.version);
    let drawn: Vec<&Version> = view
        .versions()
        .into_iter()
        .filter(|one| one.ratio.is_some() || one.status == Status::GoodEnd || is_named(one))
        .collect();
    let points: Vec<Option<Point>> = drawn.iter().map(|one| point(view, one)).collect();
    let changes = found.steps.iter().filter_map(|step| {
        Some(Mark {
            release: drawn.iter().position(|one| one.version == step.first_bad)?,
            confirmed: step.confirmed,
        })
    });
    let good = &found.good;
    (points.iter().flatten().count() > 1).then(|| Figure {
        name: "relative-rate".to_owned(),
        caption: format!(
            "Rate relative to {good}, the mean of the launches of the search and at the last version the comparison of \
             the ends; a diamond stands at the first version after a step. What was not measured is left out."
        ),
        chart: Chart::Releases(Releases {
            title: format!("{} of {}", found.step, found.workload),
            axis: format!("{} relative to {good}", found.metric),
            reference: Some(1.0),
            confidence: Some(1.0 - view.alpha),
            releases: drawn.iter().map(|one| one.version.clone()).collect(),
            lines: vec![Line { name: found.step.clone(), points, changes: changes.collect() }],
        }),
    })
}

/// The good end is what all are relative to. Only the comparison of the ends has an interval: the launches of the search
/// are as few as it needs.
fn point(view: &BisectView, version: &Version) -> Option<Point> {
    let bare = |value| Point { value, low: None, high: None };
    match (version.status, view.ends()) {
        (Status::GoodEnd, _) => Some(bare(1.0)),
        (Status::BadEnd, Some(ends)) => Some(Point { value: ends.ratio?, low: ends.low, high: ends.high }),
        (Status::BadEnd | Status::Measured | Status::NotMeasurable | Status::NotTried, _) => {
            version.ratio.map(bare)
        }
    }
}
