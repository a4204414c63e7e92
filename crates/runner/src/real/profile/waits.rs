//! What threads wait for, which samples of CPU time do not see: their system calls, looked at from outside while they run.
//!
//! /proc/PID/task/TID/syscall says in which call of the kernel a thread is blocked. Nothing is stopped for it, and no tool of root is needed:
//! only the right to look into the process, which its parent has.

use model::profile::Wait;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks: 199 a second, as of stacks.
const INTERVAL: Duration = Duration::from_micros(1_000_000 / super::FREQUENCY as u64);

/// How often threads were seen waiting, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    /// Threads that are looked at.
    pub threads: u64,
    /// Looks at a thread, those that found it running included.
    pub all: u64,
    pub waits: BTreeMap<Wait, u64>,
}

/// Looks at threads until it is ended.
pub struct Watch {
    /// Dropped, it ends.
    end: Option<Sender<()>>,
    handle: Option<JoinHandle<Looks>>,
}

impl Watch {
    /// Looks at these threads from now on. Those that cannot be looked at are left out.
    pub fn begin(process_threads: &[(u32, u32)]) -> Watch {
        let open = |(process, thread): &(u32, u32)| {
            File::open(format!("/proc/{process}/task/{thread}/syscall")).ok()
        };
        let files: Vec<File> = process_threads.iter().filter_map(open).collect();
        let (end, ended) = channel();
        Watch { end: Some(end), handle: Some(std::thread::spawn(move || look(&files, &ended))) }
    }

    pub fn end(mut self) -> Looks {
        self.end = None;
        self.handle.take().and_then(|handle| handle.join().ok()).unwrap_or_default()
    }
}

fn look(files: &[File], ended: &Receiver<()>) -> Looks {
    let mut looks = Looks { threads: files.len() as u64, ..Looks::default() };
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(INTERVAL) {
        for file in files {
            let mut text = [0; 64];
            // A thread that has ended waits for nothing.
            let Ok(bytes) = file.read_at(&mut text, 0) else { continue };
            looks.all += 1;
            if let Some(wait) = wait_of(&text[..bytes]) {
                *looks.waits.entry(wait).or_default() += 1;
            }
        }
    }
    looks
}

/// From the first word: the number of the call, `-1` of a thread that is blocked outside of one, `running` of one that is not blocked.
fn wait_of(text: &[u8]) -> Option<Wait> {
    let word = text.split(u8::is_ascii_whitespace).next().and_then(|word| std::str::from_utf8(word).ok())?;
    if word == "running" || word.is_empty() {
        return None;
    }
    let Ok(number) = word.parse::<libc::c_long>() else { return Some(Wait::Other) };
    Some(match number {
        -1 => Wait::Page,
        libc::SYS_futex | libc::SYS_semop | libc::SYS_semtimedop | libc::SYS_flock => Wait::Lock,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Wait::Sleep,
        libc::SYS_read
        | libc::SYS_pread64
        | libc::SYS_readv
        | libc::SYS_preadv
        | libc::SYS_preadv2
        | libc::SYS_io_getevents
        | libc::SYS_io_uring_enter => Wait::Read,
        libc::SYS_write
        | libc::SYS_pwrite64
        | libc::SYS_writev
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
        | libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_sync_file_range
        | libc::SYS_msync
        | libc::SYS_fallocate
        | libc::SYS_ftruncate => Wait::Write,
        libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_epoll_pwait
        | libc::SYS_ppoll
        | libc::SYS_pselect6 => Wait::Client,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait | libc::SYS_poll | libc::SYS_select => Wait::Client,
        _ => Wait::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_its_number() {
        let of = |text: String| wait_of(text.as_bytes());
        assert_eq!(of("running\n".to_owned()), None);
        assert_eq!(of(format!("{} 0x0 0x1 0x7ffc 0x4005\n", libc::SYS_futex)), Some(Wait::Lock));
        assert_eq!(of(format!("{} 0x0\n", libc::SYS_pread64)), Some(Wait::Read));
        assert_eq!(of("-1 0x7ffc 0x4005\n".to_owned()), Some(Wait::Page));
        assert_eq!(of("12345 0x0\n".to_owned()), Some(Wait::Other));
        assert_eq!(of(String::new()), None);
    }
}
