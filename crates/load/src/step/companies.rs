//! How the threads of a step and of its companions are tied to each other.

use super::StepError;
use crate::beside::{FARTHEST_BEHIND, Told};
use crate::operation::{Company, Target};
use crate::sql::rows::{self, TableRows};
use crate::sql::tables::TableLoad;
use model::wire::{StepSetup, Stream};
use model::workload::Operation;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// What the streams of a step have to do with each other, thread by thread.
pub struct Companies {
    rows: Arc<Vec<TableRows>>,
    loads: Arc<Vec<TableLoad>>,
    /// Whom each thread of a stream tells what it has done: stream, thread, channel.
    followers: Vec<(Stream, u32, SyncSender<Told>)>,
}

/// By what the threads of one companion, in their order, are told what the stream that it follows has done; none where
/// it follows none.
pub type Leaders = Vec<Receiver<Told>>;

impl Companies {
    /// Of the streams of a step, with the leaders of each companion; reads which rows the tables have, where somebody
    /// asks.
    pub fn of(target: &Target, setup: &StepSetup) -> Result<(Companies, Vec<Leaders>), StepError> {
        let rows = match (target, &setup.tables) {
            (Target::Server(address), Some(tables))
                if matches!(setup.operation, Operation::Transaction(_)) =>
            {
                rows::read(address, tables).map_err(|error| StepError::NotReady(Box::new(error).into()))?
            }
            (Target::Server(_) | Target::Database(_), _) => Vec::new(),
        };
        let loads = match (&setup.operation, &setup.tables) {
            (Operation::LoadTables, Some(tables)) => {
                (0..tables.count).map(|_| TableLoad::default()).collect()
            }
            (_, _) => Vec::new(),
        };
        let mut followers = Vec::new();
        let leaders = setup.companions.iter().map(|companion| {
            let Some(stream) = companion.follows else { return Vec::new() };
            let of_thread = |thread| {
                let (follower, leader) = sync_channel(FARTHEST_BEHIND);
                followers.push((stream, thread, follower));
                leader
            };
            (0..companion.step.threads).map(of_thread).collect()
        });
        let leaders = leaders.collect();
        Ok((Companies { rows: Arc::new(rows), loads: Arc::new(loads), followers }, leaders))
    }

    /// What this thread of a stream is given.
    pub fn of_thread(&mut self, stream: Stream, thread: u32) -> Company {
        let followers = self.followers.extract_if(.., |(of, number, _)| (*of, *number) == (stream, thread));
        Company {
            followers: followers.map(|(_, _, follower)| follower).collect(),
            rows: Arc::clone(&self.rows),
            loads: Arc::clone(&self.loads),
            cpu: None,
        }
    }
}
