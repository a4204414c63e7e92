//! The self-test of a calibration: what it adds, what all calibrations that count say, and what that means.

use crate::document::{Block, Kind, Table};
use analysis::self_test::{ALPHA, SelfTestResult};
use findings::calibration::{CalibrationRow, CalibrationView};
use model::figures::{NONE, chosen_percent};
use serde_json::{Value, json};

pub(super) fn blocks(view: &CalibrationView) -> Vec<Block> {
    let mut grid = Table::new(&[
        ("step", Kind::Name),
        ("e-value\nhere", Kind::Number),
        ("e-value\nof all", Kind::Number),
        ("calibra-\ntions", Kind::Number),
        ("n", Kind::Number),
        ("since", Kind::Word),
        ("self-test", Kind::Word),
    ]);
    grid.fill(view.rows.iter().map(cells));
    vec![Block::Table(grid), Block::Paragraph(legend(view))]
}

fn cells(row: &CalibrationRow) -> Vec<String> {
    let all = &row.self_test.accumulated;
    vec![
        row.step.clone(),
        e_value(row.self_test.e_value),
        e_value(all.e_value),
        all.calibrations.to_string(),
        all.launches.to_string(),
        row.self_test.since_us.map_or_else(|| NONE.to_owned(), date),
        word(all.result()).to_owned(),
    ]
}

/// The day of a moment, in UTC.
fn date(at_us: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(at_us);
    at.map_or_else(|_| NONE.to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}

fn word(result: SelfTestResult) -> &'static str {
    match result {
        SelfTestResult::Passed => "passed",
        SelfTestResult::NotEnough => "not enough",
        SelfTestResult::Failed => "FAILED",
    }
}

/// To two digits where it matters, and no more than its order far away from 1.
fn e_value(value: f64) -> String {
    match value {
        ..0.01 => "<0.01".to_owned(),
        ..10.0 => format!("{value:.2}"),
        ..1e6 => format!("{value:.0}"),
        _ => ">1000000".to_owned(),
    }
}

fn legend(view: &CalibrationView) -> String {
    let most = |value: fn(&CalibrationRow) -> f64| view.rows.iter().map(value).fold(0.0, f64::max);
    let threshold = most(|row| row.self_test.accumulated.threshold);
    let needed = most(|row| f64::from(row.self_test.accumulated.needed));
    format!(
        "An e-value says how much better launches are explained by a side that is favoured than by two equal ones: about 1 or \
         less where the sides are alike. Those of all calibrations by this version on this host are taken together (n \
         launches). A step fails once that has reached {threshold:.0}; on at most {} of honest hosts any step of a workload \
         ever does, however often it is calibrated. Fewer than {needed:.0} launches are not enough to fail. Later comparisons have no \
         verdict on a step that failed.",
        chosen_percent(ALPHA)
    )
}

/// The keys of scripts; an unknown time is absent.
pub(super) fn json(row: &CalibrationRow) -> Value {
    let all = &row.self_test.accumulated;
    json!({
        "step": row.step,
        "e_value": row.self_test.e_value,
        "e_value_accumulated": all.e_value,
        "e_value_largest": all.largest,
        "e_value_threshold": all.threshold,
        "calibrations": all.calibrations,
        "since_us": row.self_test.since_us,
        "launches": all.launches,
        "launches_needed": all.needed,
        "result": all.result().name(),
    })
}
