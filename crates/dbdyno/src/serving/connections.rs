//! The connections that are open: at most so many, and the oldest makes room for a new one, so that clients which keep theirs
//! open without using it keep nobody out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// All of them. Dropping it closes them.
pub struct Connections {
    most: usize,
    tasks: JoinSet<()>,
    /// In the order in which they were accepted.
    open: Vec<Open>,
}

struct Open {
    task: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

impl Connections {
    /// None yet, and never more than `most`.
    pub fn new(most: usize) -> Connections {
        Connections { most, tasks: JoinSet::new(), open: Vec::new() }
    }

    /// A new one, which ends with what `converse` gives. That sets the flag as soon as the client's request has come. If there
    /// are as many as there may be, one is closed.
    pub fn add<Conversation>(&mut self, converse: impl FnOnce(Arc<AtomicBool>) -> Conversation)
    where
        Conversation: Future<Output = ()> + Send + 'static,
    {
        self.forget_ended();
        if self.open.len() >= self.most {
            self.close_one();
        }
        let has_asked = Arc::new(AtomicBool::new(false));
        let task = self.tasks.spawn(converse(Arc::clone(&has_asked)));
        self.open.push(Open { task, has_asked });
    }

    /// Gives back file descriptors: closes the older half of those that have not asked. Who has just come is about to ask; `accept`
    /// fails for want of a descriptor also when no other client waits.
    pub fn make_room(&mut self) {
        self.forget_ended();
        let idle = self.open.iter().filter(|open| !open.has_asked()).count();
        for _ in 0..(idle / 2).max(1) {
            self.close_one();
        }
    }

    /// Closes those whose request has not come yet, and waits for the answers of the others for `limit`; then closes all.
    pub async fn finish(mut self, limit: Duration) {
        for open in self.open.iter().filter(|open| !open.has_asked()) {
            open.task.abort();
        }
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // An error says that the time is over.
        let _ = timeout(limit, ended).await;
        self.tasks.shutdown().await;
    }

    fn forget_ended(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|open| !open.task.is_finished());
    }

    /// The oldest that has not asked; if all have, the oldest: who asked last waits for an answer still.
    fn close_one(&mut self) {
        let has_not_asked = self.open.iter().position(|open| !open.has_asked());
        if !self.open.is_empty() {
            self.open.remove(has_not_asked.unwrap_or(0)).task.abort();
        }
    }
}

impl Open {
    fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    /// The flags of connections that end only when they are closed.
    fn opened(all: &mut Connections, count: usize) -> Vec<Arc<AtomicBool>> {
        let mut flags = Vec::new();
        for _ in 0..count {
            all.add(|has_asked| {
                flags.push(Arc::clone(&has_asked));
                async move {
                    let _held = has_asked;
                    std::future::pending().await
                }
            });
        }
        flags
    }

    fn asks(flag: &AtomicBool) {
        flag.store(true, Ordering::Relaxed);
    }

    fn check(all: &Connections, flags: &[Arc<AtomicBool>], expected: &[bool]) {
        let is_open = |flag| all.open.iter().any(|open| Arc::ptr_eq(&open.has_asked, flag));
        assert_eq!(flags.iter().map(is_open).collect::<Vec<bool>>(), expected);
    }

    #[test]
    fn the_oldest_that_has_not_asked_makes_room_and_then_the_oldest() {
        within(async {
            let mut all = Connections::new(3);
            let flags = opened(&mut all, 3);
            asks(&flags[0]);
            let more = opened(&mut all, 1);
            check(&all, &flags, &[true, false, true]);
            tokio::task::yield_now().await;
            assert_eq!(Arc::strong_count(&flags[1]), 1, "what it holds is given back");
            asks(&flags[2]);
            asks(&more[0]);
            opened(&mut all, 1);
            check(&all, &flags, &[false, false, true]);
            assert_eq!(all.open.len(), 3);
        });
    }

    #[test]
    fn who_has_just_come_stays_when_descriptors_run_out() {
        within(async {
            let mut all = Connections::new(9);
            let flags = opened(&mut all, 6);
            asks(&flags[1]);
            all.make_room();
            check(&all, &flags, &[false, true, false, true, true, true]);
            all.make_room();
            all.make_room();
            check(&all, &flags, &[false, true, false, false, false, true]);
            asks(&flags[5]);
            all.make_room();
            check(&all, &flags, &[false, false, false, false, false, true]);
        });
    }

    #[test]
    fn those_that_ended_take_no_place() {
        within(async {
            let mut all = Connections::new(2);
            all.add(|_| async {});
            let flags = opened(&mut all, 1);
            tokio::task::yield_now().await;
            let more = opened(&mut all, 1);
            check(&all, &flags, &[true]);
            check(&all, &more, &[true]);
        });
    }

    #[test]
    fn who_asked_has_time_to_be_answered_at_the_end() {
        within(async {
            let mut all = Connections::new(3);
            let idle = opened(&mut all, 1);
            let answered = Arc::new(AtomicBool::new(false));
            let answer = Arc::clone(&answered);
            all.add(|has_asked| async move {
                asks(&has_asked);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                asks(&answer);
            });
            tokio::task::yield_now().await;
            let late = opened(&mut all, 1);
            asks(&late[0]);
            all.finish(Duration::from_millis(200)).await;
            assert!(answered.load(Ordering::Relaxed));
            assert_eq!(Arc::strong_count(&idle[0]), 1);
            assert_eq!(Arc::strong_count(&late[0]), 1, "closed when the time was over");
        });
    }
}
