//! Servers on another host than their clients: `--server-host ssh://lab-1`. This program runs there too, as `dbdyno remote`, and does there what it
//! does here for servers of this host, by the same code: it plans, fetches builds, starts, freezes and reads servers, carries out the run. What it
//! tells is stored here, and the clients are here.
//!
//! Never in here: times of two hosts set against each other. All of a run are of the host of the servers.

pub mod answering;
pub mod asking;

use crate::cli::Measuring;
use model::event::RunEvent;
use model::host::Host;
use model::plan::{Plan, Purpose};
use model::plan_file::PlanFile;
use model::planted::PlantedAs;
use model::units::Nanos;
use model::warning::Warning;
use runner::campaign::{interleaved, rounds};
use runner::remote::Between;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the host of the servers is asked. What is answered stands beside it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ask {
    /// Nothing: how long a message takes. The answer is null.
    Nothing,
    /// What host it is, and the time by its clock, in microseconds since the epoch.
    Host,
    /// A list of one [`Planned`].
    Compare(Box<Comparison>),
    /// A list of [`Planned`].
    File(Box<PlanFile>),
    /// A fingerprint, or null.
    Fingerprint { unmeasured: bool },
    /// [`Opened`]: from now on there is a run, unless it was refused.
    Open(Box<Opening>),
    /// How the run that is open ended.
    Run(Beginning),
}

/// What is to be compared, as [`crate::planning::Request`] has it.
#[derive(Debug, Serialize, Deserialize)]
struct Comparison {
    purpose: Purpose,
    subjects: Vec<String>,
    measuring: Measuring,
    budget: Option<Duration>,
    extendable: bool,
    planted_slowdown_percent: f64,
    planted_as: PlantedAs,
}

/// A plan, and the options file that each side's build wrote.
#[derive(Debug, Serialize, Deserialize)]
struct Planned {
    plan: Plan,
    written_options: Vec<Option<String>>,
}

/// A run that is about to begin, or to go on.
#[derive(Debug, Serialize, Deserialize)]
struct Opening {
    run: String,
    plan: Plan,
    /// Time of its budget that has passed.
    elapsed: Nanos,
    /// Where clients reach servers, if the user says so.
    between: Option<Between>,
}

/// What the run stands on there.
#[derive(Debug, Serialize, Deserialize)]
struct Opened {
    host: Host,
    /// By the clock there, in microseconds since the epoch.
    at_us: i64,
    /// What about the host and the plan a reader of the numbers must know.
    warnings: Vec<RunEvent>,
    /// Why the host is not fit for the plan.
    unfit: Option<Warning>,
    /// Why the host cannot give what the plan asks for. No error, so that the store can say on which host the run failed.
    refusal: Option<String>,
}

/// With what a run begins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beginning {
    /// With nothing.
    Anew,
    /// With what it has; the plan has its extension.
    Interleaved {
        plan: Box<Plan>,
        before: interleaved::machine::Before,
    },
    Rounds(rounds::machine::Before),
}
