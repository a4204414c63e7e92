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
}
