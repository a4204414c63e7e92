//! Sentences of a history that every format uses alike.

use crate::trends;
use findings::TrendView;
use findings::history::{ChangeView, EventView, HistoryView, Line, SeriesView};
use model::figures::{and_list, chosen_percent, count, percent, quantity};

/// "History of 11 series over 16 releases, 8.0 to 9.3."
pub(super) fn headline(view: &HistoryView) -> String {
    let longest = view.series.iter().max_by_key(|series| series.releases.len());
    let releases = longest.map_or(&[][..], |series| &series.releases);
    let span = match releases {
        [] | [_] => String::new(),
        [first, .., last] => format!(", {first} to {last}"),
    };
    format!(
        "History of {} over {}{span}, from {}.",
        count(view.series.len() as u64, "series", "series"),
        count(releases.len() as u64, "release", "releases"),
        and_list(&view.origin)
    )
}

/// The summary of all events and trends in one sentence.
pub(super) fn summary(view: &HistoryView) -> String {
    let confirmed = view.events.iter().filter(|event| is_confirmed(event, view)).count() as u64;
    let candidates = view.events.len() as u64 - confirmed;
    let trends = view.series.iter().filter(|series| series.told_trend().is_some()).count() as u64;
    let counted: Vec<String> = [
        (confirmed, "change", "changes"),
        (candidates, "candidate", "candidates"),
        (trends, "trend", "trends"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, several)| count(number, one, several))
    .collect();
    match (confirmed, counted.is_empty()) {
        (_, true) => "No change found.".to_owned(),
        (0, false) => format!("No confirmed change; {}.", counted.join(", ")),
        (_, false) => format!("{}.", counted.join(", ")),
    }
}

/// "overwrite ops_sec falls by 9.5 % [9.1, 9.9] over 20 releases, no single step of more than 1.2 %".
pub(super) fn trend(series: &SeriesView, trend: &TrendView) -> String {
    format!("{} {}", series.name, steadily(series, trend))
}

fn steadily(series: &SeriesView, trend: &TrendView) -> String {
    trends::steadily(trend, series.values.iter().flatten().count(), series.maybe_autocorrelation)
}

pub(super) fn is_confirmed(event: &EventView, view: &HistoryView) -> bool {
    event.members.iter().any(|(series, change)| view.series[*series].changes[*change].confirmed)
}

/// "overwrite at 8.6, the first after 8.5"; the step is left out where there is only one.
pub(super) fn event_title(event: &EventView, view: &HistoryView) -> String {
    let one_step = view.series.iter().all(|series| series.step == event.step);
    let config = if event.config.is_empty() { String::new() } else { format!(" +{}", event.config) };
    let step =
        if one_step && config.is_empty() { String::new() } else { format!("{}{config} at ", event.step) };
    let changes: Vec<&ChangeView> =
        event.members.iter().map(|(series, change)| &view.series[*series].changes[*change]).collect();
    let Some(first) = changes.first() else { return step };
    let place = match (&first.before, changes.iter().all(|change| change.glitch)) {
        (_, true) => format!("{} alone", event.version),
        (Some(before), false) => format!("{}, the first after {before}", event.version),
        (None, false) => event.version.clone(),
    };
    let mut others: Vec<String> = Vec::new();
    for release in changes.iter().flat_map(|change| &change.location) {
        if *release != event.version && !others.contains(release) {
            others.push(release.clone());
        }
    }
    let or = if others.is_empty() { String::new() } else { format!(" (possibly {})", others.join(", ")) };
    let edge = if changes.iter().all(|change| change.at_edge) {
        ": a single release at an end of the series, which may as well be a glitch"
    } else {
        ""
    };
    let standing = if is_confirmed(event, view) { "" } else { ", candidate" };
    let doubted = event.members.iter().all(|(series, _)| view.series[*series].maybe_autocorrelation);
    format!("{step}{place}{or}{standing}{edge}{}", trends::doubt(doubted))
}

/// "overwrite at 8.6, the first after 8.5: rps +1,140 % and 8 more".
pub(super) fn event_in_short(event: &EventView, view: &HistoryView) -> String {
    let first = event.members.first().map(|(series, change)| {
        let series = &view.series[*series];
        format!(": {} {}", series.metric, as_change(series.changes[*change].ratio))
    });
    let more = match event.members.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    format!("{}{}{more}", event_title(event, view), first.unwrap_or_default())
}

/// "rps +1,140 % [+1,110, +1,170], 1,475 -> 18,240; the same by rareqsz -95 %, rmbps -43 % (rmbps = rps x rareqsz)".
pub(super) fn line(line: &Line, view: &HistoryView) -> String {
    let of = |(series, change): &(usize, usize)| {
        let series = &view.series[*series];
        (series, &series.changes[*change])
    };
    let mut lines = line.members.iter().map(of);
    let Some((series, change)) = lines.next() else { return String::new() };
    let twins: Vec<String> =
        lines.map(|(series, change)| format!("{} {}", series.metric, as_change(change.ratio))).collect();
    let with = match (&line.identity, twins.is_empty()) {
        (_, true) => String::new(),
        (Some(identity), false) => format!("; the same by {} ({identity})", twins.join(", ")),
        (None, false) => format!("; the same by {}", twins.join(", ")),
    };
    format!(
        "{} {} [{}, {}], {}{with}",
        series.metric,
        as_change(change.ratio),
        without_percent(change.low),
        without_percent(change.high),
        values(series, change)
    )
}

fn values(series: &SeriesView, change: &ChangeView) -> String {
    let unit = if series.unit.is_empty() { String::new() } else { format!(" {}", series.unit) };
    let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), quantity);
    format!("{} -> {}{unit}", value(change.value_before), value(change.value_after))
}

/// A ratio as a change: `-4.1 %`, `-96 %`, `+1,140 %`.
pub(super) fn as_change(ratio: f64) -> String {
    format!("{} %", without_percent(ratio))
}

fn without_percent(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    let sign = if percent < 0.0 { '-' } else { '+' };
    match percent.abs() {
        size @ ..10.0 => format!("{sign}{size:.1}"),
        size @ 10.0..100.0 => format!("{sign}{size:.0}"),
        size => format!("{sign}{}", quantity(size)),
    }
}

/// What a series says, in the table of all series.
pub(super) fn says(series: &SeriesView) -> String {
    if let Some(reason) = &series.says_nothing {
        return format!("nothing can be said: {reason}");
    }
    let change = |change: &ChangeView| {
        let mark = match (change.glitch, change.at_edge) {
            (true, _) => " alone",
            (false, true) => " (end)",
            (false, false) => "",
        };
        format!("{} {}{mark}", change.version, as_change(change.ratio))
    };
    let changes = series.changes.iter().map(change).collect::<Vec<_>>().join(", ");
    match (series.told_trend(), changes.is_empty()) {
        (Some(trend), true) => steadily(series, trend),
        (Some(trend), false) => format!("{changes}; {}", steadily(series, trend)),
        (None, false) => format!("{changes}{}", trends::doubt(series.maybe_autocorrelation)),
        (None, true) => {
            let seen = |visible: f64| format!(": a step of {} would have been seen", percent(visible));
            format!("no change{}", series.visible.map_or_else(String::new, seen))
        }
    }
}

/// What the search rests on.
pub(super) fn legend(view: &HistoryView) -> String {
    format!(
        "Searched with {} false findings in a series without a change (up to five times that for the first change of \
         a short series of single runs, and twice for others), changes below {} left out; intervals at {}, the place taken as given. \"Would have \
         been seen\": nine times of ten, one step in the middle; a slope, an end or two steps need more.",
        chosen_percent(view.alpha),
        chosen_percent(view.least_change),
        chosen_percent(1.0 - view.alpha),
    )
}

/// Values that could not be used.
pub(super) fn gaps(view: &HistoryView) -> Vec<String> {
    const SHOWN: usize = 3;
    let with_gaps = view.series.iter().filter(|series| !series.gaps.is_empty());
    with_gaps
        .map(|series| {
            let shown = series.gaps.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
            let more = series.gaps.len().saturating_sub(SHOWN);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("gaps in {}: {shown}{more}", series.name)
        })
        .collect()
}

/// Releases that are far off and raise no alarm.
pub(super) fn outliers(view: &HistoryView) -> Vec<String> {
    let with = view.series.iter().filter(|series| !series.outliers.is_empty());
    with.map(|series| format!("far off, and no change: {} in {}", series.outliers.join(", "), series.name))
        .collect()
}

/// What to measure again, and how.
pub(super) fn remeasure(view: &HistoryView) -> Vec<String> {
    let steps = view.remeasure.iter().map(|one| {
        let config = if one.config.is_empty() { String::new() } else { format!(" +{}", one.config) };
        format!("{}{config}: {}", one.step, one.releases.join(", "))
    });
    steps.chain(view.commands.iter().map(|command| format!("by: {command}"))).collect()
}
