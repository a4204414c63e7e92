//! What the host of the clients and the host of the servers say to each other, over the standard input and output of `dbdyno remote`: one
//! JSON object per line. The run is carried out on the host of the servers, for a block's edges wait on that one; what is stored, and the
//! clients, are here.

use crate::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed};
use crate::process::lines::{NoLine, next_line};
use crate::process::tree::FreezeError;
use crate::process::worker_process::AfterReply;
use model::block::Block;
use model::event::RunEvent;
use model::units::Nanos;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The longest message, in bytes. A worker's longest line is the bound of `process::lines`, quoted once more in here; the longest that
/// was seen, a plan, has some hundred kilobytes.
const MESSAGE_BYTES_MAX: u64 = 256 << 20;

/// A client, by a number that is its own as long as the connection lasts.
pub(super) type WorkerNumber = u32;

/// From the host of the clients to that of the servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToServerSide {
    /// Something to do, in the words of who asks; answered once, after all else that is said of it.
    Ask(Value),
    /// What the referee says.
    Judged(Judgement),
    OfWorker {
        worker: WorkerNumber,
        said: OfWorker,
    },
    /// The user wants to stop.
    Interrupt,
    /// Nothing, but that the host of the clients is still there: it may go without its connection ending.
    Alive,
}

/// What came of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OfWorker {
    Started,
    NotStarted {
        why: String,
    },
    /// A line of its standard output.
    Line {
        line: String,
        /// Whether it was frozen after it, as was asked for.
        frozen: bool,
    },
    /// Its standard output has ended, or is not read any more.
    Silent {
        /// It wrote a line that is too long.
        too_long: bool,
    },
    Frozen {
        failed: Option<FreezeError>,
    },
    Ended {
        by_itself: bool,
        /// `exited with status 1`
        how: String,
        stderr_tail: String,
    },
    /// What it has written to its standard error.
    Stderr {
        text: String,
    },
}

/// From the host of the servers to that of the clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FromServerSide {
    /// A sentence for the user.
    Say(String),
    /// Something happened in the run.
    Event(Box<RunEvent>),
    Judge(Question),
    ForWorker {
        worker: WorkerNumber,
        does: ForWorker,
    },
    /// What was asked for is done.
    Answer(Value),
    /// It cannot be done.
    Failed {
        message: String,
        /// Whether what the user wrote makes no sense.
        is_usage: bool,
    },
}

/// What is to be done with a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ForWorker {
    Start,
    /// A line for its standard input, without its end.
    Write {
        line: String,
        after: AfterReply,
    },
    Freeze,
    Thaw,
    /// Ends its standard input and waits until it has ended.
    Finish,
    /// Ends it at once.
    Kill,
    ReadStderr,
}

/// What the referee is asked, as [`Referee`](crate::campaign::interleaved::referee::Referee) has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    Fix { cost: LaunchCost, left: Nanos, active: BTreeSet<String> },
    AfterLaunch { blocks: Vec<Block>, active: BTreeSet<String>, passed: Passed },
}

/// What the referee says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    Fixed(Fixed),
    AfterLaunch(AfterLaunch),
}

/// Where messages are written, from any thread, each in whole.
#[derive(Clone)]
pub(super) struct Sender {
    output: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Sender {
    /// To here.
    pub fn new(output: impl Write + Send + 'static) -> Sender {
        Sender { output: Arc::new(Mutex::new(Box::new(output))) }
    }

    /// The same, but for how long it is open.
    pub fn weak(&self) -> WeakSender {
        WeakSender { output: Arc::downgrade(&self.output) }
    }

    /// # Errors
    /// The other side reads no more.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(&line)?;
        // The other side waits for it.
        output.flush()
    }
}

/// Where messages can be written for as long as somebody else has a [`Sender`] to there.
pub(super) struct WeakSender {
    output: Weak<Mutex<Box<dyn Write + Send>>>,
}

impl WeakSender {
    /// None if nobody else has one.
    pub fn get(&self) -> Option<Sender> {
        self.output.upgrade().map(|output| Sender { output })
    }
}

/// Why there is no message, and none after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoMessage {
    #[error("the connection ended")]
    Ended,
    #[error("the connection ended within a message")]
    Truncated,
    #[error("it said what is no message: {0}")]
    Other(String),
}

/// Of a line that is no message so much is quoted.
const QUOTED: usize = 200;

/// The next message.
pub(super) fn receive<T: DeserializeOwned>(input: &mut impl BufRead) -> Result<T, NoMessage> {
    let line = match next_line(input, MESSAGE_BYTES_MAX) {
        Some(Ok(line)) => line,
        None | Some(Err(NoLine::Unreadable)) => return Err(NoMessage::Ended),
        Some(Err(NoLine::TooLong)) => return Err(NoMessage::Other("a line without end".to_owned())),
    };
    serde_json::from_str(&line).map_err(|error| match error.is_eof() {
        true => NoMessage::Truncated,
        false => NoMessage::Other(line.chars().take(QUOTED).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::HostSample;
    use model::plan::Plan;
    use std::collections::BTreeMap;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn back<T: Serialize + DeserializeOwned>(message: &T) -> T {
        let written = Written::default();
        Sender::new(written.clone()).send(message).unwrap();
        let line = written.0.lock().unwrap().clone();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "a message is one line");
        receive(&mut line.as_slice()).unwrap()
    }

    #[test]
    fn what_is_sent_is_what_is_received() {
        let to_workers = [
            ForWorker::Start,
            ForWorker::Write { line: "{\"request\":\"exit\"}".to_owned(), after: AfterReply::IsFrozen },
            ForWorker::Freeze,
            ForWorker::Thaw,
            ForWorker::Finish,
            ForWorker::Kill,
            ForWorker::ReadStderr,
        ];
        for does in to_workers {
            let message = FromServerSide::ForWorker { worker: 7, does };
            assert_eq!(back(&message), message);
        }
        let of_workers = [
            OfWorker::Started,
            OfWorker::NotStarted { why: "no".to_owned() },
            OfWorker::Line { line: "a\u{1b} \"line\"".to_owned(), frozen: true },
            OfWorker::Silent { too_long: false },
            OfWorker::Frozen { failed: Some(FreezeError::Gone { pid: 3 }) },
            OfWorker::Ended { by_itself: true, how: String::new(), stderr_tail: "x\ny".to_owned() },
            OfWorker::Stderr { text: String::new() },
        ];
        for said in of_workers {
            let message = ToServerSide::OfWorker { worker: 7, said };
            assert_eq!(back(&message), message);
        }
        assert_eq!(back(&ToServerSide::Interrupt), ToServerSide::Interrupt);
    }

    #[test]
    fn events_and_what_the_referee_is_asked_travel_whole() {
        let record = testing::compared::record(&testing::compared::EQUAL);
        let block = record.blocks[0].clone();
        let events = [
            RunEvent::BlockMeasured(Box::new(block.clone())),
            RunEvent::HostSampled(HostSample {
                at_us: 5,
                readings: BTreeMap::from([("vmstat.pgfault".to_owned(), u64::MAX)]),
            }),
            RunEvent::MaxLaunchesFixed { max_launches: 3 },
            RunEvent::RawOutput { launch: 1, side: 0, name: "LOG".to_owned(), text: "a\nb\0".to_owned() },
        ];
        for event in events {
            let message = FromServerSide::Event(Box::new(event));
            assert_eq!(back(&message), message);
        }
        let asked = FromServerSide::Judge(Question::AfterLaunch {
            blocks: vec![block],
            active: BTreeSet::from(["point".to_owned()]),
            passed: Passed { launch: 2, share: 0.5, is_last: false },
        });
        assert_eq!(back(&asked), asked);
        // With sides as keys, which are texts in JSON.
        let mut plan = record.plan;
        plan.layout.code_sha256 = BTreeMap::from([(1, "ab".to_owned())]);
        let ToServerSide::Ask(value) = back(&ToServerSide::Ask(serde_json::to_value(&plan).unwrap())) else {
            panic!("it is what was sent");
        };
        assert_eq!(serde_json::from_value::<Plan>(value).unwrap(), plan);
    }

    #[test]
    fn what_is_cut_off_or_is_no_message_is_told_apart() {
        let check = |text: &str, expected: NoMessage| {
            let received: Result<ToServerSide, NoMessage> = receive(&mut text.as_bytes());
            assert_eq!(received.unwrap_err(), expected, "{text:?}");
        };
        check("", NoMessage::Ended);
        check("{\"ask\":", NoMessage::Truncated);
        check("\"inter", NoMessage::Truncated);
        check("Last login: today\n", NoMessage::Other("Last login: today".to_owned()));
        check("{\"do\":1}\n", NoMessage::Other("{\"do\":1}".to_owned()));
        let mut two = "\"interrupt\"\n{\"ask\":null}\nrest".as_bytes();
        assert_eq!(receive::<ToServerSide>(&mut two), Ok(ToServerSide::Interrupt));
        assert_eq!(receive::<ToServerSide>(&mut two), Ok(ToServerSide::Ask(Value::Null)));
        assert!(matches!(receive::<ToServerSide>(&mut two), Err(NoMessage::Other(_))));
    }
}
