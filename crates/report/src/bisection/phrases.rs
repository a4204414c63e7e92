//! Sentences and tables of a bisection: the answer, how it was reached, and where else the step may be.

use crate::document::{Kind, Table};
use crate::render::layout::printable;
use crate::render::separated::number;
use findings::bisection::{BisectView, Comparison, Fitted, Place, Status, Stretch, StretchOutcome, Version};
use model::figures::{NONE, change, count, interval, ratio, span};
use model::verdict::Layout;

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
pub(super) fn answer(view: &BisectView) -> String {
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
        return format!(" There is more than one step; the others: {}.", more.join(", "));
    }
    " There is more than one step, of which only this one was confirmed.".to_owned()
}

/// What was searched and how it went: a sentence each.
pub(super) fn about_search(view: &BisectView) -> Vec<String> {
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
        StretchOutcome::Step => "a step in it",
        StretchOutcome::Several => "more than one step in it",
        StretchOutcome::NoDifference => "no step in it",
        StretchOutcome::EndNotMeasurable => "cannot be measured",
        StretchOutcome::Unfinished => "not finished",
    };
    let by_all = |fitted: Fitted| {
        let Fitted { ratio: found, low, high } = fitted;
        format!("{} {} by all launches; ", ratio(found), interval(Some(low), Some(high)))
    };
    let compared = || stretch.comparison.map(|ends| format!("{}; ", compared(ends)));
    let said = stretch.fitted.map(by_all).or_else(compared).unwrap_or_default();
    format!("The stretch from {} to {}: {said}{outcome}.", stretch.good, stretch.bad)
}

/// Places that were likely enough to be compared, and did not show a step.
fn not_confirmed(view: &BisectView) -> Vec<String> {
    let places = view.found.stretches.iter().flat_map(|stretch| &stretch.not_confirmed);
    let line = |place: &Place| {
        let Place { last_good, first_bad, comparison } = place;
        format!("{first_bad} against {last_good} shows no step: {}.", compared(*comparison))
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
                "Beside {}, the rest of its stretch makes {}.",
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
pub(super) fn versions(view: &BisectView) -> Table {
    let mut table = Table::new(&[
        ("version", Kind::Name),
        ("launches", Kind::Number),
        ("relative\nQPS", Kind::Number),
        ("first with\nprobability", Kind::Number),
        ("", Kind::Word),
        ("", Kind::Prose),
    ]);
    let cells = |one: &&Version| {
        let note = match one.status {
            Status::GoodEnd => "good end".to_owned(),
            Status::BadEnd => "bad end".to_owned(),
            Status::NotMeasurable => "cannot be measured".to_owned(),
            Status::Measured | Status::NotTried => String::new(),
        };
        let about = [Some(note).filter(|note| !note.is_empty()), one.summary.as_deref().map(printable)];
        let launches = if one.launches > 0 { one.launches.to_string() } else { NONE.to_owned() };
        [
            one.version.clone(),
            launches,
            one.ratio.map_or_else(|| NONE.to_owned(), ratio),
            one.probability.map_or_else(|| NONE.to_owned(), share),
            bar(one.probability.unwrap_or(0.0)),
            about.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
    };
    table.fill(shown(view).iter().map(cells));
    table
}

/// A line for each version that was tried, in their order.
pub fn table(view: &BisectView) -> Table {
    let mut table =
        Table::for_scripts(&["version", "status", "launches", "ratio", "probability", "reason", "summary"]);
    table.fill(view.found.tried.iter().map(|one| {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
        [
            one.version.clone(),
            one.status.name().to_owned(),
            one.launches.to_string(),
            number(one.ratio),
            number(one.probability),
            or_none(&one.reason),
            or_none(&one.summary),
        ]
    }));
    table
}

pub(super) fn legend(view: &BisectView) -> String {
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
        "Launches are those of the search, each against {}, and at the bad end those of the comparison of the ends; \
         the probability is that of being the first {} version, as the search left it.{others}",
        view.found.good,
        view.comparative()
    )
}

pub(super) fn left_out(view: &BisectView) -> Vec<String> {
    let of = |one: &Version| {
        Some(format!("{} cannot be measured: {}", one.version, printable(one.reason.as_ref()?)))
    };
    view.found.tried.iter().filter_map(of).collect()
}

pub(super) fn cost(view: &BisectView) -> String {
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
