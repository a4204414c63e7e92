//! How values of the model are spelt in columns, both ways. No statements in here.

use model::counter::Counter;
use model::event::{Moment, RunOutcome};
use model::plan::Purpose;
use model::shape::{Level, Shape};
use model::units::Bytes;
use rusqlite::Row;
use rusqlite::types::Type;
use serde_json::{from_str, to_string};

/// SQLite has no unsigned 64-bit integers: two's complement keeps every value; only seeds get so large.
pub(crate) fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// The unsigned value in a column.
pub(crate) fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

/// A small unsigned value in a column.
pub(crate) fn small(row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
    row.get(column)
}

/// A side in a column.
pub(crate) fn side(row: &Row<'_>, column: &str) -> rusqlite::Result<usize> {
    let value: i64 = row.get(column)?;
    usize::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, value))
}

/// A value as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    to_string(value).map_err(|source| rusqlite::Error::ToSqlConversionFailure(Box::new(source)))
}

/// The value of a column of JSON.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_str(&text).map_err(|source| unreadable(column, Box::new(source)))
}

/// A value that this version cannot read.
pub(crate) fn unreadable(column: &str, source: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("column {column}: {source}").into())
}

pub(crate) fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Compare => "compare",
        Purpose::Calibrate => "calibrate",
        Purpose::Campaign => "campaign",
    }
}

pub(crate) fn purpose(row: &Row<'_>, column: &str) -> rusqlite::Result<Purpose> {
    one_of(row, column, &[Purpose::Compare, Purpose::Calibrate, Purpose::Campaign], purpose_name)
}

pub(crate) fn run_outcome(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<RunOutcome>> {
    let known = [RunOutcome::Done, RunOutcome::Interrupted, RunOutcome::Failed];
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => one_of(row, column, &known, RunOutcome::name).map(Some),
    }
}

pub(crate) fn moment(row: &Row<'_>, column: &str) -> rusqlite::Result<Moment> {
    one_of(row, column, &[Moment::Before, Moment::After, Moment::Settled], Moment::name)
}

/// A counter's name in SQL: that of its metric, without `_per_op`, since a row holds the total of a block.
pub(crate) fn counter_name(counter: Counter) -> &'static str {
    counter.metric_name().trim_end_matches("_per_op")
}

/// The counter of this name; none where a later version counted what this one does not know.
pub(crate) fn counter(name: &str) -> Option<Counter> {
    Counter::ALL.into_iter().find(|counter| counter_name(*counter) == name)
}

/// The shape in the columns `levels_json`, `memtable_bytes` and `pending_compaction_bytes`.
pub(crate) fn shape(row: &Row<'_>) -> rusqlite::Result<Shape> {
    Ok(Shape {
        levels: from_json::<Vec<Level>>(row, "levels_json")?,
        memtable: Bytes(unsigned(row, "memtable_bytes")?),
        pending_compaction: Bytes(unsigned(row, "pending_compaction_bytes")?),
    })
}

fn one_of<T: Copy>(
    row: &Row<'_>,
    column: &str,
    known: &[T],
    name: impl Fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    known
        .iter()
        .copied()
        .find(|value| name(*value) == text)
        .ok_or_else(|| unreadable(column, format!("`{text}` is not known to this version").into()))
}
