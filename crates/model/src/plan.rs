//! A plan: everything that is decided before anything is measured.

use crate::block::{BASE, Side};
use crate::build::EngineBuild;
use crate::config::{EngineConfig, Options};
pub use crate::loop_device::LoopDevice;
use crate::planted::PlantedAs;
use crate::server_host::ServerHost;
use crate::subject::SubjectRef;
use crate::units::{Bytes, Nanos};
use crate::workload::{Step, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A build with a configuration: one side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// How the user named it.
    pub reference: SubjectRef,
    pub build: EngineBuild,
    pub config: EngineConfig,
    /// The options that it is opened with: the workload's, with the configuration's laid over them.
    pub options: Options,
    /// CPU burnt after each operation, in percent of the operation's own time: a test hook that plants a
    /// slowdown. 0 in every real run.
    pub planted_slowdown_percent: f64,
    /// What that time is spent on.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub planted_as: PlantedAs,
}

impl Subject {
    /// One that is measured as it is, with nothing planted.
    pub fn new(reference: SubjectRef, build: EngineBuild, config: EngineConfig, options: Options) -> Subject {
        let planted_as = PlantedAs::default();
        Subject { reference, build, config, options, planted_slowdown_percent: 0.0, planted_as }
    }
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Purpose {
    Compare,
    /// A build against itself: is the harness honest, and how small a change can it see?
    Calibrate,
    /// A matrix of builds, configurations and a workload, measured in rounds or one after another.
    Campaign,
}

impl Purpose {
    /// The name in SQL and in lists.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What a run of it is, in reports.
    pub fn word(self) -> &'static str {
        match self {
            Purpose::Compare => "comparison",
            Purpose::Calibrate => "calibration",
            Purpose::Campaign => "campaign",
        }
    }
}

/// How the trials of a run are laid out in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Design {
    /// All sides are started together and take turns in short blocks: drift and load hit all alike.
    #[default]
    Interleaved,
    /// Complete rounds: each runs the whole sequence once on every subject, in random order.
    Rounds,
    /// One subject after another, in the order of the plan: as Small Datum does it. Drift looks like a difference.
    Sequential,
}

impl Design {
    /// The name on the command line, in plans and in SQL.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The most processes of the base in an interleaved launch.
pub const MOST_BASE_PROCESSES: usize = 4;

/// A subject that was asked for and cannot be measured: its build cannot be had, or refuses its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How the user named it.
    pub reference: SubjectRef,
    /// Why, as shown to the user.
    pub reason: String,
}

/// An option that a build does not know and that the plan allows to leave out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OmittedOption {
    pub side: Side,
    /// Its name and the value that it was to have.
    pub option: String,
    pub value: String,
}

/// How trials are laid out in time, and under which conditions they are measured. The default is that of
/// `compare`: interleaved, with nothing limited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// How the trials are laid out in time.
    pub design: Design,
    /// Times that each subject runs the sequence, in rounds and one after another; 0 when interleaved.
    pub rounds: u32,
    /// Steps of the workload that another run of the campaign has, by the design that suits those; empty if this run has all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps_of_other_run: Vec<String>,
    /// Processes of the base in a launch beside its first: they are the last sides, and what they differ by is noise.
    #[serde(skip_serializing_if = "is_zero")]
    pub further_base_processes: usize,
    /// Candidates in each interleaved launch, beside all processes of the base; all of them if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates_at_once: Option<usize>,
    /// Subjects that were asked for and cannot be measured.
    pub left_out: Vec<LeftOut>,
    /// Options that builds do not know and the plan allows to leave out.
    pub omitted_options: Vec<OmittedOption>,
    /// The engine counts its tickers, which costs some CPU in every operation.
    pub tickers: bool,
    /// What servers count is read before and after each step of an interleaved launch, as it is in rounds: of launches that carry no verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_status: bool,
    /// Most memory of a worker, page cache included; no limit where absent.
    pub memory_limit: Option<Bytes>,
    /// A device of its own for the databases.
    pub loop_device: Option<LoopDevice>,
    /// db_bench programs of the user that run the steps instead of our worker, by side.
    pub db_bench: BTreeMap<Side, PathBuf>,
    /// Checksums of the code of sides that load no library: of programs of db_bench, of servers with what they load. Empty in
    /// runs of before 2026-11-24.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub code_sha256: BTreeMap<Side, String>,
    /// Whether the servers of an interleaved launch get clones of one loaded data directory: of one build, with
    /// configurations that differ in nothing that is on disk, on a file system that clones files.
    pub cloned_data: bool,
    /// Whether each side loads a copy of its library that the run makes, all in the same way: how a file came to be on the
    /// host shows in its rates.
    pub library_copies: bool,
    /// The host of the servers, if that is another one than the host of their clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_host: Option<Box<ServerHost>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The numbers of the decision rule, fixed before any difference is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DecisionRule {
    /// Share of runs without a difference in which some step is called changed; of an interval, the share that misses.
    pub alpha: f64,
    /// A change within plus or minus this share is no change (0.02 is 2 %).
    pub margin: f64,
    /// Build noise: standard deviation of ln(rate) between builds of the same source.
    pub tau: f64,
    /// No step has more launches than this.
    pub max_launches: u32,
    /// Launches end as soon as no interval of a change is wider than plus or minus this share; absent if they end with the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// Whether some of alpha is kept back, so that a comparison that ends open can be extended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extendable: bool,
    /// The extension that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<Extension>,
}

/// More time for a comparison that had ended open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Launches that the comparison had by then.
    pub after_launch: u32,
    pub budget: Nanos,
}

impl Default for DecisionRule {
    /// alpha 1 %, margin 2 %, tau 0.5 % (assumed until measured), at most 48 launches (statistics 1.3).
    fn default() -> Self {
        DecisionRule {
            alpha: 0.01,
            margin: 0.02,
            tau: 0.005,
            max_launches: 48,
            until: None,
            extendable: false,
            extension: None,
        }
    }
}

/// A plan: subjects, workload, steps, budget, seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub purpose: Purpose,
    /// The base, then the candidates, then further processes of the base.
    pub subjects: Vec<Subject>,
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
    /// How the trials are laid out in time, and under which conditions.
    #[serde(default)]
    pub layout: Layout,
    pub rule: DecisionRule,
    /// Wall time from the plan to the report; fetching apart.
    pub budget: Nanos,
    /// Seed of every random choice of the run.
    pub seed: u64,
    pub tool_version: String,
}

impl Plan {
    /// Whether it is judged as many sides in one launch, and not as pairs with the base.
    pub fn is_interleaved_campaign(&self) -> bool {
        self.purpose == Purpose::Campaign && self.layout.design == Design::Interleaved
    }

    /// The budget that launches use up now, and how much of it these have used: launches that ended, by number, with the time that each
    /// took. An extension has a budget of its own.
    pub fn budget_and_spent(&self, ended: impl IntoIterator<Item = (u32, Nanos)>) -> (Nanos, Nanos) {
        let whole = Extension { after_launch: 0, budget: self.budget };
        let Extension { after_launch, budget } = self.rule.extension.unwrap_or(whole);
        let spent =
            ended.into_iter().filter(|(launch, _)| *launch > after_launch).map(|(_, took)| took.0).sum();
        (budget, Nanos(spent))
    }

    /// The base and the candidates, each once.
    pub fn distinct_subjects(&self) -> &[Subject] {
        &self.subjects[..self.subjects.len().saturating_sub(self.layout.further_base_processes)]
    }

    /// The sides of the candidates.
    pub fn candidate_sides(&self) -> std::ops::Range<Side> {
        1..self.distinct_subjects().len()
    }

    /// The sides that are processes of the base.
    pub fn base_sides(&self) -> impl Iterator<Item = Side> {
        std::iter::once(BASE).chain(self.distinct_subjects().len()..self.subjects.len())
    }

    /// Sides that are there at the same time: those of an interleaved launch, one in rounds.
    pub fn sides_at_once(&self) -> usize {
        if self.layout.design != Design::Interleaved {
            return 1;
        }
        let candidates = self.candidate_sides().len();
        self.base_sides().count()
            + self.layout.candidates_at_once.map_or(candidates, |some| some.min(candidates))
    }

    /// The definitions of the steps to judge, in the order of the workload.
    pub fn chosen_steps(&self) -> impl Iterator<Item = &Step> {
        self.workload.steps.iter().filter(|step| self.steps.contains(&step.name))
    }
}
