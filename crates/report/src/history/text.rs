//! A history as text for a terminal of a given width.

use super::phrases;
use super::sparkline::sparkline;
use super::view::{HistoryView, SeriesView};
use crate::grids::{Grid, Kind};
use crate::layout::{BOLD, marked, paint, wrapped};
use crate::text::{LEAST_WIDTH, TextOptions, table};

/// Lines are no longer than this, however wide the terminal.
const LONGEST_LINE: usize = 60;
/// What name and sentence of a series need beside its line.
const BESIDE_LINE: usize = 52;

/// The report.
pub fn text(view: &HistoryView, options: TextOptions) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let paragraphs =
        |lines: &[String]| lines.iter().map(|line| wrapped(line, width, 2)).collect::<Vec<_>>().join("\n");
    let mut parts = vec![wrapped(&phrases::headline(view), width, 0), phrases::summary(view)];
    parts.extend(view.events.iter().map(|event| {
        let title = marked(BOLD, &wrapped(&phrases::event_title(event, view), width, 2));
        let lines =
            event.lines.iter().map(|line| wrapped(&format!("- {}", phrases::line(line, view)), width, 2));
        std::iter::once(title).chain(lines).collect::<Vec<_>>().join("\n")
    }));
    parts.push(table(&all_series(view, width), width));
    let again = phrases::remeasure(view);
    if !again.is_empty() {
        parts.push(format!("Measure again\n{}", paragraphs(&again)));
    }
    let mut closing: Vec<String> =
        view.warnings.iter().map(|note| format!("WARNING {}: {}", note.id, note.text)).collect();
    closing.extend(phrases::outliers(view));
    closing.extend(phrases::gaps(view));
    closing.push(phrases::legend(view));
    parts.push(paragraphs(&closing));
    parts.retain(|part| !part.is_empty());
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

/// Every series with its line.
pub(super) fn all_series(view: &HistoryView, width: usize) -> Grid {
    let room = width.saturating_sub(BESIDE_LINE).clamp(10, LONGEST_LINE);
    let one_step = view.series.windows(2).all(|pair| pair[0].step == pair[1].step);
    let one_metric = view.series.windows(2).all(|pair| pair[0].metric == pair[1].metric);
    let name = |series: &SeriesView| match (one_step, one_metric && !one_step) {
        (true, _) if series.config.is_empty() => series.metric.clone(),
        (_, true) if series.config.is_empty() => series.step.clone(),
        (_, _) => series.name(),
    };
    let mut grid =
        Grid::new(&[("series", Kind::Name), ("first to last", Kind::Word), ("found", Kind::Prose)]);
    grid.rows = view
        .series
        .iter()
        .map(|series| vec![name(series), sparkline(series, room), phrases::says(series)])
        .collect();
    grid
}
