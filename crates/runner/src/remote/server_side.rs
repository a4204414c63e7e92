//! The side of the servers: `dbdyno remote`, started over ssh by the dbdyno of the clients, which it answers on its standard output. Its
//! workers are clients on the other host: for whoever drives a run they are workers like all others.
//!
//! When its input ends, nobody is there any more: what waits for the other side fails at once, and who began this ends the rest.

use super::message::{
    ForWorker, FromServerSide, Judgement, OfWorker, Question, Sender, ToServerSide, WorkerNumber, receive,
};
use crate::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use crate::clock;
use crate::process::lines::NoLine;
use crate::process::tree::FreezeError;
use crate::process::worker::{Worker, WorkerError};
use crate::process::worker_process::{AfterReply, EXIT_TIMEOUT, WorkerProcess};
use model::block::Block;
use model::event::RunEvent;
use model::units::Nanos;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the other side does with a client at once: longer than it takes to freeze one, or to start it.
const DOES_TIMEOUT: Duration = Duration::from_secs(30);
/// The other side says every ten seconds that it is there; without a word for this long its network is cut, or it is suspended.
const SILENCE_TIMEOUT: Nanos = Nanos::from_secs(60);
const SILENCE_LOOK: Duration = Duration::from_secs(5);
/// How often who waits for the other side looks whether it is gone. Not tuned: nothing is measured meanwhile.
const CLOSED_LOOK: Duration = Duration::from_millis(100);
/// An ended worker is told of within this of the bound that it has there.
const END_GRACE: Duration = Duration::from_secs(5);
/// What a worker is started from, in errors.
const PROGRAM_THERE: &str = "dbdyno worker, on the host of the clients";

/// What is heard of the other side besides its messages to workers.
pub struct Heard {
    /// The user wants to stop.
    pub on_interrupt: Box<dyn Fn() + Send>,
    /// The connection is gone. Called once, by the thread that reads, which nobody waits for.
    pub on_loss: Box<dyn FnOnce() + Send>,
}

/// The other side, as it is talked to from here.
pub struct ServerSide {
    sender: Sender,
    asked: Receiver<Value>,
    judged: Receiver<Judgement>,
    clients: Clients,
}

impl ServerSide {
    /// Begins to read. Messages are answered by whoever asks for them; those to workers are handed to these.
    pub fn begin(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        heard: Heard,
    ) -> ServerSide {
        let sender = Sender::new(output);
        let clients =
            Clients { sender: sender.clone(), routes: Arc::default(), last: Arc::new(AtomicU32::new(0)) };
        let routes = Arc::clone(&clients.routes);
        let loss = Arc::new(Loss {
            routes: Arc::clone(&routes),
            on_loss: Mutex::new(Some(heard.on_loss)),
            heard_at: AtomicU64::new(clock::since_boot().0),
        });
        let watched = Arc::clone(&loss);
        std::thread::spawn(move || watched.wait_for_silence());
        // Without a bound: the other side sends one of each, and then waits.
        let (ask, asked) = mpsc::channel();
        let (judge, judged) = mpsc::channel();
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Ok(message) = receive(&mut input) {
                loss.heard_at.store(clock::since_boot().0, Ordering::Relaxed);
                match message {
                    ToServerSide::Alive => {}
                    // Who is gone has nothing more to ask.
                    ToServerSide::Ask(what) => drop(ask.send(what)),
                    ToServerSide::Judged(judgement) => drop(judge.send(judgement)),
                    ToServerSide::OfWorker { worker, said } => routes.hand_on(worker, said),
                    ToServerSide::Interrupt => (heard.on_interrupt)(),
                }
            }
            drop((ask, judge));
            loss.happened();
        });
        ServerSide { sender, asked, judged, clients }
    }

    /// What is asked for next; none if nobody is there any more.
    pub fn next(&self) -> Option<Value> {
        self.received(&self.asked)
    }

    /// Says that it is done, with what came of it.
    pub fn answer(&self, answer: Value) {
        self.tell(&FromServerSide::Answer(answer));
    }

    /// Says that it cannot be done; if `is_usage`, since what the user wrote makes no sense.
    pub fn fail(&self, message: String, is_usage: bool) {
        self.tell(&FromServerSide::Failed { message, is_usage });
    }

    /// A sentence for the user.
    pub fn say(&self, text: &str) {
        self.tell(&FromServerSide::Say(text.to_owned()));
    }

    /// Something that happened in the run.
    pub fn event(&self, event: RunEvent) {
        self.tell(&FromServerSide::Event(Box::new(event)));
    }

    /// The host of the clients, to start workers on.
    pub fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// The loss of the connection is noticed by the thread that reads.
    fn tell(&self, message: &FromServerSide) {
        let _ = self.sender.send(message);
    }

    fn judge(&self, question: Question) -> Option<Judgement> {
        self.tell(&FromServerSide::Judge(question));
        self.received(&self.judged)
    }

    /// None if nobody is there any more. After silence the input has not ended, and the thread that reads waits for it.
    fn received<T>(&self, from: &Receiver<T>) -> Option<T> {
        loop {
            match from.recv_timeout(CLOSED_LOOK) {
                Err(RecvTimeoutError::Timeout) if !self.clients.routes.is_closed() => {}
                received => return received.ok(),
            }
        }
    }
}

/// The end of a connection, noticed by whoever is first: it ends, or nothing is heard any more.
struct Loss {
    routes: Arc<Routes>,
    on_loss: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// When the last message came, in nanoseconds since the host was started.
    heard_at: AtomicU64,
}

impl Loss {
    fn happened(&self) {
        self.routes.close();
        let on_loss = self.on_loss.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(on_loss) = on_loss {
            on_loss();
        }
    }

    fn wait_for_silence(&self) {
        loop {
            std::thread::sleep(SILENCE_LOOK);
            let silent = clock::since_boot().0.saturating_sub(self.heard_at.load(Ordering::Relaxed));
            if silent > SILENCE_TIMEOUT.0 {
                return self.happened();
            }
        }
    }
}

/// The referee is where the store is. Of a connection that is lost it does not matter what is decided: nothing is done any more.
impl Referee for &ServerSide {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        match self.judge(Question::Fix { cost, left, active: active.clone() }) {
            Some(Judgement::Fixed(fixed)) => fixed,
            Some(Judgement::AfterLaunch(_)) | None => Fixed { max_launches: 1, dropped: Vec::new() },
        }
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        let question = Question::AfterLaunch { blocks: blocks.to_vec(), active: active.clone(), passed };
        match self.judge(question) {
            Some(Judgement::AfterLaunch(after)) => after,
            Some(Judgement::Fixed(_)) | None => AfterLaunch::default(),
        }
    }
}

/// The host of the clients.
#[derive(Clone)]
pub struct Clients {
    sender: Sender,
    routes: Arc<Routes>,
    last: Arc<AtomicU32>,
}

impl Clients {
    /// Starts a worker there. What it writes to its standard error comes into this file when it is asked for.
    ///
    /// # Errors
    /// [`WorkerError::Start`] if it cannot be started there, or nobody is there any more.
    pub fn start(&self, stderr: PathBuf) -> Result<Worker, WorkerError> {
        let failed = |why: String| WorkerError::Start {
            program: PathBuf::from(PROGRAM_THERE),
            source: io::Error::other(why),
        };
        let worker = self.last.fetch_add(1, Ordering::Relaxed);
        let (lines, replies) = mpsc::channel();
        let (does, done) = mpsc::channel();
        let is_frozen = Arc::new(AtomicBool::new(false));
        self.routes.add(worker, Route { lines: Some(lines), does, is_frozen: Arc::clone(&is_frozen) });
        let mut process = ProcessThere {
            worker,
            clients: self.clone(),
            done,
            is_frozen,
            ended: None,
            last_words: String::new(),
            stderr,
        };
        match process.ask(ForWorker::Start, DOES_TIMEOUT) {
            Some(OfWorker::Started) => Ok(Worker::of(Box::new(process), replies)),
            Some(OfWorker::NotStarted { why }) => {
                process.ended = Some("was not started".to_owned());
                Err(failed(why))
            }
            // One that is started too late is killed.
            Some(other) => Err(failed(format!("that host says {other:?}"))),
            None => Err(failed("that host does not answer".to_owned())),
        }
    }
}

/// Where messages of workers go.
#[derive(Default)]
struct Routes {
    by_worker: Mutex<BTreeMap<WorkerNumber, Route>>,
    /// Whether nothing comes any more.
    is_closed: AtomicBool,
}

struct Route {
    /// None once it is silent. Without a bound, so that one whose lines nobody takes holds up no other: it writes one a second.
    lines: Option<mpsc::Sender<Result<String, NoLine>>>,
    does: mpsc::Sender<OfWorker>,
    is_frozen: Arc<AtomicBool>,
}

impl Routes {
    fn add(&self, worker: WorkerNumber, route: Route) {
        let mut by_worker = self.by_worker.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_closed() {
            by_worker.insert(worker, route);
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn remove(&self, worker: WorkerNumber) {
        self.by_worker.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
    }

    /// Everybody who waits is told that nothing comes any more.
    fn close(&self) {
        let mut by_worker = self.by_worker.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::SeqCst);
        by_worker.clear();
    }

    /// Of one that is gone nothing is wanted.
    fn hand_on(&self, worker: WorkerNumber, said: OfWorker) {
        let mut by_worker = self.by_worker.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(route) = by_worker.get_mut(&worker) else { return };
        match said {
            OfWorker::Line { line, frozen } => {
                // Before the line is seen.
                route.is_frozen.store(frozen, Ordering::SeqCst);
                if let Some(lines) = &route.lines {
                    let _ = lines.send(Ok(line));
                }
            }
            OfWorker::Silent { too_long } => {
                if let Some(lines) = route.lines.take()
                    && too_long
                {
                    let _ = lines.send(Err(NoLine::TooLong));
                }
            }
            done => drop(route.does.send(done)),
        }
    }
}

/// The process of a worker on the host of the clients.
struct ProcessThere {
    worker: WorkerNumber,
    clients: Clients,
    done: Receiver<OfWorker>,
    is_frozen: Arc<AtomicBool>,
    /// How it ended, if it has.
    ended: Option<String>,
    last_words: String,
    stderr: PathBuf,
}

impl ProcessThere {
    fn tell(&self, does: ForWorker) -> io::Result<()> {
        self.clients.sender.send(&FromServerSide::ForWorker { worker: self.worker, does })
    }

    /// Has something done, and waits for what comes of it; none if nobody answers.
    fn ask(&self, does: ForWorker, timeout: Duration) -> Option<OfWorker> {
        self.tell(does).ok()?;
        self.done.recv_timeout(timeout).ok()
    }

    /// Has it ended; whether it did so by itself.
    fn end(&mut self, does: ForWorker) -> bool {
        let timeout = Duration::from_nanos(EXIT_TIMEOUT.0) + END_GRACE;
        match self.ask(does, timeout) {
            Some(OfWorker::Ended { by_itself, how, stderr_tail }) => {
                (self.ended, self.last_words) = (Some(how), stderr_tail);
                by_itself
            }
            // What there was of it has ended with the connection.
            Some(_) | None => {
                self.ended = Some("is gone, as is the connection to its host".to_owned());
                true
            }
        }
    }
}

impl WorkerProcess for ProcessThere {
    fn pid(&self) -> u32 {
        0
    }

    fn write(&mut self, line: &[u8], after: AfterReply) -> io::Result<()> {
        self.is_frozen.store(false, Ordering::SeqCst);
        let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)).into_owned();
        self.tell(ForWorker::Write { line, after })
    }

    fn freeze(&mut self) -> Result<(), FreezeError> {
        if self.ended.is_some() {
            return Err(FreezeError::Gone { pid: 0 });
        }
        // It was frozen there as soon as it had replied: no message has to go there and back between two blocks.
        if self.is_frozen.load(Ordering::SeqCst) {
            return Ok(());
        }
        match self.ask(ForWorker::Freeze, DOES_TIMEOUT) {
            Some(OfWorker::Frozen { failed: None }) => {
                self.is_frozen.store(true, Ordering::SeqCst);
                Ok(())
            }
            Some(OfWorker::Frozen { failed: Some(failed) }) => Err(failed),
            Some(_) | None => Err(FreezeError::Gone { pid: 0 }),
        }
    }

    fn thaw(&mut self) {
        self.is_frozen.store(false, Ordering::SeqCst);
        // The loss of the connection is noticed by the thread that reads.
        let _ = self.tell(ForWorker::Thaw);
    }

    fn finish(&mut self, _interrupted: &dyn Fn() -> bool) -> bool {
        self.end(ForWorker::Finish)
    }

    fn kill(&mut self) -> String {
        if self.ended.is_none() {
            self.end(ForWorker::Kill);
        }
        self.ended.clone().unwrap_or_default()
    }

    fn last_words(&self) -> String {
        self.last_words.clone()
    }

    fn bring_stderr(&self) {
        if let Some(OfWorker::Stderr { text }) = self.ask(ForWorker::ReadStderr, DOES_TIMEOUT) {
            // What cannot be written is not among the texts of the run, which say so by its absence.
            let _ = fs::write(&self.stderr, text);
        }
    }
}

impl Drop for ProcessThere {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.end(ForWorker::Kill);
        }
        self.clients.routes.remove(self.worker);
    }
}
