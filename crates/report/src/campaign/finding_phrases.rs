//! Findings in words: what changed at which release, what moved with it, and how sure that is.

use super::columns::RATE;
use super::phrases::from_to;
use super::view::{CampaignView, Drift, Finding, Moved, Shift};
use analysis::change_points::Kind;
use analysis::drift::Cause;
use model::figures::{and_list, chosen_percent, count, quantity};

/// At most this many metrics stand in a sentence; JSON has all.
const MOVED_SHOWN: usize = 4;
/// At most this many twins stand with one of them.
const TWINS_SHOWN: usize = 3;

/// The findings that go with no other, as sentences; "none" where there are none.
pub(super) fn own_findings(view: &CampaignView) -> Vec<String> {
    let own = view.findings.iter().filter(|finding| finding.part_of.is_none());
    let sentences: Vec<String> = own.map(|one| finding(one, view)).collect();
    if sentences.is_empty() {
        return vec!["none: no release of a series differs from those before it".to_owned()];
    }
    sentences
}

/// A finding as a sentence.
pub(crate) fn finding(finding: &Finding, view: &CampaignView) -> String {
    finding_with(finding, &finding.moved, view)
}

/// The same, with these of the metrics that moved with it.
pub(crate) fn finding_with(finding: &Finding, moved: &[Moved], view: &CampaignView) -> String {
    let config = if has_one_config(view) { String::new() } else { format!(" +{}", finding.config) };
    let place = match finding.kind {
        Kind::Step | Kind::Candidate => format!("from {} on ({} before it)", finding.version, finding.before),
        Kind::Glitch => format!("in {} alone (not in {}, nor after it)", finding.version, finding.before),
    };
    let possibly: Vec<String> =
        finding.location.iter().filter(|version| **version != finding.version).cloned().collect();
    let possibly =
        if possibly.is_empty() { String::new() } else { format!(", possibly {}", and_list(&possibly)) };
    let standing = match (finding.kind, finding.suspect) {
        (Kind::Candidate, _) => "; a candidate, from single runs: needs repeats",
        (_, true) => "; no more than a suspicion, because drift looks like this too",
        (_, false) if finding.at_edge => "; one release stands alone on one side of it",
        (_, false) => "",
    };
    let moved = match moved {
        [] => String::new(),
        all => {
            let shown: Vec<String> = all.iter().take(MOVED_SHOWN).map(moved_with).collect();
            let more = match all.len().saturating_sub(MOVED_SHOWN) {
                0 => String::new(),
                more => format!(", and {more} more in --format json"),
            };
            format!("; with it moved: {}{more}", shown.join(", "))
        }
    };
    let drift = finding.drift.as_ref().map(|one| format!("; {}", drift(one, finding))).unwrap_or_default();
    format!("{}{config}: {} {place}{possibly}{standing}{moved}{drift}.", finding.step, change(finding))
}

fn has_one_config(view: &CampaignView) -> bool {
    let of_findings = view.findings.iter().map(|finding| &finding.config);
    let mut all = view.subjects.iter().map(|subject| &subject.config).chain(of_findings);
    let first = all.next();
    all.all(|config| Some(config) == first)
}

/// "slower by 35 % [30, 41]", "device read size 120 KB -> 4.4 KB (x 0.036 [0.035, 0.038])".
fn change(finding: &Finding) -> String {
    if finding.column.metric == RATE {
        return slower_or_faster(finding);
    }
    if finding.column.metric == super::columns::DRAINED_RATE {
        return format!("drained rate {}", slower_or_faster(finding));
    }
    format!(
        "{} {} (x {} [{}, {}])",
        finding.column.name,
        from_to(Some(finding.column), finding.value_before, finding.value_after),
        times(finding.ratio),
        times(finding.low),
        times(finding.high)
    )
}

fn slower_or_faster(finding: &Finding) -> String {
    let percent = |ratio: f64| format!("{:.0}", 100.0 * (ratio - 1.0).abs());
    let fine = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
    // Tenths where a whole percent would hide the interval.
    let shown: &dyn Fn(f64) -> String = if (finding.ratio - 1.0).abs() < 0.1 { &fine } else { &percent };
    let (word, near, far) = if finding.ratio < 1.0 {
        ("slower", finding.high, finding.low)
    } else {
        ("faster", finding.low, finding.high)
    };
    format!("{word} by {} % [{}, {}]", shown(finding.ratio), shown(near), shown(far))
}

fn moved_with(one: &Moved) -> String {
    let shown: Vec<String> = one.twins.iter().take(TWINS_SHOWN).map(|twin| shift(twin, None)).collect();
    let twins = match (shown.as_slice(), one.twins.len().saturating_sub(TWINS_SHOWN)) {
        ([], _) => String::new(),
        (shown, 0) => format!(" (in step: {})", shown.join(", ")),
        (shown, more) => format!(" (in step: {} and {more} more)", shown.join(", ")),
    };
    format!("{}{twins}", shift(&one.shift, Some(one.ratio)))
}

/// "device read size 120 KB -> 4.4 KB", "device reads/op x 12.1".
fn shift(shift: &Shift, ratio: Option<f64>) -> String {
    let per_operation = shift.name.ends_with("/op") || shift.name.contains("/op ");
    let quotient = match (shift.value_before, shift.value_after) {
        (Some(before), Some(after)) if before > 0.0 => Some(after / before),
        (_, _) => None,
    };
    match ratio.or(quotient) {
        Some(ratio) if per_operation => format!("{} x {}", shift.name, times(ratio)),
        _ => format!("{} {}", shift.name, from_to(shift.column, shift.value_before, shift.value_after)),
    }
}

fn drift(drift: &Drift, finding: &Finding) -> String {
    match drift.cause {
        Cause::Code => "code drift: it is there with the defaults pinned too".to_owned(),
        Cause::Undecided => "whether a default or the code changed cannot be told".to_owned(),
        Cause::Default => {
            let defaults: Vec<String> = drift
                .defaults
                .iter()
                .take(MOVED_SHOWN)
                .map(|one| format!("{} {} -> {}", one.option, one.before, one.after))
                .collect();
            let more = match drift.defaults.len().saturating_sub(MOVED_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            match defaults.as_slice() {
                [] => {
                    format!("default drift at {}: with the defaults pinned it is not there", finding.version)
                }
                some => format!("default drift: {}{more} at {}", some.join(", "), finding.version),
            }
        }
    }
}

/// A quotient: `12.1`, `0.65`, `0.036`.
fn times(ratio: f64) -> String {
    match ratio {
        100.0.. => quantity(ratio),
        10.0..100.0 => format!("{ratio:.1}"),
        0.1..10.0 => format!("{ratio:.2}"),
        0.01..0.1 => format!("{ratio:.3}"),
        0.001..0.01 => format!("{ratio:.4}"),
        _ => format!("{ratio:.1e}"),
    }
}

/// What the findings rest on.
pub(super) fn findings_legend(view: &CampaignView) -> String {
    format!(
        "Searched for changes: {}, each with {} false findings where nothing changed; intervals at {}. What moved with \
         a rate is not thereby its cause.",
        count(view.searched_series as u64, "series of releases", "series of releases"),
        chosen_percent(view.alpha),
        chosen_percent(1.0 - view.alpha)
    )
}
