//! What is done while an action takes its time: samples of the host are told, and whether the user wants to stop is looked at.

use crate::real::sampler::Sampler;
use crate::server::{Server, ServerError};
use model::event::RunEvent;
use std::sync::atomic::{AtomicBool, Ordering};

/// A wait that is under way.
pub(super) struct Waiting<'a> {
    sampler: &'a Sampler,
    interrupted: &'a AtomicBool,
    pub tell: &'a mut dyn FnMut(RunEvent),
    server: Option<&'a mut Server>,
    /// Why the server does not get on.
    pub stuck: Option<ServerError>,
}

impl<'a> Waiting<'a> {
    /// `server` is that of the side that is waited for, if it has one.
    pub fn new(
        sampler: &'a Sampler,
        interrupted: &'a AtomicBool,
        tell: &'a mut dyn FnMut(RunEvent),
        server: Option<&'a mut Server>,
    ) -> Waiting<'a> {
        Waiting { sampler, interrupted, tell, server, stuck: None }
    }

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
