//! Two tapes, sent to one server in turns.

use super::{BEGIN, BUFFER, Exchange, Stream, Tape};
use anyhow::{Context, bail, ensure};
use model::address::ServerAddress;
use model::workload::sql::Dialect;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

/// A turn ends with the first answer after it that leaves no transaction open. Between turns the server is waited for, so that they are long against that.
const TURN: Duration = Duration::from_millis(25);
/// A server that used less than a twentieth of such a time is at rest. The kernel counts the time of a thread that runs once a tick of 4 ms.
const REST: Duration = Duration::from_millis(5);
/// Then the next turn begins though the server is not at rest.
const REST_TIMEOUT: Duration = Duration::from_secs(1);
/// A server that has not answered for so long answers otherwise than it did.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends both tapes to their ends, in turns from the first to the last: one whose other has ended waits as often as before. What the server used for each by
/// the meter, which tells its CPU time: in the turns and until it was at rest after them.
///
/// # Errors
/// Answers of other lengths than those on the tape.
pub fn in_turns(
    server: &ServerAddress,
    tapes: [&Tape; 2],
    meter: impl Fn() -> anyhow::Result<Duration>,
) -> anyhow::Result<[Duration; 2]> {
    let mut used = at_rest(&meter)?;
    let [mut first, mut second] = tapes.map(|tape| Replay::of(tape, server));
    let mut used_for = [Duration::ZERO; 2];
    while !(first.is_over() && second.is_over()) {
        for (replay, used_for) in [&mut first, &mut second].into_iter().zip(&mut used_for) {
            if replay.is_over() {
                thread::sleep(TURN);
                continue;
            }
            replay.turn(TURN)?;
            let used_then = at_rest(&meter)?;
            *used_for += used_then.saturating_sub(used);
            used = used_then;
        }
    }
    Ok(used_for)
}

/// What the meter tells once the server has done what it was asked for.
fn at_rest(meter: impl Fn() -> anyhow::Result<Duration>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut used = meter()?;
    loop {
        thread::sleep(REST);
        let used_then = meter()?;
        if used_then.saturating_sub(used) * 20 < REST || began.elapsed() > REST_TIMEOUT {
            return Ok(used_then);
        }
        used = used_then;
    }
}

/// A tape, as far as it was sent.
struct Replay<'a> {
    server: &'a ServerAddress,
    dialect: Dialect,
    left: std::slice::Iter<'a, Exchange>,
    statements: Statements,
    /// Whether a turn may not end here.
    is_in_transaction: bool,
    stream: Option<Stream>,
}

impl<'a> Replay<'a> {
    fn of(tape: &'a Tape, server: &'a ServerAddress) -> Replay<'a> {
        Replay {
            server,
            dialect: tape.dialect,
            left: tape.exchanges.iter(),
            statements: Statements::default(),
            is_in_transaction: false,
            stream: None,
        }
    }

    fn is_over(&self) -> bool {
        self.left.as_slice().is_empty()
    }

    /// Goes on for so long, the connection made in the first turn and ended in the last.
    fn turn(&mut self, length: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = Stream::connect(&self.server.endpoint)?;
                stream.time_out(ANSWER_TIMEOUT)?;
                stream
            }
        };
        let (mut sent, mut buffer) = (Vec::new(), vec![0; BUFFER]);
        while (began.elapsed() < length || self.is_in_transaction)
            && let Some(exchange) = self.left.next()
        {
            sent.clone_from(&exchange.sent);
            if self.dialect == Dialect::Mysql {
                self.statements.renumber(&mut sent);
            }
            let to_come = self.left.len();
            let begin = ask(&stream, &sent, exchange.answered, &mut buffer).with_context(|| {
                format!(
                    "the server did not answer with {} bytes as before, {to_come} requests before the end",
                    exchange.answered
                )
            })?;
            if self.dialect == Dialect::Mysql && command(&exchange.sent) == Some(PREPARE) {
                self.statements.learn(&exchange.begin, &begin);
            }
            self.is_in_transaction = exchange.leaves_open(self.dialect).unwrap_or(self.is_in_transaction);
        }
        if self.is_over() {
            return end(&stream);
        }
        self.stream = Some(stream);
        Ok(())
    }
}

/// Sends a request and reads so many bytes of its answer; the first of them.
fn ask(mut stream: &Stream, sent: &[u8], answered: usize, buffer: &mut [u8]) -> anyhow::Result<[u8; BEGIN]> {
    stream.write_all(sent)?;
    let (mut begin, mut begun, mut left) = ([0; BEGIN], 0, answered);
    while left > 0 {
        let most = left.min(buffer.len());
        let length = stream.read(&mut buffer[..most])?;
        if length == 0 {
            bail!("it ended the connection");
        }
        begin[begun..].iter_mut().zip(&buffer[..length]).for_each(|(kept, byte)| *kept = *byte);
        begun = (begun + length).min(BEGIN);
        left -= length;
    }
    Ok(begin)
}

fn end(mut stream: &Stream) -> anyhow::Result<()> {
    stream.send_no_more();
    let mut more = Vec::new();
    stream.read_to_end(&mut more).context("the server did not end the connection")?;
    ensure!(more.is_empty(), "the server answered more than before");
    Ok(())
}

/// COM_STMT_PREPARE of MySQL, and the commands that begin with the number of a statement: EXECUTE, SEND_LONG_DATA, CLOSE, RESET.
const PREPARE: u8 = 0x16;
const OF_STATEMENT: RangeInclusive<u8> = 0x17..=0x1a;

/// What the server calls prepared statements, by their numbers on the tape: a server of MariaDB numbers those of all connections together.
#[derive(Default)]
struct Statements(BTreeMap<[u8; 4], [u8; 4]>);

impl Statements {
    /// Of the answers to a PREPARE: a packet's head of four bytes, a zero, the number.
    fn learn(&mut self, taped: &[u8; BEGIN], answered: &[u8; BEGIN]) {
        let number = |begin: &[u8; BEGIN]| [begin[5], begin[6], begin[7], begin[8]];
        self.0.insert(number(taped), number(answered));
    }

    fn renumber(&self, mut sent: &mut [u8]) {
        while let Some(length) = packet(sent) {
            let (one, rest) = sent.split_at_mut(length);
            if command(one).is_some_and(|command| OF_STATEMENT.contains(&command))
                && let Some(number) = one.get_mut(5..BEGIN)
                && let Some(new) = <[u8; 4]>::try_from(&*number).ok().and_then(|old| self.0.get(&old))
            {
                number.copy_from_slice(new);
            }
            sent = rest;
        }
    }
}

/// The length of the first packet of MySQL with its head, if it is whole.
fn packet(bytes: &[u8]) -> Option<usize> {
    let [low, middle, high, _] = *bytes.first_chunk::<4>()?;
    let length = 4 + usize::from(low) + (usize::from(middle) << 8) + (usize::from(high) << 16);
    (length <= bytes.len()).then_some(length)
}

/// Of a packet that begins one.
fn command(packet: &[u8]) -> Option<u8> {
    (*packet.get(3)? == 0).then(|| packet.get(4).copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_executed_by_the_numbers_that_the_server_has_for_them_now() {
        let mut statements = Statements::default();
        statements.learn(b"\x0c\0\0\x01\0\x03\0\0\0", b"\x0c\0\0\x01\0\x07\x01\0\0");
        // EXECUTE of 3 and of 4, CLOSE of 3, a query with the same bytes.
        let mut sent = [
            &b"\x06\0\0\0\x17\x03\0\0\0x"[..],
            b"\x05\0\0\0\x17\x04\0\0\0",
            b"\x05\0\0\0\x19\x03\0\0\0",
            b"\x05\0\0\0\x03\x03\0\0\0",
        ]
        .concat();
        statements.renumber(&mut sent);
        let expected = [
            &b"\x06\0\0\0\x17\x07\x01\0\0x"[..],
            b"\x05\0\0\0\x17\x04\0\0\0",
            b"\x05\0\0\0\x19\x07\x01\0\0",
            b"\x05\0\0\0\x03\x03\0\0\0",
        ];
        assert_eq!(sent, expected.concat());
    }
}
