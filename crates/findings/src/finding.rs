//! What was found, of whatever kind: what every format is made from.

use crate::bisection::BisectView;
use crate::build_noise::BuildNoiseView;
use crate::calibration::CalibrationView;
use crate::comparison::{Comparison, Repeats, interleaved, rounds, visible};
use crate::explanation::ExplanationView;
use crate::history::HistoryView;
use crate::hosts::HostsView;
use crate::import::ImportView;
use crate::judge::Evidence;
use model::host::HostSample;
use model::plan::Design;
use model::record::RunRecord;

/// A comparison with the run that it is of, for what is drawn from records: charts over time, raw outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    pub view: Comparison,
    pub record: RunRecord,
    /// Once a second while it ran.
    pub host: Vec<HostSample>,
}

/// One kind of result.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    Comparison(Box<ComparedRun>),
    Calibration(CalibrationView),
    BuildNoise(BuildNoiseView),
    History(HistoryView),
    Hosts(HostsView),
    Bisection(BisectView),
    Explanation(ExplanationView),
    Import(ImportView),
}

impl Comparison {
    /// The view of a run; of rounds no evidence is asked for.
    pub fn of(record: &RunRecord, evidence: &Evidence<'_>) -> Comparison {
        let view = match record.plan.layout.design {
            Design::Interleaved => interleaved::build(record, evidence),
            Design::Rounds | Design::Sequential => rounds::build(record),
        };
        match view.repeats {
            Repeats::Launches => {
                Comparison { visible: visible::of_launches(&view, record, evidence), ..view }
            }
            Repeats::Rounds => view,
        }
    }
}
