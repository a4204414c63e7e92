//! Changes over releases in words: what changed at which, what moved with it, and how sure that is.

use crate::trends::{other_compilers, steadily};
use findings::Comparison;
use findings::comparison::{Cause, Change, ChangeKind as Kind, Drift, MovedWith, ReleaseTrend, Shift};
use model::figures::{NONE, and_list, bytes, chosen_percent, count, first_of, quantity};
use model::metric::Metric;
use model::units::Bytes;

/// At most this many metrics stand in a sentence; JSON has all.
const MOVED_SHOWN: usize = 4;
/// At most this many twins stand with one of them.
const TWINS_SHOWN: usize = 3;

const CANDIDATE: &str = "; a candidate, from single runs: needs repeats";
const SUSPICION: &str = "; suspect, not proven, because drift looks like this too";

/// The changes that go with no other, losses of the rate first, the largest before the others; then other metrics; then
/// gains.
pub(super) fn ordered(view: &Comparison) -> Vec<&Change> {
    let mut own: Vec<&Change> = view.own_changes().collect();
    let class = |change: &Change| match (change.metric == Metric::OpsPerSecond, change.ratio < 1.0) {
        (true, true) => 0,
        (true, false) => 2,
        (false, _) => 1,
    };
    own.sort_by(|left, right| {
        let size = |change: &Change| change.ratio.ln().abs();
        let standing = left.suspect.cmp(&right.suspect);
        standing.then(class(left).cmp(&class(right))).then(size(right).total_cmp(&size(left)))
    });
    own
}

/// Whether it is more than a candidate of a change, or a suspicion.
pub(super) fn is_confirmed(change: &Change) -> bool {
    !change.suspect && change.kind != Kind::Candidate
}

/// A change as a sentence.
pub(super) fn sentence(change: &Change, view: &Comparison) -> String {
    sentence_with(change, &change.moved, view)
}

/// The same, with these of the metrics that moved with it.
pub(super) fn sentence_with(change: &Change, moved: &[MovedWith], view: &Comparison) -> String {
    let place = match change.kind {
        Kind::Step | Kind::Candidate => format!("from {} on ({} before it)", change.version, change.before),
        Kind::Glitch => format!("in {} alone (not in {}, nor after it)", change.version, change.before),
    };
    let possibly: Vec<String> =
        change.location.iter().filter(|version| **version != change.version).cloned().collect();
    let possibly =
        if possibly.is_empty() { String::new() } else { format!(", possibly {}", and_list(&possibly)) };
    let standing = match (change.kind, change.suspect) {
        (Kind::Candidate, _) => CANDIDATE,
        (_, true) => SUSPICION,
        (_, false) if change.at_edge => "; one release stands alone on one side of it",
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
            format!("; also changed: {}{more}", shown.join(", "))
        }
    };
    let drift = change.drift.as_ref().map(|one| format!("; {}", drift(one, change))).unwrap_or_default();
    let toolchain = change.toolchain.as_ref().map(other_compilers).unwrap_or_default();
    let config = with_config(&change.config, view);
    format!("{}{config}: {} {place}{possibly}{standing}{moved}{drift}{toolchain}.", change.step, what(change))
}

/// A steady change as a sentence: "readrandom: falls by 19 % [17, 21] over 20 releases, no single step of more than 1.9 %."
pub(super) fn trend(trend: &ReleaseTrend, view: &Comparison) -> String {
    let metric = if trend.metric == Metric::OpsPerSecondDrained { "drained rate " } else { "" };
    let standing = match (trend.candidate, trend.suspect) {
        (true, _) => CANDIDATE,
        (false, true) => SUSPICION,
        (false, false) => "",
    };
    format!(
        "{}{}: {metric}{}{standing}.",
        trend.step,
        with_config(&trend.config, view),
        steadily(&trend.line, trend.releases, trend.maybe_autocorrelation)
    )
}

fn with_config(config: &str, view: &Comparison) -> String {
    if has_one_config(view) { String::new() } else { format!(" +{config}") }
}

fn has_one_config(view: &Comparison) -> bool {
    let of_findings = view.changes.iter().map(|change| &change.config);
    let of_trends = view.trends.iter().map(|trend| &trend.config);
    let mut all = view.subjects.iter().map(|subject| &subject.config).chain(of_findings).chain(of_trends);
    let first = all.next();
    all.all(|config| Some(config) == first)
}

/// "slower by 35 % [30, 41]", "device read size 120 KB -> 4.4 KB (x 0.036 [0.035, 0.038])".
fn what(change: &Change) -> String {
    if change.metric == Metric::OpsPerSecond {
        return slower_or_faster(change);
    }
    if change.metric == Metric::OpsPerSecondDrained {
        return format!("drained rate {}", slower_or_faster(change));
    }
    format!(
        "{} {} (x {} [{}, {}])",
        change.metric.label(),
        from_to(Some(change.metric), change.value_before, change.value_after),
        times(change.ratio),
        times(change.low),
        times(change.high)
    )
}

fn slower_or_faster(change: &Change) -> String {
    let percent = |ratio: f64| format!("{:.0}", 100.0 * (ratio - 1.0).abs());
    let fine = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
    // Tenths where a whole percent would hide the interval.
    let shown: &dyn Fn(f64) -> String = if (change.ratio - 1.0).abs() < 0.1 { &fine } else { &percent };
    let (word, near, far) = if change.ratio < 1.0 {
        ("slower", change.high, change.low)
    } else {
        ("faster", change.low, change.high)
    };
    format!("{word} by {} % [{}, {}]", shown(change.ratio), shown(near), shown(far))
}

fn moved_with(one: &MovedWith) -> String {
    let twins: Vec<String> = one.twins.iter().map(|twin| shift(twin, None)).collect();
    let in_step = if twins.is_empty() {
        String::new()
    } else {
        format!(" (together with: {})", first_of(&twins, TWINS_SHOWN))
    };
    format!("{}{in_step}", shift(&one.shift, Some(one.ratio)))
}

/// "device read size 120 KB -> 4.4 KB", "device reads/op x 12.1".
fn shift(shift: &Shift, ratio: Option<f64>) -> String {
    let label = shift.metric.map_or_else(|| format!("{}/op", shift.name), |metric| metric.label().to_owned());
    let per_operation = label.ends_with("/op") || label.contains("/op ");
    let quotient = match (shift.value_before, shift.value_after) {
        (Some(before), Some(after)) if before > 0.0 => Some(after / before),
        (_, _) => None,
    };
    match ratio.or(quotient) {
        Some(ratio) if per_operation => format!("{label} x {}", times(ratio)),
        _ => format!("{label} {}", from_to(shift.metric, shift.value_before, shift.value_after)),
    }
}

/// Both values with their unit.
fn from_to(metric: Option<Metric>, before: Option<f64>, after: Option<f64>) -> String {
    let value = |value: Option<f64>| match (value, metric) {
        (Some(value), Some(metric)) => with_unit(value, metric.unit()),
        (Some(value), None) => quantity(value),
        (None, _) => NONE.to_owned(),
    };
    format!("{} -> {}", value(before), value(after))
}

/// A value with its unit, for people.
fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "B" if value < 10.0 * 1024.0 => format!("{} KB", quantity(value / 1024.0)),
        #[expect(clippy::cast_possible_truncation, reason = "bytes of a device or a process are below 2^63")]
        #[expect(clippy::cast_sign_loss, reason = "sizes are not negative")]
        "B" => bytes(Bytes(value as u64)).replace("KiB", "KB").replace("MiB", "MB").replace("GiB", "GB"),
        "B/s" => format!("{} MB/s", quantity(value / f64::from(1 << 20))),
        "1/s" => format!("{}/s", quantity(value)),
        "us" if value >= 1000.0 => format!("{} ms", quantity(value / 1000.0)),
        "us" => format!("{} us", quantity(value)),
        "ns" => format!("{} us", quantity(value / 1000.0)),
        "s" => format!("{} s", quantity(value)),
        "%" => format!("{} %", quantity(value)),
        _ => quantity(value),
    }
}

fn drift(drift: &Drift, change: &Change) -> String {
    match drift.cause {
        Cause::Code => {
            "not only because of a changed default: with the defaults pinned the change is still there"
                .to_owned()
        }
        Cause::Undecided => "a changed default and changed code cannot be told apart here".to_owned(),
        Cause::Default => {
            let changed = drift.defaults.iter();
            let changed: Vec<String> =
                changed.map(|one| format!("{} {} -> {}", one.option, one.before, one.after)).collect();
            if changed.is_empty() {
                return format!(
                    "changed default at {}: with the defaults pinned the change is gone",
                    change.version
                );
            }
            format!("changed default: {} at {}", first_of(&changed, MOVED_SHOWN), change.version)
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

/// What the changes rest on.
pub(super) fn legend(view: &Comparison) -> String {
    format!(
        "Searched for changes: {}, with {} false positives in a series without a change; intervals at {}. A metric that \
         changed with a rate need not be the cause.",
        count(view.searched_series as u64, "series of releases", "series of releases"),
        chosen_percent(view.alpha),
        chosen_percent(1.0 - view.alpha)
    )
}
