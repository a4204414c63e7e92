//! Lines with their numbers, and whether they are whole: a text that was cut off ends without a line break.
//!
//! A program that is killed while it writes to a file leaves half a line, and half a number looks like a number.

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: usize,
    /// Without the line break and what is blank before it.
    pub text: &'a str,
    /// Whether there is a line break after it. Only the last line has none.
    pub whole: bool,
}

/// The lines of a text.
pub fn numbered(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').zip(1..).map(|(line, number)| Line {
        number,
        text: line.trim_end(),
        whole: line.ends_with('\n'),
    })
}

/// The number of the last line; 1 where there is none.
pub fn last(text: &str) -> usize {
    text.lines().count().max(1)
}

/// A name of a column, a test or a version has at most so many bytes, far more than any: it stands with each of its values, so that a text of
/// some kilobytes with a longer one would take gigabytes.
pub const LONGEST_NAME: usize = 1000;

/// Errors: a name is longer.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "a name of {} bytes is longer than {LONGEST_NAME}: this is no table",
            name.len()
        ));
    }
    Ok(())
}

/// A name, cut where it is longer.
pub fn short_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// The lines of places in a text, asked for in the order of the text: each is counted from the place before it, for a text may have
/// very many.
pub struct LineCount<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineCount<'a> {
    /// Begins at line 1.
    pub fn of(text: &'a str) -> LineCount<'a> {
        LineCount { text, at: 0, line: 1 }
    }

    /// The line of a byte, which is not before the one that was asked for last.
    pub fn line_at(&mut self, at: usize) -> usize {
        self.line += self.text[self.at..at].matches('\n').count();
        self.at = at;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_may_be_cut_off() {
        let of = |text| numbered(text).map(|line| (line.number, line.text, line.whole)).collect::<Vec<_>>();
        assert_eq!(of("a \r\n\n b"), [(1, "a", true), (2, "", true), (3, " b", false)]);
        assert_eq!(of("a\n"), [(1, "a", true)]);
        assert_eq!((of(""), last(""), last("a\nb\n")), (vec![], 1, 2));
    }

    #[test]
    fn a_long_name_is_refused_or_cut_between_characters() {
        let (longest, longer) = ("x".repeat(LONGEST_NAME), "\u{e4}".repeat(LONGEST_NAME));
        assert_eq!((check_name(&longest), short_name(&longest)), (Ok(()), longest.as_str()));
        assert!(check_name(&longer).is_err_and(|problem| problem.contains("2000 bytes")));
        assert_eq!(short_name(&longer).len(), LONGEST_NAME);
        assert_eq!(short_name(&format!("x{longer}")).len(), LONGEST_NAME - 1);
    }

    #[test]
    fn lines_are_counted_on_from_place_to_place() {
        let text = "a\n\nbc\nd";
        let mut lines = LineCount::of(text);
        assert_eq!([0, 1, 2, 3, 4, 6, 7].map(|at| lines.line_at(at)), [1, 1, 2, 3, 3, 4, 4]);
    }
}
