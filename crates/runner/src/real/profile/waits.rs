//! What threads wait for, which samples of CPU time do not see: their system calls, looked at from outside while they run.
//!
//! /proc/PID/task/TID/syscall says in which call of the kernel a thread is blocked, and where its stack ends: as long as it is blocked there, the
//! stack stays as it is and is copied. Nothing is stopped for it, and no tool of root is needed: only the right to look into the process, which its
//! parent has.

use super::events::{STACK_BYTES, registers_of_waiting};
use crate::rights::as_root;
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
    pub stacks: WaitStacks,
}

/// The stack of a thread that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitStack {
    pub process: u32,
    pub thread: u32,
    pub wait: Wait,
    pub registers: Vec<u64>,
    pub stack: Vec<u8>,
}

/// Stacks of some of the waits that were seen: of every wait at first, and of every second, fourth, .. once there are many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitStacks {
    pub all: Vec<WaitStack>,
    /// One in so many waits is copied.
    stride: u64,
    seen: u64,
}

impl Default for WaitStacks {
    fn default() -> Self {
        WaitStacks { all: Vec::new(), stride: 1, seen: 0 }
    }
}

impl WaitStacks {
    /// 16 MiB.
    const MOST: usize = 1024;

    /// Waits that each of the stacks stands for.
    pub fn weight(&self) -> u64 {
        self.stride
    }

    /// Whether the stack of the wait that was just seen is to be copied.
    fn is_next_copied(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(self.stride)
    }

    fn add(&mut self, stack: WaitStack) {
        self.all.push(stack);
        if self.all.len() >= WaitStacks::MOST {
            let mut place = 0;
            self.all.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
        }
    }
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
        let _root = as_root();
        let open = |(process, thread): &(u32, u32)| {
            let file = File::open(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
            Some(Watched { process: *process, thread: *thread, file })
        };
        let threads: Vec<Watched> = process_threads.iter().filter_map(open).collect();
        let (end, ended) = channel();
        Watch { end: Some(end), handle: Some(std::thread::spawn(move || look(&threads, &ended))) }
    }

    pub fn end(mut self) -> Looks {
        self.end = None;
        self.handle.take().and_then(|handle| handle.join().ok()).unwrap_or_default()
    }
}

/// A thread and its `syscall`.
struct Watched {
    process: u32,
    thread: u32,
    file: File,
}

/// Bytes of the longest line: a number, six arguments and two addresses.
const LINE_BYTES: usize = 192;

fn look(threads: &[Watched], ended: &Receiver<()>) -> Looks {
    let _root = as_root();
    let mut looks = Looks { threads: threads.len() as u64, ..Looks::default() };
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(INTERVAL) {
        for watched in threads {
            let mut line = [0; LINE_BYTES];
            // A thread that has ended waits for nothing.
            let Ok(bytes) = watched.file.read_at(&mut line, 0) else { continue };
            looks.all += 1;
            let Some(wait) = wait_of(&line[..bytes]) else { continue };
            *looks.waits.entry(wait).or_default() += 1;
            if wait != Wait::Client
                && looks.stacks.is_next_copied()
                && let Some(stack) = copied(watched, wait, &line[..bytes])
            {
                looks.stacks.add(stack);
            }
        }
    }
    looks
}

/// The stack of a thread that still is where the line says; absent if it went on meanwhile.
fn copied(watched: &Watched, wait: Wait, line: &[u8]) -> Option<WaitStack> {
    let (sp, pc) = addresses(line)?;
    let stack = read_memory(watched.process, sp);
    let mut again = [0; LINE_BYTES];
    let bytes = watched.file.read_at(&mut again, 0).ok()?;
    (again[..bytes] == *line && !stack.is_empty()).then(|| WaitStack {
        process: watched.process,
        thread: watched.thread,
        wait,
        registers: registers_of_waiting(sp, pc).to_vec(),
        stack,
    })
}

/// The last two words: the stack pointer and the address that the kernel was called from.
fn addresses(line: &[u8]) -> Option<(u64, u64)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace().rev();
    let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (pc, sp) = (address()?, address()?);
    Some((sp, pc))
}

/// Memory of another process from an address on, as much as there is of it.
fn read_memory(process: u32, from: u64) -> Vec<u8> {
    let mut bytes = vec![0_u8; STACK_BYTES as usize];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // By pages: the last of them may lie beyond the end of the stack.
    const PAGE: u64 = 4096;
    let end = from.saturating_add(u64::from(STACK_BYTES));
    let mut remote = Vec::new();
    let mut at = from;
    while at < end {
        let next = ((at / PAGE + 1) * PAGE).min(end);
        let length = usize::try_from(next - at).unwrap_or(0);
        remote.push(libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(at).unwrap_or(0)),
            iov_len: length,
        });
        at = next;
    }
    let Ok(pid) = libc::pid_t::try_from(process) else { return Vec::new() };
    // SAFETY: `local` is the vector above, which outlives the call and has as many bytes; the addresses of the other process are not used here.
    let read = unsafe { libc::process_vm_readv(pid, &local, 1, remote.as_ptr(), remote.len() as u64, 0) };
    bytes.truncate(usize::try_from(read).unwrap_or(0));
    bytes
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
    fn addresses_are_the_last_two_words() {
        let line = b"202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x55d0\n";
        assert_eq!(addresses(line), Some((0x7ffd10, 0x55d0)));
        assert_eq!(addresses(b"-1 0x7ffd10 0x55d0\n"), Some((0x7ffd10, 0x55d0)));
        assert_eq!(addresses(b"running\n"), None);
    }

    #[test]
    fn of_many_waits_every_second_is_kept_and_all_have_one_weight() {
        let mut stacks = WaitStacks::default();
        let one =
            WaitStack { process: 1, thread: 1, wait: Wait::Lock, registers: Vec::new(), stack: Vec::new() };
        for _ in 0..10_000 {
            if stacks.is_next_copied() {
                stacks.add(one.clone());
            }
        }
        assert!(stacks.stride == 16 && (500..1024).contains(&stacks.all.len()), "{}", stacks.all.len());
    }

    #[test]
    fn memory_is_read_to_where_it_ends() {
        let text = [7_u8; 100];
        let read = read_memory(std::process::id(), text.as_ptr() as u64);
        if read.is_empty() {
            eprintln!("skipped: this host does not let a process read the memory of another");
            return;
        }
        assert_eq!(read.get(..100), Some(text.as_slice()));
        assert!(read_memory(std::process::id(), 8).is_empty());
    }

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
