//! Lines of text: wrapping, and characters that may not reach a terminal.

use unicode_width::UnicodeWidthStr;

/// The columns that a text takes on a terminal.
pub(crate) fn columns_of(text: &str) -> usize {
    text.width()
}

/// A text of unknown origin on one line, without anything that a terminal would obey.
pub fn printable(text: &str) -> String {
    let visible = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        character if character.is_control() => '?',
        character => character,
    };
    text.chars().map(visible).collect()
}

/// The same of a text of several lines, which it keeps.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// At most `width` characters; what is cut is marked, in the middle, because names differ at both ends.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let text = printable(text);
    let count = text.chars().count();
    if count <= width {
        return text;
    }
    let kept = width.saturating_sub(1);
    let head: String = text.chars().take(kept - kept / 2).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}\u{2026}{tail}")
}

/// Breaks a paragraph at spaces; later lines start with `indent` spaces. A word that is too long stays whole,
/// a number stays with its percent sign, and a sign with the word after it.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in unbroken(&printable(text)) {
        let length = line.chars().count();
        if length > indent && length + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        }
        if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines.join("\n")
}

/// The words of a text, those together that are not to be torn apart.
fn unbroken(text: &str) -> Vec<String> {
    let is_sign = |word: &str| word.chars().count() == 1 && !word.chars().all(char::is_alphanumeric);
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(last) if joins || word.starts_with('%') => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => words.push(word.to_owned()),
        }
        joins = is_sign(word) && word != "%";
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_broken_at_spaces_and_indented() {
        assert_eq!(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrapped("abcdefghijkl mn", 5, 0), "abcdefghijkl\nmn");
        assert_eq!(wrapped("about 2 % of it", 8, 0), "about\n2 % of\nit");
        assert_eq!(wrapped("it is \u{25bc} slower", 9, 0), "it is\n\u{25bc} slower");
        assert_eq!(wrapped("", 5, 0), "");
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_gets_through() {
        assert_eq!(printable("a\x1b[31mb\nc"), "a?[31mb c");
        assert_eq!(printable_lines("a\x1b]0;b\x07\n\r\nc\n"), "a?]0;b?\n \nc\n");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("readrandom", 10), "readrandom");
        assert_eq!(shortened("readrandom-with-a-long-tail-16", 11), "readr\u{2026}il-16");
    }
}
