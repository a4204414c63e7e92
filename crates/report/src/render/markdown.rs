//! A document as GitHub Markdown, for an issue or a pull request: what is folded on a page is folded here too.

use super::markup::{Markup, together};
use crate::document::{Document, Kind, Level, Notice, Section, Table};
use crate::render::layout::printable;

pub(super) const MARKDOWN: Markup = Markup { escaped, bullet: "- ", bold: "**", table, verbatim: fenced };

/// The report.
pub(super) fn render(document: &Document) -> String {
    let mut parts = vec![format!("# {}", escaped(&printable(&document.title)))];
    parts.push(MARKDOWN.items(document.found.iter().map(|sentence| &sentence.text)));
    parts.extend(document.intro.iter().map(|paragraph| escaped(paragraph)));
    parts.extend(document.sections.iter().flat_map(|section| section_parts(section, 2)));
    parts.push(document.warnings.iter().map(notice).collect::<Vec<_>>().join("\n"));
    parts.extend(document.command.as_ref().map(|command| format!("Measured by:\n\n{}", fenced(command))));
    parts.extend(document.footer.iter().map(|line| escaped(line)));
    together(parts)
}

/// A section with its heading; nothing where it has nothing that Markdown can show.
fn section_parts(section: &Section, depth: usize) -> Vec<String> {
    let blocks = MARKDOWN.blocks(&section.blocks);
    let title = printable(&section.title);
    match section.level {
        Level::Page => Vec::new(),
        _ if blocks.is_empty() => Vec::new(),
        Level::Shown => {
            std::iter::once(format!("{} {}", "#".repeat(depth), escaped(&title))).chain(blocks).collect()
        }
        Level::Folded => {
            let summary = format!("<details><summary>{}</summary>", as_markup(&title));
            [summary].into_iter().chain(blocks).chain(["</details>".to_owned()]).collect()
        }
    }
}

/// A warning as an item of a list.
pub(super) fn notice(notice: &Notice) -> String {
    let step = notice.step.as_ref().map(|step| format!(" ({})", escaped(step))).unwrap_or_default();
    format!("- **warning** {}{step}: {}", escaped(&notice.id), escaped(&notice.text))
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |kind| match kind {
        Kind::Number => "---:".to_owned(),
        Kind::Name | Kind::Word | Kind::Prose => ":---".to_owned(),
    };
    let mut lines = vec![
        line(table.columns.iter().map(|column| escaped(&column.header)).collect()),
        line(table.columns.iter().map(|column| rule(column.kind)).collect()),
    ];
    lines.extend(table.rows.iter().map(|row| line(row.iter().map(|one| MARKDOWN.cell(one)).collect())));
    lines.join("\n")
}

/// A text that reads as itself: nothing in a name or a reason becomes a tag, a link, emphasis or a new cell.
pub(super) fn escaped(text: &str) -> String {
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
            character if character.is_control() => escaped.push('?'),
            character => escaped.push(character),
        }
        before = character;
    }
    escaped
}

/// A text within a tag, where GitHub reads no Markdown.
fn as_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text as it is, in a fence that nothing in it can close.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: String =
        text.chars().map(|character| if is_shown(character) { character } else { '?' }).collect();
    format!("{fence}\n{}\n{fence}", shown.trim_end_matches('\n'))
}

fn is_shown(character: char) -> bool {
    character == '\n' || !character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Block, Section};

    #[test]
    fn a_name_cannot_leave_its_cell_or_become_markup() {
        assert_eq!(escaped("<b>a|b</b>\n`c`"), "&lt;b&gt;a\\|b&lt;/b&gt; \\`c\\`");
        assert_eq!(escaped("read_random [x](y) *z* _e_"), "read_random \\[x](y) \\*z\\* \\_e\\_");
        let mut one = Table::new(&[("step", Kind::Name)]);
        one.fill([["a|b\nc"]]);
        assert_eq!(table(&one), "| step |\n| :--- |\n| a\\|b c |");
    }

    #[test]
    fn nothing_closes_a_fence_from_within() {
        assert_eq!(fenced("a ``` b\n"), "````\na ``` b\n````");
        assert_eq!(fenced("plain"), "```\nplain\n```");
    }

    #[test]
    fn what_is_folded_on_a_page_is_folded_here_and_what_is_for_pages_only_is_left_out() {
        let section = |level| Section::new("a", "x <b>", vec![Block::Paragraph("y".to_owned())]).at(level);
        assert_eq!(section_parts(&section(Level::Shown), 2), ["## x &lt;b&gt;", "y"]);
        assert_eq!(
            section_parts(&section(Level::Folded), 2),
            ["<details><summary>x &lt;b&gt;</summary>", "y", "</details>"]
        );
        assert!(section_parts(&section(Level::Page), 2).is_empty());
    }
}
