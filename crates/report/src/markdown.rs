//! A report as GitHub Markdown: the same content as the text, for an issue or a pull request.

use crate::grids::{self, Grid, Kind};
use crate::groups;
use crate::layout::{BOLD, GREEN, PLAIN, RED};
use crate::phrases;
use crate::view::{CandidateView, ReportView};

/// The report of a run.
pub fn render(view: &ReportView) -> String {
    let mut parts = vec![escaped(&phrases::headline(view)), escaped(&phrases::run_line(view))];
    for candidate in &view.candidates {
        parts.extend(candidate_parts(candidate, view));
    }
    parts.extend(grids::shapes(&view.shapes).map(|grid| table(&grid)));
    let warnings: Vec<String> = view
        .warnings
        .iter()
        .map(|warning| format!("- **warning** {}: {}", escaped(&warning.id), escaped(&warning.text)))
        .collect();
    parts.push(warnings.join("\n"));
    let mut trials = vec![escaped(&phrases::trials(view))];
    trials.extend(view.trials.reasons.iter().map(|reason| list_item(&phrases::trial_reason(reason))));
    parts.push(trials.join("\n"));
    parts.push(escaped(&phrases::host_line(&view.host)));
    parts.extend(view.cost.as_ref().map(|cost| escaped(&phrases::cost(cost, view.of_servers))));
    parts.push(escaped(&phrases::again(view)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn candidate_parts(candidate: &CandidateView, view: &ReportView) -> Vec<String> {
    let mut notes: Vec<String> = phrases::notes(&candidate.rows).iter().map(|note| list_item(note)).collect();
    notes.extend(phrases::visible_changes(&candidate.rows).map(|visible| list_item(&visible)));
    let mut parts = vec![
        format!("## {} against {}", escaped(&candidate.subject), escaped(&view.base)),
        escaped(&candidate.summary),
        table(&grids::wide(candidate, phrases::relative_cost_with_interval)),
        escaped(&phrases::legend(view)),
    ];
    let groups = grids::groups(candidate);
    if !groups.is_empty() {
        parts.push(table(&groups::grid("group", &groups)));
        parts.push(escaped(&groups::extremes(&groups)));
        parts.push(escaped(&groups::legend("launches")));
    }
    parts.push(notes.join("\n"));
    parts.extend(grids::time(candidate).map(|grid| table(&grid)));
    parts.extend(grids::differs(candidate).map(|grid| table(&grid)));
    parts.extend(grids::differing_lists(candidate, view).iter().map(|list| escaped(list)));
    parts
}

pub(crate) fn list_item(text: &str) -> String {
    format!("- {}", escaped(text))
}

/// A grid as a table of GitHub's Markdown.
pub(crate) fn table(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |kind| match kind {
        Kind::Number => "---:".to_owned(),
        Kind::Name | Kind::Word | Kind::Prose => ":---".to_owned(),
    };
    let mut lines = vec![
        line(grid.columns.iter().map(|column| escaped(&column.header)).collect()),
        line(grid.columns.iter().map(|column| rule(column.kind)).collect()),
    ];
    lines.extend(grid.rows.iter().map(|row| line(row.iter().map(|cell| escaped(cell)).collect())));
    lines.join("\n")
}

/// A text that reads as itself: nothing in a name or a reason becomes a tag, a link, emphasis or a new cell.
/// What is marked for colour becomes bold.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let inside_word =
            before.is_alphanumeric() && characters.peek().is_some_and(|next| next.is_alphanumeric());
        match character {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // Names of options are full of these, and inside a word they mean nothing.
            '_' if inside_word => escaped.push('_'),
            // Without its opening bracket a closing one means nothing either.
            '|' | '\\' | '`' | '*' | '_' | '~' | '[' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            RED | GREEN | BOLD | PLAIN => escaped.push_str("**"),
            character if character.is_control() => escaped.push('?'),
            character => escaped.push(character),
        }
        before = character;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_cell_or_become_markup() {
        assert_eq!(escaped("<b>a|b</b>\n`c`"), "&lt;b&gt;a\\|b&lt;/b&gt; \\`c\\`");
        assert_eq!(escaped("read_random [x](y) *z* _e_"), "read_random \\[x](y) \\*z\\* \\_e\\_");
        let grid = Grid {
            columns: vec![grids::Column { header: "step".into(), kind: Kind::Name }],
            rows: vec![vec!["a|b\nc".to_owned()]],
        };
        assert_eq!(table(&grid), "| step |\n| :--- |\n| a\\|b c |");
    }
}
