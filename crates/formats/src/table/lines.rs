//! A text as a header and rows of as many cells.

use super::{WHAT, wrong};
use crate::ParseError;
use crate::lines::check_name;

/// A header and its rows.
#[derive(Debug)]
pub(super) struct Lines {
    /// The line of the header, from 1.
    pub(super) line: usize,
    /// Names of the columns; what a legend above says of `col-1` in its place.
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// One row: as many cells as the header has.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The column of the names at the end of the rows of a table of `col-1`, `col-2`.
const TRAILING_LABEL: &str = "name";

impl Lines {
    pub(super) fn read(text: &str) -> Result<Lines, ParseError> {
        if let Some((line, _)) = (1..).zip(text.lines()).find(|(_, line)| line.contains('\0')) {
            return Err(wrong(line, "it holds a NUL byte: this is no text".to_owned()));
        }
        let (legend, above) = legend(text);
        let body = text.lines().skip(above).collect::<Vec<_>>().join("\n");
        let separator = separator(&body)?;
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .quoting(separator != b'\t')
            .comment(Some(b'#'))
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(body.as_bytes());
        let mut header: Option<(usize, Vec<String>)> = None;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| cut_short(&error, above))?;
            let line =
                above + record.position().map_or(1, |at| usize::try_from(at.line()).unwrap_or(usize::MAX));
            let cells: Vec<String> = record.iter().map(|cell| text_of(cell).to_owned()).collect();
            if cells.iter().all(String::is_empty) || cells == ["-"] {
                continue;
            }
            match &header {
                None => {
                    let names = named(cells, &legend, line)?;
                    let checked = names.iter().try_for_each(|name| check_name(name));
                    checked.map_err(|problem| wrong(line, problem))?;
                    header = Some((line, names));
                }
                Some((_, columns)) => rows.push(row(line, cells, columns.len())?),
            }
        }
        let Some((line, header)) = header else { return Err(wrong(1, "there is no header".to_owned())) };
        if rows.is_empty() {
            return Err(wrong(line, "there is no row below the header".to_owned()));
        }
        Ok(Lines { line, header, rows })
    }
}

/// A cell without the `'` that says to spreadsheets, and in our own tables, that it is no formula.
fn text_of(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.trim_start().starts_with(['=', '+', '-', '@']) => text,
        Some(_) | None => cell,
    }
}

/// The legend above a table, number by number, and its lines: `col-1 : x.pg9023_def`.
fn legend(text: &str) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut lines = 0;
    for (line, index) in text.lines().zip(1..) {
        let entry = line.strip_prefix("col-").and_then(|rest| rest.split_once(':'));
        match entry {
            Some((number, name)) if number.trim().parse() == Ok(names.len() + 1) => {
                names.push(name.trim().to_owned());
                lines = index;
            }
            _ if line.trim().is_empty() => {}
            _ => break,
        }
    }
    (names, lines)
}

/// The header with the names of its legend; rows then end with a name of their own.
fn named(cells: Vec<String>, legend: &[String], line: usize) -> Result<Vec<String>, ParseError> {
    if legend.is_empty() {
        return Ok(cells);
    }
    let expected: Vec<String> = (1..=legend.len()).map(|number| format!("col-{number}")).collect();
    if cells != expected {
        let problem = format!("the names above are of col-1 to col-{}, the header has others", legend.len());
        return Err(wrong(line, problem));
    }
    Ok(legend.iter().cloned().chain([TRAILING_LABEL.to_owned()]).collect())
}

fn row(line: usize, cells: Vec<String>, wanted: usize) -> Result<Row, ParseError> {
    let found = cells.len();
    if found != wanted {
        return Err(wrong(line, format!("it has {found} cells, its header has {wanted}")));
    }
    Ok(Row { line, cells })
}

/// A tab, a comma or a semicolon: the first of these that the first line of the table has.
fn separator(body: &str) -> Result<u8, ParseError> {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let Some((line, first)) = (1..).zip(body.lines()).find(|(_, line)| is_content(line)) else {
        return Err(wrong(1, "there is no header".to_owned()));
    };
    let found = [b'\t', b',', b';'].into_iter().find(|separator| first.as_bytes().contains(separator));
    found.ok_or_else(|| {
        wrong(line, "no tab, comma or semicolon separates its columns: this is no table".to_owned())
    })
}

fn cut_short(error: &csv::Error, above: usize) -> ParseError {
    let line = error.position().map_or(1, |at| usize::try_from(at.line()).unwrap_or(usize::MAX));
    ParseError { what: WHAT, line: above + line, problem: error.to_string() }
}
