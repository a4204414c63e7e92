//! A history as a document and as a table for spreadsheets.

use super::phrases;
use super::sparkline::sparkline;
use crate::charts::{Chart, Line, Mark, Point, Releases};
use crate::document::{Block, Cell, Document, Figure, Kind, Notice, Section, Sentence, Table, Tone};
use crate::documents::ids::Ids;
use crate::render::separated::number;
use findings::history::{ChangeView, EventView, HistoryView, SeriesView};
use model::figures::NONE;
use model::verdict::Verdict;

/// Characters of a line from the first release to the last: it has its place beside name and sentence on a terminal of 80
/// columns.
const LINE: usize = 28;

/// So many changes are a summary; all of them have a section.
const MOST_FOUND: usize = 8;

/// The document of a history.
pub fn document(view: &HistoryView) -> Document {
    let mut ids = Ids::default();
    let mut found = vec![Sentence { verdict: None, text: phrases::summary(view) }];
    found.extend(view.events.iter().take(MOST_FOUND).map(|event| Sentence {
        verdict: (!phrases::is_confirmed(event, view)).then_some(Verdict::Suspect),
        text: phrases::event_in_short(event, view),
    }));
    found.extend(
        trends(view)
            .into_iter()
            .take(MOST_FOUND)
            .map(|text| Sentence { verdict: Some(Verdict::Suspect), text }),
    );
    if let Some(more @ 1..) = view.events.len().checked_sub(MOST_FOUND) {
        found.push(Sentence { verdict: None, text: format!("And {more} more, below.") });
    }
    let figures =
        view.series.iter().filter_map(|series| figure(series, &mut ids)).map(Block::Figure).collect();
    let mut apart = phrases::outliers(view);
    apart.extend(phrases::gaps(view));
    let mut sections = vec![
        Section::new(
            "changes",
            "What changed",
            view.events.iter().flat_map(|event| changes(event, view)).collect(),
        ),
        Section::new("trends", "Trends", vec![Block::Items(trends(view))]),
        Section::new(
            "series",
            "Series",
            vec![Block::Table(all_series(view)), Block::Paragraph(phrases::legend(view))],
        ),
        Section::new("charts", "Over releases", figures),
        Section::new("measure-again", "Measure again", vec![Block::Items(phrases::remeasure(view))]),
        Section::new("left-out", "Values that stand apart", vec![Block::Items(apart)]),
    ];
    let has_something = |block: &Block| !matches!(block, Block::Items(items) if items.is_empty());
    sections.retain(|section| section.blocks.iter().any(has_something));
    Document {
        title: phrases::headline(view).trim_end_matches('.').to_owned(),
        kind: "history",
        runs: Vec::new(),
        found,
        intro: Vec::new(),
        warnings: view.warnings.iter().map(|note| Notice::of_all(note.id(), note.to_string())).collect(),
        sections,
        command: None,
        footer: Vec::new(),
    }
}

/// A line for each series that changes steadily.
fn trends(view: &HistoryView) -> Vec<String> {
    let told = view.series.iter().filter_map(|series| Some(phrases::trend(series, series.told_trend()?)));
    told.collect()
}

/// What changed at one release, a line for each of it.
fn changes(event: &EventView, view: &HistoryView) -> [Block; 2] {
    let lines = event.lines.iter().map(|line| phrases::line(line, view));
    [Block::Paragraph(format!("{}:", phrases::event_title(event, view))), Block::Items(lines.collect())]
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
    let mut table =
        Table::new(&[("series", Kind::Name), ("first to last", Kind::Word), ("found", Kind::Prose)]);
    table.fill(view.series.iter().map(|series| {
        let tone = if series.changes.is_empty() && series.told_trend().is_none() {
            Tone::Plain
        } else {
            Tone::Strong
        };
        [name(series).into(), sparkline(series, LINE).into(), Cell::toned(phrases::says(series), tone)]
    }));
    table
}

/// A line for each series and release, with what changed there.
pub fn table(view: &HistoryView) -> Table {
    let mut table = Table::for_scripts(&[
        "step",
        "config",
        "metric",
        "unit",
        "release",
        "value",
        "change",
        "ratio",
        "low",
        "high",
        "confidence",
        "glitch",
        "at_edge",
    ]);
    for series in &view.series {
        table.fill(series.releases.iter().zip(&series.values).map(|(release, value)| {
            let change = series.changes.iter().find(|change| change.version == *release);
            let of = |value: fn(&ChangeView) -> String| change.map_or_else(|| NONE.to_owned(), value);
            [
                series.step.clone(),
                series.config.clone(),
                series.metric.clone(),
                series.unit.clone(),
                release.clone(),
                number(*value),
                of(|change| change.kind.name().to_owned()),
                of(|change| number(Some(change.ratio))),
                of(|change| number(Some(change.low))),
                of(|change| number(Some(change.high))),
                of(|change| number(Some(change.confidence))),
                of(|change| change.glitch.to_string()),
                of(|change| change.at_edge.to_string()),
            ]
        }));
    }
    table
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
        caption: format!("{}: {}.", series.name, phrases::says(series)),
        chart: Chart::Releases(Releases {
            title: series.name.clone(),
            axis: format!("{}{unit}", series.metric),
            reference: None,
            confidence: None,
            releases: series.releases.clone(),
            lines: vec![Line { name: series.name.clone(), changes: changes.collect(), points }],
        }),
    })
}
