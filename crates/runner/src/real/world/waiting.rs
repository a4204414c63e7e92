//! What is done while an action takes its time: samples of the host are told, and whether the user wants to stop is looked at.

use crate::real::sampler::Sampler;
use crate::server::{Server, ServerError};
use model::event::RunEvent;
use std::sync::atomic::{AtomicBool, Ordering};

/// A wait that is under way.
pub(super) struct Waiting<'a> {
    pub sampler: &'a Sampler,
    pub interrupted: &'a AtomicBool,
    pub tell: &'a mut dyn FnMut(RunEvent),
    /// That of the side, where it has one.
    pub server: Option<&'a mut Server>,
    /// Why the server does not get on.
    pub stuck: Option<ServerError>,
}

impl Waiting<'_> {
    /// A moment has passed: whether to wait on. A server that waits for space would let it be for ever.
    pub fn go_on(&mut self) -> bool {
        for sample in self.sampler.take() {
            (self.tell)(sample);
        }
        let gets_on = self.server.as_mut().map_or(Ok(()), |server| server.gets_on());
        self.stuck = gets_on.err();
        self.stuck.is_none() && !self.interrupted.load(Ordering::Relaxed)
    }
}
