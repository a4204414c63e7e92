//! A plan: everything that is decided before anything is measured.

use crate::block::Side;
use crate::build::EngineBuild;
use crate::config::{EngineConfig, Options};
use crate::subject::SubjectRef;
use crate::units::Nanos;
use crate::workload::{Step, Workload};
use serde::{Deserialize, Serialize};

/// A build with a configuration: one side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// How the user named it.
    pub reference: SubjectRef,
    /// The binary.
    pub build: EngineBuild,
    /// Its configuration.
    pub config: EngineConfig,
    /// The options that it is opened with: the workload's, with the configuration's laid over them.
    pub options: Options,
    /// CPU burnt after each operation, in percent of the operation's own time: a test hook that plants a
    /// slowdown. 0 in every real run.
    pub planted_slowdown_percent: f64,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Base against candidates.
    Compare,
    /// A build against itself: is the harness honest, and how small a change can it see?
    Calibrate,
}

/// The numbers of the decision rule, fixed before any difference is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DecisionRule {
    /// Share of false verdicts per step under "no difference", both rates together.
    pub alpha: f64,
    /// A change within plus or minus this share is no change (0.02 is 2 %).
    pub margin: f64,
    /// Build noise: standard deviation of ln(rate) between builds of the same source.
    pub tau: f64,
    /// No step has more launches than this.
    pub max_launches: u32,
}

impl Default for DecisionRule {
    /// alpha 1 %, margin 2 %, tau 0.5 % (assumed until measured), at most 48 launches (statistics 1.3).
    fn default() -> Self {
        DecisionRule { alpha: 0.01, margin: 0.02, tau: 0.005, max_launches: 48 }
    }
}

/// A plan: subjects, workload, steps, budget, seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the run is for.
    pub purpose: Purpose,
    /// The base, then the candidates.
    pub subjects: Vec<Subject>,
    /// The workload.
    pub workload: Workload,
    /// SHA-256 of the workload's text.
    pub workload_sha256: String,
    /// Names of the steps to judge, in the order of the workload.
    pub steps: Vec<String>,
    /// Whether the user named the steps: such steps are not dropped to save time.
    pub steps_named: bool,
    /// Whether each side's own build makes its image: then a change of the file format shows, and so does any
    /// difference of the bytes. Else the oldest release makes one for all.
    #[serde(default)]
    pub own_image: bool,
    /// The decision rule.
    pub rule: DecisionRule,
    /// Wall time from the plan to the report; fetching apart.
    pub budget: Nanos,
    /// Seed of every random choice of the run.
    pub seed: u64,
    /// Version of dbdyno.
    pub tool_version: String,
}

impl Plan {
    /// The sides of the candidates.
    pub fn candidate_sides(&self) -> std::ops::Range<Side> {
        1..self.subjects.len()
    }

    /// The definitions of the steps to judge, in the order of the workload.
    pub fn chosen_steps(&self) -> impl Iterator<Item = &Step> {
        self.workload.steps.iter().filter(|step| self.steps.contains(&step.name))
    }
}
