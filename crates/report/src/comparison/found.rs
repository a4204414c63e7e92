//! What a reader sees first: what got worse, what got better, what is open, with sizes, in a few lines however many steps
//! and candidates there are; then the clearest changes over releases.

use super::changes;
use super::sentences::sort_by_size;
use crate::document::Sentence;
use findings::Comparison;
use findings::comparison::{ComparedStep, ReleaseTrend, StepView};
use model::figures::{change, chosen_percent, percent};
use model::metric::Metric;
use model::verdict::Verdict;

/// Cases that stand in a line; the matrix has all of them.
const MOST_NAMED: usize = 5;
/// Changes over releases on the first screen, and as many trends; all of them stand in their section.
const MOST_CHANGES: usize = 6;

/// A kind of line.
struct Line {
    /// What it is coloured as; absent of what holds by itself only, which may be slower and faster.
    verdict: Option<Verdict>,
    words: String,
    is: fn(&ComparedStep) -> bool,
}

/// The lines, the gravest first.
pub fn found(view: &Comparison) -> Vec<Sentence> {
    let margin = chosen_percent(view.margin);
    let base = &view.base;
    let line =
        |verdict, words: &str, is: fn(&ComparedStep) -> bool| Line { verdict, words: words.to_owned(), is };
    let lines = [
        line(Some(Verdict::Regression), &format!("slower than {base}"), |case| {
            case.verdict == Verdict::Regression && case.counts()
        }),
        line(Some(Verdict::Improvement), &format!("faster than {base}"), |case| {
            case.verdict == Verdict::Improvement && case.counts()
        }),
        line(None, "different, but no more than the layout of code can make,", ComparedStep::may_be_layout),
        line(None, "a change by itself only, not with all steps taken together,", ComparedStep::is_alone),
        line(Some(Verdict::Suspect), "no more than a suspicion", |case| case.verdict == Verdict::Suspect),
        line(None, "large so far, with no verdict yet,", |case| case.provisional().is_some()),
        line(Some(Verdict::Inconclusive), "open, a difference neither found nor ruled out,", |case| {
            case.verdict == Verdict::Inconclusive && case.provisional().is_none()
        }),
        line(Some(Verdict::NoChange), &format!("within {margin} of {base}"), |case| {
            case.verdict == Verdict::NoChange
        }),
        line(None, "no verdict", |case| case.verdict == Verdict::RatioOnly),
    ];
    let all = view.cases().count();
    let mut found: Vec<Sentence> = lines.iter().filter_map(|line| sentence(line, view, all)).collect();
    if found.is_empty() {
        found.push(Sentence { verdict: None, text: format!("Nothing could be compared with {base}.") });
    }
    let changes = changes::ordered(view);
    let of_rate = changes.into_iter().filter(|change| change.metric == Metric::OpsPerSecond);
    found.extend(of_rate.take(MOST_CHANGES).map(|change| Sentence {
        verdict: Some(verdict_of(change.suspect, change.ratio)),
        text: changes::sentence_with(change, &[], view),
    }));
    let mut trends: Vec<&ReleaseTrend> =
        view.trends.iter().filter(|trend| trend.metric == Metric::OpsPerSecond).collect();
    trends.sort_by(|left, right| right.line.ratio.ln().abs().total_cmp(&left.line.ratio.ln().abs()));
    found.extend(trends.into_iter().take(MOST_CHANGES).map(|trend| Sentence {
        verdict: Some(verdict_of(trend.suspect || trend.candidate, trend.line.ratio)),
        text: changes::trend(trend, view),
    }));
    found
}

/// "9.3.1 slower than rocksdb@6.0.2 on 4 of 5 steps: fillseq -17.7 % [-27.8, -1.4], ..": absent where it is of none.
fn sentence(line: &Line, view: &Comparison, all: usize) -> Option<Sentence> {
    let mut cases: Vec<(&StepView, &ComparedStep)> =
        view.cases().filter(|(_, case)| (line.is)(case)).collect();
    if cases.is_empty() {
        return None;
    }
    // Without sizes the order of the workload says more.
    if cases.iter().any(|(_, case)| case.is_directional()) {
        sort_by_size(&mut cases);
    }
    let candidate = match view.candidates() {
        [only] => Some(only),
        _ => None,
    };
    let name = |(step, case): &(&StepView, &ComparedStep)| {
        let of = candidate.map_or_else(|| format!(" of {}", view.label(case.side)), |_| String::new());
        format!("{}{of}{}", step.name, size(case))
    };
    let named: Vec<String> = cases.iter().take(MOST_NAMED).map(name).collect();
    let more = match cases.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let of = match (candidate, all) {
        (Some(_), 1) => String::new(),
        (Some(_), _) => format!(" on {} of {all} steps", cases.len()),
        (None, _) => format!(" in {} of {all} cells", cases.len()),
    };
    // What is put in commas needs the second one only before what follows.
    let words = if of.is_empty() { line.words.trim_end_matches(',') } else { &line.words };
    let who = match (candidate, line.verdict) {
        (Some(only), Some(Verdict::Regression | Verdict::Improvement)) => format!("{} is ", only.subject),
        (_, _) => String::new(),
    };
    Some(Sentence {
        verdict: line.verdict,
        text: capitalised(&format!("{who}{words}{of}: {}{more}{}.", named.join(", "), confidence(&cases))),
    })
}

/// The confidence of the intervals, if there are any.
fn confidence(cases: &[(&StepView, &ComparedStep)]) -> String {
    let confidences = cases.iter().filter(|(_, case)| case.is_directional());
    let first = confidences.filter_map(|(_, case)| case.deciding()?.confidence).next();
    let named = first.map(chosen_percent);
    named.map(|named| format!("; {named} intervals")).unwrap_or_default()
}

/// A name stays as it is written.
fn capitalised(text: &str) -> String {
    let is_name = text.split(' ').next().is_some_and(|word| word.contains('@'));
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !is_name => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// ` -4.1 % [-5.2, -3.0]`; of one that is open how small a change would have been seen.
fn size(case: &ComparedStep) -> String {
    let Some(deciding) = case.deciding() else { return String::new() };
    match case.verdict {
        Verdict::Regression | Verdict::Improvement | Verdict::Suspect => {
            let end = |end: Option<f64>| {
                end.map_or_else(|| "-".to_owned(), |end| format!("{:+.1}", 100.0 * (end - 1.0)))
            };
            let Some(ratio) = deciding.ratio else { return String::new() };
            let interval = if deciding.is_bounded() {
                format!(" [{}, {}]", end(deciding.low), end(deciding.high))
            } else {
                String::new()
            };
            format!(" {}{interval}", change(ratio))
        }
        Verdict::Inconclusive => {
            if let Some([ratio, low, high]) = case.provisional() {
                return format!(
                    " {} [{:+.1}, {:+.1}]",
                    change(ratio),
                    100.0 * (low - 1.0),
                    100.0 * (high - 1.0)
                );
            }
            let visible = case.visible_change.map(|visible| format!(" (seen from {} on)", percent(visible)));
            visible.unwrap_or_default()
        }
        Verdict::NoChange | Verdict::RatioOnly => String::new(),
    }
}

fn verdict_of(suspect: bool, ratio: f64) -> Verdict {
    match (suspect, ratio < 1.0) {
        (true, _) => Verdict::Suspect,
        (false, true) => Verdict::Regression,
        (false, false) => Verdict::Improvement,
    }
}
