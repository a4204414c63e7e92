//! How much of what a client's thread and the server's that serves it waited for a CPU others have caused. It reads nothing:
//! numbers in, one number out (decision record 029).

use crate::proc::side::ThreadTimes;
use model::units::Nanos;
use model::wire::SharedCpu;

/// What the threads of a block had, summed over its clients.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Wall time, once for each client.
    pub wall: Nanos,
    pub client: ThreadTimes,
    /// Of the server's threads that served them.
    pub serving: ThreadTimes,
    /// The one CPU that both stay on; absent where each is where the kernel puts it.
    pub shared_cpu: Option<SharedCpu>,
}

/// For so much of its idle time at most a CPU serves a pair that sleeps: the way into idle and out of it, interrupts and the
/// kernel's own threads that end a request are no idle time, and nobody else's. Chosen: a thread that writes 8 KiB and waits for
/// the device, alone on a virtual machine, had 1.9 to 2.0 (decision
/// record 029), and a half of that is added.
const SLEEP_PER_IDLE: u64 = 3;

impl Waiting {
    /// Time in which at least one of the two was runnable and neither ran. Each wakes the other and goes on running until it
    /// sleeps: the kernel counts that as run delay of the one that was woken, but it is the CPU time of the other, which
    /// is counted already.
    ///
    /// No more than the run delay of both, than the time in which neither ran, and, on one CPU, than the time that others
    /// had of it for sure: what is left when that of the two and that in which both slept are taken off. No less than what
    /// one of them waited for longer than the other ran.
    pub fn behind_others(&self) -> Nanos {
        let Waiting { wall, client, serving, shared_cpu } = *self;
        let neither_ran = wall.saturating_sub(client.cpu + serving.cpu);
        let delay = client.run_delay + serving.run_delay;
        let by_others = match shared_cpu {
            Some(SharedCpu { idle }) => {
                let slept = |idle: Nanos| Nanos(idle.0.saturating_mul(SLEEP_PER_IDLE));
                let others_ran = idle.map_or(Nanos(0), |idle| neither_ran.saturating_sub(slept(idle)));
                let longer_than_turns = [(client, serving), (serving, client)]
                    .map(|(waited, ran)| waited.run_delay.saturating_sub(ran.cpu));
                longer_than_turns.into_iter().fold(others_ran, Nanos::max)
            }
            // Whether they were on one CPU, and on which, is not known.
            None => delay,
        };
        by_others.min(delay).min(neither_ran)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn times(cpu: u64, run_delay: u64) -> ThreadTimes {
        ThreadTimes { cpu: Nanos(cpu), run_delay: Nanos(run_delay) }
    }

    /// In a block of 100.
    fn charged(client: ThreadTimes, serving: ThreadTimes, idle: Option<u64>) -> u64 {
        let shared_cpu = Some(SharedCpu { idle: idle.map(Nanos) });
        Waiting { wall: Nanos(100), client, serving, shared_cpu }.behind_others().0
    }

    #[test]
    fn turns_alone_are_charged_to_nobody() {
        assert_eq!(charged(times(30, 10), times(70, 20), Some(0)), 0);
        // Clocks that do not agree: the CPU times are more than the wall time.
        assert_eq!(charged(times(31, 10), times(70, 20), Some(0)), 0);
    }

    #[test]
    fn a_neighbour_on_the_cpu_is_charged_with_what_it_took() {
        // The neighbour had 50; 15 of the delay are turns.
        assert_eq!(charged(times(15, 25), times(35, 40), Some(0)), 50);
    }

    #[test]
    fn waiting_for_a_device_is_no_run_delay() {
        // A commit that sleeps for 60 of 100, with the turns of a cached statement: half of it the CPU is idle, the other half
        // the kernel is at work for the device.
        assert_eq!(charged(times(10, 5), times(30, 8), Some(60)), 0);
        assert_eq!(charged(times(10, 5), times(30, 8), Some(30)), 0);
        // Where a neighbour keeps the CPU from being idle, what the pair waited is its doing.
        assert_eq!(charged(times(10, 25), times(30, 25), Some(2)), 50);
    }

    #[test]
    fn where_idle_time_is_not_known_only_what_no_turn_explains_is_charged() {
        assert_eq!(charged(times(10, 5), times(30, 8), None), 0);
        assert_eq!(charged(times(10, 5), times(30, 28), None), 18);
    }

    #[test]
    fn threads_that_share_no_cpu_are_charged_with_all_that_fits_between() {
        let free = |client, serving| {
            Waiting { wall: Nanos(200), client, serving, shared_cpu: None }.behind_others().0
        };
        assert_eq!(free(times(30, 10), times(70, 20)), 30);
        assert_eq!(free(times(60, 40), times(100, 20)), 40);
    }

    /// What the two do at one instant.
    #[derive(Clone, Copy, PartialEq)]
    enum Doing {
        Running,
        Waiting,
        Sleeping,
    }

    /// What a block of many instants comes to, counted one by one.
    #[derive(Default)]
    struct Block {
        times: [ThreadTimes; 2],
        wall: u64,
        idle: u64,
        /// Both of ours sleep, and the kernel is at work for them.
        for_sleep: u64,
        /// The truth: one of ours waits, and somebody else runs.
        behind_others: u64,
        /// Others run while ours sleep.
        beside_sleep: u64,
        /// One of ours waits for the other.
        turns: u64,
        /// Both of ours wait: the kernel counts it for each.
        both: u64,
    }

    /// Instants drawn at random, each with odds of its own block.
    fn made(random: &mut Xoshiro256PlusPlus) -> Block {
        use Doing::{Running, Sleeping, Waiting};
        let mut block = Block::default();
        let mut draw = |below: u64| random.next_u64() % below;
        let odds: [u64; 5] = std::array::from_fn(|_| draw(10) * draw(2));
        for _ in 0..draw(500) + 1 {
            let drawn = draw(odds.iter().sum::<u64>().max(1));
            let kind = (0..5).find(|kind| drawn < odds[..=*kind].iter().sum()).unwrap_or(0);
            let (mut pair, others_run) = match kind {
                0 => ([Running, Waiting], false),
                1 => ([Running, Sleeping], false),
                2 => ([Sleeping, Sleeping], draw(4) == 0),
                3 => ([Waiting, Sleeping], true),
                _ => ([Waiting, Waiting], true),
            };
            if draw(2) == 0 {
                pair.reverse();
            }
            block.wall += 1;
            for (times, doing) in block.times.iter_mut().zip(pair) {
                times.cpu.0 += u64::from(doing == Running);
                times.run_delay.0 += u64::from(doing == Waiting);
            }
            let (waits, runs) = (pair.contains(&Waiting), pair.contains(&Running));
            let nobody = u64::from(!runs && !others_run);
            let for_sleep =
                nobody * u64::from(draw(2) == 0 && block.for_sleep < block.idle * (SLEEP_PER_IDLE - 1));
            block.for_sleep += for_sleep;
            block.idle += nobody - for_sleep;
            block.behind_others += u64::from(waits && !runs);
            block.beside_sleep += u64::from(others_run && !waits);
            block.turns += u64::from(waits && runs);
            block.both += u64::from(pair == [Waiting, Waiting]);
        }
        block
    }

    #[test]
    fn instants_counted_one_by_one_agree() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(29);
        let mut exact = 0;
        for _ in 0..20_000 {
            let block = made(&mut random);
            let [client, serving] = block.times;
            let waiting = |shared_cpu| Waiting { wall: Nanos(block.wall), client, serving, shared_cpu };
            let of_idle = |idle| waiting(Some(SharedCpu { idle })).behind_others().0;
            let (known, unknown) = (of_idle(Some(Nanos(block.idle))), of_idle(None));
            let free = waiting(None).behind_others().0;
            let delay = client.run_delay.0 + serving.run_delay.0;
            let neither_ran = block.wall - client.cpu.0 - serving.cpu.0;
            for charged in [known, unknown, free] {
                assert!(charged <= delay && charged <= neither_ran);
            }
            assert!(unknown <= block.behind_others && unknown <= known && known <= free);
            // Too much is charged only where others ran while the two slept, and then never more than was waited besides.
            let too_much = known.saturating_sub(block.behind_others);
            assert!(too_much <= block.beside_sleep.min(block.turns + block.both));
            // Too little only where the CPU was idle.
            assert!(known >= block.behind_others || block.idle > 0);
            exact += u32::from(known == block.behind_others);
        }
        assert!(exact > 5000, "{exact}");
    }

    #[test]
    fn readings_that_contradict_each_other_stay_within_the_bounds() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(30);
        let mut draw = || Nanos(random.next_u64() % 1000);
        for _ in 0..20_000 {
            let client = ThreadTimes { cpu: draw(), run_delay: draw() };
            let serving = ThreadTimes { cpu: draw(), run_delay: draw() };
            let shared_cpu = Some(SharedCpu { idle: Some(draw()) });
            for shared_cpu in [None, shared_cpu, Some(SharedCpu { idle: None })] {
                let wall = draw();
                let charged = Waiting { wall, client, serving, shared_cpu }.behind_others();
                assert!(charged <= client.run_delay + serving.run_delay);
                assert!(charged <= wall.saturating_sub(client.cpu + serving.cpu));
            }
        }
    }
}
