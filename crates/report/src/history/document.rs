//! A history as a document.

use super::phrases;
use super::text::all_series;
use super::view::{HistoryView, SeriesView};
use crate::charts::{Chart, Line, Mark, Point, Releases};
use crate::document::{Block, Caution, Document, Figure, Section, Sentence, Table};
use crate::documents::ids::Ids;
use model::verdict::Verdict;

/// Columns of the lines in the table of all series.
const WIDTH: usize = 120;

/// The document of a history.
pub fn document(view: &HistoryView) -> Document {
    let mut ids = Ids::default();
    let mut verdicts = vec![Sentence { verdict: None, text: phrases::summary(view) }];
    verdicts.extend(view.events.iter().map(|event| Sentence {
        verdict: Some(Verdict::Suspect),
        text: format!(
            "{}: {}",
            phrases::event_title(event, view),
            event.lines.iter().map(|line| phrases::line(line, view)).collect::<Vec<_>>().join("; ")
        ),
    }));
    let mut sections = vec![Section {
        id: "series".to_owned(),
        title: "Series".to_owned(),
        folded: false,
        blocks: vec![
            Block::Table(Table { caption: String::new(), grid: all_series(view, WIDTH) }),
            Block::Paragraph(phrases::legend(view)),
        ],
    }];
    sections.push(Section {
        id: "charts".to_owned(),
        title: "Over releases".to_owned(),
        folded: false,
        blocks: view.series.iter().filter_map(|series| figure(series, &mut ids)).map(Block::Figure).collect(),
    });
    let again = phrases::remeasure(view);
    sections.extend((!again.is_empty()).then(|| Section {
        id: "measure-again".to_owned(),
        title: "Measure again".to_owned(),
        folded: false,
        blocks: vec![Block::Items(again)],
    }));
    let mut closing = phrases::outliers(view);
    closing.extend(phrases::gaps(view));
    sections.extend((!closing.is_empty()).then(|| Section {
        id: "left-out".to_owned(),
        title: "Values that stand apart".to_owned(),
        folded: true,
        blocks: vec![Block::Items(closing)],
    }));
    Document {
        title: phrases::headline(view).trim_end_matches('.').to_owned(),
        kind: "history",
        runs: Vec::new(),
        verdicts,
        preface: Vec::new(),
        cautions: view
            .warnings
            .iter()
            .map(|note| Caution { id: note.id.clone(), step: None, text: note.text.clone() })
            .collect(),
        sections,
        command: None,
        colophon: Vec::new(),
    }
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
        name: ids.of("series", &series.name()),
        caption: format!("{}: {}.", series.name(), phrases::says(series)),
        chart: Chart::Releases(Releases {
            title: series.name(),
            axis: format!("{}{unit}", series.metric),
            reference: None,
            confidence: None,
            releases: series.releases.clone(),
            lines: vec![Line { name: series.name(), changes: changes.collect(), points }],
        }),
    })
}
