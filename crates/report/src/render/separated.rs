//! Tables for spreadsheets: one line for each row, values separated by tabs or commas.

use crate::document::Table;
use std::borrow::Cow;

/// A table as tab-separated values, under its headers.
pub fn tsv(table: &Table) -> String {
    lines(table, Separator::Tab)
}

/// A table as comma-separated values, quoted where needed (RFC 4180).
pub fn csv(table: &Table) -> String {
    lines(table, Separator::Comma)
}

fn lines(table: &Table, separator: Separator) -> String {
    let headers: Vec<&str> = table.columns.iter().map(|column| column.header.as_str()).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect::<Vec<&str>>());
    std::iter::once(headers).chain(rows).map(|cells| line(&cells, separator)).collect()
}

/// What stands between values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// A tab; one within a value, and a line break, becomes a space.
    Tab,
    /// A comma; values are quoted where needed, as RFC 4180 says.
    Comma,
}

/// A line with its break.
pub(crate) fn line<S: AsRef<str>>(cells: &[S], separator: Separator) -> String {
    let (between, cell): (&str, fn(&str) -> String) = match separator {
        // A tab or a line break in a name would move every value after it.
        Separator::Tab => ("\t", |cell: &str| cell.replace(['\t', '\n', '\r'], " ")),
        Separator::Comma => (",", quoted),
    };
    let cells: Vec<String> = cells.iter().map(|one| cell(&no_formula(one.as_ref()))).collect();
    cells.join(between) + "\n"
}

/// A name that a spreadsheet would take for a formula, with a `'` before it: then it is text. Numbers and the dash of what is absent stay
/// as they are. `formats::table` takes the `'` away again.
fn no_formula(cell: &str) -> Cow<'_, str> {
    let begins = cell.trim_start_matches(|letter: char| letter.is_whitespace() || letter.is_control());
    let is_number = || cell.trim_end_matches([' ', '%']).parse::<f64>().is_ok();
    if begins.starts_with(['=', '+', '-', '@']) && cell != "-" && !is_number() {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// A value as RFC 4180 has it.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Six digits, no separators between thousands; what is absent is a dash, never 0.
pub(crate) fn number(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "-".to_owned() };
    let text = match value.abs() {
        100_000.0.. => format!("{value:.0}"),
        1000.0..100_000.0 => format!("{value:.2}"),
        1.0..1000.0 => format!("{value:.5}"),
        0.0 => return "0".to_owned(),
        0.001..1.0 => format!("{value:.7}"),
        _ => return format!("{value:.5e}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_and_what_is_absent_is_a_dash() {
        let values =
            [Some(1_234_567.8), Some(1234.5), Some(2.0), Some(0.25), Some(0.0), Some(2.5e-6), Some(f64::NAN)];
        assert_eq!(values.map(number), ["1234568", "1234.5", "2", "0.25", "0", "2.50000e-6", "-"]);
        assert_eq!(number(None), "-");
    }

    #[test]
    fn what_would_be_a_formula_is_text() {
        let formulas = ["=1+2", "+SUM(A1)", "-1+1", "@x", "\t=1", "--", "-O2", " -x"];
        for formula in formulas {
            assert_eq!(no_formula(formula), format!("'{formula}"));
        }
        let harmless =
            ["-", "-0.5", "+3", "-2.5e-6", "-19.3 %", "-4.10%", "a=b", "x@8.5.4", "'=1", "", "1-2"];
        for plain in harmless {
            assert_eq!(no_formula(plain), plain);
        }
        assert_eq!(line(&["=1,2", "-3"], Separator::Comma), "\"'=1,2\",-3\n");
        assert_eq!(line(&["\t=1", "-3"], Separator::Tab), "' =1\t-3\n");
    }

    #[test]
    fn no_value_leaves_its_place() {
        let hostile = ["a,b", "say \"hi\"", "two\r\nlines", "tab\there", ""];
        let text = line(&hostile, Separator::Comma);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let read: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].iter().collect::<Vec<_>>(), hostile);
        let text = line(&hostile, Separator::Tab);
        assert_eq!(text.matches('\t').count(), 4);
        assert_eq!(text.matches('\n').count(), 1);
    }
}
