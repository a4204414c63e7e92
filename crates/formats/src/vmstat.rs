//! What vmstat prints: a row per interval, the header again every so often.
//!
//! procps 3.3 and 4.0; with `-w` columns are wider, with `-t` a time stands at the end:
//!
//! ```text
//! procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------
//!  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu
//!  1  0      0 634560  13876 1029352    0    0    25   159  702    1 10  4 86  0  0  0
//! ```
//!
//! Columns are found by the header. The first row tells of the time since the host was started, unless vmstat was told
//! to leave that out (`-y`): the text does not say, so that the caller has to.

use crate::ParseError;
use crate::lines::{last, numbered};
use crate::samples::{FirstReport, Mean, Row, fit, means, row};
use std::collections::BTreeMap;
use std::sync::Arc;

const WHAT: &str = "output of vmstat";

/// The first columns of every header.
const FIRST_COLUMNS: [&str; 2] = ["r", "b"];

/// What a whole text is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VmstatOutput {
    /// The rows, in their order.
    pub rows: Vec<VmstatRow>,
    /// The last line, where it has no line break: it may lack digits, and is left out.
    pub cut_off: Option<usize>,
}

/// What happened between this row and the one before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VmstatRow {
    /// Its line, from 1.
    pub line: usize,
    /// `2026-11-21 16:25:01`; with `-t`.
    pub time: Option<String>,
    /// Values by column, in the unit that the column has: `cs` a second, `us` in percent, `free` in KiB unless vmstat
    /// was told another unit (`-S`), which its text does not say.
    pub values: Row,
}

impl VmstatOutput {
    /// Means over the rows, by column. None where there is no row but the first, and that does not count.
    pub fn means(&self, first: FirstReport) -> Option<BTreeMap<String, Mean>> {
        let rows = self.rows.get(first.skipped()..).filter(|rows| !rows.is_empty())?;
        Some(means(rows.iter().map(|row| &row.values)))
    }
}

/// Reads the text. Lines that do not begin with a number are passed over. Errors: there is no row below a header, a row
/// has another number of columns than its header, or a cell is no number.
pub fn parse(text: &str) -> Result<VmstatOutput, ParseError> {
    let mut output = VmstatOutput::default();
    let mut header: Option<Header> = None;
    for line in numbered(text) {
        if !line.whole {
            output.cut_off = Some(line.number);
            break;
        }
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if words.starts_with(&FIRST_COLUMNS) {
            header = Some(Header::of(&words));
        } else if let (Some(header), true) =
            (&header, line.text.trim_start().starts_with(|it: char| it.is_ascii_digit()))
        {
            let row = header.row(&words, line.number).map_err(|problem| ParseError {
                what: WHAT,
                line: line.number,
                problem,
            })?;
            output.rows.push(row);
        }
    }
    if output.rows.is_empty() {
        let problem = "there is no row below a header that begins with `r  b`".to_owned();
        return Err(ParseError { what: WHAT, line: last(text), problem });
    }
    Ok(output)
}

struct Header {
    columns: Arc<[String]>,
    has_time: bool,
}

impl Header {
    /// Over the time stands the name of its zone, the only one in capitals or with digits.
    fn of(words: &[&str]) -> Header {
        let is_column = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        Header {
            columns: words.iter().filter(|word| is_column(word)).map(|word| (*word).to_owned()).collect(),
            has_time: words.last().is_some_and(|word| !is_column(word)),
        }
    }

    fn row(&self, words: &[&str], line: usize) -> Result<VmstatRow, String> {
        let (cells, time) = match words.len().checked_sub(2).filter(|_| self.has_time) {
            Some(end) if end >= self.columns.len() => (&words[..end], Some(words[end..].join(" "))),
            _ => (words, None),
        };
        if self.has_time && time.is_none() {
            return Err(format!("{} values below {} columns and a time", words.len(), self.columns.len()));
        }
        fit(&self.columns, cells)?;
        Ok(VmstatRow { line, time, values: row(&self.columns, cells)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const PLAIN: &str = include_str!("../fixtures/vmstat/4.0.2.txt");
    const WIDE_WITH_TIMES: &str = include_str!("../fixtures/vmstat/4.0.2.w_t_y.txt");
    const ACTIVE: &str = include_str!("../fixtures/vmstat/4.0.2.a.txt");
    const OLDER: &str = include_str!("../fixtures/vmstat/3.3.typed.txt");

    #[test]
    fn a_row_has_a_value_in_each_column_and_repeated_headers_are_none() {
        let output = parse(PLAIN).unwrap();
        assert_eq!((output.rows.len(), output.cut_off), (26, None));
        assert_eq!(PLAIN.matches("procs").count(), 2, "the header is repeated");
        for row in &output.rows {
            let of = |column: &str| row.values.value(column).unwrap();
            let cpu: f64 = ["us", "sy", "id", "wa", "st"].iter().map(|column| of(column)).sum();
            assert!((98.0..=102.0).contains(&cpu), "{row:?}");
            assert_eq!((row.values.iter().count(), row.time.clone()), (17, None));
            assert!(of("free") > 1000.0 && of("cs") > 0.0);
        }
    }

    #[test]
    fn rows_may_be_wide_and_have_times() {
        let output = parse(WIDE_WITH_TIMES).unwrap();
        assert_eq!(output.rows.len(), 3);
        for row in &output.rows {
            let time = row.time.as_deref().unwrap();
            assert!(time.starts_with("2026-11-21 ") && time.len() == 19, "{time}");
            assert_eq!((row.values.iter().count(), row.values.value("gu").is_some()), (18, true));
        }
        let active = parse(ACTIVE).unwrap();
        assert!(
            active
                .rows
                .iter()
                .all(|row| row.values.value("active").is_some() && row.values.value("buff").is_none())
        );
    }

    #[test]
    fn means_leave_the_first_row_out_where_the_caller_says_so() {
        let output = parse(OLDER).unwrap();
        let of = |first: FirstReport| output.means(first).unwrap();
        assert_eq!(of(FirstReport::SinceBoot)["cs"], Mean { value: 9250.0, samples: 2 });
        assert_eq!(of(FirstReport::Interval)["us"], Mean { value: 44.0, samples: 3 });
        let alone = VmstatOutput { rows: output.rows[..1].to_vec(), ..VmstatOutput::default() };
        assert_eq!(alone.means(FirstReport::SinceBoot), None);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("output of vmstat", parse);
        let nothing = "there is no row below a header that begins with `r  b`";
        check("", &format!("1: {nothing}"));
        check("\u{0}\u{fffd}\n1 2 3\n", &format!("2: {nothing}"));
        check(" r  b cs\n", &format!("1: {nothing}"));
        let row = |row: &str| format!(" r  b cs\n{row}\n");
        check(&row(" 1  0"), "2: 2 values below 3 columns: nothing in column cs");
        check(&row(" 1  0 5 6"), "2: 4 values below 3 columns");
        check(&row(" 1  0 x"), "2: `x` in column cs is no number");
        check(
            &row(" 1  0 9,250"),
            "2: `9,250` in column cs is no number; decimal commas are not read: record with LC_ALL=C",
        );
        let timed = |row: &str| format!(" r  b cs      UTC\n{row}\n");
        check(&timed(" 1 0 5"), "2: 3 values below 3 columns and a time");
        check(&timed(" 1 0 5 6 2026-11-21 16:25:01"), "2: 4 values below 3 columns");
        let absent = parse(&row(" 1  0 nan")).unwrap();
        assert_eq!(absent.rows[0].values.value("cs"), None);
    }

    #[test]
    fn a_last_line_that_was_cut_off_is_left_out() {
        let whole = parse(OLDER).unwrap();
        for end in 0..OLDER.len() {
            let Ok(output) = parse(&OLDER[..end]) else { continue };
            let is_cut = !OLDER[..end].ends_with('\n');
            assert_eq!(output.cut_off, is_cut.then(|| OLDER[..end].lines().count()), "cut at {end}");
            assert_eq!(output.rows, whole.rows[..output.rows.len()], "cut at {end}");
        }
    }
}
