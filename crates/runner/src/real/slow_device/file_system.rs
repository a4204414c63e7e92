//! The file system of a slow device: one file, whose bytes are in a plain file below. A request is carried out when it
//! arrives and answered when it is due, so that what the disk below takes is a part of the latency and not added to it.
//!
//! Never in here: a flush of the file below. What a device has taken need not outlive this host, and the disk below has no
//! part in how long a flush takes.

use super::command::{DeviceError, Operation};
use super::due_queue::DueQueue;
use super::faults::Faults;
use super::schedule::Schedule;
use crate::clock::Stopwatch;
use fuser::{
    FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo, InitFlags, KernelConfig, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// Requests that the kernel lets wait at a time: more than a loop device has, which is 128.
const IN_FLIGHT_MAX: u16 = 512;
/// Largest request, in bytes: that of a loop device is 1280 KiB as a rule, and the kernel divides what is larger.
const REQUEST_MAX: u32 = 1 << 20;
/// How long the kernel may remember size and kind of the file, which never change.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// How the device behaves at the moment.
#[derive(Debug, Default)]
pub struct Behaviour {
    pub schedule: Schedule,
    pub faults: Faults,
}

/// What is served.
#[derive(Debug)]
pub struct OneFile {
    pub below: File,
    pub bytes: u64,
    pub behaviour: Arc<Mutex<Behaviour>>,
    pub answers: Arc<DueQueue<Answer>>,
    /// The clock of `answers`.
    pub watch: Stopwatch,
}

/// What a request is answered with when it is due.
#[derive(Debug)]
pub enum Answer {
    Read(ReplyData, io::Result<Vec<u8>>),
    Written(ReplyWrite, io::Result<u32>),
    Done(ReplyEmpty, io::Result<()>),
}

impl Answer {
    /// Gives it to the kernel, which passes it on to whoever waits for it.
    pub fn send(self) {
        match self {
            Answer::Read(reply, Ok(data)) => reply.data(&data),
            Answer::Read(reply, Err(error)) => reply.error(error.into()),
            Answer::Written(reply, Ok(bytes)) => reply.written(bytes),
            Answer::Written(reply, Err(error)) => reply.error(error.into()),
            Answer::Done(reply, Ok(())) => reply.ok(),
            Answer::Done(reply, Err(error)) => reply.error(error.into()),
        }
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    bytes: u64,
}

impl OneFile {
    /// Carries a request out, unless it is to fail, and has it answered when it is due.
    fn carry_out<T>(
        &self,
        operation: Operation,
        place: Place,
        work: impl FnOnce(&File) -> io::Result<T>,
        answer: impl FnOnce(io::Result<T>) -> Answer,
    ) {
        let (due, error) = {
            let mut behaviour = self.behaviour.lock().unwrap_or_else(PoisonError::into_inner);
            let due = behaviour.schedule.due(self.watch.elapsed(), operation, place.bytes);
            (due, behaviour.faults.error_of(operation, place.offset, place.bytes))
        };
        let result = match error {
            Some(DeviceError::Eio) => Err(io::Error::from_raw_os_error(libc::EIO)),
            Some(DeviceError::Enospc) => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            None => work(&self.below),
        };
        self.answers.push(due, answer(result));
    }

    fn attributes(&self) -> FileAttr {
        FileAttr {
            ino: INodeNo::ROOT,
            size: self.bytes,
            blocks: self.bytes.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it a loop device would wait for each read before it sends the next.
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(|_| io::ErrorKind::Unsupported)?;
        // A value that the kernel does not like is another one in its place: nothing depends on it but how many wait.
        let _ = config.set_max_background(IN_FLIGHT_MAX);
        let _ = config.set_congestion_threshold(IN_FLIGHT_MAX);
        let _ = config.set_max_write(REQUEST_MAX);
        Ok(())
    }

    fn getattr(&self, _: &Request, _: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&REMEMBERED, &self.attributes());
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Past the page cache of this file system, whoever opens it; writes need not wait for each other.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Of close(2), which writes nothing.
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = |below: &File| {
            let mut data = vec![0; size as usize];
            let mut filled = 0;
            while filled < data.len() {
                match below.read_at(&mut data[filled..], offset + filled as u64)? {
                    0 => break,
                    bytes => filled += bytes,
                }
            }
            data.truncate(filled);
            Ok(data)
        };
        let place = Place { offset, bytes: u64::from(size) };
        self.carry_out(Operation::Read, place, read, |result| Answer::Read(reply, result));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let place = Place { offset, bytes: data.len() as u64 };
        let write = |below: &File| {
            below.write_all_at(data, offset)?;
            u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput.into())
        };
        self.carry_out(Operation::Write, place, write, |result| Answer::Written(reply, result));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let place = Place { offset: 0, bytes: 0 };
        self.carry_out(Operation::Fsync, place, |_| Ok(()), |result| Answer::Done(reply, result));
    }

    /// What a loop device makes of a discard, and of blocks to be filled with zeroes: a write that carries no bytes.
    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let allocate = |below: &File| Ok(fallocate(below, flags, offset, length)?);
        self.carry_out(Operation::Write, Place { offset, bytes: 0 }, allocate, |result| {
            Answer::Done(reply, result)
        });
    }
}
