//! Tables of Otava as values.

use super::{Case, Source, shown, unit_of};
use crate::otava_csv::OtavaTable;
use model::import::ImportedValue;

/// The values of a table, point after point. The file is the test, what was measured at a point is the subject: its
/// commit or version, else its time. Metrics keep their names; those that we know are taken as being in our units.
pub fn of_otava(table: &OtavaTable, source: Source<'_>) -> Vec<ImportedValue> {
    let mut values = Vec::new();
    for point in &table.points {
        let subject = point.subject.as_deref().or(point.time.as_deref()).unwrap_or(source.subject);
        let place = format!("line {}", point.line);
        let case = Case { file: source.file, subject, step: source.subject, place: &place };
        for (metric, cell) in table.metrics.iter().zip(&point.values) {
            let unit = unit_of(metric);
            let said = match (unit, cell.value) {
                (Some(_), Some(value)) => shown(metric, value),
                (_, _) => cell.said.clone(),
            };
            values.push(case.said(metric, unit.unwrap_or(""), cell.value, &said));
        }
        values.extend(point.time.as_ref().map(|time| case.said("date", "", None, time)));
    }
    values
}
