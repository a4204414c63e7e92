//! The fingerprint of a host, measured: one thread's CPU, the bandwidth and the latency of memory, fsync, reads of the device.
//!
//! Each figure is the median of short repeats, so that a moment of other work spoils one of them and not the figure.

use super::moment;
use crate::clock::{self, Stopwatch};
use crate::marked_dir::{MarkedDirError, create_marked_dir_below};
use crate::proc::facts::Root;
use memmap2::{Advice, MmapMut};
use model::figures::bytes;
use model::fingerprint::HostFigure;
use model::units::{Bytes, Nanos};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Of each figure.
const REPEATS: usize = 11;
/// A repeat takes at least this long: a tick of the kernel's scheduler is a tenth of it.
const REPEAT: Nanos = Nanos::from_millis(40);
/// Larger than the last cache of most CPUs.
const MEMORY_BYTES: usize = 256 << 20;
/// Less memory than this left, and its figures could cost another process its life. Four times what they take; chosen, not measured.
const LEAST_MEMORY: Bytes = Bytes(1 << 30);
const LINE_BYTES: usize = 64;
/// What is read at random; written once, when it is not there.
const FILE_BYTES: u64 = 256 << 20;
/// The file is not written unless so much is left free. Chosen, not measured.
const LEAST_SPACE: Bytes = Bytes(1 << 30);
/// Of the work directory: the file, and the last fingerprint.
pub(super) const DIRECTORY: &str = "fingerprint";
const FILE: &str = "fingerprint.data";
const PIECE: usize = 1 << 20;
/// So many pieces are synced at once: a sync cannot be stopped, and more of them would make Ctrl-C wait on a slow device.
const PIECES_BY_SYNC: u64 = 8;
const PAGE: usize = 4096;
/// Synchronous writes of a repeat.
const SYNCS: u32 = 8;
/// Reads of a repeat.
const READS: u32 = 100;
/// A device so slow that a figure takes longer than this has fewer repeats.
const FIGURE_TIMEOUT: Nanos = Nanos::from_secs(4);

/// Why figures are missing.
#[derive(Debug, thiserror::Error)]
pub enum CannotMeasure {
    #[error("memory is not measured: {} of it are available, {} are wanted", bytes(*available), bytes(LEAST_MEMORY))]
    Memory { available: Bytes },
    #[error("memory is not measured: the system gave none of it")]
    Map { source: io::Error },
    #[error(
        "the device is not measured: of `{}` {} are free, and the file that is read for it would leave less than {}",
        path.display(), bytes(*free), bytes(LEAST_SPACE)
    )]
    Space { path: PathBuf, free: Bytes },
    #[error("the device is not measured")]
    Directory(#[from] MarkedDirError),
    #[error("the device is not measured: failed to use `{}`", path.display())]
    Device { path: PathBuf, source: io::Error },
}

/// What was measured of a host.
#[derive(Debug)]
pub struct Measured {
    /// In the order in which they are shown.
    pub figures: Vec<HostFigure>,
    /// Why others are missing.
    pub missing: Vec<CannotMeasure>,
}

/// Measures everything, in some three seconds; nothing else of ours may run meanwhile. The device is that of the work directory; on a file
/// system in memory its figures are those of memory. Absent if `interrupted` was set: it is looked at between repeats.
pub fn measure(work_dir: &Path, interrupted: &AtomicBool) -> Option<Measured> {
    let mut measured = Measured { figures: Vec::new(), missing: Vec::new() };
    let goes_on = || !interrupted.load(Ordering::Relaxed);
    measured.figures.extend(HostFigure::of("cpu_ns_per_step", cpu(&goes_on)));
    match moment::available_bytes(&Root::of_this_host()).map(Bytes).filter(|left| left.0 < LEAST_MEMORY.0) {
        Some(available) => measured.missing.push(CannotMeasure::Memory { available }),
        None => match memory(&goes_on) {
            Ok(figures) => measured.figures.extend(figures),
            Err(source) => measured.missing.push(CannotMeasure::Map { source }),
        },
    }
    forget_peak();
    match device(work_dir, &goes_on) {
        Ok(figures) => measured.figures.extend(figures),
        Err(error) => measured.missing.push(error),
    }
    goes_on().then_some(measured)
}

/// The most memory that this process ever had is among what a run reports of itself, and these figures are not part of the run. A kernel that
/// does not take it keeps the peak.
fn forget_peak() {
    drop(fs::write("/proc/self/clear_refs", "5"));
}

fn device(work_dir: &Path, goes_on: &impl Fn() -> bool) -> Result<Vec<HostFigure>, CannotMeasure> {
    let directory = create_marked_dir_below(work_dir, &[DIRECTORY])?;
    let path = directory.join(FILE);
    let failed = |source| CannotMeasure::Device { path: path.clone(), source };
    if fs::metadata(&path).map_or(0, |found| found.len()) != FILE_BYTES {
        // What an earlier try has left.
        drop(fs::remove_file(&path));
        if let Some(free) = lacking(moment::space(&directory).map(|space| space.free)) {
            return Err(CannotMeasure::Space { path: directory, free });
        }
        if let Err(source) = fill(&path, goes_on) {
            drop(fs::remove_file(&path));
            return Err(failed(source));
        }
    }
    let syncs = HostFigure::of("fsync_us", syncs(&path, goes_on).map_err(failed)?);
    let reads = HostFigure::of("device_read_us", reads(&path, goes_on).map_err(failed)?);
    Ok([syncs, reads].into_iter().flatten().collect())
}

/// What is free, if it is too little.
fn lacking(free: Option<Bytes>) -> Option<Bytes> {
    free.filter(|free| free.0 < FILE_BYTES + LEAST_SPACE.0)
}

/// Nanoseconds of one step of a chain of multiplications and shifts, of which each needs the one before.
fn cpu(goes_on: &impl Fn() -> bool) -> Vec<f64> {
    const STEPS: u32 = 100_000;
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    repeats(goes_on, || {
        for _ in 0..STEPS {
            state ^= state >> 29;
            state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state ^= state << 17;
        }
        black_box(state);
        STEPS
    })
}

/// Bytes read one after another, and lines read in an order that no prefetcher knows.
///
/// In huge pages if the kernel gives them to who asks: the latency of small ones depends on which pages a process happens to get. On one host it
/// differed by 17 % between ten processes with small pages, and by 5 % with huge ones.
fn memory(goes_on: &impl Fn() -> bool) -> io::Result<Vec<HostFigure>> {
    const LINES: usize = MEMORY_BYTES / LINE_BYTES;
    const STEPS: u32 = 200_000;
    if !goes_on() {
        return Ok(Vec::new()); // to lay the memory out takes a while
    }
    let mut memory = MmapMut::map_anon(MEMORY_BYTES)?;
    // A kernel without huge pages refuses it, and the small ones are measured.
    drop(memory.advise(Advice::HugePage));
    // One cycle through all lines (Sattolo 1986).
    let mut order: Vec<u32> = (0..).take(LINES).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for last in (1..LINES).rev() {
        let other = usize::try_from(random.next_u64() % last as u64).unwrap_or(0);
        order.swap(last, other);
    }
    let (lines, _) = memory.as_chunks_mut::<LINE_BYTES>();
    for (line, next) in lines.iter_mut().zip(&order) {
        line[..4].copy_from_slice(&next.to_ne_bytes());
    }
    drop(order);
    let mut at = 0;
    let latency = repeats(goes_on, || {
        for _ in 0..STEPS {
            let [a, b, c, d, ..] = lines[at as usize];
            at = u32::from_ne_bytes([a, b, c, d]);
        }
        black_box(at);
        STEPS
    });
    // One pass is a repeat: of nanoseconds by line.
    let by_line = repeats(goes_on, || {
        let (words, _) = lines.as_flattened().as_chunks();
        let sum = words.iter().fold(0_u32, |sum, word| sum.wrapping_add(u32::from_ne_bytes(*word)));
        black_box(sum);
        u32::try_from(LINES).unwrap_or(u32::MAX)
    });
    let gigabytes = by_line.into_iter().map(|nanos| LINE_BYTES as f64 / nanos).collect();
    let figures =
        [HostFigure::of("memory_read_gb_per_s", gigabytes), HostFigure::of("memory_latency_ns", latency)];
    Ok(figures.into_iter().flatten().collect())
}

/// Nanoseconds of CPU time of one of what `work` does, by repeat; it says how many it did. Time in which others had the CPU is not the
/// host's speed.
fn repeats(goes_on: &impl Fn() -> bool, mut work: impl FnMut() -> u32) -> Vec<f64> {
    work(); // caches and frequency as they are in all that follow
    let once = || {
        let (watch, before) = (Stopwatch::start(), clock::thread_cpu());
        let mut done = 0_u64;
        while watch.elapsed() < REPEAT {
            done += u64::from(work());
        }
        clock::thread_cpu().saturating_sub(before).0 as f64 / done as f64
    };
    std::iter::repeat_with(once).take(REPEATS).take_while(|_| goes_on()).collect()
}

fn fill(path: &Path, goes_on: &impl Fn() -> bool) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let file = File::create(path)?;
    let mut piece = vec![0; PIECE];
    for (offset, number) in (0..FILE_BYTES).step_by(PIECE).zip(1..) {
        if !goes_on() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        random.fill_bytes(&mut piece);
        file.write_all_at(&piece, offset)?;
        if number % PIECES_BY_SYNC == 0 {
            file.sync_data()?;
        }
    }
    file.sync_all()
}

/// Microseconds of a write of 4 KiB that has reached the device, as a log of an engine does it.
fn syncs(path: &Path, goes_on: &impl Fn() -> bool) -> io::Result<Vec<f64>> {
    let file = File::options().write(true).open(path)?;
    let page = vec![7; PAGE];
    let mut at = 0;
    timed(SYNCS, goes_on, || {
        at = (at + PAGE as u64) % (1 << 20);
        file.write_all_at(&page, at)?;
        file.sync_data()
    })
}

/// Microseconds of a read of 4 KiB at random, past the page cache if the file system can.
fn reads(path: &Path, goes_on: &impl Fn() -> bool) -> io::Result<Vec<f64>> {
    let open = |flags| rustix::fs::open(path, OFlags::RDONLY | flags, Mode::empty());
    let file = File::from(open(OFlags::DIRECT).or_else(|_| open(OFlags::empty()))?);
    // Direct reads want memory that begins at a page.
    let mut memory = vec![0; 2 * PAGE];
    let begin = memory.as_ptr().align_offset(PAGE);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    timed(READS, goes_on, || {
        let page = random.next_u64() % (FILE_BYTES / PAGE as u64);
        file.read_exact_at(&mut memory[begin..begin + PAGE], page * PAGE as u64)
    })
}

/// Microseconds of one operation, by repeat of so many.
fn timed(
    operations: u32,
    goes_on: &impl Fn() -> bool,
    mut operation: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<f64>> {
    let all = Stopwatch::start();
    let mut repeats = Vec::new();
    while repeats.len() < REPEATS && (repeats.is_empty() || all.elapsed() < FIGURE_TIMEOUT) {
        let watch = Stopwatch::start();
        for _ in 0..operations {
            // One sync of a slow disk takes longer than a look at a flag by a factor of a million.
            if !goes_on() {
                return Ok(Vec::new());
            }
            operation()?;
        }
        repeats.push(watch.elapsed().0 as f64 / 1_000.0 / f64::from(operations));
    }
    Ok(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_its_figures_and_keeps_its_file() {
        let scratch = tempfile::tempdir().unwrap();
        let figures = device(scratch.path(), &|| true).unwrap();
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["fsync_us", "device_read_us"]);
        assert!(figures.iter().all(|figure| figure.value > 0.0 && figure.value < 1e6), "{figures:?}");
        let file = scratch.path().join(DIRECTORY).join(FILE);
        let before = fs::metadata(&file).unwrap();
        assert_eq!(before.len(), FILE_BYTES);
        device(scratch.path(), &|| true).unwrap();
        fs::remove_dir_all(scratch.path().join(DIRECTORY)).unwrap();
        fs::write(scratch.path().join(DIRECTORY), "a file").unwrap();
        assert!(matches!(device(scratch.path(), &|| true), Err(CannotMeasure::Directory(_))));
    }

    #[test]
    fn what_would_leave_too_little_room_is_not_written() {
        let gib = |gib: u64| Some(Bytes(gib << 30));
        assert_eq!(lacking(gib(1)), gib(1));
        assert_eq!(lacking(gib(2)), None);
        assert_eq!(lacking(None), None, "a file system that does not say is tried");
    }

    #[test]
    fn an_interrupt_ends_it_at_once_and_leaves_no_half_a_file() {
        let scratch = tempfile::tempdir().unwrap();
        let watch = Stopwatch::start();
        assert!(measure(scratch.path(), &AtomicBool::new(true)).is_none());
        assert!(watch.elapsed() < Nanos::from_secs(10), "{:?}", watch.elapsed());
        assert!(!scratch.path().join(DIRECTORY).join(FILE).exists());
    }
}
