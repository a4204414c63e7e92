//! A profiler of this process: what burns CPU is found by its name, and only in blocks.

use super::*;
use model::profile::Wait;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Kept out of line and under this name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn dbdyno_test_burns_much(until: &AtomicBool) -> u64 {
    let mut sum = 0_u64;
    while !until.load(Ordering::Relaxed) {
        for number in 0..1000_u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    sum
}

#[test]
fn what_burns_cpu_is_found_by_its_name() {
    let mut profiler = match Profiler::new() {
        Ok(profiler) => profiler,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let trial = TrialKey { launch: 1, step: "burn".to_owned(), side: 0 };
    let own = [std::process::id()];
    let enough = AtomicBool::new(false);
    let mut sampled = Duration::ZERO;
    let profile = std::thread::scope(|scope| {
        scope.spawn(|| dbdyno_test_burns_much(&enough));
        std::thread::sleep(Duration::from_millis(50));
        for block in 0..8 {
            let samples = block & 1 == 0;
            let began = Instant::now();
            profiler.follow(&own, samples);
            while began.elapsed() < Duration::from_millis(100) {
                std::thread::sleep(Duration::from_millis(5));
            }
            profiler.ended();
            sampled += if samples { began.elapsed() } else { Duration::ZERO };
            let took = Nanos::from_millis(100);
            profiler.take_block(&trial, &own, Work { operations: 10, cpu: took, wall: took });
            // What is burnt between blocks is in none.
            std::thread::sleep(Duration::from_millis(50));
        }
        enough.store(true, Ordering::Relaxed);
        profiler.finish().remove(0)
    });
    assert!(profiler.finish().is_empty(), "a profile is told once");
    // 400 ms at 199 Hz are 80 of a thread that has a CPU to itself; other tests share the CPUs. One more of each block is of its begin.
    let most = sampled.as_millis() * u128::from(FREQUENCY) / 1000 + 4;
    let burnt = profile.functions().get("dbdyno_test_burns_much").copied().unwrap_or_default();
    assert!(
        (15..=most).contains(&u128::from(burnt.total)),
        "{burnt:?} of {}, at most {most}",
        profile.samples()
    );
    assert_eq!((profile.operations, profile.cpu), (40, Nanos::from_millis(400)));
    assert_eq!((profile.unsampled_operations, profile.unsampled_cpu), (40, Nanos::from_millis(400)));
    assert!(
        profile.quality.broken <= profile.samples() / 5,
        "{:?} of {}",
        profile.quality,
        profile.samples()
    );
}

fn thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// A thread that waits in this way, looked at for a third of a second.
fn seen(wait: impl FnOnce() + Send + 'static, let_go: impl FnOnce()) -> Looks {
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        tell.send(thread_id()).unwrap();
        wait();
    });
    let watch = Watch::begin(&[(std::process::id(), told.recv().unwrap())]);
    std::thread::sleep(Duration::from_millis(300));
    let looks = watch.end();
    let_go();
    thread.join().unwrap();
    looks
}

#[test]
fn threads_that_sleep_and_that_wait_for_a_lock_are_told_apart() {
    if File::open(format!("/proc/self/task/{}/syscall", thread_id()))
        .and_then(|file| file.read_at(&mut [0; 8], 0))
        .is_err()
    {
        eprintln!("skipped: this kernel does not say in which call a thread is");
        return;
    }
    let most = |looks: &Looks| looks.waits.iter().max_by_key(|(_, count)| **count).map(|(wait, _)| *wait);
    let asleep = seen(|| std::thread::sleep(Duration::from_millis(400)), || {});
    assert_eq!(most(&asleep), Some(Wait::Sleep), "{:?}", asleep.waits);
    let lock = Arc::new(Mutex::new(()));
    let guard = lock.lock().unwrap();
    let other = Arc::clone(&lock);
    let locked = seen(move || drop(other.lock().unwrap()), || drop(guard));
    assert_eq!(most(&locked), Some(Wait::Lock), "{:?}", locked.waits);
}
