//! The events of a run on their way to the progress line and to the store. A store that is locked or whose disk is full is
//! waited for: what is measured meanwhile is kept in memory.

use crate::interrupt;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use model::event::RunEvent;
use model::units::Nanos;
use runner::clock::Stopwatch;
use std::time::Duration;
use store::{Error, Writer};

/// How long the end of a run waits for a store that cannot be written. A person who is asked to make room needs minutes.
const END_TIMEOUT: Nanos = Nanos::from_secs(600);
/// How often it is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// A run that is being recorded.
pub struct Recording<'a> {
    run: &'a str,
    writer: &'a mut Writer,
    progress: &'a mut Progress,
    /// Whether it was said that the store cannot be written.
    said: bool,
    /// Why the run's results can no longer be stored.
    lost: Option<Error>,
}

impl<'a> Recording<'a> {
    pub fn new(run: &'a str, writer: &'a mut Writer, progress: &'a mut Progress) -> Recording<'a> {
        Recording { run, writer, progress, said: false, lost: None }
    }

    /// Shows and stores one event. A run whose results cannot be kept is not worth its time: it ends as after Ctrl-C.
    pub fn on(&mut self, event: &RunEvent, elapsed_s: u64) {
        self.progress.on(event, elapsed_s);
        if self.lost.is_some() {
            return;
        }
        match self.writer.write(self.run, event) {
            Ok(()) => self.say_what_is_held_back(),
            Err(error) => {
                interrupt::end_the_run();
                self.lost = Some(error);
            }
        }
    }

    /// Everything is in the store when this returns without an error.
    pub fn end(mut self) -> anyhow::Result<()> {
        if let Some(error) = self.lost {
            return Err(
                anyhow!(error).context(format!("run {} was stopped: its results cannot be stored", self.run))
            );
        }
        let watch = Stopwatch::start();
        loop {
            match self.writer.flush() {
                Err(error) if error.may_pass() && watch.elapsed() < END_TIMEOUT => {
                    self.say_what_is_held_back();
                    std::thread::sleep(AGAIN);
                }
                ended => {
                    self.say_what_is_held_back();
                    return ended.with_context(|| format!("failed to store the end of run {}", self.run));
                }
            }
        }
    }

    fn say_what_is_held_back(&mut self) {
        match (self.writer.held_back(), self.said) {
            (Some(why), false) => self.progress.say(&format!(
                "{why}. The run continues and keeps its results in memory until the store can be written; a second Ctrl-C discards them"
            )),
            (None, true) => self.progress.say("the store can be written again: everything that was kept is in it"),
            (Some(_), true) | (None, false) => return,
        }
        self.said = !self.said;
    }
}
