//! A document in the wiki markup of Jira, where MariaDB and MyRocks keep their issues. Jira folds nothing: what is folded on a page is shown
//! if detail is asked for.

use super::markup::{Markup, together};
use crate::document::{Document, Level, Section, Table};
use crate::render::layout::printable;

const JIRA: Markup = Markup { escaped, bullet: "* ", bold: "*", table, verbatim };

/// The report, with what a page folds if `detail`.
pub(super) fn render(document: &Document, detail: bool) -> String {
    let mut parts = vec![heading(2, &document.title)];
    parts.push(JIRA.items(document.found.iter().map(|sentence| &sentence.text)));
    parts.extend(document.intro.iter().map(|paragraph| escaped(paragraph)));
    parts.extend(document.sections.iter().flat_map(|section| section_parts(section, detail)));
    let warnings = document.warnings.iter().map(|notice| match &notice.step {
        Some(step) => format!("warning {} ({step}): {}", notice.id, notice.text),
        None => format!("warning {}: {}", notice.id, notice.text),
    });
    parts.push(JIRA.items(warnings));
    parts.extend(document.command.as_ref().map(|command| format!("Measured by:\n{}", verbatim(command))));
    parts.extend(document.footer.iter().map(|line| escaped(line)));
    together(parts)
}

/// A section with its heading; nothing if none of it can be shown.
fn section_parts(section: &Section, detail: bool) -> Vec<String> {
    let is_shown = match section.level {
        Level::Shown => true,
        Level::Folded => detail,
        Level::Page => false,
    };
    let blocks = if is_shown { JIRA.blocks(&section.blocks) } else { Vec::new() };
    let title = (!blocks.is_empty()).then(|| heading(3, &section.title));
    title.into_iter().chain(blocks).collect()
}

fn heading(level: usize, title: &str) -> String {
    format!("h{level}. {}", escaped(&printable(title)))
}

fn table(table: &Table) -> String {
    // Two bars without anything between them would be the bar of a header.
    let filled = |text: String| if text.is_empty() { " ".to_owned() } else { text };
    let line = |bar: &str, cells: Vec<String>| format!("{bar}{}{bar}", cells.join(bar));
    let headers = table.columns.iter().map(|column| filled(escaped(&column.header)));
    let rows = table.rows.iter().map(|row| line("|", row.iter().map(|one| filled(JIRA.cell(one))).collect()));
    std::iter::once(line("||", headers.collect())).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Nothing in a name or a reason becomes a macro, a link, an icon, emphasis or a new cell.
fn escaped(text: &str) -> String {
    let text: Vec<char> = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    let mut escaped = String::with_capacity(text.len());
    for (at, &character) in text.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let after = &text[at + 1..];
        let is_alphanumeric = |other: Option<&char>| other.is_some_and(|other| other.is_alphanumeric());
        let inside_word = is_alphanumeric(before) && is_alphanumeric(after.first());
        let needs_backslash = match character {
            '{' | '}' | '[' | ']' | '|' | '!' => true,
            // Inside a word these mean nothing, and names are full of them.
            '*' | '_' | '-' | '+' | '^' | '~' | '?' | '#' | '@' => !inside_word,
            '(' => is_icon(after),
            // `:)` and its like too.
            ':' | ';' => after.first().is_some_and(|other| matches!(other, ')' | '(' | 'P' | 'D')),
            _ => false,
        };
        match character {
            // A backslash before a backslash would be a line break.
            '\\' => escaped.push_str("&#92;"),
            '&' => escaped.push_str("&amp;"),
            '.' if is_heading(&text[..at]) => escaped.push_str("&#46;"),
            character => {
                escaped.extend(needs_backslash.then_some('\\'));
                escaped.push(character);
            }
        }
    }
    escaped
}

/// What is an icon between round brackets: `(x)`.
const ICONS: [&str; 18] = [
    "x", "/", "!", "?", "+", "-", "i", "y", "n", "on", "off", "*", "*r", "*g", "*b", "*y", "flag", "flagoff",
];

/// Whether what follows a round bracket makes an icon of it.
fn is_icon(after: &[char]) -> bool {
    let inside = after.iter().position(|one| *one == ')').map(|end| after[..end].iter().collect::<String>());
    inside.is_some_and(|inside| ICONS.contains(&inside.as_str()))
}

/// Whether a dot after this would make a heading or a quotation of the line.
fn is_heading(before: &[char]) -> bool {
    matches!(before, ['h', '1'..='6'] | ['b', 'q'])
}

fn verbatim(text: &str) -> String {
    let shown: String =
        text.chars().map(|one| if one != '\n' && one.is_control() { '?' } else { one }).collect();
    let shown = shown.replace("{noformat", "{ noformat");
    format!("{{noformat}}\n{}\n{{noformat}}", shown.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Block, Kind};

    #[test]
    fn a_name_cannot_leave_its_cell_or_become_markup() {
        assert_eq!(escaped("a|b {color:red}[x|y]"), "a\\|b \\{color:red\\}\\[x\\|y\\]");
        assert_eq!(escaped("read_random-only *z* _e_ -19.3 %"), "read_random-only \\*z\\* \\_e\\_ \\-19.3 %");
        assert_eq!(
            escaped("(x) (on one of them) :) a\\b\n&lt;"),
            "\\(x) (on one of them) \\:) a&#92;b &amp;lt;"
        );
        assert_eq!(escaped("h1. x"), "h1&#46; x");
        assert_eq!(escaped("rocksdb@6.0.2, x.h1. y"), "rocksdb@6.0.2, x.h1. y");
    }

    #[test]
    fn a_cell_without_text_is_not_a_header() {
        let mut one = Table::new(&[("step", Kind::Name), ("", Kind::Number)]);
        one.fill([["readrandom", ""]]);
        assert_eq!(table(&one), "||step|| ||\n|readrandom| |");
    }

    #[test]
    fn nothing_closes_a_verbatim_block_from_within() {
        assert_eq!(verbatim("a\n{noformat}*b*\n"), "{noformat}\na\n{ noformat}*b*\n{noformat}");
    }

    #[test]
    fn what_a_page_folds_is_shown_if_asked_for() {
        let section = |level| Section::new("a", "x", vec![Block::Paragraph("y".to_owned())]).at(level);
        assert_eq!(section_parts(&section(Level::Shown), false), ["h3. x", "y"]);
        assert!(section_parts(&section(Level::Folded), false).is_empty());
        assert_eq!(section_parts(&section(Level::Folded), true), ["h3. x", "y"]);
        assert!(section_parts(&section(Level::Page), true).is_empty());
    }
}
