//! The one sentence over all steps of a candidate. It claims only what holds for all of them together.

use crate::phrases::interval_as_change;
use crate::view::StepRow;
use model::figures::{and_list, change, chosen_percent, count};
use model::verdict::Verdict;

/// "`candidate` is slower than `base` on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches); no
/// difference beyond 2 % on seekrandom".
pub(crate) fn sentence(rows: &[StepRow], candidate: &str, base: &str, margin: f64) -> String {
    let confirmed = |verdict| rows.iter().filter(move |row| row.verdict == verdict && row.confirmed);
    let plain = |verdict| rows.iter().filter(move |row| row.verdict == verdict);
    let single = || rows.iter().filter(|row| is_single_step(row));
    let mut parts = Vec::new();
    let mut subject = format!("{candidate} is ");
    for (verdict, word) in [(Verdict::Regression, "slower"), (Verdict::Improvement, "faster")] {
        if let Some(steps) = changed(confirmed(verdict)) {
            parts.push(format!("{subject}{word} than {base} on {steps}"));
            subject = String::new();
        }
    }
    if let Some(steps) = changed(single()) {
        parts.push(format!("by itself only, not with all steps taken together, a change on {steps}"));
    }
    if let Some(steps) = changed(plain(Verdict::Suspect)) {
        parts.push(format!("no more than a suspicion on {steps}"));
    }
    if let Some(steps) = named(plain(Verdict::NoChange), name_only) {
        parts.push(format!("no difference beyond {} on {steps}", chosen_percent(margin)));
    }
    if let Some(steps) = named(plain(Verdict::Inconclusive), name_only) {
        parts.push(format!("no difference found, nor ruled out, on {steps}"));
    }
    if let Some(steps) = named(plain(Verdict::RatioOnly), name_only) {
        parts.push(format!("no verdict on {steps}"));
    }
    if parts.is_empty() {
        parts.push("no step was measured".to_owned());
    }
    // Without a claim about the candidate the sentence still says which comparison it is about.
    if subject.is_empty() {
        format!("{}.", parts.join("; "))
    } else {
        format!("{candidate} against {base}: {}.", parts.join("; "))
    }
}

/// A regression or improvement that holds by itself only.
pub(crate) fn is_single_step(row: &StepRow) -> bool {
    matches!(row.verdict, Verdict::Regression | Verdict::Improvement) && !row.confirmed
}

/// More names than this are counted: of the 42 steps of sysbench the table says which.
const MOST_NAMES: usize = 8;
/// Of those that changed the ones that changed most are named even then.
const MOST_NAMED_CHANGES: usize = 4;

/// Those that changed, the largest changes first where they are many.
fn changed<'a>(rows: impl Iterator<Item = &'a StepRow>) -> Option<String> {
    let mut rows: Vec<&StepRow> = rows.collect();
    if rows.len() <= MOST_NAMES {
        return named(rows.into_iter(), with_change);
    }
    let size = |row: &StepRow| row.deciding().ratio.map_or(0.0, |ratio| ratio.ln().abs());
    rows.sort_by(|left, right| size(right).total_cmp(&size(left)));
    let most: Vec<String> = rows.iter().take(MOST_NAMED_CHANGES).map(|row| with_change(row)).collect();
    Some(format!("{} steps, most on {}", rows.len(), and_list(&most)))
}

fn named<'a>(rows: impl Iterator<Item = &'a StepRow>, name: fn(&StepRow) -> String) -> Option<String> {
    let names: Vec<String> = rows.map(name).collect();
    if names.len() > MOST_NAMES {
        return Some(format!("{} steps", names.len()));
    }
    (!names.is_empty()).then(|| and_list(&names))
}

fn name_only(row: &StepRow) -> String {
    row.step.clone()
}

fn with_change(row: &StepRow) -> String {
    let figure = row.deciding();
    let Some(ratio) = figure.ratio else { return row.step.clone() };
    let interval = interval_as_change(figure).map(|interval| format!(", {interval}")).unwrap_or_default();
    let launches = count(u64::from(row.launches), "launch", "launches");
    format!("{} ({}{interval}, {launches})", row.step, change(ratio))
}
