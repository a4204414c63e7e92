//! What a run acts on: processes, files and time, behind one trait with a real and a simulated twin.

use super::action::{Action, WorkerId};
use super::measured::MeasuredBlock;
use model::block::{Latency, Side};
use model::event::RunEvent;
use model::host::HarnessCost;
use model::reason::Reason;
use model::units::Nanos;
use model::wire::Reply;

/// The world of a run.
pub trait World {
    /// Time since the plan was made.
    fn now(&self) -> Nanos;

    /// Microseconds since the epoch.
    fn epoch_us(&self) -> i64;

    /// For how long the host has been suspended since it was started.
    fn suspended(&self) -> Nanos;

    /// Does one thing. If it takes long, `tell` gets what is measured meanwhile: samples of the host, seconds of a step.
    fn perform(&mut self, action: &Action, tell: &mut dyn FnMut(RunEvent)) -> Result<Performed, Failure>;

    /// Ends every process of the run and removes its directories, whatever state they are in.
    fn clean_up(&mut self, tell: &mut dyn FnMut(RunEvent));

    /// The samples of the host since the last call, or since `perform` passed some on.
    fn observed(&mut self) -> Vec<RunEvent>;

    /// What measuring has cost so far.
    fn cost(&self) -> HarnessCost;
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Performed {
    Done,
    /// The replies, in the order of the requests.
    Replies(Vec<(WorkerId, Reply)>),
    Block(Box<MeasuredBlock>),
    Texts(Vec<(String, String)>),
    DbBench(Box<DbBenchRun>),
}

/// One invocation of db_bench.
#[derive(Debug, Clone, PartialEq)]
pub struct DbBenchRun {
    /// Its result line and the resources of its process.
    pub measured: MeasuredBlock,
    /// Percentiles that it printed.
    pub latency: Option<Latency>,
}

/// Why an action failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The side it happened to, where it was one.
    pub side: Option<Side>,
    /// What happened, to which object, as shown to the user.
    pub reason: String,
    /// Whether another launch may do better.
    pub severity: Severity,
    /// What the others replied that were asked in the same action.
    pub others: Vec<(WorkerId, Reply)>,
    /// What else failed in it, on other sides.
    pub further: Vec<Failure>,
}

impl Failure {
    /// On one side, or on none that can be named.
    pub fn new(side: Option<Side>, reason: String, severity: Severity) -> Failure {
        Failure { side, reason, severity, others: Vec::new(), further: Vec::new() }
    }

    /// The replies of an action in which nothing failed; else its failures as one, the farthest-reaching first.
    pub fn replies_unless(
        mut failures: Vec<Failure>,
        replies: Vec<(WorkerId, Reply)>,
    ) -> Result<Vec<(WorkerId, Reply)>, Failure> {
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.severity));
        let mut failures = failures.into_iter();
        match failures.next() {
            Some(first) => Err(Failure { others: replies, further: failures.collect(), ..first }),
            None => Ok(replies),
        }
    }

    /// What the trial that it ends keeps of it.
    pub fn as_reason(&self) -> Reason {
        match self.severity {
            Severity::NotSupported => Reason::NotSupported(self.reason.clone()),
            Severity::Step | Severity::Launch | Severity::Run | Severity::Interrupted => {
                Reason::Said(self.reason.clone())
            }
        }
    }
}

/// How far a failure reaches, the farther the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// This step on this side, in every launch: the release lacks it. What follows can go on.
    NotSupported,
    /// This step on this side: what follows can go on.
    Step,
    /// This part of this launch.
    Launch,
    /// The run: nothing that follows could succeed (a full disk, no program to start).
    Run,
    /// The user stopped the run.
    Interrupted,
}
