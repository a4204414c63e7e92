//! The fingerprint of a host, measured: one thread's CPU, the bandwidth and the latency of memory, fsync, reads of the device.
//!
//! Each figure is the median of short repeats, so that a moment of other work spoils one of them and not the figure.

use crate::clock::Stopwatch;
use crate::marked_dir::{MarkedDirError, create_marked_dir_below};
use model::fingerprint::HostFigure;
use model::units::Nanos;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Of each figure.
const REPEATS: usize = 11;
/// A repeat takes at least this long: a tick of the kernel's scheduler is a tenth of it.
const REPEAT: Nanos = Nanos::from_millis(40);
/// Larger than the last cache of most CPUs.
const MEMORY_BYTES: usize = 256 << 20;
const LINE_BYTES: usize = 64;
/// What is read at random; written once, when it is not there.
const FILE_BYTES: u64 = 256 << 20;
const FILE: &str = "fingerprint.data";
const PAGE: usize = 4096;
/// Synchronous writes of a repeat.
const SYNCS: u32 = 8;
/// Reads of a repeat.
const READS: u32 = 100;
/// A device so slow that a figure takes longer than this has fewer repeats.
const FIGURE_BOUND: Nanos = Nanos::from_secs(4);

/// Why the device has no figures.
#[derive(Debug, thiserror::Error)]
pub enum CannotMeasure {
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    #[error("failed to measure the device at `{}`", path.display())]
    Device { path: PathBuf, source: io::Error },
}

/// The figures that need no device.
pub fn of_cpu_and_memory() -> Vec<HostFigure> {
    let of_memory = memory();
    [HostFigure::of("cpu_ns_per_step", cpu())].into_iter().flatten().chain(of_memory).collect()
}

/// The figures of the device that the work directory lies on. On a file system in memory they are those of memory.
///
/// # Errors
/// The directory cannot be used, or its disk is full.
pub fn of_device(work_dir: &Path) -> Result<Vec<HostFigure>, CannotMeasure> {
    let path = create_marked_dir_below(work_dir, &["fingerprint"])?.join(FILE);
    let failed = |source| CannotMeasure::Device { path: path.clone(), source };
    if fs::metadata(&path).map_or(0, |found| found.len()) != FILE_BYTES {
        fill(&path).map_err(failed)?;
    }
    let syncs = HostFigure::of("fsync_us", syncs(&path).map_err(failed)?);
    let reads = HostFigure::of("device_read_us", reads(&path).map_err(failed)?);
    Ok([syncs, reads].into_iter().flatten().collect())
}

/// Nanoseconds of one step of a chain of multiplications and shifts, of which each needs the one before.
fn cpu() -> Vec<f64> {
    const STEPS: u32 = 100_000;
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    repeats(REPEATS, || {
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
fn memory() -> Vec<HostFigure> {
    const LINES: usize = MEMORY_BYTES / LINE_BYTES;
    const STEPS: u32 = 100_000;
    let mut lines: Vec<[u32; LINE_BYTES / 4]> = vec![[0; LINE_BYTES / 4]; LINES];
    // One cycle through all lines (Sattolo 1986).
    let mut order: Vec<u32> = (0..).take(LINES).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for last in (1..LINES).rev() {
        let other = usize::try_from(random.next_u64() % last as u64).unwrap_or(0);
        order.swap(last, other);
    }
    for (line, next) in lines.iter_mut().zip(&order) {
        line[0] = *next;
    }
    drop(order);
    let mut at = 0;
    let latency = repeats(REPEATS, || {
        for _ in 0..STEPS {
            at = lines[at as usize][0];
        }
        black_box(at);
        STEPS
    });
    // One pass is a repeat: of nanoseconds by line.
    let by_line = repeats(REPEATS, || {
        let sum = lines.iter().flatten().fold(0_u32, |sum, word| sum.wrapping_add(*word));
        black_box(sum);
        u32::try_from(LINES).unwrap_or(u32::MAX)
    });
    let gigabytes = by_line.into_iter().map(|nanos| LINE_BYTES as f64 / nanos).collect();
    let figures =
        [HostFigure::of("memory_read_gb_per_s", gigabytes), HostFigure::of("memory_latency_ns", latency)];
    figures.into_iter().flatten().collect()
}

/// Nanoseconds of one of what `work` does, by repeat; it says how many it did.
fn repeats(number: usize, mut work: impl FnMut() -> u32) -> Vec<f64> {
    work(); // caches and frequency as they are in all that follow
    let once = || {
        let watch = Stopwatch::start();
        let mut done = 0_u64;
        while watch.elapsed() < REPEAT {
            done += u64::from(work());
        }
        watch.elapsed().0 as f64 / done as f64
    };
    std::iter::repeat_with(once).take(number).collect()
}

fn fill(path: &Path) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let file = File::create(path)?;
    let mut piece = vec![0; 1 << 20];
    for offset in (0..FILE_BYTES).step_by(piece.len()) {
        random.fill_bytes(&mut piece);
        file.write_all_at(&piece, offset)?;
    }
    file.sync_all()
}

/// Microseconds of a write of 4 KiB that has reached the device, as a log of an engine does it.
fn syncs(path: &Path) -> io::Result<Vec<f64>> {
    let file = File::options().write(true).open(path)?;
    let page = vec![7; PAGE];
    let mut at = 0;
    timed(SYNCS, || {
        at = (at + PAGE as u64) % (1 << 20);
        file.write_all_at(&page, at)?;
        file.sync_data()
    })
}

/// Microseconds of a read of 4 KiB at random, past the page cache if the file system can.
fn reads(path: &Path) -> io::Result<Vec<f64>> {
    let open = |flags| rustix::fs::open(path, OFlags::RDONLY | flags, Mode::empty());
    let file = File::from(open(OFlags::DIRECT).or_else(|_| open(OFlags::empty()))?);
    // Direct reads want memory that begins at a page.
    let mut memory = vec![0; 2 * PAGE];
    let begin = memory.as_ptr().align_offset(PAGE);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    timed(READS, || {
        let page = random.next_u64() % (FILE_BYTES / PAGE as u64);
        file.read_exact_at(&mut memory[begin..begin + PAGE], page * PAGE as u64)
    })
}

/// Microseconds of one operation, by repeat of so many.
fn timed(operations: u32, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<Vec<f64>> {
    let all = Stopwatch::start();
    let mut repeats = Vec::new();
    while repeats.len() < REPEATS && (repeats.is_empty() || all.elapsed() < FIGURE_BOUND) {
        let watch = Stopwatch::start();
        for _ in 0..operations {
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
        let figures = of_device(scratch.path()).unwrap();
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["fsync_us", "device_read_us"]);
        assert!(figures.iter().all(|figure| figure.value > 0.0 && figure.value < 1e6), "{figures:?}");
        let file = scratch.path().join("fingerprint").join(FILE);
        let before = fs::metadata(&file).unwrap();
        assert_eq!(before.len(), FILE_BYTES);
        of_device(scratch.path()).unwrap();
        fs::remove_dir_all(scratch.path().join("fingerprint")).unwrap();
        fs::write(scratch.path().join("fingerprint"), "a file").unwrap();
        assert!(matches!(of_device(scratch.path()), Err(CannotMeasure::Directory(_))));
    }
}
