//! What a run does, one action at a time.

use model::block::{Side, TrialKey};
use model::event::Moment;
use model::units::Nanos;
use model::wire::{BlockLimit, EngineText, Request};
use model::workload::Settle;

/// The name of the database's directory within a worker's directory. Relative, so that no path gets longer on one
/// side.
pub const DATABASE: &str = "db";
/// The name of the directory for files of an image that are not ingested yet.
pub const SCRATCH: &str = "scratch";

/// What a worker is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Makes the launch's image.
    Builder,
    /// Runs the steps on the image.
    Reader,
    /// Runs the steps on a database of its own.
    Writer,
}

/// One worker of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerId {
    /// What it is there for.
    pub role: Role,
    /// Whose build it has loaded.
    pub side: Side,
    /// Which of the equal directories it works in: drawn at random in each launch, so that no side always has
    /// the same path.
    pub slot: usize,
}

/// What becomes of the data of workers that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataAfter {
    /// Others, or the steps that follow, go on with it: a server writes what is dirty and ends in order.
    Needed,
    /// It is removed: a server is killed, which writes nothing.
    Removed,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    MakeDirectories {
        /// The launch; 0 is the pilot.
        launch: u32,
        /// The workers that will be in it.
        workers: Vec<WorkerId>,
    },
    /// Start workers in this order and have each load its library.
    Start { workers: Vec<WorkerId> },
    /// Send requests to several workers and wait for all replies.
    Ask {
        /// Who is asked what.
        requests: Vec<(WorkerId, Request)>,
        /// How long to wait at most.
        timeout: Nanos,
    },
    /// Give readers the image: hard links to its files; of a server clones of them.
    LinkImage { builder: WorkerId, readers: Vec<WorkerId> },
    /// Stop these workers; from now on only the one with a block runs.
    Freeze { workers: Vec<WorkerId> },
    /// Let them all go on.
    Thaw { workers: Vec<WorkerId> },
    /// Thaw one worker, run one block, freeze it, and read its counters on both edges.
    RunBlock {
        worker: WorkerId,
        /// The trial that the block belongs to.
        trial: TrialKey,
        /// The cycle, from 0.
        cycle: u32,
        /// The place within the cycle, from 0.
        position: u32,
        limit: BlockLimit,
    },
    /// Run a step in one go on the only worker that lives, telling each second, and read its counters on both
    /// edges. Nothing is frozen.
    Measure {
        worker: WorkerId,
        trial: TrialKey,
        /// The place of the visit within its round, from 0.
        position: u32,
        limit: BlockLimit,
        /// A worker that has not answered by then hangs.
        timeout: Nanos,
    },
    /// Wait for a shape of the tree, and read the counters on both edges: what a step's writes still cost.
    Drain {
        worker: WorkerId,
        /// The trial that the cost belongs to.
        trial: TrialKey,
        /// The place of the visit within its round, from 0.
        position: u32,
        to: Settle,
        /// Give up after this long.
        timeout: Nanos,
    },
    /// Put the files of a database out of the page cache.
    Evict { worker: WorkerId },
    /// Remove the database of a worker that has ended, and keep its directory.
    RemoveDatabase { worker: WorkerId },
    /// Run a step by the user's db_bench, on the database of the worker's directory.
    RunDbBench {
        /// Whose program and directory; no process of ours is in it.
        worker: WorkerId,
        trial: TrialKey,
        /// The place of the visit within its round, from 0.
        position: u32,
        /// The benchmark whose result is the step's.
        benchmark: String,
        arguments: Vec<String>,
        /// It is killed after this long.
        timeout: Nanos,
    },
    /// Wait until the kernel has little left to write for any side.
    DrainDevice,
    /// Copy texts that the engine wrote.
    Collect { worker: WorkerId },
    /// End these workers, and their servers.
    Stop { workers: Vec<WorkerId>, data: DataAfter },
    /// Remove the directories of workers that have ended.
    RemoveDirectories { workers: Vec<WorkerId> },
    /// Something failed: tell what the engines wrote, end all workers at once and remove their directories.
    Abandon,
    /// One side failed, and the others go on without it: tell what its engine wrote, end it and remove its directory.
    AbandonSide { worker: WorkerId },
}

impl Action {
    /// Whether what it takes is a result.
    pub fn is_measurement(&self) -> bool {
        matches!(
            self,
            Action::RunBlock { .. }
                | Action::Measure { .. }
                | Action::Drain { .. }
                | Action::RunDbBench { .. }
        )
    }
}

/// Where in a launch an action stands: what fails with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Learning block sizes on the base.
    Pilot,
    /// The steps on own databases.
    Own,
    /// The steps on the image.
    Image,
    /// One subject's turn in rounds or one after another.
    Visit,
}

/// An action with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The part of the launch.
    pub part: Part,
    /// The step that is under way.
    pub step: Option<String>,
    pub meaning: Meaning,
    pub action: Action,
}

/// What the result of an action is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing but that it succeeded.
    Done,
    /// The image is there: its shape.
    ImageShape,
    /// The shapes of the sides before the step.
    ShapeBefore,
    /// The shapes of the sides after the step.
    ShapeAfter,
    Measured,
    /// A block of the pilot: how many operations fit.
    Sized,
    /// What the step cost after its operations had ended.
    Drained,
    /// A step that db_bench ran.
    DbBench,
    /// What the engine says of itself.
    EngineText(Moment, EngineText),
    /// The shape of the tree after it has settled.
    ShapeSettled,
    /// The latency of the step on each side.
    Latency,
    Raw,
}
