//! What is said of steps and candidates. First what a reader sees first: what got worse, what got better, what is open, with
//! sizes, in a few lines however many steps and candidates there are; then the clearest changes over releases. Then the
//! sentences over all steps of a candidate.

use super::{changes, depths, sweeps};
use crate::document::Sentence;
use crate::query_plans;
use findings::Comparison;
use findings::comparison::{ComparedMetric, ComparedStep, ReleaseTrend, StepView, SubjectView};
use model::block::Side;
use model::figures::{and_list, change, chosen_percent, first_of, percent};
use model::metric::Metric;
use model::verdict::Verdict;
use model::warning::Warning;

/// Cases that stand in a line; the matrix has all of them.
const MOST_NAMED: usize = 5;
/// Changes over releases on the first screen, and as many trends; all of them stand in their section.
const MOST_CHANGES: usize = 6;

type NamedCase<'a> = (&'a StepView, &'a ComparedStep);

/// Whether a case belongs into a line.
type Predicate = fn(&ComparedStep) -> bool;

/// A kind of line.
struct Line {
    /// What it is coloured as; absent of what holds by itself only, which may be slower and faster.
    verdict: Option<Verdict>,
    words: String,
    is: Predicate,
}

/// The lines, the gravest first.
pub fn found(view: &Comparison) -> Vec<Sentence> {
    let margin = chosen_percent(view.margin);
    let base = &view.base;
    let line = |verdict, words: &str, is: Predicate| Line { verdict, words: words.to_owned(), is };
    let lines = [
        line(Some(Verdict::Regression), &format!("slower than {base}"), |case| {
            case.verdict == Verdict::Regression && case.counts()
        }),
        line(Some(Verdict::Improvement), &format!("faster than {base}"), |case| {
            case.verdict == Verdict::Improvement && case.counts()
        }),
        line(None, "different, but code layout alone could explain it,", ComparedStep::may_be_layout),
        line(None, "significant alone, but not after correction for all steps,", ComparedStep::is_alone),
        line(
            None,
            "different, but the sides did unequal work, which can be the reason,",
            ComparedStep::did_unequal_work,
        ),
        line(Some(Verdict::Suspect), "suspect, not proven,", |case| case.verdict == Verdict::Suspect),
        line(None, "large so far, with no verdict yet,", |case| case.provisional().is_some()),
        line(
            Some(Verdict::Inconclusive),
            "inconclusive, a difference neither found nor ruled out,",
            |case| case.is_open() && case.provisional().is_none(),
        ),
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
    found.extend(depths::sentences(view).into_iter().take(MOST_CHANGES));
    found.extend(sweeps::sentences(view).into_iter().take(MOST_CHANGES));
    found.extend(query_plans::sentence(&view.plan_changes));
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
    let mut cases: Vec<NamedCase<'_>> = view.cases().filter(|(_, case)| (line.is)(case)).collect();
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
    let name = |(step, case): &NamedCase<'_>| {
        let of = candidate.map_or_else(|| format!(" of {}", view.label(case.side)), |_| String::new());
        format!("{}{of}{}", step.name, size(case))
    };
    let named: Vec<String> = cases.iter().map(name).collect();
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
        text: capitalised(&format!(
            "{who}{words}{of}: {}{}.",
            first_of(&named, MOST_NAMED),
            confidence(&cases)
        )),
    })
}

/// The confidence of the intervals, if there are any.
fn confidence(cases: &[NamedCase<'_>]) -> String {
    let confidences = cases.iter().filter(|(_, case)| case.differs());
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
    if case.differs() {
        return deciding.ratio.map(|ratio| sized(ratio, deciding.low, deciding.high)).unwrap_or_default();
    }
    if let Some([ratio, low, high]) = case.provisional() {
        return sized(ratio, Some(low), Some(high));
    }
    let visible = case.visible_change.filter(|_| case.is_open());
    visible.map(|visible| format!(" (smallest visible change {})", percent(visible))).unwrap_or_default()
}

/// ` -4.1 % [-5.2, -3.0]`
fn sized(ratio: f64, low: Option<f64>, high: Option<f64>) -> String {
    let end =
        |end: Option<f64>| end.map_or_else(|| "-".to_owned(), |end| format!("{:+.1}", 100.0 * (end - 1.0)));
    let is_bounded = low.is_some() || high.is_some();
    let interval = if is_bounded { format!(" [{}, {}]", end(low), end(high)) } else { String::new() };
    format!(" {}{interval}", change(ratio))
}

fn verdict_of(suspect: bool, ratio: f64) -> Verdict {
    match (suspect, ratio < 1.0) {
        (true, _) => Verdict::Suspect,
        (false, true) => Verdict::Regression,
        (false, false) => Verdict::Improvement,
    }
}

/// A verdict, in the words of the glossary; a change within `margin` (0.02 is 2 %) is none.
pub(crate) fn verdict_words(case: &ComparedStep, margin: f64) -> String {
    let word = match case.verdict {
        _ if case.may_be_layout() => "may be layout",
        Verdict::Regression => "regression",
        Verdict::Improvement => "improvement",
        Verdict::NoChange => return format!("within {}", chosen_percent(margin)),
        Verdict::Inconclusive => "inconclusive",
        Verdict::Suspect => "suspect",
        Verdict::RatioOnly => "no verdict",
    };
    word.to_owned()
}

/// `99 % interval -5.2 to -3.0 %`
fn interval_as_change(metric: &ComparedMetric) -> Option<String> {
    let confidence = metric.confidence?;
    let end = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
    let interval = match (metric.low, metric.high) {
        (Some(low), Some(high)) => format!("interval {} to {} %", end(low), end(high)),
        (Some(low), None) => format!("above {} %", end(low)),
        (None, Some(high)) => format!("below {} %", end(high)),
        (None, None) => return None,
    };
    Some(format!("{} {interval}", chosen_percent(confidence)))
}

/// More names than this are counted: of the 42 steps of sysbench the table says which.
const MOST_NAMES: usize = 8;
/// Of those that changed the ones that changed most are named even then.
const MOST_NAMED_CHANGES: usize = 4;

/// The sentence over all steps of a candidate: "`candidate` is slower than `base` on readrandom (-4.1 %, 99 % interval
/// -5.2 to -3.0 %, 14 launches); within 2 % on seekrandom". It claims only what holds for all together.
pub(crate) fn summary(view: &Comparison, candidate: &SubjectView) -> String {
    let cases: Vec<NamedCase<'_>> = view.cases().filter(|(_, case)| case.side == candidate.side).collect();
    let of = |is: &dyn Fn(&ComparedStep) -> bool| -> Vec<NamedCase<'_>> {
        cases.iter().copied().filter(|(_, case)| is(case)).collect()
    };
    let margin = chosen_percent(view.margin);
    let (name, base) = (&candidate.subject, &view.base);
    let mut parts = Vec::new();
    let mut subject = format!("{name} is ");
    for (verdict, word) in [(Verdict::Regression, "slower"), (Verdict::Improvement, "faster")] {
        if let Some(steps) = changed(of(&|case| case.verdict == verdict && case.counts()), view) {
            parts.push(format!("{subject}{word} than {base} on {steps}"));
            subject = String::new();
        }
    }
    if let Some(steps) = changed(of(&ComparedStep::may_be_layout), view) {
        parts.push(format!("different, but code layout alone could explain it, on {steps}"));
    }
    if let Some(steps) = changed(of(&ComparedStep::is_alone), view) {
        parts.push(format!("significant alone, but not after correction for all steps, on {steps}"));
    }
    if let Some(steps) = changed(of(&ComparedStep::did_unequal_work), view) {
        parts.push(format!("different, but the sides did unequal work, which can be the reason, on {steps}"));
    }
    if let Some(steps) = changed(of(&|case| case.verdict == Verdict::Suspect), view) {
        parts.push(format!("suspect, not proven, on {steps}"));
    }
    let others: [(Predicate, String); 3] = [
        (|case| case.verdict == Verdict::NoChange, format!("within {margin} on")),
        (ComparedStep::is_open, "no difference found, nor ruled out, on".to_owned()),
        (|case| case.verdict == Verdict::RatioOnly, "no verdict on".to_owned()),
    ];
    for (is, words) in others {
        let named = of(&is);
        match named.len() {
            0 => {}
            many if many > MOST_NAMES => parts.push(format!("{words} {many} steps")),
            _ => {
                let names: Vec<String> = named.iter().map(|(step, _)| step.name.clone()).collect();
                parts.push(format!("{words} {}", and_list(&names)));
            }
        }
    }
    if parts.is_empty() {
        parts.push("no step was measured".to_owned());
    }
    // Without a claim about the candidate the sentence still says which comparison it is about.
    if subject.is_empty() {
        format!("{}.", parts.join("; "))
    } else {
        format!("{name} against {base}: {}.", parts.join("; "))
    }
}

/// Those that changed, the largest changes first where they are many.
fn changed(mut cases: Vec<NamedCase<'_>>, view: &Comparison) -> Option<String> {
    let name = |(step, case): &NamedCase<'_>| {
        let Some((deciding, ratio)) = case.deciding_ratio() else {
            return step.name.clone();
        };
        let interval = interval_as_change(deciding).map(|interval| format!(", {interval}"));
        let repeats = view.repeats.count(case.repeats);
        format!("{} ({}{}, {repeats})", step.name, change(ratio), interval.unwrap_or_default())
    };
    match cases.len() {
        0 => None,
        few if few <= MOST_NAMES => Some(and_list(&cases.iter().map(name).collect::<Vec<_>>())),
        many => {
            sort_by_size(&mut cases);
            let most: Vec<String> = cases.iter().take(MOST_NAMED_CHANGES).map(name).collect();
            Some(format!("{many} steps, most on {}", and_list(&most)))
        }
    }
}

/// The largest change first.
fn sort_by_size(cases: &mut [NamedCase<'_>]) {
    let size = |case: &ComparedStep| case.ratio().map_or(0.0, |ratio| ratio.ln().abs());
    cases.sort_by(|left, right| size(right.1).total_cmp(&size(left.1)));
}

/// "readrandom 1.8 %, seekrandom 3.1 %": how small a change of a candidate each step would have shown.
pub(super) fn visible_changes(view: &Comparison, side: Side) -> Option<String> {
    let steps: Vec<String> = view
        .judged_steps()
        .filter_map(|step| Some(format!("{} {}", step.name, percent(step.case(side)?.visible_change?))))
        .collect();
    (!steps.is_empty()).then(|| format!("Smallest change visible, at 90 % power: {}.", steps.join(", ")))
}

/// What is said of the steps of a candidate, those of one sentence gathered: "fillseq, overwrite: sentence".
pub(super) fn notes(view: &Comparison, side: Side) -> Vec<String> {
    let mut gathered: Vec<(Vec<&str>, &Warning)> = Vec::new();
    for step in &view.steps {
        for warning in step.case(side).iter().flat_map(|case| &case.warnings) {
            match gathered.iter_mut().find(|(_, known)| *known == warning) {
                Some((steps, _)) => steps.push(&step.name),
                None => gathered.push((vec![&step.name], warning)),
            }
        }
    }
    gathered.into_iter().map(|(steps, text)| format!("{}: {text}", steps.join(", "))).collect()
}

/// What stands out among all steps and candidates and is open by itself.
pub(super) fn discovered(view: &Comparison) -> Option<String> {
    const SHOWN: usize = 6;
    let open = view.cases().filter(|(_, case)| case.discovered && case.verdict == Verdict::Inconclusive);
    let found: Vec<String> =
        open.map(|(step, case)| format!("{} of {}", step.name, view.label(case.side))).collect();
    (!found.is_empty())
        .then(|| format!("Also notable, at a false discovery rate of 5 %: {}.", first_of(&found, SHOWN)))
}
