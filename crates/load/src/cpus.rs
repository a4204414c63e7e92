//! On which CPU the foreground thread of a step stays, and with it the thread of a server that serves it.
//!
//! Left to the kernel, the one thread of each of two sides that take turns settles on a CPU of its own for most of a launch, and
//! the CPUs of a virtual machine are not alike: each has other neighbours. Two equal sides then differ by what their CPUs do.
//! So all sides use the same CPU of a launch, and which one that is changes from launch to launch with the seed (decision
//! record 021, with what was measured). Several threads of a step are on all CPUs anyway, and stay free: writers that wait for
//! each other sleep a quarter more often when each is kept on its own CPU.
//!
//! A client of one connection and its server's thread take turns: while one works the other waits. On two CPUs each turn wakes the
//! other CPU, which in a virtual machine costs more than a short statement does, and how often it comes to that changes from launch to
//! launch. On one CPU neither happens.

/// The CPUs that the calling thread may run on; none where the kernel does not say.
pub fn allowed() -> Vec<usize> {
    let mut set = empty_set();
    // SAFETY: the set outlives the call and its size is its own; 0 is the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    let capacity = libc::CPU_SETSIZE.unsigned_abs() as usize;
    if answer != 0 {
        return Vec::new();
    }
    // SAFETY: every number is below the set's capacity.
    (0..capacity).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// The CPU for a step's foreground thread; none where it has several, or where no CPU is known.
pub fn for_step(threads: u32, seed: u64, allowed: &[usize]) -> Option<usize> {
    if threads != 1 || allowed.is_empty() {
        return None;
    }
    // The upper half of a product with a large odd number: neighbouring seeds, as those of a run's steps are, lie apart.
    let drawn = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    allowed.get(drawn % allowed.len()).copied()
}

/// Keeps the calling thread, and threads that it starts from now on, on one CPU. Where the system forbids that, the thread
/// runs on as it did.
pub fn stay_on(cpu: usize) {
    keep(0, cpu);
}

/// The same for another thread, by its number in the system; 0 is the calling one. Says whether it is kept.
pub fn keep(thread: i32, cpu: usize) -> bool {
    let mut set = empty_set();
    // SAFETY: the number of the CPU came out of such a set; the set outlives the call and its size is its own. A thread
    // that is not there is an error that changes nothing.
    unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: a set is an array of bits, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_alone_draws_the_cpu_and_all_are_drawn() {
        let allowed = [1, 2, 5];
        let mut times = [0; 6];
        for seed in 0..300 {
            let cpu = for_step(1, seed, &allowed).unwrap();
            assert_eq!(for_step(1, seed, &allowed), Some(cpu), "equal on all sides of a launch");
            times[cpu] += 1;
        }
        assert!(allowed.iter().all(|cpu| times[*cpu] > 60), "{times:?}");
        assert_eq!((for_step(2, 1, &allowed), for_step(1, 1, &[])), (None, None));
    }

    #[test]
    fn a_thread_stays_where_it_is_put_and_the_others_are_free() {
        let before = allowed();
        let last = *before.last().unwrap();
        let inside = std::thread::spawn(move || {
            stay_on(last);
            allowed()
        });
        assert_eq!(inside.join().unwrap(), [last]);
        assert_eq!(allowed(), before);
    }
}
