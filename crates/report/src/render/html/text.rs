//! Texts of unknown origin and signs as markup: nothing in a text is obeyed, long names are cut.

use crate::render::layout::{printable, shortened};
use crate::signs::Sign;
use maud::{Markup, html};

/// Characters of a name; the whole stands in its title. Longer than any name of ours, short enough for a cell.
pub(super) const MOST_OF_A_NAME: usize = 100;
/// Characters of a heading.
pub(super) const MOST_OF_A_HEADING: usize = 240;

/// A sentence or a paragraph.
pub(super) fn plain(text: &str) -> String {
    // What turns the direction of writing would turn what follows as well.
    let turns = |character: char| matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    printable(text).replace(turns, "\u{fffd}")
}

/// At most this many characters, cut in the middle.
pub(super) fn short(text: &str, most: usize) -> String {
    shortened(&plain(text), most)
}

/// A name: may be broken where its parts meet.
pub(super) fn name(text: &str) -> Markup {
    cut(text, MOST_OF_A_NAME)
}

/// A heading.
pub(super) fn heading(text: &str) -> Markup {
    cut(text, MOST_OF_A_HEADING)
}

fn cut(text: &str, most: usize) -> Markup {
    let whole = plain(text);
    if whole.chars().count() <= most {
        return breakable(&whole);
    }
    html! { span title=(whole) { (breakable(&shortened(&whole, most))) } }
}

/// `rocksdb@8.7.3+defaults` has two places where a line may end.
fn breakable(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split_inclusive(['@', '+', '/', '_', '=']).enumerate() {
            @if index > 0 { wbr; }
            (part)
        }
    }
}

/// Text of a program: its lines stay, and what a terminal would obey is shown as a question mark.
pub(super) fn verbatim(text: &str) -> String {
    let visible = |character: char| match character {
        '\n' | '\t' => character,
        character if character.is_control() => '?',
        character => character,
    };
    text.replace("\r\n", "\n").chars().map(visible).collect()
}

/// The lines of a table's header.
pub(super) fn lines(text: &str) -> Markup {
    html! {
        @for (index, line) in text.split('\n').enumerate() {
            @if index > 0 { br; }
            (plain(line))
        }
    }
}

/// A sign in its colour. Words that are read aloud stand beside it.
pub(super) fn sign(sign: Sign) -> Markup {
    html! { span class={ "sign " (sign.class()) } aria-hidden="true" { (sign.character()) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_stays_whole_in_its_title() {
        let long = format!("\"{}", "x".repeat(10_000));
        let markup = name(&long).into_string();
        assert_eq!(markup.matches("&quot;").count(), 2, "once in the title, once in the text");
        assert!(markup.len() > 10_000 && markup.contains('\u{2026}'));
        assert_eq!(name("a@1+b").into_string(), "a@<wbr>1+<wbr>b");
    }

    #[test]
    fn lines_of_a_program_stay_lines() {
        assert_eq!(verbatim("a\r\nb\tc\u{7}\u{0}"), "a\nb\tc??");
        assert_eq!(lines("QPS\nbase").into_string(), "QPS<br>base");
    }
}
