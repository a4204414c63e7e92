//! What a host, a disk or a user does to a run at any moment, and which actions of the real world can suffer from it.

use crate::campaign::action::{Action, WorkerId};
use crate::campaign::world::Severity;
use model::units::Nanos;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The kernel kills a worker for memory.
    OutOfMemory,
    /// A worker never answers: its timeout passes.
    Hang,
    /// A disk returns EIO.
    DiskError,
    FullDisk,
    /// The kernel has made a file system read-only.
    ReadOnly,
    /// Other programs take each port that is tried for a server.
    PortTaken,
    /// No packet comes from a server elsewhere any more.
    NetworkCut,
    /// The kernel starts no process.
    NoProcess,
    /// The user stops the run.
    Interrupt,
    /// The host is suspended for five seconds.
    Suspend,
    /// The clock is set back by a day.
    ClockBack,
    /// The clock is set forward by a day.
    ClockForward,
}

/// By how much the clock is set.
const CLOCK_STEP_US: i64 = 86_400_000_000;
/// As long as the real world waits for a block.
const BLOCK_TIMEOUT: Nanos = Nanos::from_secs(600);

impl Trouble {
    pub const ALL: [Trouble; 12] = [
        Trouble::OutOfMemory,
        Trouble::Hang,
        Trouble::DiskError,
        Trouble::FullDisk,
        Trouble::ReadOnly,
        Trouble::PortTaken,
        Trouble::NetworkCut,
        Trouble::NoProcess,
        Trouble::Interrupt,
        Trouble::Suspend,
        Trouble::ClockBack,
        Trouble::ClockForward,
    ];

    /// Whether an action can suffer from it.
    pub(super) fn befalls(self, action: &Action) -> bool {
        let waits_for_a_worker = matches!(
            action,
            Action::Ask { .. } | Action::RunBlock { .. } | Action::Measure { .. } | Action::Drain { .. }
        );
        let runs_db_bench = matches!(action, Action::RunDbBench { .. });
        let writes = matches!(
            action,
            Action::MakeDirectories { .. } | Action::Start { .. } | Action::LinkImage { .. }
        );
        let removes = matches!(
            action,
            Action::Evict { .. } | Action::RemoveDatabase { .. } | Action::RemoveDirectories { .. }
        );
        match self {
            Trouble::OutOfMemory => {
                waits_for_a_worker || runs_db_bench || matches!(action, Action::Freeze { .. })
            }
            Trouble::Hang => waits_for_a_worker || runs_db_bench,
            Trouble::FullDisk => waits_for_a_worker || runs_db_bench || writes,
            Trouble::DiskError | Trouble::ReadOnly => {
                waits_for_a_worker || runs_db_bench || writes || removes
            }
            Trouble::NetworkCut => waits_for_a_worker,
            Trouble::PortTaken | Trouble::NoProcess => matches!(action, Action::Start { .. }),
            Trouble::Suspend => action.is_measurement(),
            Trouble::Interrupt | Trouble::ClockBack | Trouble::ClockForward => true,
        }
    }

    /// By how much it moves the clock.
    pub(super) fn clock_step_us(self) -> i64 {
        match self {
            Trouble::ClockBack => -CLOCK_STEP_US,
            Trouble::ClockForward => CLOCK_STEP_US,
            _ => 0,
        }
    }

    /// What the world says of it; nothing if the action succeeds all the same.
    pub(super) fn failure(self) -> Option<(&'static str, Severity)> {
        Some(match self {
            Trouble::OutOfMemory => ("the worker was killed by signal 9", Severity::Launch),
            Trouble::Hang => ("no answer", Severity::Launch),
            Trouble::DiskError => ("Input/output error", Severity::Launch),
            Trouble::FullDisk => ("No space left on device", Severity::Run),
            Trouble::ReadOnly => ("Read-only file system", Severity::Run),
            Trouble::PortTaken => ("the port is taken", Severity::Launch),
            Trouble::NetworkCut => ("the connection was lost", Severity::Launch),
            Trouble::NoProcess => ("the worker cannot be started", Severity::Run),
            Trouble::Interrupt => ("interrupted", Severity::Interrupted),
            Trouble::Suspend | Trouble::ClockBack | Trouble::ClockForward => return None,
        })
    }
}

/// The workers of an action, in its order.
pub(super) fn workers(action: &Action) -> Vec<WorkerId> {
    match action {
        Action::MakeDirectories { workers, .. }
        | Action::Start { workers }
        | Action::Freeze { workers }
        | Action::Thaw { workers }
        | Action::Stop { workers, .. }
        | Action::RemoveDirectories { workers } => workers.clone(),
        Action::Ask { requests, .. } => requests.iter().map(|(worker, _)| *worker).collect(),
        Action::LinkImage { readers, .. } => readers.clone(),
        Action::RunBlock { worker, .. }
        | Action::Measure { worker, .. }
        | Action::Drain { worker, .. }
        | Action::Evict { worker }
        | Action::RemoveDatabase { worker }
        | Action::RunDbBench { worker, .. }
        | Action::Collect { worker }
        | Action::AbandonSide { worker } => vec![*worker],
        Action::DrainDevice | Action::Abandon => Vec::new(),
    }
}

/// How long the real world waits for a worker that hangs in this action.
pub(super) fn timeout(action: &Action) -> Nanos {
    match action {
        Action::Ask { timeout, .. }
        | Action::Measure { timeout, .. }
        | Action::Drain { timeout, .. }
        | Action::RunDbBench { timeout, .. } => *timeout,
        _ => BLOCK_TIMEOUT,
    }
}
