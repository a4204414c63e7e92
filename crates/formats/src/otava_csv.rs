//! The tables that Apache Otava (once Hunter) reads: a line per point in time, its time, what was measured then, and
//! metrics.
//!
//! Otava 0.7; which column is what stands in its configuration, not in the file:
//!
//! ```text
//! time,commit,metric1,metric2
//! 2026.01.01 3:00:00 +0100,aaa0,154023,10.43
//! 2026.01.02 3:00:00 +0100,aaa1,138455,10.23
//! ```
//!
//! Without it: columns whose name says a time or what was measured are that; of the others, those that begin with a
//! number are metrics, and stay so.

use crate::ParseError;
use crate::lines::{check_name, last};
use std::collections::BTreeSet;

const WHAT: &str = "table of Otava";

/// Names of columns of times.
const TIMES: [&str; 5] = ["time", "timestamp", "date", "datetime", "commit_time"];

/// Names of columns that say what was measured, the most exact one first. Their cells may look like numbers.
const SUBJECTS: [&str; 11] = [
    "commit", "githash", "git_hash", "sha", "revision", "version", "release", "tag", "build", "run", "run_id",
];

/// Names of other columns whose cells may look like numbers.
const ATTRIBUTES: [&str; 4] = ["branch", "host", "job_id", "pull_request"];

/// Separators that Otava is told of; the first of them that a header has is the one.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtavaTable {
    /// Names of the metrics, in their order.
    pub metrics: Vec<String>,
    /// The points, in the order of the file.
    pub points: Vec<OtavaPoint>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtavaPoint {
    /// The line it stands on, from 1.
    pub line: usize,
    /// When, as it stands there; absent where no column is named like a time.
    pub time: Option<String>,
    /// What was measured: the commit, else the version and so on; absent where no column is named so.
    pub subject: Option<String>,
    /// All columns that are no metric, with their names: also those above.
    pub attributes: Vec<(String, String)>,
    /// A value per metric, and what stands there; absent where nothing does, or `nan`.
    pub values: Vec<OtavaValue>,
}

/// One cell of a metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtavaValue {
    pub value: Option<f64>,
    pub said: String,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Time,
    Attribute,
    Metric,
}

/// Reads a table. Errors: there is no line below a header, no column holds numbers, two columns have one name, a line has
/// another number of columns than the header, or a cell of a metric is no number.
pub fn parse(text: &str) -> Result<OtavaTable, ParseError> {
    let failed = |line, problem| ParseError { what: WHAT, line, problem };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Cells may be blank up to the end of a line.
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let Some((header, header_line)) = lines.next() else {
        return Err(failed(1, "there is no header like `time,commit,metric1`".to_owned()));
    };
    let separator = SEPARATORS.into_iter().find(|separator| header.contains(*separator)).unwrap_or(',');
    let columns = cells(header, separator).map_err(|problem| failed(header_line, problem))?;
    columns.iter().try_for_each(|name| check_name(name)).map_err(|problem| failed(header_line, problem))?;
    let mut names = BTreeSet::new();
    if let Some(twice) = columns.iter().find(|name| !names.insert(name.as_str())) {
        return Err(failed(header_line, format!("two columns are named `{twice}`")));
    }
    let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
    for (line, number) in lines {
        let row = cells(line, separator).map_err(|problem| failed(number, problem))?;
        if row.len() != columns.len() {
            // The first column without a cell tells where a line was cut off.
            let missing = columns.get(row.len()).map(|column| format!(": nothing in column {column}"));
            let missing = missing.unwrap_or_default();
            let problem = format!("{} values below {} columns{missing}", row.len(), columns.len());
            return Err(failed(number, problem));
        }
        rows.push((number, row));
    }
    if rows.is_empty() {
        return Err(failed(last(text), "there is no line below the header".to_owned()));
    }
    let holds: Vec<Holds> =
        columns.iter().enumerate().map(|(index, name)| holds(name, index, &rows)).collect();
    if !holds.contains(&Holds::Metric) {
        return Err(failed(header_line, "no column holds numbers".to_owned()));
    }
    let points = rows
        .iter()
        .map(|(line, row)| point(&columns, &holds, row, *line).map_err(|problem| failed(*line, problem)));
    Ok(OtavaTable {
        points: points.collect::<Result<_, _>>()?,
        metrics: of_kind(&columns, &holds, Holds::Metric).map(|(_, name)| name.clone()).collect(),
    })
}

/// By its name, else by its first cell that is not empty.
fn holds(name: &str, index: usize, rows: &[(usize, Vec<String>)]) -> Holds {
    let name = name.to_ascii_lowercase();
    if TIMES.contains(&name.as_str()) {
        return Holds::Time;
    }
    if SUBJECTS.contains(&name.as_str()) || ATTRIBUTES.contains(&name.as_str()) {
        return Holds::Attribute;
    }
    let first = rows.iter().map(|(_, row)| row[index].as_str()).find(|cell| !is_nothing(cell));
    match first.map(str::parse::<f64>) {
        Some(Ok(_)) => Holds::Metric,
        Some(Err(_)) | None => Holds::Attribute,
    }
}

fn of_kind<'a>(
    columns: &'a [String],
    holds: &'a [Holds],
    kind: Holds,
) -> impl Iterator<Item = (usize, &'a String)> {
    columns.iter().enumerate().filter(move |(index, _)| holds[*index] == kind)
}

fn point(columns: &[String], holds: &[Holds], row: &[String], line: usize) -> Result<OtavaPoint, String> {
    let said = |index: usize| Some(row[index].clone()).filter(|said| !said.is_empty());
    let named = |wanted: &str| columns.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let values = of_kind(columns, holds, Holds::Metric).map(|(index, name)| value(&row[index], name));
    Ok(OtavaPoint {
        line,
        time: of_kind(columns, holds, Holds::Time).find_map(|(index, _)| said(index)),
        subject: SUBJECTS.iter().find_map(|wanted| said(named(wanted)?)),
        attributes: columns
            .iter()
            .zip(row)
            .zip(holds)
            .filter(|(_, holds)| **holds != Holds::Metric)
            .map(|((name, said), _)| (name.clone(), said.clone()))
            .collect(),
        values: values.collect::<Result<_, _>>()?,
    })
}

fn value(said: &str, column: &str) -> Result<OtavaValue, String> {
    let value = match said.parse::<f64>() {
        _ if is_nothing(said) => None,
        Ok(value) => Some(value).filter(|value| value.is_finite()),
        Err(_) => return Err(format!("`{said}` in column {column} is no number")),
    };
    Ok(OtavaValue { value, said: said.to_owned() })
}

/// How a table says that there is nothing: also as Python and SQL write it.
fn is_nothing(said: &str) -> bool {
    said.is_empty() || ["nan", "none", "null", "na"].iter().any(|none| said.eq_ignore_ascii_case(none))
}

/// The cells of a line; quoted where they hold the separator or quotes (RFC 4180). Errors: a quote is not closed, which
/// is also what a cell with a line break looks like.
fn cells(line: &str, separator: char) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                quoted_cell(quoted).ok_or_else(|| format!("the quote in `{rest}` is not closed"))?
            }
            None => {
                let end = rest.find(separator).unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        cells.push(cell);
        match after.strip_prefix(separator) {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(cells),
            None => return Err(format!("`{after}` stands between a quote and a separator")),
        }
    }
}

/// The cell up to its closing quote, and what stands after that.
fn quoted_cell(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        cell.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Some((cell, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const SAMPLE: &str = include_str!("../fixtures/otava/sample.csv");
    const SEMICOLON: &str = include_str!("../fixtures/otava/semicolon.csv");

    #[test]
    fn a_point_has_its_time_its_commit_and_its_metrics() {
        let table = parse(SAMPLE).unwrap();
        assert_eq!(table.metrics, ["ops_per_s", "latency p99"]);
        assert_eq!(table.points.len(), 4);
        let point = &table.points[1];
        assert_eq!((point.line, point.time.as_deref()), (3, Some("2026.01.02 3:00:00 +0100")));
        assert_eq!(point.subject.as_deref(), Some("aaa1"));
        let attributes: Vec<&str> = point.attributes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(attributes, ["time", "commit", "branch"]);
        let values: Vec<Option<f64>> = point.values.iter().map(|value| value.value).collect();
        assert_eq!(values, [Some(138_455.0), Some(10.23)]);
        let gap = &table.points[2].values[1];
        assert_eq!((gap.value, gap.said.as_str()), (None, "nan"));
    }

    #[test]
    fn cells_may_be_quoted_and_commits_may_look_like_numbers() {
        let table = parse(SEMICOLON).unwrap();
        assert_eq!(table.metrics, ["rate"]);
        let subjects: Vec<Option<&str>> = table.points.iter().map(|point| point.subject.as_deref()).collect();
        assert_eq!(subjects, [Some("1234567"), Some("1e45678"), Some("7654321")]);
        let note = table.points[0].attributes.iter().find(|(name, _)| name == "note").unwrap();
        assert_eq!(note.1, "said \"slow\"; twice");
        let values: Vec<Option<f64>> = table.points.iter().map(|point| point.values[0].value).collect();
        assert_eq!(values, [Some(1500.0), None, Some(-2.0)]);
    }

    #[test]
    fn blank_cells_at_the_end_of_a_line_are_cells() {
        let table = parse("\u{feff}version\trate\tnote\r\n8.9\t5\t\r\n\r\n8.10\t6\t\r\n").unwrap();
        assert_eq!((table.metrics, table.points.len()), (vec!["rate".to_owned()], 2));
        assert_eq!(table.points[1].subject.as_deref(), Some("8.10"));
        assert_eq!(table.points[1].line, 4);
    }

    #[test]
    fn a_table_may_have_many_columns() {
        let names: Vec<String> = (0..10_000).map(|column| format!("metric{column}")).collect();
        let table = parse(&format!("{}\n{}\n", names.join(","), vec!["1.5"; names.len()].join(","))).unwrap();
        assert_eq!((&table.metrics, table.points[0].values.len()), (&names, names.len()));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("table of Otava", parse);
        check("", "1: there is no header like `time,commit,metric1`");
        check("time,commit,rate\n", "1: there is no line below the header");
        check("\u{0}\u{fffd}\n\u{1}\n", "1: no column holds numbers");
        check("time,commit\n1,2\n", "1: no column holds numbers");
        check("time,rate,rate\n1,2,3\n", "1: two columns are named `rate`");
        check("time,rate,p99,rate,p99\n1,2,3,4,5\n", "1: two columns are named `rate`");
        check("time,rate\n1,2\n\n3\n", "4: 1 values below 2 columns: nothing in column rate");
        check("time,rate\n1,138,455\n", "2: 3 values below 2 columns");
        check("time,rate\n1,138\n2,\"138,455\"\n", "3: `138,455` in column rate is no number");
        check("time,rate\n1,2\n2,fast\n", "3: `fast` in column rate is no number");
        check("time,rate\n1,\"2\n", "2: the quote in `\"2` is not closed");
        let long = format!("time,{}\n1,2\n", "x".repeat(1001));
        check(&long, "1: a name of 1001 bytes is longer than 1000: this is no table");
        check("time,rate\n1,\"2\"3\n", "2: `3` stands between a quote and a separator");
    }

    #[test]
    fn a_text_that_was_cut_off_is_an_error_or_has_fewer_points() {
        let whole = parse(SAMPLE).unwrap();
        for end in 0..SAMPLE.len() {
            match parse(&SAMPLE[..end]) {
                Ok(table) => {
                    let sure = table.points.len() - 1; // a last number may lack digits: a table says not where it ends
                    assert_eq!(table.points[..sure], whole.points[..sure], "cut at {end}");
                }
                Err(error) => {
                    assert!(error.line <= SAMPLE[..end].lines().count().max(1), "cut at {end}: {error}")
                }
            }
        }
    }
}
