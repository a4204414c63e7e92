//! One count of a step, of both clients.

use super::counters::{Counters, Measure};
use crate::bench::ratios::Ratios;
use serde_json::json;

/// What a row says of the two clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// Another protocol, or what the server does by itself, of a known size.
    Intended,
    /// The interval reaches into the tolerance and beyond it.
    Open,
    Differs,
}

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
    /// What of the classic's is known to be missing in ours.
    known: f64,
    /// Of what has noise: ours over the classic's of each pair of runs.
    ratios: Option<Ratios>,
}

impl Row {
    /// What has noise, of each pair of runs.
    pub fn of_pairs(
        engine: &'static str,
        step: &'static str,
        measure: &'static Measure,
        pairs: &[[f64; 2]],
    ) -> anyhow::Result<Row> {
        let median_of = |side: usize| anyhow::Ok(Ratios::over(pairs, |pair| pair[side])?.median);
        let (classic, ours) = (median_of(0)?, median_of(1)?);
        let ratios = Ratios::over(pairs, |[classic, ours]| ours / classic)?;
        Ok(Row { engine, step, measure, classic, ours, known: 0.0, ratios: Some(ratios) })
    }

    /// Those of a step, of long and short runs whose numbers of events differ by `events`; each answer describes so many columns. There is no row of what neither
    /// client does.
    pub fn of(
        engine: &'static str,
        step: &'static str,
        measures: &'static [Measure],
        ((classic_long, classic_short), (our_long, our_short)): ((Counters, Counters), (Counters, Counters)),
        (events, columns): (f64, f64),
    ) -> Vec<Row> {
        let row = |measure: &'static Measure| {
            let classic = measure.per_event(&classic_long, &classic_short, events)?;
            let ours = measure.per_event(&our_long, &our_short, events)?;
            let is_nothing = classic.abs() < NOTHING && ours.abs() < NOTHING;
            let known = measure.known_per_event(&classic_long, &classic_short, events, columns);
            (!is_nothing).then_some(Row { engine, step, measure, classic, ours, known, ratios: None })
        };
        measures.iter().filter_map(row).collect()
    }

    /// What has noise is the same if its whole interval is within the tolerance, and differs if all of it is outside; without an interval its
    /// median decides.
    pub fn verdict(&self) -> Verdict {
        let Measure { little, apart, tolerance, .. } = *self.measure;
        let ratio = self.ratio();
        let (low, high) = self.interval().unwrap_or((ratio, ratio));
        if self.classic.abs() < little && self.ours.abs() < little
            || (low >= 1.0 - tolerance && high <= 1.0 + tolerance)
        {
            Verdict::Same
        } else if (self.classic - self.ours).abs() < apart
            || self.known > 0.0 && (self.ours / (self.classic - self.known) - 1.0).abs() <= tolerance
        {
            Verdict::Intended
        } else if low <= 1.0 + tolerance && high >= 1.0 - tolerance {
            Verdict::Open
        } else {
            Verdict::Differs
        }
    }

    fn ratio(&self) -> f64 {
        self.ratios.as_ref().map_or(self.ours / self.classic, |ratios| ratios.median)
    }

    fn interval(&self) -> Option<(f64, f64)> {
        self.ratios.as_ref().and_then(|ratios| Some((ratios.low?, ratios.high?)))
    }

    pub fn heading() -> String {
        format!(
            "{:<9} {:<30} {:<14} {:>11} {:>11} {:>7}",
            "engine", "step", "per event", "classic", "dbdyno", "ratio"
        )
    }

    pub fn text(&self) -> String {
        format!(
            "{:<9} {:<30} {:<14} {:>11.2} {:>11.2} {:>7.3}{}{}",
            self.engine,
            self.step,
            self.measure.name,
            self.classic,
            self.ours,
            self.ratio(),
            self.interval().map(|(low, high)| format!(" [{low:.3}, {high:.3}]")).unwrap_or_default(),
            self.remark()
        )
    }

    fn remark(&self) -> String {
        match self.verdict() {
            Verdict::Same => String::new(),
            Verdict::Intended => {
                format!("  {}", self.measure.known.map_or(self.measure.why_apart, |known| known.why))
            }
            Verdict::Open => {
                format!("  open: may differ by more than {:.0} %", self.measure.tolerance * 100.0)
            }
            Verdict::Differs => "  DIFFERS".to_owned(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "engine": self.engine, "step": self.step, "count": self.measure.name, "classic": self.classic, "ours": self.ours,
            "ratio": self.ratio(), "interval": self.interval(), "tolerance": self.measure.tolerance, "verdict": format!("{:?}", self.verdict()).to_lowercase(),
        })
    }
}

/// Per event: neither client does it.
const NOTHING: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::super::counters::{CPU, measures};
    use super::*;
    use model::workload::sql::Dialect;

    fn cpu(ratio: f64, spread: f64) -> Row {
        let pairs: Vec<[f64; 2]> =
            (-4..=4).map(|place| [1000.0, 1000.0 * (ratio + spread * f64::from(place))]).collect();
        Row::of_pairs("postgres", "scan", &CPU, &pairs).unwrap()
    }

    #[test]
    fn cpu_differs_if_all_of_its_interval_is_beyond_the_tolerance() {
        assert_eq!([cpu(1.02, 0.001), cpu(0.98, 0.001)].map(|row| row.verdict()), [Verdict::Same; 2]);
        assert_eq!([cpu(1.05, 0.001), cpu(0.95, 0.001)].map(|row| row.verdict()), [Verdict::Differs; 2]);
        // Runs that scatter by that much tell nothing of 5 %.
        assert_eq!(cpu(1.05, 0.02).verdict(), Verdict::Open);
    }

    #[test]
    fn what_is_known_to_differ_has_to_differ_by_that() {
        let bytes = measures(Dialect::Mysql).iter().find(|measure| measure.name == "bytes sent").unwrap();
        // Eleven answers with rows have eleven ends of columns of 7 bytes, and of each of the four columns an empty name.
        let verdict = |ours: f64| {
            let counters = |sent: f64| Counters::parse(&format!("Bytes_sent = {sent}\nCom_select = 11\n"));
            let none = || Counters::parse("Bytes_sent = 0\nCom_select = 0\n");
            let rows = Row::of(
                "mysql",
                "s",
                std::slice::from_ref(bytes),
                ((counters(1561.0), none()), (counters(ours), none())),
                (1.0, 4.0),
            );
            rows[0].verdict()
        };
        assert_eq!(verdict(1561.0 - 121.0), Verdict::Intended);
        assert_eq!(verdict(1561.0 - 2.0 * 121.0), Verdict::Differs);
        assert_eq!(verdict(1561.0), Verdict::Same);
    }

    #[test]
    fn a_line_has_the_interval_that_decides() {
        let line = cpu(1.05, 0.001).text();
        assert!(line.contains(" 1.050 [1.046, 1.053]  DIFFERS"), "{line}");
    }
}
