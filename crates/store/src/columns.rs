//! How values of the model are spelt in columns, both ways. No statements in here.

use model::block::BlockKind;
use model::event::{Moment, RunOutcome};
use model::job::JobState;
use model::plan::Purpose;
use model::reason::{LeaveReason, Reason};
use model::record::{RunWarning, StepExit};
use model::shape::{Level, Shape};
use model::units::Bytes;
use model::warning::Warning;
use model::watched::WatchState;
use rusqlite::Row;
use rusqlite::types::Type;
use serde_json::{from_str, to_string};
use strum::VariantArray;

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

/// The value of a column of JSON that stands beside one of text, where there is one: a sentence of a later version has
/// data that this one does not know, and is read as the sentence that it is.
fn known_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| from_str(&text).ok()))
}

/// A warning's data; absent where its sentence is all there is.
pub(crate) fn warning_json(warning: &Warning) -> rusqlite::Result<Option<String>> {
    match warning {
        Warning::Recorded { .. } => Ok(None),
        known => json(known).map(Some),
    }
}

/// The warning in the columns `step`, `id`, `text` and `warning_json`.
pub(crate) fn run_warning(row: &Row<'_>) -> rusqlite::Result<RunWarning> {
    let warning = match known_json(row, "warning_json")? {
        Some(warning) => warning,
        None => Warning::Recorded { id: row.get("id")?, text: row.get("text")? },
    };
    Ok(RunWarning { step: row.get("step")?, warning })
}

/// A reason's data; absent where its sentence is all there is.
pub(crate) fn reason_json(reason: &Reason) -> rusqlite::Result<Option<String>> {
    match reason {
        Reason::Said(_) => Ok(None),
        known => json(known).map(Some),
    }
}

/// The reason in the columns `reason` and `reason_json` of a trial that is not done.
pub(crate) fn reason(row: &Row<'_>) -> rusqlite::Result<Reason> {
    Ok(match known_json(row, "reason_json")? {
        Some(reason) => reason,
        None => Reason::Said(row.get::<_, Option<String>>("reason")?.unwrap_or_default()),
    })
}

/// A reason's data; absent where its sentence is all there is.
pub(crate) fn leave_reason_json(reason: &LeaveReason) -> rusqlite::Result<Option<String>> {
    match reason {
        LeaveReason::Recorded(_) => Ok(None),
        known => json(known).map(Some),
    }
}

/// The exit in the columns `step`, `launch`, `reason` and `reason_json`.
pub(crate) fn step_exit(row: &Row<'_>) -> rusqlite::Result<StepExit> {
    let reason = match known_json(row, "reason_json")? {
        Some(reason) => reason,
        None => LeaveReason::recorded(row.get("reason")?),
    };
    Ok(StepExit { step: row.get("step")?, launch: small(row, "launch")?, reason })
}

/// A value that this version cannot read.
pub(crate) fn unreadable(column: &str, source: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("column {column}: {source}").into())
}

pub(crate) fn purpose(row: &Row<'_>, column: &str) -> rusqlite::Result<Purpose> {
    one_of(row, column, &[Purpose::Compare, Purpose::Calibrate, Purpose::Campaign], Purpose::name)
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

pub(crate) fn watch_state(row: &Row<'_>, column: &str) -> rusqlite::Result<WatchState> {
    let known = [WatchState::New, WatchState::Known, WatchState::Accepted, WatchState::Gone];
    one_of(row, column, &known, WatchState::name)
}

pub(crate) fn job_state(row: &Row<'_>, column: &str) -> rusqlite::Result<JobState> {
    one_of(row, column, JobState::VARIANTS, JobState::name)
}

/// What a block is, as the columns `kind` and `cycle` hold it.
pub(crate) fn block_kind_columns(kind: BlockKind) -> (&'static str, Option<u32>) {
    match kind {
        BlockKind::Cycle(cycle) => ("cycle", Some(cycle)),
        BlockKind::Whole => ("whole", None),
        BlockKind::Drain => ("drain", None),
    }
}

pub(crate) fn block_kind(row: &Row<'_>) -> rusqlite::Result<BlockKind> {
    match row.get::<_, String>("kind")?.as_str() {
        "cycle" => Ok(BlockKind::Cycle(small(row, "cycle")?)),
        "whole" => Ok(BlockKind::Whole),
        "drain" => Ok(BlockKind::Drain),
        other => Err(unreadable("kind", format!("`{other}` is not known to this version").into())),
    }
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
