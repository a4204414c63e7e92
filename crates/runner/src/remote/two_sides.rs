//! Both sides over pipes within one process: a worker behind them is to its controller as one beside it.

use super::client_side::{ClientPlace, ClientSide, Listening};
use super::server_side::{Heard, ServerSide};
use super::{Judgement, Question, RemoteError};
use crate::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Referee};
use crate::clock::Stopwatch;
use crate::proc::parse;
use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use crate::process::{scripted, tree};
use model::environment::Environment;
use model::event::RunEvent;
use model::units::{Bytes, Nanos};
use model::wire::{Reply, Request};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const TIMEOUT: Nanos = Nanos::from_secs(20);

/// What is set when the side of the servers hears of it.
#[derive(Clone, Default)]
struct Told {
    interrupt: Arc<AtomicBool>,
    losses: Arc<AtomicU32>,
}

struct Sides {
    server: ServerSide,
    client: ClientSide,
    told: Told,
    scratch: tempfile::TempDir,
}

/// Clients are this script.
fn sides(script: &str) -> Sides {
    let scratch = tempfile::tempdir().unwrap();
    let program = scripted::program(scratch.path(), script);
    let (to_server, from_client) = io::pipe().unwrap();
    let (to_client, mut from_server) = io::pipe().unwrap();
    from_server.write_all(b"Welcome to the lab\ndbdyno-begins\n").unwrap();
    let told = Told::default();
    let (interrupt, losses) = (Arc::clone(&told.interrupt), Arc::clone(&told.losses));
    let heard = Heard {
        on_interrupt: Box::new(move || interrupt.store(true, Ordering::SeqCst)),
        on_loss: Box::new(move || {
            losses.fetch_add(1, Ordering::SeqCst);
        }),
    };
    let server = ServerSide::begin(to_server, from_server, heard);
    let place = ClientPlace { program, directory: scratch.path().to_owned() };
    let client = ClientSide::over("lab-1", to_client, from_client, place);
    Sides { server, client, told, scratch }
}

impl Sides {
    /// What the side of the servers does, while the other one waits for its answer; what that one gets.
    fn meanwhile(
        self,
        interrupted: bool,
        does: impl FnOnce(&ServerSide, PathBuf) -> Option<Value>,
    ) -> (Result<Value, RemoteError>, Vec<RunEvent>) {
        let Sides { server, mut client, scratch, .. } = self;
        let stderr = scratch.path().join("brought");
        std::thread::scope(|scope| {
            let asking = scope.spawn(move || {
                let mut events = Vec::new();
                let answer = client.ask(
                    json!({ "what": 1 }),
                    &|| interrupted,
                    &mut Listening {
                        say: &mut |_| {},
                        event: &mut |event| events.push(event),
                        judge: &mut |question| match question {
                            Question::Fix { active, .. } => Judgement::Fixed(Fixed {
                                max_launches: u32::try_from(active.len()).unwrap(),
                                dropped: Vec::new(),
                            }),
                            Question::AfterLaunch { .. } => Judgement::AfterLaunch(AfterLaunch::default()),
                        },
                    },
                );
                (answer, events)
            });
            assert_eq!(server.next(), Some(json!({ "what": 1 })));
            if let Some(answer) = does(&server, stderr) {
                server.answer(answer);
            }
            drop(server);
            asking.join().unwrap()
        })
    }
}

/// The child of another test that forks may hold the script open for writing.
fn started(server: &ServerSide, stderr: PathBuf) -> Worker {
    loop {
        match server.clients().start(stderr.clone()) {
            Err(WorkerError::Start { source, .. }) if source.to_string().contains("busy") => {
                std::thread::yield_now();
            }
            started => return started.unwrap(),
        }
    }
}

fn ask(worker: &mut Worker) -> Result<Reply, WorkerError> {
    worker.send(&Request::ReadShape)?;
    worker.receive("read-shape", TIMEOUT, &|| false)
}

/// It says its process id to its standard error, and answers two requests; then it says goodbye.
const SCRIPT: &str = r#"echo $$ >&2
read l; echo '{"reply":"prepared"}'; read l; echo '{"reply":"failed","kind":"engine","message":"no"}'
read l; echo '{"reply":"bye","heap_peak":7}'"#;

/// All that a worker was seen to do.
fn seen(mut worker: Worker) -> Vec<String> {
    let mut seen = vec![format!("{:?}", ask(&mut worker).unwrap())];
    worker.freeze().unwrap();
    worker.thaw();
    seen.push(ask(&mut worker).unwrap_err().to_string());
    seen.push(format!("{:?}", worker.stop(&|| false)));
    seen
}

#[test]
fn a_worker_on_another_host_does_what_one_on_this_host_does() {
    let here = tempfile::tempdir().unwrap();
    let command = WorkerCommand {
        program: scripted::program(here.path(), SCRIPT),
        stderr: here.path().join("stderr"),
        directory: here.path().to_owned(),
        environment: Environment::default(),
    };
    let expected = seen(scripted::started(|| Worker::start(&command)).unwrap());
    assert_eq!(expected[1..], ["no".to_owned(), format!("{:?}", Some(Reply::Bye { heap_peak: Bytes(7) }))]);
    let (answer, _) = sides(SCRIPT).meanwhile(false, |server, stderr| {
        assert_eq!(seen(started(server, stderr)), expected);
        Some(json!("done"))
    });
    assert_eq!(answer.unwrap(), json!("done"));
}

#[test]
fn a_client_is_frozen_as_soon_as_it_has_replied_and_none_outlives_its_controller() {
    let (answer, _) = sides(SCRIPT).meanwhile(false, |server, stderr| {
        let mut worker = started(server, stderr.clone());
        worker.send_then_freeze(&Request::ReadShape).unwrap();
        assert_eq!(worker.receive("read-shape", TIMEOUT, &|| false).unwrap(), Reply::Prepared);
        worker.bring_stderr();
        let pid: u32 = fs::read_to_string(&stderr).unwrap().trim().parse().unwrap();
        let state = || parse::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).unwrap()).unwrap().state;
        assert_eq!(state(), 'T', "nobody has asked for it since");
        worker.freeze().unwrap();
        worker.thaw();
        worker.freeze().unwrap();
        assert_eq!(state(), 'T');
        drop(worker);
        assert_eq!(tree::descendants(pid), Vec::<u32>::new(), "a frozen one is killed too");
        Some(Value::Null)
    });
    assert_eq!(answer.unwrap(), Value::Null);
}

#[test]
fn a_crash_there_tells_how_and_gives_the_last_words() {
    let (answer, _) =
        sides("read l; echo out of luck >&2; kill -SEGV $$").meanwhile(false, |server, stderr| {
            let mut worker = started(server, stderr.clone());
            let crash = ask(&mut worker).unwrap_err().to_string();
            assert_eq!(crash, "the worker was killed by signal 11; its last words: out of luck");
            let watch = Stopwatch::start();
            worker.bring_stderr();
            assert_eq!(fs::read_to_string(&stderr).unwrap().trim(), "out of luck");
            assert!(worker.freeze().is_err());
            drop(worker);
            assert!(watch.elapsed() < Nanos::from_secs(10), "nobody waits for what is gone");
            Some(Value::Null)
        });
    assert_eq!(answer.unwrap(), Value::Null);
}

#[test]
fn events_come_in_order_and_the_referee_is_asked_where_the_store_is() {
    let event = |launch| RunEvent::LaunchStarted { launch, at_us: 5 };
    let (answer, events) = sides(SCRIPT).meanwhile(false, |server, _| {
        server.event(event(1));
        let active = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let mut referee = server;
        assert_eq!(referee.fix(LaunchCost::default(), Nanos(1), &active).max_launches, 2);
        server.event(event(2));
        Some(Value::Null)
    });
    assert_eq!((answer.unwrap(), events), (Value::Null, vec![event(1), event(2)]));
}

#[test]
fn what_cannot_be_done_is_an_error_and_so_is_the_end_of_the_connection() {
    let (refused, _) = sides(SCRIPT).meanwhile(false, |server, _| {
        server.fail("there is no space left".to_owned(), true);
        None
    });
    let refused = refused.unwrap_err();
    assert!(matches!(refused, RemoteError::Refused { is_usage: true, .. }), "{refused}");
    assert_eq!(refused.to_string(), "host lab-1: there is no space left");
}

#[test]
fn an_interrupt_is_told_and_a_loss_once() {
    let sides = sides(SCRIPT);
    let told = sides.told.clone();
    let (answer, _) = sides.meanwhile(true, |_, _| {
        while !told.interrupt.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Some(Value::Null)
    });
    assert_eq!(answer.unwrap(), Value::Null);
    // The other side is gone with what asked.
    while told.losses.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(told.losses.load(Ordering::SeqCst), 1);
}

#[test]
fn who_waits_for_a_client_when_the_connection_ends_waits_no_longer() {
    let Sides { server, client, .. } = sides(scripted::HANGS);
    drop(client);
    assert_eq!(server.next(), None);
    let started = server.clients().start(PathBuf::from("none"));
    assert!(matches!(started, Err(WorkerError::Start { .. })));
}
