//! One count of a step, of both clients.

use super::counters::{Counters, Measure};
use serde_json::json;

/// Which client.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// sysbench, or db_bench.
    Classic,
    Ours,
}

pub struct Row {
    engine: &'static str,
    step: &'static str,
    measure: &'static Measure,
    classic: f64,
    ours: f64,
}

impl Row {
    /// Those of a step, of long and short runs whose numbers of events differ by `events`; of what neither client does there is none.
    pub fn of(
        engine: &'static str,
        step: &'static str,
        measures: &'static [Measure],
        ((classic_long, classic_short), (our_long, our_short)): ((Counters, Counters), (Counters, Counters)),
        events: f64,
    ) -> Vec<Row> {
        let row = |measure: &'static Measure| {
            let classic = measure.per_event(&classic_long, &classic_short, events)?;
            let ours = measure.per_event(&our_long, &our_short, events)?;
            let is_nothing = classic.abs() < NOTHING && ours.abs() < NOTHING;
            (!is_nothing).then_some(Row { engine, step, measure, classic, ours })
        };
        measures.iter().filter_map(row).collect()
    }

    pub fn is_same(&self) -> bool {
        let little = self.measure.little;
        let is_little = self.classic.abs() < little && self.ours.abs() < little;
        is_little || (self.ours / self.classic - 1.0).abs() <= self.measure.tolerance
    }

    pub fn heading() -> String {
        format!(
            "{:<9} {:<30} {:<14} {:>11} {:>11} {:>7}",
            "engine", "step", "per event", "classic", "dbdyno", "ratio"
        )
    }

    pub fn text(&self) -> String {
        format!(
            "{:<9} {:<30} {:<14} {:>11.2} {:>11.2} {:>7.3}{}",
            self.engine,
            self.step,
            self.measure.name,
            self.classic,
            self.ours,
            self.ours / self.classic,
            if self.is_same() { "" } else { "  DIFFERS" }
        )
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "engine": self.engine, "step": self.step, "count": self.measure.name, "classic": self.classic, "ours": self.ours,
            "tolerance": self.measure.tolerance, "same": self.is_same(),
        })
    }
}

/// Per event: neither client does it.
const NOTHING: f64 = 1e-3;
