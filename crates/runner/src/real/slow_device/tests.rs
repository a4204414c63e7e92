//! The real thing: FUSE with our file system in it, where the host gives it; the process that serves it is this one.

use super::command::{DeviceError, Fault, Operation};
use super::*;
use model::loop_device::SlowDevice as Slow;
use model::units::{Bytes, Micros};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

const CONTENT: &[u8] = b"what is in the file below";
const BYTES: usize = 1 << 20;

/// A file that is covered by a device.
struct Covered {
    path: PathBuf,
    commands: UnixStream,
    replies: BufReader<UnixStream>,
    server: JoinHandle<io::Result<()>>,
    _directory: tempfile::TempDir,
}

impl Covered {
    fn tell(&mut self, command: &DeviceCommand) -> DeviceReply {
        let line = serde_json::to_string(command).unwrap();
        writeln!(self.commands, "{line}").unwrap();
        self.reply()
    }

    fn reply(&mut self) -> DeviceReply {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.path).unwrap()
    }
}

/// None where this host does not let us: then the test is skipped and says why.
fn cover() -> Option<Covered> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let mut content = CONTENT.to_vec();
    content.resize(BYTES, 0);
    fs::write(&path, content).unwrap();
    if let Err(error) = can_serve() {
        eprintln!("skipped: {error}");
        return None;
    }
    let (commands, input) = UnixStream::pair().unwrap();
    let (replies, output) = UnixStream::pair().unwrap();
    let file = path.clone();
    let server = std::thread::spawn(move || serve(&file, BufReader::new(input), output, || ()));
    let mut covered =
        Covered { path, commands, replies: BufReader::new(replies), server, _directory: directory };
    match covered.reply() {
        DeviceReply::Done => Some(covered),
        DeviceReply::Refused(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Nanos) {
    let watch = Stopwatch::start();
    let done = work();
    (done, watch.elapsed())
}

#[test]
fn a_covered_file_has_the_bytes_of_the_one_below_and_writes_to_it() {
    let Some(covered) = cover() else { return };
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = crate::proc::parse::mounts(&mounts).find(|mount| mount.mount_point == covered.path).unwrap();
    assert_eq!((mount.kind, mount.source), (FUSE_TYPE, FILE_SYSTEM));
    let file = covered.open();
    let mut read = [0; CONTENT.len()];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read, CONTENT);
    assert_eq!(file.metadata().unwrap().len(), BYTES as u64);
    file.write_all_at(b"WHAT", 0).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let Covered { path, commands, server, _directory, .. } = covered;
    drop(commands);
    server.join().unwrap().unwrap();
    let below = fs::read(path).unwrap();
    assert!(
        below.starts_with(b"WHAT is in"),
        "the end of the input unmounts it, and what was written is below"
    );
}

#[test]
fn each_kind_of_request_takes_as_long_as_was_said_and_no_longer_when_that_is_over() {
    let Some(mut covered) = cover() else { return };
    let slow = Slow {
        read_latency_us: Some(Micros(30_000)),
        write_latency_us: Some(Micros(20_000)),
        fsync_latency_us: Some(Micros(40_000)),
        bandwidth_bytes_per_s: None,
    };
    let file = covered.open();
    assert_eq!(covered.tell(&DeviceCommand::Slow(slow)), DeviceReply::Done);
    let mut page = [0; 4096];
    let read = timed(|| file.read_exact_at(&mut page, 0).unwrap()).1;
    let write = timed(|| file.write_all_at(&[7; 4096], 8192).unwrap()).1;
    let fsync = timed(|| file.sync_all().unwrap()).1;
    for (took, said) in [(read, 30), (write, 20), (fsync, 40)] {
        assert!(took >= Nanos::from_millis(said), "{took:?} is less than {said} ms");
    }
    // Eight at a time take as long as one: less than two one after another on any machine.
    let all = timed(|| {
        std::thread::scope(|scope| {
            for index in 0..8 {
                let file = &file;
                scope.spawn(move || file.read_exact_at(&mut [0; 4096], index * 4096).unwrap());
            }
        });
    });
    assert!(all.1 < Nanos::from_millis(8 * 30), "{:?}", all.1);
    let bandwidth = Slow { bandwidth_bytes_per_s: Some(Bytes(10_000_000)), ..Slow::default() };
    assert_eq!(covered.tell(&DeviceCommand::Slow(bandwidth)), DeviceReply::Done);
    let large = timed(|| file.read_exact_at(&mut vec![0; BYTES], 0).unwrap()).1;
    assert!(large >= Nanos::from_millis(100), "1 MiB at 10 MB/s in {large:?}");
}

#[test]
fn errors_come_on_demand_and_go_away() {
    let Some(mut covered) = cover() else { return };
    let file = covered.open();
    let fail = |operation, error, times, bytes| DeviceCommand::Fail(Fault { operation, error, times, bytes });
    let errno = |result: io::Result<()>| result.err().and_then(|error| error.raw_os_error());
    let read_at = |offset| errno(file.read_exact_at(&mut [0; 4096], offset));
    let write = || errno(file.write_all_at(&[1; 4096], 4096));

    covered.tell(&fail(Operation::Read, DeviceError::Eio, None, Some(4096..8192)));
    covered.tell(&fail(Operation::Write, DeviceError::Enospc, Some(2), None));
    covered.tell(&fail(Operation::Fsync, DeviceError::Eio, None, None));
    assert_eq!([read_at(0), read_at(4096), read_at(8192)], [None, Some(libc::EIO), None]);
    assert_eq!([write(), write(), write()], [Some(libc::ENOSPC), Some(libc::ENOSPC), None]);
    assert_eq!(errno(file.sync_all()), Some(libc::EIO));
    covered.tell(&DeviceCommand::Heal);
    assert_eq!(read_at(4096), None);
    assert_eq!(errno(file.sync_all()), None);
    let refused = covered.tell(&fail(Operation::Read, DeviceError::Enospc, None, None));
    assert!(matches!(refused, DeviceReply::Refused(_)), "{refused:?}");
}

#[test]
fn what_is_no_command_is_refused_and_the_device_goes_on() {
    let Some(mut covered) = cover() else { return };
    writeln!(covered.commands, "make it so").unwrap();
    assert!(matches!(covered.reply(), DeviceReply::Refused(_)));
    assert_eq!(covered.tell(&DeviceCommand::Heal), DeviceReply::Done);
}
