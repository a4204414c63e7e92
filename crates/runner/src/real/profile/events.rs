//! Samples by perf_event_open(2): of whole CPUs if this user may see all processes, else of one thread.
//!
//! The timer of a thread's event is stopped and started each time that the thread leaves a CPU, which a server does for every statement. That of a
//! CPU's event goes on.

use crate::rights::as_root;
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};
use std::io::{self, ErrorKind};
use std::process;

/// Bytes of the stack that are copied: more than most stacks have, and the most that costs next to nothing.
pub const STACK_BYTES: u32 = 16 << 10;
/// Room for the samples of a block, in the order in which it is tried: users other than root may lock little memory.
const RING_BYTES: [usize; 4] = [1 << 20, 512 << 10, 128 << 10, 32 << 10];
/// Registers that unwinding needs, by their numbers in the kernel's `perf_regs.h`, in ascending order.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8; // bp, sp, ip
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32; // fp, lr, sp, pc
/// Types of records (`PERF_RECORD_*`).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
/// Addresses from here on are the kernel's.
const KERNEL: u64 = 1 << 63;
/// Marks in a chain of addresses (`PERF_CONTEXT_*`) are the last 4096.
const MARKS: u64 = u64::MAX - 4095;

/// Why nothing can be sampled here.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(
        "the kernel lets this user sample no thread: become root, or lower /proc/sys/kernel/perf_event_paranoid to 2 (is {paranoid}); \
         containers need the capability CAP_PERFMON and a seccomp profile that allows perf_event_open"
    )]
    NotPermitted { paranoid: String },
    #[error("this kernel has no perf_event_open (CONFIG_PERF_EVENTS)")]
    NotThere,
    #[error("failed to sample")]
    Failed(#[source] io::Error),
}

/// Whether only time outside of the kernel may be sampled: tried on ourselves.
pub fn is_user_only() -> Result<bool, ProfileError> {
    let own = process::id();
    match Events::of_thread(own, false) {
        Ok(_) => Ok(false),
        Err(error) if is_refusal(&error) => Events::of_thread(own, true).map(|_| true).map_err(refused),
        Err(error) => Err(refused(error)),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}

fn refused(error: io::Error) -> ProfileError {
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::ENOENT | libc::EOPNOTSUPP) => ProfileError::NotThere,
        _ if is_refusal(&error) => {
            let paranoid =
                std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            ProfileError::NotPermitted { paranoid: paranoid.trim().to_owned() }
        }
        _ => ProfileError::Failed(error),
    }
}

/// The samples of a thread, or of a CPU.
pub struct Events {
    sampler: Sampler,
}

/// One sample.
pub struct Sample<'a> {
    pub process: u32,
    pub thread: u32,
    /// In the order of [`REGISTERS`]; none of a thread of the kernel.
    pub registers: &'a [u64],
    /// From the stack pointer on.
    pub stack: &'a [u8],
    chain: &'a [u64],
}

/// Those of a thread that is blocked in the kernel, in the order of [`REGISTERS`]: only where its stack ends and where it called the kernel are
/// known. Unwind tables give what the functions below have saved.
#[cfg(target_arch = "x86_64")]
pub fn registers_of_waiting(sp: u64, pc: u64) -> [u64; 3] {
    [0, sp, pc]
}

/// As above; without the return address a function that has not saved it is the last that is seen.
#[cfg(target_arch = "aarch64")]
pub fn registers_of_waiting(sp: u64, pc: u64) -> [u64; 4] {
    [0, 0, sp, pc]
}

impl<'a> Sample<'a> {
    /// What was seen of a thread that waits.
    pub fn of_waiting(process: u32, thread: u32, registers: &'a [u64], stack: &'a [u8]) -> Sample<'a> {
        Sample { process, thread, registers, stack, chain: &[] }
    }
}

impl Sample<'_> {
    /// Addresses within the kernel, the innermost first; none if it was not there.
    pub fn kernel_frames(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.chain.iter().copied().filter(|at| (KERNEL..MARKS).contains(at))
    }
}

impl Events {
    /// Of all CPUs, and whatever runs on them.
    ///
    /// # Errors
    /// This user may not see others' processes.
    pub fn of_cpus(user_only: bool) -> io::Result<Vec<Events>> {
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
        let cpus = online.trim().split(',').flat_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let ends = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
            ends.map(|(first, last)| first..=last).into_iter().flatten()
        });
        cpus.map(|cpu| {
            Events::open(user_only, |builder| {
                builder.any_pid().one_cpu(cpu).exclude_idle(true);
            })
        })
        .collect()
    }

    pub fn of_thread(thread: u32, user_only: bool) -> io::Result<Events> {
        let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
        Events::open(user_only, |builder| {
            builder.observe_pid(thread).any_cpu();
        })
    }

    fn open(user_only: bool, observe: impl Fn(&mut Builder<'_>)) -> io::Result<Events> {
        let build = || {
            let mut builder = Builder::new(Software::CPU_CLOCK);
            observe(&mut builder);
            builder.enabled(false).sample_frequency(u64::from(super::FREQUENCY));
            builder.exclude_kernel(user_only).exclude_hv(true).exclude_callchain_user(true);
            builder.sample(
                SampleFlag::TID | SampleFlag::CALLCHAIN | SampleFlag::REGS_USER | SampleFlag::STACK_USER,
            );
            builder.sample_regs_user(REGISTERS).sample_stack_user(STACK_BYTES).build()
        };
        let _root = as_root();
        let mut last = None;
        for bytes in RING_BYTES {
            match build()?.sampled(bytes) {
                Ok(sampler) => return Ok(Events { sampler }),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("no size of the ring was tried")))
    }

    /// Samples from now on, or does not.
    pub fn switch(&mut self, on: bool) {
        let counter = self.sampler.as_counter_mut();
        // A thread that has ended has no samples either way.
        let _ = if on { counter.enable() } else { counter.disable() };
    }

    /// Throws away what was sampled so far.
    pub fn discard(&mut self) {
        while self.sampler.next_record().is_some() {}
    }

    /// Tells each sample, and how many were lost for want of room.
    pub fn drain(&mut self, mut tell: impl FnMut(&Sample<'_>)) -> u64 {
        let mut lost = 0;
        while let Some(record) = self.sampler.next_record() {
            match record.ty() {
                LOST | SAMPLE => {}
                _ => continue,
            }
            match record.parse_record() {
                Ok(Record::Sample(sample)) => tell(&Sample {
                    process: sample.pid().unwrap_or_default(),
                    thread: sample.tid().unwrap_or_default(),
                    registers: sample.regs_user().map_or(&[], |registers| &registers.regs),
                    stack: sample.stack_user().unwrap_or(&[]),
                    chain: sample.callchain().unwrap_or(&[]),
                }),
                Ok(Record::Lost(of)) => lost += of.lost,
                Ok(_) => {}
                Err(_) => lost += 1,
            }
        }
        lost
    }
}
