//! Histories of single runs: steps of one direction, a steady loss, correlated noise; and what a rival finds in the same.

use super::{Arguments, Family, mark, percent, simulate};
use analysis::change_points::CriticalValues;
use analysis::simulation::histories::{
    self, HistoryPlan, HistoryScenario, HistoryTally, HistoryTarget, rival_p_of_equal_alarms,
};
use analysis::simulation::otava;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Series of each scenario and length: a share of 95 % is then known within 0.7 points.
const REPLICATES: u32 = 4_000;

pub fn names() -> Vec<&'static str> {
    HistoryScenario::ALL.iter().map(|one| one.name()).collect()
}

/// Absent where no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(HistoryScenario::ALL, |scenario| scenario.name());
    if scenarios.is_empty() {
        return Ok(None);
    }
    let critical = CriticalValues::new();
    let cases: Vec<(HistoryScenario, usize)> =
        scenarios.iter().flat_map(|one| one.lengths().iter().map(|points| (*one, *points))).collect();
    let replicates = arguments.replicates(REPLICATES);
    let lengths: BTreeSet<usize> = cases.iter().map(|(_, points)| *points).collect();
    let lengths: Vec<usize> = lengths.into_iter().collect();
    let equal = |points: &usize| Ok(rival_p_of_equal_alarms(*points, arguments.seed, &critical)?);
    let rival_ps = simulate(&lengths, |_| "p of Otava at equal alarms", equal)?;
    let rival_ps: BTreeMap<usize, f64> = lengths.into_iter().zip(rival_ps).collect();
    let work = |(scenario, points): &(HistoryScenario, usize)| {
        let (scenario, points, rival_p) = (*scenario, *points, rival_ps[points]);
        let of = |rival_p: f64| {
            let rival_p = Some(rival_p);
            histories::run(
                &HistoryPlan { scenario, points, replicates, seed: arguments.seed, rival_p },
                &critical,
            )
        };
        Ok(Row { scenario, points, rival_p, tally: of(rival_p)?, by_default: of(otava::DEFAULT_P)? })
    };
    let rows = simulate(&cases, |(scenario, _)| scenario.name(), work)?;
    let missed = rows.iter().filter(|row| !row.met()).map(|row| row.scenario.name()).collect();
    Ok(Some(Family { table: table(&rows), json: as_json(&rows, arguments.seed), missed }))
}

struct Row {
    scenario: HistoryScenario,
    points: usize,
    /// At which the rival alarms as rarely.
    rival_p: f64,
    tally: HistoryTally,
    by_default: HistoryTally,
}

impl Row {
    fn met(&self) -> bool {
        self.scenario.target(self.points).is_none_or(|target| self.tally.meets(target))
    }
}

fn target(target: HistoryTarget) -> String {
    match target {
        HistoryTarget::AnyAtMost(share) => format!("any <= {:.0} %", 100.0 * share),
        HistoryTarget::ClearAtMost(share) => format!("clear <= {:.0} %", 100.0 * share),
        HistoryTarget::AllAtLeast(share) => format!("found >= {:.0} %, more <= 5 %", 100.0 * share),
        HistoryTarget::FoundAtLeast(share) => format!("found >= {:.1} %", 100.0 * share),
        HistoryTarget::TrendAtLeast(share) => format!("trend >= {:.0} %", 100.0 * share),
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "histories: each step found at its version or the next; Otava's rule as by default, and with a p at which it \
         alarms as rarely\n{:<20} {:>4} {:>7} {:>7} {:>7} {:>7} {:>7}  {:>15} {:>15}  {}\n",
        "scenario",
        "n",
        "any",
        "clear",
        "found",
        "more",
        "trend",
        "Otava any/found",
        "at equal alarms",
        "target"
    );
    for row in rows {
        let tally = &row.tally;
        let share = |count: u32| percent(tally.share(count));
        let rival = |of: &HistoryTally| {
            format!("{:.1} / {:.1} %", 100.0 * of.share(of.rival_any), 100.0 * of.share(of.rival_all))
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<20} {:>4} {:>7} {:>7} {:>7} {:>7} {:>7}  {:>15} {:>15}  {}{}",
            row.scenario.name(),
            row.points,
            share(tally.any),
            share(tally.clear),
            share(tally.all),
            share(tally.additional),
            share(tally.trend),
            rival(&row.by_default),
            rival(tally),
            row.scenario.target(row.points).map_or_else(|| "-".to_owned(), target),
            mark(row.met()),
        );
    }
    table
}

fn as_json(rows: &[Row], seed: u64) -> serde_json::Value {
    let of = |row: &Row| {
        let tally = &row.tally;
        json!({
            "scenario": row.scenario.name(),
            "points": row.points,
            "series": tally.series,
            "seed": seed,
            "any_share": tally.share(tally.any),
            "clear_share": tally.share(tally.clear),
            "found_share": tally.share(tally.all),
            "additional_share": tally.share(tally.additional),
            "trend_share": tally.share(tally.trend),
            "otava_any_share": row.by_default.share(row.by_default.rival_any),
            "otava_found_share": row.by_default.share(row.by_default.rival_all),
            "otava_equal_p": row.rival_p,
            "otava_equal_any_share": tally.share(tally.rival_any),
            "otava_equal_found_share": tally.share(tally.rival_all),
            "target": row.scenario.target(row.points).map(target),
            "meets_targets": row.met(),
        })
    };
    rows.iter().map(of).collect()
}
