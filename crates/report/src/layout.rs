//! Lines of text: wrapping, characters that may not reach a terminal, colour.

/// Colour marks: invisible characters of no width, so that a table can be laid out before it is painted.
pub(crate) const RED: char = '\u{2061}';
pub(crate) const GREEN: char = '\u{2062}';
pub(crate) const BOLD: char = '\u{2063}';
pub(crate) const PLAIN: char = '\u{2064}';

/// Text between marks.
pub(crate) fn marked(mark: char, text: &str) -> String {
    format!("{mark}{text}{PLAIN}")
}

/// Marks become escape sequences, or nothing.
pub(crate) fn paint(text: &str, colour: bool) -> String {
    let mut painted = String::with_capacity(text.len());
    for character in text.chars() {
        let sequence = match character {
            RED => "\x1b[31m",
            GREEN => "\x1b[32m",
            BOLD => "\x1b[1m",
            PLAIN => "\x1b[0m",
            _ => {
                painted.push(character);
                continue;
            }
        };
        if colour {
            painted.push_str(sequence);
        }
    }
    painted
}

/// A text of unknown origin on one line, without anything that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    let visible = |character: char| match character {
        RED | GREEN | BOLD | PLAIN => None,
        '\n' | '\r' | '\t' => Some(' '),
        character if character.is_control() => Some('?'),
        character => Some(character),
    };
    text.chars().filter_map(visible).collect()
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
/// and a number stays with its percent sign.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    const NO_BREAK: &str = "\u{a0}%";
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in printable(text).replace(" %", NO_BREAK).split(' ').filter(|word| !word.is_empty()) {
        let length = line.chars().count();
        if length > indent && length + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        }
        if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n").replace(NO_BREAK, " %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_broken_at_spaces_and_indented() {
        assert_eq!(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrapped("abcdefghijkl mn", 5, 0), "abcdefghijkl\nmn");
        assert_eq!(wrapped("about 2 % of it", 8, 0), "about\n2 % of\nit");
        assert_eq!(wrapped("", 5, 0), "");
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_gets_through() {
        assert_eq!(printable("a\x1b[31mb\nc\u{2061}"), "a?[31mb c");
        assert_eq!(paint(&marked(RED, "x"), true), "\x1b[31mx\x1b[0m");
        assert_eq!(paint(&marked(GREEN, "x"), false), "x");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("readrandom", 10), "readrandom");
        assert_eq!(shortened("readrandom-with-a-long-tail-16", 11), "readr\u{2026}il-16");
    }
}
