//! What is done while an action takes its time: samples of the host are told, and whether the user wants to stop is looked at.

use crate::real::sampler::Sampler;
use model::event::RunEvent;
use std::sync::atomic::{AtomicBool, Ordering};

/// A wait that is under way.
pub(super) struct Waiting<'a> {
    pub sampler: &'a Sampler,
    pub interrupted: &'a AtomicBool,
    pub tell: &'a mut dyn FnMut(RunEvent),
}

impl Waiting<'_> {
    /// A moment has passed: whether to wait on.
    pub fn go_on(&mut self) -> bool {
        for sample in self.sampler.take() {
            (self.tell)(sample);
        }
        !self.interrupted.load(Ordering::Relaxed)
    }
}
