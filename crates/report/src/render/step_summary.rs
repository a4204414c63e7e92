//! A document as the summary of a GitHub job: what was found first, one table, the rest folded away, and never more than
//! GitHub takes.

use crate::document::{Block, Document, Level};
use crate::render::layout::printable;
use crate::render::markdown::{self, MARKDOWN, escaped, notice};

/// GitHub takes 1 MiB for a step; what is more is refused as a whole.
pub const MOST_BYTES: usize = 1 << 20;
/// Room for what is said of a cut, and for closing what it left open.
const CLOSING_BYTES: usize = 1024;

/// The summary of a document, in at most so many bytes.
pub fn render(document: &Document, most_bytes: usize) -> String {
    let mut parts = vec![format!("### dbdyno: {}", escaped(&printable(&document.title)))];
    parts.push(MARKDOWN.items(document.found.iter().map(|sentence| &sentence.text)));
    parts.push(document.warnings.iter().map(notice).collect::<Vec<_>>().join("\n"));
    parts.extend(first_table(document));
    parts.push("<details><summary>Everything</summary>".to_owned());
    parts.push(markdown::render(document));
    parts.retain(|part| !part.is_empty());
    let again = format!("dbdyno report {} --format markdown", document.runs.join(" "));
    within(&parts.join("\n\n"), most_bytes, &again)
}

/// The first table that everybody sees, with what explains it.
fn first_table(document: &Document) -> Vec<String> {
    let shown = document.sections.iter().filter(|section| section.level == Level::Shown);
    let table = |block: &&Block| matches!(block, Block::Table(_) | Block::Matrix(_));
    let tables = shown.flat_map(|section| &section.blocks).filter(table);
    tables
        .map(|table| MARKDOWN.blocks(std::slice::from_ref(table)))
        .find(|table| !table.is_empty())
        .unwrap_or_default()
}

/// The text and its closing tag in at most `most` bytes: whole lines from the start, then what is missing.
fn within(text: &str, most: usize, again: &str) -> String {
    const CLOSE: &str = "\n</details>\n";
    if text.len() + CLOSE.len() <= most {
        return format!("{text}{CLOSE}");
    }
    let room = most.saturating_sub(CLOSING_BYTES);
    let mut kept = 0;
    let mut lines = 0;
    for line in text.split_inclusive('\n') {
        if kept + line.len() > room {
            break;
        }
        kept += line.len();
        lines += 1;
    }
    let left_out = text.lines().count().saturating_sub(lines);
    // Sections are folded within what is folded.
    let count = |tag: &str| text[..kept].matches(tag).count();
    let open = count("<details>").saturating_sub(count("</details>"));
    let close = CLOSE.repeat(open);
    format!(
        "{}{close}\n**Cut here: {left_out} lines are left out, because GitHub takes at most 1 MiB.** All of it: {}\n",
        &text[..kept],
        escaped(again)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Kind, Notice, Section, Sentence, Table};

    #[test]
    fn what_is_too_long_is_cut_at_a_line_and_says_so() {
        let text = format!("<details><summary>x</summary>\n\n{}", "a line of text\n".repeat(400));
        let whole = within(&text, 10_000, "dbdyno report 1");
        assert!(whole.ends_with("\n</details>\n") && whole.len() == text.len() + 12);
        let cut = within(&text, 4000, "dbdyno report 1");
        assert!(cut.len() <= 4000, "{}", cut.len());
        let shown = cut.matches("a line of text\n").count();
        assert!(shown > 100, "{shown}");
        assert!(cut.contains(&format!("Cut here: {} lines are left out", 400 - shown)), "{cut}");
        assert_eq!(cut.matches("</details>").count(), 1);
        let before = within(&"x".repeat(5000), 4000, "dbdyno report 1");
        assert!(!before.contains("</details>") && before.contains("1 lines are left out"), "{before}");
    }

    #[test]
    fn a_summary_has_what_was_found_one_table_and_everything_within_its_bytes() {
        let mut step = Table::new(&[("step", Kind::Name), ("relative", Kind::Number)]);
        step.fill((0..200).map(|number| [format!("step {number}"), "0.94".to_owned()]));
        let folded = Section::new("step", "A step", vec![Block::Table(step.clone())]).at(Level::Folded);
        let document = Document {
            title: "b against a".to_owned(),
            kind: "comparison",
            runs: vec!["r1".to_owned()],
            found: vec![Sentence { verdict: None, text: "b is slower".to_owned() }],
            warnings: vec![Notice::of_all("busy-host", "load 3")],
            sections: vec![folded, Section::new("overview", "Overview", vec![Block::Table(step)])],
            ..Document::default()
        };
        let whole = render(&document, MOST_BYTES);
        assert!(
            whole.starts_with(
                "### dbdyno: b against a\n\n- b is slower\n\n- **warning** busy-host: load 3\n\n| step |"
            ),
            "{whole}"
        );
        assert_eq!(whole.matches("| step 7 | 0.94 |").count(), 3, "the table, then both within everything");
        for most in [3000, 7000, 9000] {
            let cut = render(&document, most);
            assert!(cut.len() <= most && cut.contains("Cut here"), "{}", cut.len());
            assert_eq!(cut.matches("<details>").count(), cut.matches("</details>").count(), "{cut}");
        }
    }
}
