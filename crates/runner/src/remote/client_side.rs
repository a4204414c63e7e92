//! The side of the clients: it starts `dbdyno remote` on the host of the servers, asks it, and runs the clients that it wants here. What is
//! nearest to a client is done here at once: it is frozen as soon as it has replied, and not when the other side says so.

use super::message::{
    ForWorker, FromServerSide, Judgement, NoMessage, OfWorker, Question, Sender, ToServerSide, WorkerNumber,
    receive,
};
use super::program::{HostThere, OwnProgram};
use super::{MARKER, RemoteError, RemoteHost, end_of, quoted};
use crate::clock::Stopwatch;
use crate::process::lines::{LINE_BYTES_MAX, NoLine, next_line};
use crate::process::output;
use crate::process::tree::FreezeError;
use crate::process::worker::WorkerCommand;
use crate::process::worker_process::{AfterReply, LocalProcess, WorkerProcess};
use model::address::Endpoint;
use model::causes::with_causes;
use model::environment::Environment;
use model::event::RunEvent;
use model::units::Nanos;
use model::wire::{Library, Request};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often it is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How often the other side is told that this one is there: by silence it would not know a connection that is idle from one that is cut.
const ALIVE_PAUSE: Duration = Duration::from_secs(10);
/// Messages and lines that are read before they are looked at; after that who writes them waits. Not tuned.
const HEARD_AHEAD: usize = 256;
/// The other side ends by itself once its input has ended: servers are killed, and their data is removed.
const END_TIMEOUT: Nanos = Nanos::from_secs(30);
/// How often it is looked whether it has.
const END_LOOK: Duration = Duration::from_millis(5);
/// Bytes that are kept of what a client wrote to its standard error.
const STDERR_BYTES: u64 = 128 << 10;
/// Bytes of the end of what ssh and the other side wrote to their standard error.
const SAID_BYTES: usize = 16 << 10;

/// What is heard while something is done on the other side.
pub struct Listening<'a> {
    /// A sentence for the user.
    pub say: &'a mut dyn FnMut(&str),
    /// Something happened in the run.
    pub event: &'a mut dyn FnMut(RunEvent),
    /// The referee is asked.
    pub judge: &'a mut dyn FnMut(Question) -> Judgement,
}

/// Where clients run here.
#[derive(Debug, Clone)]
pub struct ClientPlace {
    /// The program that serves requests when called with `worker`.
    pub program: PathBuf,
    /// A directory of ours that is there as long as they are.
    pub directory: PathBuf,
}

/// What is started on the host of the servers.
pub struct Beginning<'a> {
    /// Files that it needs, with their paths relative to where it is started.
    pub files: &'a [(PathBuf, Vec<u8>)],
    /// Its arguments before `remote`.
    pub words: &'a [String],
    /// Of its directory there: letters, digits and dashes, and that of no other one.
    pub name: &'a str,
}

/// A connection to the host of the servers.
pub struct ClientSide {
    target: String,
    sender: Option<Sender>,
    heard: Receiver<Heard>,
    hears: SyncSender<Heard>,
    place: ClientPlace,
    clients: BTreeMap<WorkerNumber, Client>,
    is_stopping: bool,
    said: Arc<Mutex<Vec<u8>>>,
    // After the clients, which are its servers'.
    ssh: Option<Child>,
}

/// What a thread that reads has read.
enum Heard {
    Message(Box<FromServerSide>),
    Lost(NoMessage),
    OfClient(WorkerNumber, Option<Result<String, NoLine>>),
}

struct Client {
    process: LocalProcess,
    after: AfterReply,
}

impl ClientSide {
    /// Brings this program to a host, with these files, and starts it there.
    ///
    /// # Errors
    /// Those of [`OwnProgram::bring`] and of [`RemoteHost::put`].
    pub fn open(
        host: &RemoteHost,
        beginning: &Beginning<'_>,
        place: ClientPlace,
    ) -> Result<(ClientSide, HostThere), RemoteError> {
        let program = OwnProgram::read()?;
        let there = program.bring(host)?;
        let directory = format!("\"$HOME\"/.cache/dbdyno/remote/{}", beginning.name);
        if !beginning.files.is_empty() {
            host.put(&directory, beginning.files)?;
        }
        let words: Vec<String> = beginning.words.iter().map(|word| quoted(word)).collect();
        let script = format!(
            "(umask 077; mkdir -p {directory}) && cd {directory} && export XDG_CONFIG_HOME=\"$PWD/config\" && {{ {program} {words} remote; status=$?; }}; \
             cd / && rm -rf {directory}; exit $status",
            program = program.path_there(),
            words = words.join(" "),
        );
        let mut ssh = host.spawn(&script)?;
        let broken = || RemoteError::Broken {
            target: host.target().to_owned(),
            source: io::ErrorKind::BrokenPipe.into(),
        };
        let input = ssh.stdin.take().ok_or_else(broken)?;
        let output = ssh.stdout.take().ok_or_else(broken)?;
        let stderr = ssh.stderr.take();
        let mut side = ClientSide::over(host.target(), output, input, place);
        if let Some(stderr) = stderr {
            let said = Arc::clone(&side.said);
            std::thread::spawn(move || keep_end(stderr, &said));
        }
        side.ssh = Some(ssh);
        Ok((side, there))
    }

    /// Over any pipe; what comes before the line that a login is told from is skipped.
    pub(super) fn over(
        target: &str,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        place: ClientPlace,
    ) -> ClientSide {
        let (hears, heard) = mpsc::sync_channel(HEARD_AHEAD);
        let messages = hears.clone();
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            loop {
                match next_line(&mut input, LINE_BYTES_MAX) {
                    Some(Ok(line)) if line == MARKER => break,
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return drop(messages.send(Heard::Lost(NoMessage::Ended))),
                }
            }
            loop {
                let message = receive(&mut input).map(|message| Heard::Message(Box::new(message)));
                let is_last = message.is_err();
                // Who has gone hears nothing.
                if messages.send(message.unwrap_or_else(Heard::Lost)).is_err() || is_last {
                    return;
                }
            }
        });
        let sender = Sender::new(output);
        let alive = sender.weak();
        std::thread::spawn(move || {
            // An error is noticed by who sends something else.
            while alive.get().is_some_and(|sender| sender.send(&ToServerSide::Alive).is_ok()) {
                std::thread::sleep(ALIVE_PAUSE);
            }
        });
        ClientSide {
            target: target.to_owned(),
            sender: Some(sender),
            heard,
            hears,
            place,
            clients: BTreeMap::new(),
            is_stopping: false,
            said: Arc::default(),
            ssh: None,
        }
    }

    /// As the user wrote the host.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Has something done there, and tells what is heard of it until it is done.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if it cannot be done, [`RemoteError::Lost`] if the connection is gone; then so are all clients.
    pub fn ask(
        &mut self,
        what: Value,
        interrupted: &dyn Fn() -> bool,
        listening: &mut Listening<'_>,
    ) -> Result<Value, RemoteError> {
        self.send(&ToServerSide::Ask(what))?;
        loop {
            if interrupted() && !self.is_stopping {
                self.is_stopping = true;
                self.send(&ToServerSide::Interrupt)?;
            }
            let message = match self.heard.recv_timeout(LOOK) {
                Ok(Heard::Message(message)) => *message,
                Ok(Heard::OfClient(worker, line)) => {
                    self.on_line(worker, line)?;
                    continue;
                }
                Ok(Heard::Lost(why)) => return Err(self.lost(&why)),
                Err(RecvTimeoutError::Timeout) => continue,
                // There is always one who hears: this.
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost(&NoMessage::Ended)),
            };
            match message {
                FromServerSide::Say(text) => (listening.say)(&text),
                FromServerSide::Event(event) => (listening.event)(*event),
                FromServerSide::Judge(question) => {
                    let judgement = (listening.judge)(question);
                    self.send(&ToServerSide::Judged(judgement))?;
                }
                FromServerSide::ForWorker { worker, does } => self.on_wish(worker, does, interrupted)?,
                FromServerSide::Answer(answer) => return Ok(answer),
                FromServerSide::Failed { message, is_usage } => {
                    let target = self.target.clone();
                    return Err(RemoteError::Refused { target, message, is_usage });
                }
            }
        }
    }

    fn send(&mut self, message: &ToServerSide) -> Result<(), RemoteError> {
        let sent = match &self.sender {
            Some(sender) => sender.send(message).is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { Err(self.lost(&NoMessage::Ended)) }
    }

    fn say_of(&mut self, worker: WorkerNumber, said: OfWorker) -> Result<(), RemoteError> {
        self.send(&ToServerSide::OfWorker { worker, said })
    }

    /// A line of a client, or the end of its lines.
    fn on_line(
        &mut self,
        worker: WorkerNumber,
        line: Option<Result<String, NoLine>>,
    ) -> Result<(), RemoteError> {
        let said = match line {
            Some(Ok(line)) => {
                let client = self.clients.get_mut(&worker);
                let is_frozen_now = client.is_some_and(|client| {
                    // If it cannot be frozen now, the other side asks for it, and is told why.
                    std::mem::replace(&mut client.after, AfterReply::GoesOn) == AfterReply::IsFrozen
                        && client.process.freeze().is_ok()
                });
                OfWorker::Line { line, frozen: is_frozen_now }
            }
            Some(Err(NoLine::TooLong)) => OfWorker::Silent { too_long: true },
            Some(Err(NoLine::Unreadable)) | None => OfWorker::Silent { too_long: false },
        };
        self.say_of(worker, said)
    }

    fn on_wish(
        &mut self,
        worker: WorkerNumber,
        does: ForWorker,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), RemoteError> {
        if does == ForWorker::Start {
            let said = match self.start(worker) {
                Ok(client) => {
                    self.clients.insert(worker, client);
                    OfWorker::Started
                }
                Err(why) => OfWorker::NotStarted { why },
            };
            return self.say_of(worker, said);
        }
        if does == ForWorker::ReadStderr {
            // Also of one that is gone: why it is stands there.
            let text = output::head_and_tail(&self.stderr_of(worker), STDERR_BYTES).unwrap_or_default();
            return self.say_of(worker, OfWorker::Stderr { text });
        }
        let Some(client) = self.clients.get_mut(&worker) else { return self.on_late_wish(worker, &does) };
        let said = match does {
            ForWorker::Start | ForWorker::ReadStderr => return Ok(()),
            ForWorker::Write { line, .. } if loads_code(&line) => {
                return Err(RemoteError::Refused {
                    target: self.target.clone(),
                    message:
                        "it wants a client here to load a program or a library: it may name servers alone"
                            .to_owned(),
                    is_usage: false,
                });
            }
            ForWorker::Write { line, after } => {
                client.after = after;
                // One that cannot be written to has ended, and its lines end with it.
                let _ = client.process.write(format!("{line}\n").as_bytes(), after);
                return Ok(());
            }
            ForWorker::Thaw => {
                client.process.thaw();
                return Ok(());
            }
            ForWorker::Freeze => OfWorker::Frozen { failed: client.process.freeze().err() },
            ForWorker::Finish | ForWorker::Kill => {
                let by_itself = does == ForWorker::Finish && client.process.finish(interrupted);
                let how = client.process.kill();
                let stderr_tail = client.process.last_words();
                self.clients.remove(&worker);
                OfWorker::Ended { by_itself, how, stderr_tail }
            }
        };
        self.say_of(worker, said)
    }

    /// Of one that is gone: whoever asks waits for an answer.
    fn on_late_wish(&mut self, worker: WorkerNumber, does: &ForWorker) -> Result<(), RemoteError> {
        let said = match does {
            ForWorker::Start | ForWorker::Write { .. } | ForWorker::Thaw | ForWorker::ReadStderr => {
                return Ok(());
            }
            ForWorker::Freeze => OfWorker::Frozen { failed: Some(FreezeError::Gone { pid: 0 }) },
            ForWorker::Finish | ForWorker::Kill => OfWorker::Ended {
                by_itself: true,
                how: "has ended before".to_owned(),
                stderr_tail: output::last_words(&self.stderr_of(worker)),
            },
        };
        self.say_of(worker, said)
    }

    fn stderr_of(&self, worker: WorkerNumber) -> PathBuf {
        self.place.directory.join(format!("client-{worker}.stderr"))
    }

    fn start(&self, worker: WorkerNumber) -> Result<Client, String> {
        let command = WorkerCommand {
            program: self.place.program.clone(),
            stderr: self.stderr_of(worker),
            directory: self.place.directory.clone(),
            environment: Environment::default(),
        };
        let (process, stdout) = LocalProcess::start(&command).map_err(|error| with_causes(&error))?;
        let hears = self.hears.clone();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let line = next_line(&mut stdout, LINE_BYTES_MAX);
                let is_last = !matches!(line, Some(Ok(_)));
                if hears.send(Heard::OfClient(worker, line)).is_err() || is_last {
                    return;
                }
            }
        });
        Ok(Client { process, after: AfterReply::GoesOn })
    }

    /// The connection is gone, and so is all that clients are there for.
    fn lost(&mut self, why: &NoMessage) -> RemoteError {
        self.clients.clear();
        self.sender = None;
        self.wait_for_ssh();
        let said = end_of(&self.said.lock().unwrap_or_else(PoisonError::into_inner));
        RemoteError::Lost { target: self.target.clone(), why: why.to_string(), said }
    }

    /// Until it has ended, within bounds. By then what it said has been read, but for what comes with its end.
    fn wait_for_ssh(&mut self) {
        let Some(ssh) = &mut self.ssh else { return };
        let watch = Stopwatch::start();
        while matches!(ssh.try_wait(), Ok(None)) && watch.elapsed() < END_TIMEOUT {
            // Who waits for room here could not end.
            while self.heard.try_recv().is_ok() {}
            std::thread::sleep(END_LOOK);
        }
        let _ = ssh.kill();
        let _ = ssh.wait();
        self.ssh = None;
    }
}

impl Drop for ClientSide {
    fn drop(&mut self) {
        self.clients.clear();
        // Its input ends: the other side ends what it has started.
        self.sender = None;
        self.wait_for_ssh();
    }
}

fn keep_end(mut from: impl Read, said: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&bytes[..count]);
        let surplus = said.len().saturating_sub(SAID_BYTES);
        said.drain(..surplus);
    }
}

/// Whether a worker would run code that the other host names: whoever has that host has not this one.
fn loads_code(line: &str) -> bool {
    match serde_json::from_str(line) {
        Ok(Request::Load { library: Library::Server { address } }) => {
            !matches!(address.endpoint, Endpoint::Tcp { .. })
        }
        Ok(Request::Load { library }) => library != Library::Nothing,
        // The worker reads it by the same types.
        Ok(_) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::address::ServerAddress;
    use model::workload::sql::Dialect;

    #[test]
    fn the_other_host_names_servers_and_no_code() {
        let asked =
            |library: Library| loads_code(&serde_json::to_string(&Request::Load { library }).unwrap());
        let server = |endpoint| Library::Server {
            address: ServerAddress::new(Dialect::Postgres, endpoint, "me", "db"),
        };
        let path = PathBuf::from("/tmp/code.so");
        assert!(asked(Library::RocksDb { path: path.clone() }));
        assert!(asked(Library::Fio { program: path.clone(), target: None }));
        assert!(asked(server(Endpoint::Socket { path })));
        assert!(!asked(server(Endpoint::Tcp { host: "10.0.0.1".to_owned(), port: 5432 })));
        assert!(!asked(Library::Nothing));
        assert!(!loads_code("{\"request\":\"exit\"}"));
    }
}
