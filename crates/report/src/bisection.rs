//! What a bisection found, as a document and as a table: the answer, how it was reached, and where else the step may be.

use crate::charts::{Bands, Chart, Line, Mark, Point, Releases};
use crate::document::Kind::{Name, Number, Prose, Word};
use crate::document::{Block, Document, Figure, Notice, Section, Sentence, Table};
use crate::render::layout::printable;
use crate::render::separated::number;
use findings::bisection::{BisectView, Comparison, Fitted, Place, Status, Stretch, StretchOutcome, Version};
use model::figures::{change, count, interval, or_none, ratio, span};
use model::verdict::{Layout, Verdict};

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
        footer: vec![cost(view)],
        command: view.found.command.clone(),
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
        chart: Chart::Releases(Releases { bands: Bands::MajorVersions,
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

/// Versions that are neither measured nor more likely than this are left out where there are many.
const LEAST_SHOWN: f64 = 0.005;
/// From so many versions on.
const MANY: usize = 40;
/// Length of the bar of a certainty.
const BAR: f64 = 20.0;

/// Why there is nothing to look for, with the interval of the ends.
pub fn refusal(view: &BisectView) -> String {
    let worse = view.comparative();
    let said = view.ends().map(compared).unwrap_or_default();
    let found = &view.found;
    let beyond = match view.ends() {
        Some(ends) if ends.verdict == found.wanted => " by more than the layout of code can make",
        Some(_) | None => "",
    };
    format!("{} is not shown to be {worse} than {} on {}{beyond}: {said}", found.bad, found.good, found.step)
}

/// The first line: what was found, and how sure it is.
fn answer(view: &BisectView) -> String {
    let worse = view.comparative();
    let Some(step) = view.found.steps.first() else {
        return "Nothing was found: the search did not get as far.".to_owned();
    };
    let names = step.candidates.join(" or ");
    if !step.confirmed {
        let spread = match view.found.stretches.iter().any(|stretch| !stretch.not_confirmed.is_empty()) {
            true => " No place was confirmed: the difference may be spread over several versions.",
            false => "",
        };
        return format!(
            "The first {worse} version may be {names} (probability {}): not confirmed.{spread}",
            share(step.probability)
        );
    }
    format!(
        "The first {worse} version is {names} (probability {}), confirmed against {}: {}.{}",
        share(step.probability),
        step.last_good,
        step.comparison.map(compared).unwrap_or_default(),
        others(view)
    )
}

/// What is to be said where one step does not explain all.
fn others(view: &BisectView) -> String {
    let steps = &view.found.steps;
    if !view.found.more_than_one_step {
        return String::new();
    }
    if steps.len() > 1 {
        let more: Vec<String> = steps.iter().skip(1).map(|step| step.candidates.join(" or ")).collect();
        return format!(" There is more than one change; the others: {}.", more.join(", "));
    }
    " There is more than one change; only this one was confirmed.".to_owned()
}

/// What was searched and how it went: a sentence each.
fn about_search(view: &BisectView) -> Vec<String> {
    let mut said = vec![about(view)];
    said.extend(ends(view));
    said.extend(view.found.stretches.iter().skip(1).map(of_stretch));
    said.extend(not_confirmed(view));
    said.extend(steps(view));
    said
}

fn about(view: &BisectView) -> String {
    let found = &view.found;
    format!(
        "{}: {} of workload {}, by {}; {} from {} to {}; seed {}.",
        found.bisect,
        found.step,
        found.workload,
        found.metric,
        count(found.versions as u64, "version", "versions"),
        found.good,
        found.bad,
        found.seed
    )
}

fn ends(view: &BisectView) -> Option<String> {
    let whole = view.whole()?;
    Some(format!("The ends: {}.", whole.comparison.map_or_else(|| "not compared".to_owned(), compared)))
}

/// What became of a stretch that was searched by itself.
fn of_stretch(stretch: &Stretch) -> String {
    let outcome = match stretch.outcome {
        StretchOutcome::Step => "one change in it",
        StretchOutcome::Several => "more than one change in it",
        StretchOutcome::NoDifference => "no change in it",
        StretchOutcome::EndNotMeasurable => "cannot be measured",
        StretchOutcome::Unfinished => "not finished",
    };
    let by_all = |fitted: Fitted| {
        let Fitted { ratio: found, low, high } = fitted;
        format!("{} {} by all launches; ", ratio(found), interval(Some(low), Some(high)))
    };
    let compared = || stretch.comparison.map(|ends| format!("{}; ", compared(ends)));
    let said = stretch.fitted.map(by_all).or_else(compared).unwrap_or_default();
    format!("The part from {} to {}: {said}{outcome}.", stretch.good, stretch.bad)
}

/// Places that were likely enough to be compared, and did not show a step.
fn not_confirmed(view: &BisectView) -> Vec<String> {
    let places = view.found.stretches.iter().flat_map(|stretch| &stretch.not_confirmed);
    let line = |place: &Place| {
        let Place { last_good, first_bad, comparison } = place;
        format!("{first_bad} against {last_good} shows no change: {}.", compared(*comparison))
    };
    places.map(line).collect()
}

/// Each step, where there are several or one is not confirmed, and what a step does not explain.
fn steps(view: &BisectView) -> Vec<String> {
    let alone = view.found.steps.len() == 1;
    let mut lines = Vec::new();
    for step in &view.found.steps {
        if !alone || !step.confirmed {
            let said = match (step.comparison, step.confirmed) {
                (Some(found), true) => format!("confirmed: {}", compared(found)),
                (Some(found), false) => format!("not confirmed: {}", compared(found)),
                (None, _) => "not confirmed: it was not compared".to_owned(),
            };
            lines.push(format!(
                "{} after {}: probability {}, {said}.",
                step.candidates.join(" or "),
                step.last_good,
                share(step.probability)
            ));
        }
        if let Some(remainder) = step.remainder_ratio {
            lines.push(format!(
                "Apart from the change at {}, the ends of its part still differ by {}.",
                step.first_bad,
                change(remainder)
            ));
        }
    }
    lines
}

/// `regression, 0.857 [0.812, 0.901] in 12 launches`.
fn compared(compared: Comparison) -> String {
    let said = match compared.ratio {
        Some(found) => format!("{} {}", ratio(found), interval(compared.low, compared.high)),
        None => "no rate".to_owned(),
    };
    let may_be_layout = match compared.layout {
        Some(Layout::MayBe) => ", may be layout",
        Some(Layout::Beyond | Layout::Within) | None => "",
    };
    format!(
        "{}{may_be_layout}, {said} in {}",
        compared.verdict.name(),
        count(u64::from(compared.launches), "launch", "launches")
    )
}

fn shown(view: &BisectView) -> Vec<&Version> {
    let many = view.found.versions >= MANY;
    let is_named = |one: &Version| view.found.steps.iter().any(|step| step.last_good == one.version);
    let mut versions = view.versions();
    versions.retain(|one| {
        !many
            || one.status != Status::NotTried
            || is_named(one)
            || one.probability.is_some_and(|probability| probability >= LEAST_SHOWN)
    });
    versions
}

/// What was tried, each probability as a bar too.
fn versions(view: &BisectView) -> Table {
    Table::by_columns(
        shown(view),
        &[
            ("version", Name, &|one| one.version.clone()),
            ("launches", Number, &|one| {
                or_none(Some(one.launches).filter(|some| *some > 0), |some| some.to_string())
            }),
            ("relative\nQPS", Number, &|one| or_none(one.ratio, ratio)),
            ("first with\nprobability", Number, &|one| or_none(one.probability, share)),
            ("", Word, &|one| bar(one.probability.unwrap_or(0.0))),
            ("", Prose, &|one| about_version(one)),
        ],
    )
}

fn about_version(one: &Version) -> String {
    let note = match one.status {
        Status::GoodEnd => Some("good end".to_owned()),
        Status::BadEnd => Some("bad end".to_owned()),
        Status::NotMeasurable => Some("cannot be measured".to_owned()),
        Status::Measured | Status::NotTried => None,
    };
    [note, one.summary.as_deref().map(printable)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A line for each version that was tried, in their order.
pub fn table(view: &BisectView) -> Table {
    Table::by_columns(
        &view.found.tried,
        &[
            ("version", Word, &|one| one.version.clone()),
            ("status", Word, &|one| one.status.name().to_owned()),
            ("launches", Word, &|one| one.launches.to_string()),
            ("ratio", Word, &|one| number(one.ratio)),
            ("probability", Word, &|one| number(one.probability)),
            ("reason", Word, &|one| or_none(one.reason.as_deref(), str::to_owned)),
            ("summary", Word, &|one| or_none(one.summary.as_deref(), str::to_owned)),
        ],
    )
}

fn legend(view: &BisectView) -> String {
    let left_out = view.found.versions.saturating_sub(shown(view).len());
    let others = if left_out > 0 {
        format!(
            " {} with less than {} are not shown.",
            count(left_out as u64, "version", "versions"),
            share(LEAST_SHOWN)
        )
    } else {
        String::new()
    };
    format!(
        "Launches: those of the search, each against {}; for the bad end those of the comparison of the ends. Probability: \
         of being the first {} version, at the end of the search.{others}",
        view.found.good,
        view.comparative()
    )
}

fn left_out(view: &BisectView) -> Vec<String> {
    let of = |one: &Version| {
        Some(format!("{} cannot be measured: {}", one.version, printable(one.reason.as_ref()?)))
    };
    view.found.tried.iter().filter_map(of).collect()
}

fn cost(view: &BisectView) -> String {
    let found = &view.found;
    format!(
        "{}: {} for the ends, {} for the search, {} for confirming; {} of measuring. Its runs are named {}/...",
        count(u64::from(found.launches), "launch", "launches"),
        found.launches_ends,
        found.launches_search,
        found.launches_confirmation,
        span(found.seconds),
        found.bisect
    )
}

/// A probability, never rounded to certainty.
fn share(probability: f64) -> String {
    match 100.0 * probability {
        percent if percent > 99.9 => ">99.9 %".to_owned(),
        percent if percent < 0.1 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the length of a bar"
)]
fn bar(probability: f64) -> String {
    "#".repeat((BAR * probability.clamp(0.0, 1.0)).round() as usize)
}

#[cfg(test)]
pub(crate) mod tests;
