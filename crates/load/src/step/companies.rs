//! How the threads of a step and of its companions are tied to each other.

use super::StepError;
use crate::beside::{FARTHEST_BEHIND, Told};
use crate::operation::{Company, Target};
use crate::sql::rows::{self, TableRows};
use model::wire::{StepSetup, Stream};
use model::workload::Operation;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// What the streams of a step have to do with each other, thread by thread.
pub struct Companies {
    rows: Arc<Vec<TableRows>>,
    /// Whom each thread of a stream tells what it has done: stream, thread, channel.
    followers: Vec<(Stream, u32, SyncSender<Told>)>,
    /// Where each thread of a companion that follows is told: companion, thread, channel.
    leaders: Vec<(usize, u32, Receiver<Told>)>,
}

impl Companies {
    /// Of the streams of a step; reads which rows the tables have, where somebody asks.
    pub fn of(target: &Target, setup: &StepSetup) -> Result<Companies, StepError> {
        let rows = match (target, &setup.tables) {
            (Target::Server(address), Some(tables))
                if matches!(setup.operation, Operation::Transaction(_)) =>
            {
                rows::read(address, tables).map_err(|error| StepError::NotReady(Box::new(error).into()))?
            }
            (Target::Server(_) | Target::Database(_), _) => Vec::new(),
        };
        let (mut followers, mut leaders) = (Vec::new(), Vec::new());
        for (companion, number) in setup.companions.iter().zip(0..) {
            let Some(stream) = companion.follows else { continue };
            for thread in 0..companion.step.threads {
                let (follower, leader) = sync_channel(FARTHEST_BEHIND);
                followers.push((stream, thread, follower));
                leaders.push((number, thread, leader));
            }
        }
        Ok(Companies { rows: Arc::new(rows), followers, leaders })
    }

    /// What this thread of a stream is given.
    pub fn of_thread(&mut self, stream: Stream, thread: u32) -> Company {
        let followers = self.followers.extract_if(.., |(of, number, _)| (*of, *number) == (stream, thread));
        Company {
            followers: followers.map(|(_, _, follower)| follower).collect(),
            rows: Arc::clone(&self.rows),
            cpu: None,
        }
    }

    /// By what this thread of a companion is told what the one that it follows has done.
    pub fn leader_of(&mut self, companion: usize, thread: u32) -> Receiver<Told> {
        let place = self.leaders.iter().position(|(of, number, _)| (*of, *number) == (companion, thread));
        match place {
            Some(place) => self.leaders.swap_remove(place).2,
            // A leader that is gone: such a companion has no turns.
            None => sync_channel(0).1,
        }
    }
}
