//! The history of releases as a document, as JSON and as a table.

use crate::charts::{self, Bands, Chart, Mark, Point, Releases};
use crate::contract::{self, SCHEMA};
use crate::document::Kind::{Name, Prose, Word};
use crate::document::{Block, Cell, Document, Figure, Notice, Section, Sentence, Table, Tone};
use crate::documents::ids::Ids;
use crate::render::separated::number;
use crate::trends;
use findings::TrendView;
use findings::history::{ChangeView, EventView, HistoryView, Line, SeriesView};
use model::figures::{and_list, chosen_percent, count, or_none, percent, quantity};
use model::verdict::Verdict;
use model::warning::Warning;
use serde_json::{Value, json};

/// Characters of a line from the first release to the last: it has its place beside name and sentence on a terminal of 80
/// columns.
const LINE: usize = 28;

/// So many changes are a summary; all of them have a section.
const MOST_FOUND: usize = 8;

/// The document of a history.
pub fn document(view: &HistoryView) -> Document {
    let mut ids = Ids::default();
    let mut found = vec![Sentence { verdict: None, text: summary(view) }];
    found.extend(view.events.iter().take(MOST_FOUND).map(|event| Sentence {
        verdict: (!is_confirmed(event, view)).then_some(Verdict::Suspect),
        text: event_in_short(event, view),
    }));
    found.extend(
        steady_changes(view)
            .into_iter()
            .take(MOST_FOUND)
            .map(|text| Sentence { verdict: Some(Verdict::Suspect), text }),
    );
    if let Some(more @ 1..) = view.events.len().checked_sub(MOST_FOUND) {
        found.push(Sentence { verdict: None, text: format!("And {more} more, below.") });
    }
    let figures =
        view.series.iter().filter_map(|series| figure(series, &mut ids)).map(Block::Figure).collect();
    let mut apart = outliers(view);
    apart.extend(gaps(view));
    let mut sections = vec![
        Section::new(
            "changes",
            "What changed",
            view.events.iter().flat_map(|event| changes(event, view)).collect(),
        ),
        Section::new("trends", "Trends", vec![Block::Items(steady_changes(view))]),
        Section::new(
            "series",
            "Series",
            vec![Block::Table(all_series(view)), Block::Paragraph(legend(view))],
        ),
        Section::new("charts", "Over releases", figures),
        Section::new("measure-again", "Measure again", vec![Block::Items(remeasure(view))]),
        Section::new("left-out", "Outliers and gaps", vec![Block::Items(apart)]),
    ];
    let has_something = |block: &Block| !matches!(block, Block::Items(items) if items.is_empty());
    sections.retain(|section| section.blocks.iter().any(has_something));
    Document {
        title: headline(view).trim_end_matches('.').to_owned(),
        kind: "history",
        found,
        warnings: view.warnings.iter().map(|note| Notice::of_all(note.id(), note.to_string())).collect(),
        sections,
        ..Document::default()
    }
}

/// A line for each series that changes steadily.
fn steady_changes(view: &HistoryView) -> Vec<String> {
    let told = view.series.iter().filter_map(|series| Some(trend(series, series.told_trend()?)));
    told.collect()
}

/// What changed at one release, a line for each of it.
fn changes(event: &EventView, view: &HistoryView) -> [Block; 2] {
    let lines = event.lines.iter().map(|one| line(one, view));
    [Block::Paragraph(format!("{}:", event_title(event, view))), Block::Items(lines.collect())]
}

/// Every series with its line.
fn all_series(view: &HistoryView) -> Table {
    let one_step = view.series.windows(2).all(|pair| pair[0].step == pair[1].step);
    let one_metric = view.series.windows(2).all(|pair| pair[0].metric == pair[1].metric);
    let name = |series: &SeriesView| match (one_step, one_metric && !one_step) {
        (true, _) if series.config.is_empty() => series.metric.clone(),
        (_, true) if series.config.is_empty() => series.step.clone(),
        (_, _) => series.name.clone(),
    };
    let mut table = Table::new(&[("series", Name), ("first to last", Word), ("found", Prose)]);
    table.fill(view.series.iter().map(|series| {
        let tone = if series.changes.is_empty() && series.told_trend().is_none() {
            Tone::Plain
        } else {
            Tone::Strong
        };
        [name(series).into(), sparkline(series, LINE).into(), Cell::toned(says(series), tone)]
    }));
    table
}

/// The keys of scripts.
pub fn json(view: &HistoryView) -> Value {
    json!({
        "schema": SCHEMA,
        "series": view.series,
        "warnings": view.warnings.iter().map(Warning::id).collect::<Vec<_>>(),
        // Added to the contract; these may grow.
        "origin": view.origin,
        "alpha": view.alpha,
        "least_change": view.least_change,
        "remeasure": view.remeasure,
        "commands": view.commands,
        "notes": view.warnings.iter().map(|one| contract::note(one, None, None)).collect::<Vec<_>>(),
    })
}

/// A series at one of its releases.
struct AtRelease<'a> {
    series: &'a SeriesView,
    at: usize,
}

impl AtRelease<'_> {
    fn of_change(&self, text: fn(&ChangeView) -> String) -> String {
        let mut changes = self.series.changes.iter();
        or_none(changes.find(|change| change.version == self.series.releases[self.at]), text)
    }
}

/// A line for each series and release, with what changed there.
pub fn table(view: &HistoryView) -> Table {
    let of_series =
        view.series.iter().map(|series| (0..series.releases.len()).map(move |at| AtRelease { series, at }));
    Table::by_columns(
        of_series.flatten(),
        &[
            ("step", Word, &|row| row.series.step.clone()),
            ("config", Word, &|row| row.series.config.clone()),
            ("metric", Word, &|row| row.series.metric.clone()),
            ("unit", Word, &|row| row.series.unit.clone()),
            ("release", Word, &|row| row.series.releases[row.at].clone()),
            ("value", Word, &|row| number(row.series.values[row.at])),
            ("change", Word, &|row| row.of_change(|change| change.kind.name().to_owned())),
            ("ratio", Word, &|row| row.of_change(|change| number(Some(change.ratio)))),
            ("low", Word, &|row| row.of_change(|change| number(Some(change.low)))),
            ("high", Word, &|row| row.of_change(|change| number(Some(change.high)))),
            ("confidence", Word, &|row| row.of_change(|change| number(Some(change.confidence)))),
            ("glitch", Word, &|row| row.of_change(|change| change.glitch.to_string())),
            ("at_edge", Word, &|row| row.of_change(|change| change.at_edge.to_string())),
        ],
    )
}

/// The values of a series over releases, in its own unit; absent where there is none.
fn figure(series: &SeriesView, ids: &mut Ids) -> Option<Figure> {
    let finite = |value: &Option<f64>| value.filter(|value| value.is_finite());
    let points: Vec<Option<Point>> = series
        .values
        .iter()
        .map(|value| finite(value).map(|value| Point { value, low: None, high: None }))
        .collect();
    let changes = series.changes.iter().filter_map(|change| {
        Some(Mark {
            release: series.releases.iter().position(|release| *release == change.version)?,
            confirmed: change.confirmed,
        })
    });
    let unit = if series.unit.is_empty() { String::new() } else { format!(", {}", series.unit) };
    points.iter().any(Option::is_some).then(|| Figure {
        name: ids.of("series", &series.name),
        caption: format!("{}: {}.", series.name, says(series)),
        chart: Chart::Releases(Releases {
            bands: Bands::MajorVersions,
            title: series.name.clone(),
            axis: format!("{}{unit}", series.metric),
            reference: None,
            confidence: None,
            releases: series.releases.clone(),
            lines: vec![charts::Line { name: series.name.clone(), changes: changes.collect(), points }],
        }),
    })
}

/// "History of 11 series over 16 releases, 8.0 to 9.3."
fn headline(view: &HistoryView) -> String {
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
fn summary(view: &HistoryView) -> String {
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
fn trend(series: &SeriesView, trend: &TrendView) -> String {
    format!("{} {}", series.name, steadily(series, trend))
}

fn steadily(series: &SeriesView, trend: &TrendView) -> String {
    trends::steadily(trend, series.values.iter().flatten().count(), series.maybe_autocorrelation)
}

fn is_confirmed(event: &EventView, view: &HistoryView) -> bool {
    event.members.iter().any(|(series, change)| view.series[*series].changes[*change].confirmed)
}

/// "overwrite at 8.6, the first after 8.5"; the step is left out where there is only one.
fn event_title(event: &EventView, view: &HistoryView) -> String {
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
    let toolchain = changes.iter().find_map(|change| change.toolchain.as_ref());
    let toolchain = toolchain.map(trends::other_compilers).unwrap_or_default();
    let doubted = event.members.iter().all(|(series, _)| view.series[*series].maybe_autocorrelation);
    format!("{step}{place}{or}{standing}{edge}{toolchain}{}", trends::doubt(doubted))
}

/// "overwrite at 8.6, the first after 8.5: rps +1,140 % and 8 more".
fn event_in_short(event: &EventView, view: &HistoryView) -> String {
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
fn line(line: &Line, view: &HistoryView) -> String {
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
fn as_change(ratio: f64) -> String {
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
fn says(series: &SeriesView) -> String {
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
            let seen = |visible: f64| format!(": a change of {} would have been seen", percent(visible));
            format!("no change{}", series.visible.map_or_else(String::new, seen))
        }
    }
}

/// What the search rests on.
fn legend(view: &HistoryView) -> String {
    format!(
        "False positive rate {} per series without a change (up to five times as high for the first change of a short series \
         of single runs, and twice for further changes); changes below {} are not listed; intervals at {}, given the position of the change. \"Would have \
         been seen\": with 90 % power, for one change in the middle; a trend, a change near an end and two changes must be larger.",
        chosen_percent(view.alpha),
        chosen_percent(view.least_change),
        chosen_percent(1.0 - view.alpha),
    )
}

/// Values that could not be used.
fn gaps(view: &HistoryView) -> Vec<String> {
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
fn outliers(view: &HistoryView) -> Vec<String> {
    let with = view.series.iter().filter(|series| !series.outliers.is_empty());
    with.map(|series| format!("outlier, but no change: {} in {}", series.outliers.join(", "), series.name))
        .collect()
}

/// What to measure again, and how.
fn remeasure(view: &HistoryView) -> Vec<String> {
    let steps = view.remeasure.iter().map(|one| {
        let config = if one.config.is_empty() { String::new() } else { format!(" +{}", one.config) };
        format!("{}{config}: {}", one.step, one.releases.join(", "))
    });
    steps.chain(view.commands.iter().map(|command| format!("by: {command}"))).collect()
}

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where a step begins.
const STEP: char = '|';
/// Where there is no value.
const GAP: char = '·';

/// At most `width` characters: long series are drawn by means of neighbours.
fn sparkline(series: &SeriesView, width: usize) -> String {
    let steps: Vec<usize> = series
        .changes
        .iter()
        .filter(|change| !change.glitch)
        .filter_map(|change| series.releases.iter().position(|release| *release == change.version))
        .collect();
    let room = width.saturating_sub(steps.len()).max(1);
    let per_bin = series.values.len().div_ceil(room).max(1);
    let bins: Vec<Option<f64>> = series
        .values
        .chunks(per_bin)
        .map(|bin| analysis::student::mean(&bin.iter().flatten().copied().collect::<Vec<f64>>()))
        .collect();
    let known = || bins.iter().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let mut line = String::new();
    for (bin, value) in bins.iter().enumerate() {
        if steps.iter().any(|step| step / per_bin == bin) {
            line.push(STEP);
        }
        line.push(value.map_or(GAP, |value| height(value, low, high)));
    }
    line
}

/// Linear between the smallest and the largest value; one that is all there is stands in the middle.
fn height(value: f64, low: f64, high: f64) -> char {
    if high <= low {
        return HEIGHTS[HEIGHTS.len() / 2];
    }
    let share = (value - low) / (high - low);
    let top = HEIGHTS.len() - 1;
    HEIGHTS
        .into_iter()
        .enumerate()
        .find(|(at, _)| share * top as f64 <= *at as f64 + 0.5)
        .map_or(HEIGHTS[top], |(_, height)| height)
}

#[cfg(test)]
pub(crate) mod tests;
