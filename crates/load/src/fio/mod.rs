//! fio as an engine: the worker runs the program once for each block and reads what it says. Its file is the database.

mod command;
mod outcome;
mod process;

use crate::latency::Recorder;
use crate::seconds::CoarseHistogram;
use crate::step::BlockOrder;
use command::Jobs;
use formats::ParseError;
use model::block::{Latency, Second};
use model::wire::{BlockLimit, BlockReport, StepSetup};
use model::workload::Operation;
use outcome::Outcome;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The file that jobs read and write, in the directory of the database.
const FILE: &str = "fio.data";
/// Where the log of histograms of a block is, in the directory that the worker stands in.
const LOG: &str = "fio-log";
/// Between the seeds of two blocks: odd, so that no two of a step are the same.
const OTHER_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Why fio gave no result.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    #[error("failed to start `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    /// This fio, file system or kernel lacks what the job asks for.
    #[error("fio cannot run this job here: {0}")]
    NotSupported(String),
    #[error("fio {how}; it said: {said}")]
    Failed {
        /// `exited with status 1`, `was killed by signal 9`.
        how: String,
        said: String,
    },
    #[error("fio ended without a result of the job; it said: {0}")]
    NoResult(String),
    #[error("fio ended after {done} of {ordered} requests")]
    TooFew { done: u64, ordered: u64 },
    #[error("failed to read what fio wrote")]
    Output(#[from] ParseError),
    #[error(
        "`{}` is only read, because dbdyno did not make it: leave the steps out that write, or name a `directory` in place of a \
         `target`", .0.display()
    )]
    ReadOnly(PathBuf),
    #[error(
        "`{}` has {found} bytes, the file of the workload {wanted}: make the workload's file smaller (`scale.file_mb` of a \
         plan)", target.display()
    )]
    TooSmall { target: PathBuf, found: u64, wanted: u64 },
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `make`, `read`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0}")]
    Protocol(&'static str),
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FioError {
    move |source| FioError::Io { action, path: path.to_owned(), source }
}

/// The program, with the file that its jobs are about.
pub struct Fio {
    program: PathBuf,
    target: Option<PathBuf>,
    /// The open file.
    file: Option<PathBuf>,
    /// What it printed for the last block.
    said: Option<String>,
}

/// A step of fio between its blocks.
pub struct FioStep {
    setup: StepSetup,
    latency: Recorder,
    /// Run so far, those that warm up too.
    blocks: u64,
}

impl Fio {
    pub fn new(program: PathBuf, target: Option<PathBuf>) -> Fio {
        Fio { program, target, file: None, said: None }
    }

    /// Makes the directory of the file.
    pub fn open(&mut self, directory: &Path, create: bool) -> Result<(), FioError> {
        if self.file.is_some() {
            return Err(FioError::Protocol("a file is open already"));
        }
        self.file = Some(match &self.target {
            Some(target) => {
                File::open(target).map_err(io_error("open", target))?;
                target.clone()
            }
            None => {
                if create {
                    fs::create_dir(directory).map_err(io_error("make", directory))?;
                }
                directory.join(FILE)
            }
        });
        Ok(())
    }

    pub fn close(&mut self) {
        self.file = None;
    }

    /// What fio printed for the last block.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Refuses what cannot be done to the file. Nothing is started before the first block.
    pub fn prepare(&self, setup: &StepSetup) -> Result<FioStep, FioError> {
        self.opened()?;
        if setup.planted_slowdown_percent > 0.0 {
            return Err(FioError::Protocol("no slowdown can be injected into fio"));
        }
        if let (Some(target), Operation::Fio(job)) = (&self.target, &setup.operation)
            && job.writes()
        {
            return Err(FioError::ReadOnly(target.clone()));
        }
        Ok(FioStep { setup: setup.clone(), latency: Recorder::new(), blocks: 0 })
    }

    /// Runs a block. Its seconds are told when it is over: fio logs them, and tells them to nobody meanwhile.
    pub fn run_block(
        &mut self,
        step: &mut FioStep,
        order: BlockOrder,
        tell: &mut dyn FnMut(Second),
    ) -> Result<BlockReport, FioError> {
        let file = self.opened()?;
        if let (Some(target), Operation::LayOutFile) = (&self.target, &step.setup.operation) {
            check_size(target, step.setup.data.size().0)?;
            return Ok(BlockReport::default());
        }
        let log = order.seconds.then(|| PathBuf::from(LOG));
        // Each block goes to other places, the same on every side.
        let seed = step.setup.seed.wrapping_add(step.blocks.wrapping_mul(OTHER_SEED));
        step.blocks += 1;
        let setup = StepSetup { seed, ..step.setup.clone() };
        let jobs = Jobs {
            file,
            read_only: self.target.is_some(),
            setup: &setup,
            limit: order.limit,
            log: log.as_deref(),
        };
        let ended = process::run(&self.program, &jobs.arguments())?;
        self.said = Some(ended.said.clone());
        let outcome = Outcome::of(&ended, &step.setup)?;
        if let BlockLimit::Operations { count } = order.limit
            && outcome.requests() < count
        {
            return Err(FioError::TooFew { done: outcome.requests(), ordered: count });
        }
        if let Some(log) = log {
            outcome.seconds(&log)?.into_iter().for_each(tell);
        }
        if !order.warm_up {
            step.latency.merge(&outcome.latency());
        }
        Ok(outcome.report(&ended, step.setup.threads))
    }

    fn opened(&self) -> Result<&Path, FioError> {
        self.file.as_deref().ok_or(FioError::Protocol("no file is open"))
    }
}

impl FioStep {
    /// Latency of all blocks but those that warm up.
    pub fn finish(self) -> Latency {
        self.latency.summary()
    }
}

/// A file or a block device that is read has to be as long as the jobs believe.
fn check_size(target: &Path, wanted: u64) -> Result<(), FioError> {
    let end = File::open(target).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let found = end.map_err(io_error("read", target))?;
    if found < wanted {
        return Err(FioError::TooSmall { target: target.to_owned(), found, wanted });
    }
    Ok(())
}
