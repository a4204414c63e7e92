//! Lines that a child process writes, read by a thread of their own within bounds: one that writes without pause waits until
//! somebody reads, and a line without end is given up.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines that are read before somebody takes them; after that the child waits when it writes. A worker writes one a second, from
/// a thread that measures nothing. Not tuned.
const LINES_AHEAD: usize = 64;
/// The longest line, in bytes; a worker's longest are latencies of some kilobytes.
pub(crate) const LINE_BYTES_MAX: u64 = 64 << 20;

/// Why there is no line, and none after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// It has more than [`LINE_BYTES_MAX`] bytes.
    TooLong,
    /// The system refused, or it is not UTF-8.
    Unreadable,
}

/// What was read, in order. The thread ends with the child's output, or when nobody takes its lines any more.
pub(crate) type Lines = Receiver<Result<String, NoLine>>;

/// Begins to read.
pub(crate) fn read(output: impl Read + Send + 'static) -> Lines {
    let (send, lines) = sync_channel(LINES_AHEAD);
    std::thread::spawn(move || send_lines(output, LINE_BYTES_MAX, &send));
    lines
}

fn send_lines(output: impl Read, line_bytes_max: u64, send: &SyncSender<Result<String, NoLine>>) {
    let mut output = BufReader::new(output);
    while let Some(line) = next_line(&mut output, line_bytes_max) {
        let is_last = line.is_err();
        if send.send(line).is_err() || is_last {
            break;
        }
    }
}

/// None at the end.
pub(crate) fn next_line(output: &mut impl BufRead, line_bytes_max: u64) -> Option<Result<String, NoLine>> {
    let mut line = Vec::new();
    if output.take(line_bytes_max + 1).read_until(b'\n', &mut line).is_err() {
        return Some(Err(NoLine::Unreadable));
    }
    if line.is_empty() {
        return None;
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() as u64 > line_bytes_max {
        return Some(Err(NoLine::TooLong));
    }
    Some(String::from_utf8(line).map_err(|_| NoLine::Unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn lines_are_read_until_one_is_too_long() {
        let check = |text: &'static [u8], expected: &[Result<&str, NoLine>]| {
            let (send, lines) = sync_channel(LINES_AHEAD);
            send_lines(text, 4, &send);
            drop(send);
            let found: Vec<_> = lines.iter().collect();
            let expected: Vec<_> = expected.iter().map(|line| line.map(str::to_owned)).collect();
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
        };
        check(b"", &[]);
        check(b"a\n\nfour\nend", &[Ok("a"), Ok(""), Ok("four"), Ok("end")]);
        check(b"a\nlonger\nb\n", &[Ok("a"), Err(NoLine::TooLong)]);
        check(b"\xff\nb\n", &[Err(NoLine::Unreadable)]);
    }

    /// Writes lines without pause, each as long as a buffer, and counts them.
    struct Chatter(Arc<AtomicUsize>);

    impl Read for Chatter {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(b'x');
            if let Some(last) = into.last_mut() {
                *last = b'\n';
            }
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(into.len())
        }
    }

    #[test]
    fn a_reader_waits_until_its_lines_are_taken() {
        let written = Arc::new(AtomicUsize::new(0));
        let lines = read(Chatter(Arc::clone(&written)));
        assert!(lines.recv().unwrap().is_ok());
        // Time in which thousands would be read.
        for _ in 0..10_000 {
            std::thread::yield_now();
        }
        // One was taken, and one waits to be sent.
        let read = written.load(Ordering::SeqCst);
        assert!(read <= LINES_AHEAD + 2, "{read}");
    }
}
