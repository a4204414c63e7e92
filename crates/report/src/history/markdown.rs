//! A history as GitHub Markdown.

use super::phrases;
use super::text::all_series;
use super::view::HistoryView;
use crate::markdown::{escaped, list_item, table};

/// Wide enough for a line of sixty characters.
const WIDTH: usize = 120;

/// The report.
pub fn markdown(view: &HistoryView) -> String {
    let items = |texts: &[String]| texts.iter().map(|text| list_item(text)).collect::<Vec<_>>().join("\n");
    let mut parts = vec![escaped(&phrases::headline(view)), escaped(&phrases::summary(view))];
    for event in &view.events {
        parts.push(format!("### {}", escaped(&phrases::event_title(event, view))));
        let lines: Vec<String> = event.lines.iter().map(|line| phrases::line(line, view)).collect();
        parts.push(items(&lines));
    }
    parts.push("### All series".to_owned());
    parts.push(table(&all_series(view, WIDTH)));
    let again = phrases::remeasure(view);
    if !again.is_empty() {
        parts.push("### Measure again".to_owned());
        parts.push(items(&again));
    }
    let warnings: Vec<String> = view
        .warnings
        .iter()
        .map(|note| format!("- **warning** {}: {}", escaped(&note.id), escaped(&note.text)))
        .collect();
    parts.push(warnings.join("\n"));
    parts.push(items(&phrases::outliers(view)));
    parts.push(items(&phrases::gaps(view)));
    parts.push(escaped(&phrases::legend(view)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}
