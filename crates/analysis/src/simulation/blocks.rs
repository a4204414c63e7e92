//! Blocks and launches made from a few numbers, and the step that they are of, for simulation and tests.

use crate::case::StepFacts;
use crate::launch::{LaunchSummary, Totals};
use model::block::{BASE, Block, BlockKind, Side, TrialKey};
use model::counter::Counters;
use model::units::Nanos;

/// What a made block differs in. Times are microseconds, means over the foreground threads.
#[derive(Debug, Clone, Copy)]
pub struct BlockSpec {
    pub launch: u32,
    /// The image; 0 stands for one of the launch's own.
    pub image: u32,
    pub cycle: u32,
    pub side: Side,
    pub operations: u64,
    pub failed_operations: u64,
    pub wall_us: u64,
    /// Time runnable but not running.
    pub run_delay_us: u64,
    pub cpu_us: u64,
    /// CPU time of all other threads together.
    pub background_cpu_us: u64,
    pub foreground_threads: u32,
}

impl Default for BlockSpec {
    /// 1000 operations in 100 ms of one thread that never waits.
    fn default() -> Self {
        BlockSpec {
            launch: 1,
            image: 0,
            cycle: 0,
            side: BASE,
            operations: 1000,
            failed_operations: 0,
            wall_us: 100_000,
            run_delay_us: 0,
            cpu_us: 90_000,
            background_cpu_us: 0,
            foreground_threads: 1,
        }
    }
}

/// The step that made blocks belong to.
pub const STEP: &str = "readrandom";

/// What must be known of a step that one thread reads with, on two CPUs.
pub const fn reads(step: &str) -> StepFacts<'_> {
    StepFacts { step, writes: false, foreground_threads: 1, cpus: 2, open_loop: false, tau: None, caps: &[] }
}

/// A launch with this value of both rates.
pub(crate) fn launch(launch: u32, value: f64) -> LaunchSummary {
    let totals =
        Totals { blocks: 10, operations: 1000.0, wall_s: 1.0, process_cpu_s: Some(1.0), ..Totals::default() };
    LaunchSummary {
        launch,
        image: launch,
        base: totals.clone(),
        candidate: totals,
        wall: Some(value),
        adjusted: Some(value),
        cpu: None,
    }
}

/// The block.
pub fn block(spec: &BlockSpec) -> Block {
    let process_cpu = spec.cpu_us * u64::from(spec.foreground_threads) + spec.background_cpu_us;
    Block {
        trial: TrialKey { launch: spec.launch, step: STEP.to_owned(), side: spec.side },
        image: if spec.image == 0 { spec.launch } else { spec.image },
        kind: BlockKind::Cycle(spec.cycle),
        position: 0,
        started_at_us: None,
        operations: spec.operations,
        failed_operations: spec.failed_operations,
        wall: micros(spec.wall_us),
        run_delay: micros(spec.run_delay_us),
        foreground_cpu: micros(spec.cpu_us),
        foreground_threads: spec.foreground_threads,
        process_cpu: Some(micros(process_cpu)),
        counters: Counters::new(),
    }
}

fn micros(micros: u64) -> Nanos {
    Nanos(micros * 1000)
}
