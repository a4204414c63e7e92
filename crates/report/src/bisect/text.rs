//! A bisection as text: the answer, how it was reached, and where else the step may be.

use super::{BisectView, Status, Tried, comparative};
use crate::grids::{Column, Grid, Kind};
use crate::layout::{BOLD, marked, paint, printable, wrapped};
use crate::text::{LEAST_WIDTH, TextOptions, table};
use analysis::bisect::{Compared, NotConfirmed, Outcome, StretchReport};
use model::figures::{NONE, change, count, interval, ratio, span};

/// Versions that are neither measured nor more likely than this are left out where there are many.
const LEAST_SHOWN: f64 = 0.005;
/// From so many versions on.
const MANY: usize = 40;
/// Length of the bar of a certainty.
const BAR: f64 = 20.0;

/// The bisection as text.
pub fn text(view: &BisectView, options: TextOptions) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let paragraph = |text: &str| wrapped(text, width, 2);
    let mut parts = vec![marked(BOLD, &wrapped(&answer(view), width, 2))];
    parts.push(about_search(view).iter().map(|line| paragraph(line)).collect::<Vec<_>>().join("\n"));
    if !view.is_refused() {
        parts.push(table(&with_bars(view, grid(view)), width));
        parts.push(paragraph(&legend(view)));
    }
    let mut closing: Vec<String> = left_out(view);
    closing.extend(view.stopped.iter().map(|why| format!("Stopped: {why}.")));
    closing.extend(view.warnings.iter().map(|warning| format!("WARNING {warning}")));
    closing.push(cost(view));
    parts.push(closing.iter().map(|line| paragraph(line)).collect::<Vec<_>>().join("\n"));
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

/// Why there is nothing to look for, with the interval of the ends.
pub fn refusal(view: &BisectView) -> String {
    let worse = comparative(view.wanted);
    let (good, bad) = (view.name(0), view.last_name());
    let said = view.findings.stretches.first().and_then(|whole| whole.ends).map(compared).unwrap_or_default();
    format!("{bad} is not shown to be {worse} than {good} on {}: {said}", view.step)
}

/// The first line: what was found, and how sure it is.
pub(super) fn answer(view: &BisectView) -> String {
    let worse = comparative(view.wanted);
    let Some(step) = view.first_step() else {
        return match view.findings.stretches.first().map(|whole| &whole.outcome) {
            Some(Outcome::NoDifference) => format!(
                "Nothing to look for: {} is not shown to be {worse} than {}.",
                view.last_name(),
                view.name(0)
            ),
            _ => "Nothing was found: the search did not get as far.".to_owned(),
        };
    };
    let names = view.names(&step.candidates);
    if !step.confirmed {
        let spread = match view.findings.stretches.iter().any(|report| !report.not_confirmed.is_empty()) {
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
        view.name(step.last_good),
        step.confirmation.map(compared).unwrap_or_default(),
        others(view)
    )
}

/// What is to be said where one step does not explain all.
fn others(view: &BisectView) -> String {
    let steps = view.findings.steps();
    if !view.findings.more_than_one_step() {
        return String::new();
    }
    if steps.len() > 1 {
        let more: Vec<String> = steps.iter().skip(1).map(|step| view.names(&step.candidates)).collect();
        return format!(" There is more than one step; the others: {}.", more.join(", "));
    }
    " There is more than one step, of which only this one was confirmed.".to_owned()
}

/// What was searched and how it went: a sentence each.
pub(super) fn about_search(view: &BisectView) -> Vec<String> {
    let mut said = vec![about(view)];
    said.extend(ends(view));
    said.extend(view.findings.stretches.iter().skip(1).map(|report| of_stretch(view, report)));
    said.extend(not_confirmed(view));
    said.extend(steps(view));
    said
}

fn about(view: &BisectView) -> String {
    format!(
        "{}: {} of workload {}, by {}; {} from {} to {}; seed {}.",
        view.id,
        view.step,
        view.workload,
        view.metric.name(),
        count(view.versions.len() as u64, "version", "versions"),
        view.name(0),
        view.last_name(),
        view.seed
    )
}

fn ends(view: &BisectView) -> Option<String> {
    let whole = view.findings.stretches.first()?;
    Some(format!("The ends: {}.", whole.ends.map_or_else(|| "not compared".to_owned(), compared)))
}

/// What became of a stretch that was searched by itself.
fn of_stretch(view: &BisectView, report: &StretchReport) -> String {
    let outcome = match &report.outcome {
        Outcome::Step(_) => "a step in it",
        Outcome::Several => "more than one step in it",
        Outcome::NoDifference => "no step in it",
        Outcome::EndNotMeasurable => "cannot be measured",
        Outcome::Unfinished(_) => "not finished",
    };
    let said = report.ends.map(|ends| format!("{}; ", compared(ends))).unwrap_or_default();
    format!(
        "The stretch from {} to {}: {said}{outcome}.",
        view.name(report.stretch.good),
        view.name(report.stretch.bad)
    )
}

/// Places that were likely enough to be compared, and did not show a step.
fn not_confirmed(view: &BisectView) -> Vec<String> {
    let places = view.findings.stretches.iter().flat_map(|report| &report.not_confirmed);
    let line = |place: &NotConfirmed| {
        let (good, bad) = (view.name(place.between.good), view.name(place.between.bad));
        format!("{bad} against {good} shows no step: {}.", compared(place.compared))
    };
    places.map(line).collect()
}

/// Each step, where there are several or one is not confirmed, and what a step does not explain.
fn steps(view: &BisectView) -> Vec<String> {
    let found = view.findings.steps();
    let alone = found.len() == 1;
    let mut lines = Vec::new();
    for step in found {
        if !alone || !step.confirmed {
            let said = match (step.confirmation, step.confirmed) {
                (Some(found), true) => format!("confirmed: {}", compared(found)),
                (Some(found), false) => format!("not confirmed: {}", compared(found)),
                (None, _) => "not confirmed: it was not compared".to_owned(),
            };
            let (names, last_good) = (view.names(&step.candidates), view.name(step.last_good));
            lines
                .push(format!("{names} after {last_good}: probability {}, {said}.", share(step.probability)));
        }
        if let Some(remainder) = step.remainder {
            lines.push(format!(
                "Beside {}, the rest of its stretch makes {}.",
                view.name(step.first_bad),
                change(remainder.exp())
            ));
        }
    }
    lines
}

/// `regression, 0.857 [0.812, 0.901] in 12 launches`.
fn compared(compared: Compared) -> String {
    let said = match compared.ratio {
        Some(found) => format!("{} {}", ratio(found), interval(compared.low, compared.high)),
        None => "no rate".to_owned(),
    };
    format!(
        "{}, {said} in {}",
        compared.verdict.name(),
        count(u64::from(compared.launches), "launch", "launches")
    )
}

fn shown(view: &BisectView) -> Vec<Tried> {
    let many = view.versions.len() >= MANY;
    let named: Vec<usize> = view.findings.steps().iter().map(|step| step.last_good).collect();
    let mut tried = view.tried();
    tried.retain(|one| {
        !many
            || one.status != Status::NotTried
            || named.contains(&one.version)
            || one.probability.is_some_and(|probability| probability >= LEAST_SHOWN)
    });
    tried
}

pub(super) fn grid(view: &BisectView) -> Grid {
    let mut grid = Grid::new(&[
        ("version", Kind::Name),
        ("launches", Kind::Number),
        ("relative\nQPS", Kind::Number),
        ("first with\nprobability", Kind::Number),
        ("", Kind::Prose),
    ]);
    let cells = |one: &Tried| {
        let facts = &view.versions[one.version];
        let note = match one.status {
            Status::GoodEnd => "good end".to_owned(),
            Status::BadEnd => "bad end".to_owned(),
            Status::NotMeasurable => "cannot be measured".to_owned(),
            Status::Measured | Status::NotTried => String::new(),
        };
        let about = [Some(note).filter(|note| !note.is_empty()), facts.summary.as_deref().map(printable)];
        let launches = if one.launches > 0 { one.launches.to_string() } else { NONE.to_owned() };
        vec![
            facts.name.clone(),
            launches,
            one.ratio.map_or_else(|| NONE.to_owned(), ratio),
            one.probability.map_or_else(|| NONE.to_owned(), share),
            about.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
    };
    grid.rows = shown(view).iter().map(cells).collect();
    grid
}

/// With each probability as a bar, before what is said of the version.
fn with_bars(view: &BisectView, mut grid: Grid) -> Grid {
    let place = grid.columns.len() - 1;
    grid.columns.insert(place, Column { header: "".into(), kind: Kind::Word });
    for (row, one) in grid.rows.iter_mut().zip(shown(view)) {
        row.insert(place, bar(one.probability.unwrap_or(0.0)));
    }
    grid
}

pub(super) fn legend(view: &BisectView) -> String {
    let left_out = view.versions.len() - shown(view).len();
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
        "Launches are those of the search, each against {}, and at the bad end those of the comparison of the ends; \
         the probability is that of being the first {} version, as the search left it.{others}",
        view.name(0),
        comparative(view.wanted)
    )
}

pub(super) fn left_out(view: &BisectView) -> Vec<String> {
    let of = |facts: &super::VersionFacts| {
        let reason = facts.not_measurable.as_ref()?;
        Some(format!("{} cannot be measured: {}", facts.name, printable(reason)))
    };
    view.versions.iter().filter_map(of).collect()
}

pub(super) fn cost(view: &BisectView) -> String {
    let launches = view.findings.launches;
    format!(
        "{}: {} for the ends, {} for the search, {} for confirming; {} of measuring. Its runs are named {}/...",
        count(u64::from(launches.sum()), "launch", "launches"),
        launches.ends,
        launches.search,
        launches.confirmation,
        span(view.seconds),
        view.id
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
