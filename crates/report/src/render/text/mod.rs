//! A document as text for a terminal of a given width.

mod matrix;
mod table;
mod terminal;

use crate::document::{Block, Document, Level, Notice, Section, Sentence, Table, Tone};
use crate::render::layout::printable;
use crate::signs::Sign;
use table::tables;
use terminal::Terminal;

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; fewer than 80 are taken as 80.
    pub width: usize,
    /// Whether escape sequences for colour may be in it. They never carry a meaning of their own.
    pub colour: bool,
    /// Whether sections that are folded elsewhere are in it too.
    pub detail: bool,
}

/// Below this a table cannot hold two rates and an interval.
const LEAST_WIDTH: usize = 80;

/// The report: what was found, then section by section.
pub fn render(document: &Document, options: TextOptions) -> String {
    let terminal = Terminal::from(options);
    let mut parts = vec![terminal.toned(&terminal.paragraph(&document.title), Tone::Strong)];
    parts.push(document.found.iter().map(|one| found(one, terminal)).collect::<Vec<_>>().join("\n"));
    parts.push(terminal.paragraphs(&document.intro));
    let mut left_out = 0;
    for section in &document.sections {
        let blocks = blocks(section, terminal);
        let is_shown = match section.level {
            Level::Shown => true,
            Level::Folded => options.detail,
            Level::Page => continue,
        };
        if blocks.is_empty() {
            continue;
        }
        if is_shown {
            parts.push(terminal.toned(&terminal.paragraph(&section.title), Tone::Strong));
            parts.extend(blocks);
        } else {
            left_out += 1;
        }
    }
    let warnings: Vec<String> = document.warnings.iter().map(warning).collect();
    parts.push(terminal.paragraphs(&warnings));
    parts.extend(
        document.command.as_ref().map(|text| format!("Measured by:\n{}", command(text, terminal.width))),
    );
    let mut footer = document.footer.clone();
    footer.extend(left_out_line(left_out));
    footer.extend(without_intervals(document));
    parts.push(terminal.paragraphs(&footer));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

/// A table that stands alone, without colours.
pub(crate) fn table_alone(table: &Table, width: usize) -> String {
    tables(table, Terminal { width: width.max(LEAST_WIDTH), colour: false }) + "\n"
}

fn found(sentence: &Sentence, terminal: Terminal) -> String {
    let tone = match sentence.verdict.and_then(|verdict| Sign::of(verdict, true)).map(Sign::tone) {
        Some(Tone::Plain) => Tone::Strong,
        Some(tone) => tone,
        None => Tone::Plain,
    };
    terminal.toned(&terminal.paragraph(&sentence.text), tone)
}

fn warning(notice: &Notice) -> String {
    let step = notice.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default();
    format!("WARNING {}{step}: {}", notice.id, notice.text)
}

fn left_out_line(sections: usize) -> Option<String> {
    match sections {
        0 => None,
        1 => Some("1 more section: --detail shows it.".to_owned()),
        more => Some(format!("{more} more sections: --detail shows them.")),
    }
}

fn without_intervals(document: &Document) -> Option<String> {
    let lacks = |block: &Block| match block {
        Block::Matrix(matrix) => {
            !matrix.intervals && !matrix.interval_legend.is_empty() && !matrix.is_in_another_table()
        }
        _ => false,
    };
    let told = "`dbdyno report --intervals` shows the intervals of relative QPS.";
    document.blocks().any(lacks).then(|| told.to_owned())
}

/// What of a section can be shown as text.
fn blocks(section: &Section, terminal: Terminal) -> Vec<String> {
    let texts = section.blocks.iter().map(|block| match block {
        Block::Paragraph(text) => terminal.paragraph(text),
        Block::Items(items) => {
            items.iter().map(|item| terminal.paragraph(&format!("- {item}"))).collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => under(&table.caption, tables(table, terminal), terminal),
        Block::Matrix(matrix) if !matrix.is_in_another_table() => {
            let rows = matrix::matrix(matrix, terminal);
            let mut parts = vec![under(&matrix.caption, rows, terminal)];
            parts.push(terminal.paragraph(&matrix.whole_legend(matrix.intervals)));
            parts.retain(|part| !part.is_empty());
            parts.join("\n\n")
        }
        Block::Verbatim(text) => verbatim(text),
        Block::Matrix(_) | Block::Figure(_) | Block::Timeline(_) => String::new(),
    });
    texts.filter(|text| !text.is_empty()).collect()
}

fn under(caption: &str, table: String, terminal: Terminal) -> String {
    match caption {
        "" => table,
        caption => format!("{}\n{table}", terminal.paragraph(caption)),
    }
}

/// Lines stay lines, and nothing in them is obeyed.
fn verbatim(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {}", printable(line))).collect::<Vec<_>>().join("\n")
}

/// A command on lines that a shell reads as one: broken at spaces outside quotes.
fn command(text: &str, width: usize) -> String {
    const CONTINUED: usize = 2;
    text.lines().map(|line| broken_command(line, width - CONTINUED)).collect::<Vec<_>>().join("\n")
}

fn broken_command(line: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec!["  ".to_owned()];
    for word in shell_words(&printable(line)) {
        if let Some(last) = lines.last_mut() {
            let is_first = last.trim().is_empty();
            if !is_first && last.chars().count() + 1 + word.chars().count() > width {
                last.push_str(" \\");
                lines.push(format!("    {word}"));
            } else {
                last.push_str(if is_first { "" } else { " " });
                last.push_str(&word);
            }
        }
    }
    lines.join("\n")
}

/// What stands between spaces outside quotes, quotes and all.
fn shell_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut quote = None;
    for character in line.chars() {
        match (character, quote) {
            (' ', None) => words.push(String::new()),
            _ => {
                quote = match (character, quote) {
                    ('\'' | '"', None) => Some(character),
                    (character, Some(open)) if character == open => None,
                    (_, quote) => quote,
                };
                if let Some(word) = words.last_mut() {
                    word.push(character);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

impl From<TextOptions> for Terminal {
    fn from(options: TextOptions) -> Terminal {
        Terminal { width: options.width.max(LEAST_WIDTH), colour: options.colour }
    }
}

#[cfg(test)]
mod tests;
