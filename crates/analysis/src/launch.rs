//! From blocks to one value of each launch. The launch is the unit of inference: never a pair or a second.

use crate::student::{mean, standard_deviation};
use model::block::{BASE, Block, BlockKind, Side};
use model::counter::Counter;
use std::collections::{BTreeMap, BTreeSet};

/// Neighbouring blocks of the base and the candidate.
#[derive(Debug, Clone, Copy)]
pub struct BlockPair<'a> {
    pub base: &'a Block,
    pub candidate: &'a Block,
}

/// The pairs of one launch, in the order of their cycles.
#[derive(Debug, Clone)]
pub struct LaunchPairs<'a> {
    pub launch: u32,
    /// Its data image; equal numbers are equal bytes.
    pub image: u32,
    /// At least one pair.
    pub pairs: Vec<BlockPair<'a>>,
}

/// Which blocks make a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    pub step: &'a str,
    /// The side that is compared with the base.
    pub candidate: Side,
    /// Launches whose trial of this step failed on either side: none of their blocks counts.
    pub excluded: &'a BTreeSet<u32>,
}

/// Groups the blocks of a comparison by launch and pairs them by cycle, in ascending order. A cycle that
/// lacks either side is dropped, and so is a launch without a whole cycle. The order of `blocks` is of no
/// consequence, unless one block is given twice: then the later one counts.
pub fn pairs<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    comparison: &Comparison<'_>,
) -> Vec<LaunchPairs<'a>> {
    type Cycle<'a> = (Option<&'a Block>, Option<&'a Block>);
    let mut launches: BTreeMap<u32, BTreeMap<BlockKind, Cycle<'a>>> = BTreeMap::new();
    for block in blocks {
        let trial = &block.trial;
        // A drain has no operations: it has no rate.
        let is_drain = block.kind == BlockKind::Drain;
        if is_drain || trial.step != comparison.step || comparison.excluded.contains(&trial.launch) {
            continue;
        }
        let cycle = launches.entry(trial.launch).or_default().entry(block.kind).or_default();
        if trial.side == BASE {
            cycle.0 = Some(block);
        } else if trial.side == comparison.candidate {
            cycle.1 = Some(block);
        }
    }
    launches
        .into_iter()
        .filter_map(|(launch, cycles)| {
            let pairs: Vec<BlockPair<'a>> = cycles
                .into_values()
                .filter_map(|(base, candidate)| Some(BlockPair { base: base?, candidate: candidate? }))
                .collect();
            Some(LaunchPairs { launch, image: pairs.first()?.base.image, pairs })
        })
        .collect()
}

/// What one side did in one launch, or in several. Times are seconds, means over the foreground threads
/// unless said otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    pub blocks: usize,
    /// Blocks in which no operation completed.
    pub empty_blocks: usize,
    pub operations: f64,
    pub failed_operations: f64,
    pub wall_s: f64,
    /// Wall time less run delay, block by block, and never below the CPU time.
    pub adjusted_s: f64,
    /// Time runnable but not running.
    pub run_delay_s: f64,
    pub foreground_cpu_s: f64,
    /// Wall time of all foreground threads together.
    pub thread_wall_s: f64,
    /// CPU time of all foreground threads together.
    pub thread_cpu_s: f64,
    /// Run delay of all foreground threads together.
    pub thread_run_delay_s: f64,
    /// CPU time of the whole process, all threads; absent where a block has none.
    pub process_cpu_s: Option<f64>,
    /// CPU time of the threads that are not foreground threads, as far as it is known.
    pub background_cpu_s: f64,
    /// Sums by counter, and means over blocks of those that are levels. A counter that is missing from any
    /// block is missing here.
    pub counters: BTreeMap<Counter, f64>,
}

/// One launch: what each side did, and the logarithms of candidate over base. A logarithm is absent where a
/// side has nothing to divide.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchSummary {
    pub launch: u32,
    pub image: u32,
    pub base: Totals,
    pub candidate: Totals,
    /// Of the wall rate.
    pub wall: Option<f64>,
    /// Of the contention-adjusted rate.
    pub adjusted: Option<f64>,
    /// Of CPU time per operation.
    pub cpu: Option<f64>,
}

/// One summary for each launch, in the order given.
///
/// Where the step only reads, the value of a launch is the trimmed mean of its pairs, which is robust against
/// a disturbed block. Where it writes, it is the quotient of sums over the launch, untrimmed: stalls are part
/// of the result (statistics 1.9, rule 9). A pair in which a side completed no operation has no logarithm
/// and is left out of the trimmed mean; more than a few such blocks refuse the comparison, see
/// [`crate::refusal`].
pub fn summarize(launches: &[LaunchPairs<'_>], writes: bool) -> Vec<LaunchSummary> {
    launches.iter().map(|launch| summarize_launch(launch, writes)).collect()
}

fn summarize_launch(launch: &LaunchPairs<'_>, writes: bool) -> LaunchSummary {
    let base = totals(launch.pairs.iter().map(|pair| pair.base));
    let candidate = totals(launch.pairs.iter().map(|pair| pair.candidate));
    let value = |of_block: fn(&Block) -> Option<f64>, of_totals: fn(&Totals) -> Option<f64>| {
        if writes {
            return Some(of_totals(&candidate)? - of_totals(&base)?);
        }
        let differences = launch
            .pairs
            .iter()
            .filter_map(|pair| Some(of_block(pair.candidate)? - of_block(pair.base)?))
            .collect();
        trimmed_mean(differences)
    };
    LaunchSummary {
        launch: launch.launch,
        image: launch.image,
        wall: value(ln_wall_rate, |totals| ln_quotient(totals.operations, totals.wall_s)),
        adjusted: value(ln_adjusted_rate, |totals| ln_quotient(totals.operations, totals.adjusted_s)),
        cpu: value(ln_cpu_per_op, |totals| ln_quotient(totals.process_cpu_s?, totals.operations)),
        base,
        candidate,
    }
}

/// The mean without the lowest and the highest tenth (`floor(n / 10)` at each end); the median below ten
/// values; absent where there are none.
pub fn trimmed_mean(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let dropped = match count {
        0 => return None,
        1..10 => (count - 1) / 2,
        _ => count / 10,
    };
    let kept = &values[dropped..count - dropped];
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// The standard error of a mean without the lowest and the highest tenth, from the values with these tenths brought to the nearest that is
/// kept (Tukey and McLaughlin 1963); absent below two values.
pub(crate) fn error_of_trimmed_mean(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (count, dropped) = (values.len(), values.len() / 10);
    let (low, high) = (*values.get(dropped)?, *values.get(count - 1 - dropped)?);
    let brought_in: Vec<f64> = values.into_iter().map(|value| value.clamp(low, high)).collect();
    let kept = 1.0 - 2.0 * dropped as f64 / count as f64;
    Some(standard_deviation(&brought_in)? / (count as f64).sqrt() / kept)
}

/// ln(numerator / denominator); absent unless both are positive.
pub(crate) fn ln_quotient(numerator: f64, denominator: f64) -> Option<f64> {
    (numerator > 0.0 && denominator > 0.0).then(|| numerator.ln() - denominator.ln())
}

pub(crate) fn ln_wall_rate(block: &Block) -> Option<f64> {
    ln_quotient(block.operations as f64, block.wall.as_secs_f64())
}

pub(crate) fn ln_adjusted_rate(block: &Block) -> Option<f64> {
    ln_quotient(block.operations as f64, adjusted_s(block))
}

fn ln_cpu_per_op(block: &Block) -> Option<f64> {
    ln_quotient(block.process_cpu?.as_secs_f64(), block.operations as f64)
}

/// Wall time less run delay; at least the CPU time, which no waiting can contain.
fn adjusted_s(block: &Block) -> f64 {
    block.wall.saturating_sub(block.run_delay).max(block.foreground_cpu).as_secs_f64()
}

/// What one side did in these blocks together.
pub fn totals<'a>(blocks: impl Iterator<Item = &'a Block>) -> Totals {
    let mut totals = Totals { process_cpu_s: Some(0.0), ..Totals::default() };
    let mut seen: BTreeMap<Counter, usize> = BTreeMap::new();
    for block in blocks {
        let threads = f64::from(block.foreground_threads);
        let (wall, cpu) = (block.wall.as_secs_f64(), block.foreground_cpu.as_secs_f64());
        let run_delay = block.run_delay.as_secs_f64();
        let process_cpu = block.process_cpu.map(model::units::Nanos::as_secs_f64);
        totals.blocks += 1;
        totals.empty_blocks += usize::from(block.operations == 0);
        totals.operations += block.operations as f64;
        totals.failed_operations += block.failed_operations as f64;
        totals.wall_s += wall;
        totals.adjusted_s += adjusted_s(block);
        totals.run_delay_s += run_delay;
        totals.foreground_cpu_s += cpu;
        totals.thread_wall_s += wall * threads;
        totals.thread_cpu_s += cpu * threads;
        totals.thread_run_delay_s += run_delay * threads;
        totals.process_cpu_s = sum_of_both(totals.process_cpu_s, process_cpu);
        // Of a server the foreground's CPU is the client's too: there the engine's own is counted.
        let counted = block.counters.get(&Counter::BackgroundCpuNanos).map(|nanos| *nanos as f64 / 1e9);
        let others = process_cpu.map_or(0.0, |process_cpu| (process_cpu - cpu * threads).max(0.0));
        totals.background_cpu_s += counted.unwrap_or(others);
        for (counter, value) in &block.counters {
            *totals.counters.entry(*counter).or_default() += *value as f64;
            *seen.entry(*counter).or_default() += 1;
        }
    }
    totals.counters.retain(|counter, _| seen.get(counter) == Some(&totals.blocks));
    for (counter, value) in &mut totals.counters {
        if counter.is_level() {
            *value /= totals.blocks as f64;
        }
    }
    totals
}

/// Absent where either is.
fn sum_of_both(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    left.zip(right).map(|(left, right)| left + right)
}

impl LaunchSummary {
    /// Whether it counts in a verdict: both rates are known.
    pub(crate) fn has_rates(&self) -> bool {
        self.wall.is_some() && self.adjusted.is_some()
    }

    /// Whether the engine's own CPU is known on both sides: it is not where one is a server that is not ours.
    pub fn knows_cpu(&self) -> bool {
        self.base.process_cpu_s.is_some() && self.candidate.process_cpu_s.is_some()
    }
}

impl Totals {
    /// The sum of what one side did in several launches; counters are left out.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Totals>) -> Totals {
        let mut sum = Totals { process_cpu_s: Some(0.0), ..Totals::default() };
        for totals in all {
            sum.blocks += totals.blocks;
            sum.empty_blocks += totals.empty_blocks;
            sum.operations += totals.operations;
            sum.failed_operations += totals.failed_operations;
            sum.wall_s += totals.wall_s;
            sum.adjusted_s += totals.adjusted_s;
            sum.run_delay_s += totals.run_delay_s;
            sum.foreground_cpu_s += totals.foreground_cpu_s;
            sum.thread_wall_s += totals.thread_wall_s;
            sum.thread_cpu_s += totals.thread_cpu_s;
            sum.thread_run_delay_s += totals.thread_run_delay_s;
            sum.process_cpu_s = sum_of_both(sum.process_cpu_s, totals.process_cpu_s);
            sum.background_cpu_s += totals.background_cpu_s;
        }
        sum
    }
}

/// How launches and images go together: what counts as one is the launch, or the image where launches share images.
///
/// Launches on the same bytes share the interaction of build and image. Counting them as independent gave
/// 12.7 % false verdicts at nominal 1 % with one image, 2.2 % with five (statistics 1.9, rule 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each launch has its own image: the launch is the unit.
    None,
    /// All launches have the same image: the launch is the unit, and the finding holds on this image only.
    One,
    /// Several images, some of them in more than one launch: the image is the unit.
    Several,
}

/// How these launches share images.
pub(crate) fn sharing(launches: &[LaunchSummary]) -> Sharing {
    let images = images(launches).len();
    if images == launches.len() {
        Sharing::None
    } else if images == 1 {
        Sharing::One
    } else {
        Sharing::Several
    }
}

/// One value of each unit; a launch without a value is left out.
pub(crate) fn unit_values(launches: &[LaunchSummary], value: fn(&LaunchSummary) -> Option<f64>) -> Vec<f64> {
    match sharing(launches) {
        Sharing::None | Sharing::One => launches.iter().filter_map(value).collect(),
        Sharing::Several => images(launches)
            .values()
            .filter_map(|of_image| {
                mean(&of_image.iter().filter_map(|launch| value(launch)).collect::<Vec<f64>>())
            })
            .collect(),
    }
}

/// How many units these launches are.
pub(crate) fn unit_count(launches: &[LaunchSummary]) -> usize {
    match sharing(launches) {
        Sharing::None | Sharing::One => launches.len(),
        Sharing::Several => images(launches).len(),
    }
}

/// Launches by image.
pub(crate) fn images(launches: &[LaunchSummary]) -> BTreeMap<u32, Vec<&LaunchSummary>> {
    let mut images: BTreeMap<u32, Vec<&LaunchSummary>> = BTreeMap::new();
    for launch in launches {
        images.entry(launch.image).or_default().push(launch);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::blocks::{BlockSpec, block};

    const NONE: BTreeSet<u32> = BTreeSet::new();

    fn compare<'a>(blocks: &'a [Block], excluded: &BTreeSet<u32>) -> Vec<LaunchPairs<'a>> {
        pairs(blocks, &Comparison { step: "readrandom", candidate: 2, excluded })
    }

    fn at(launch: u32, cycle: u32, side: Side, operations: u64) -> Block {
        block(&BlockSpec { launch, cycle, side, operations, ..BlockSpec::default() })
    }

    #[test]
    fn blocks_are_paired_by_launch_and_cycle_whatever_their_order() {
        let mut blocks = vec![
            at(2, 0, 2, 90),
            at(1, 1, 0, 100),
            at(1, 0, 2, 80),
            at(1, 0, 0, 100),
            at(2, 0, 0, 100),
            at(1, 0, 1, 7),
            at(1, 1, 2, 85),
            at(3, 0, 2, 1), // the base's block is missing: the launch goes
            at(1, 2, 0, 1), // the candidate's is: the cycle goes
        ];
        let check = |blocks: &[Block]| {
            let launches = compare(blocks, &NONE);
            let shape: Vec<(u32, Vec<(u64, u64)>)> = launches
                .iter()
                .map(|launch| {
                    let operations = |pair: &BlockPair<'_>| (pair.base.operations, pair.candidate.operations);
                    (launch.launch, launch.pairs.iter().map(operations).collect())
                })
                .collect();
            assert_eq!(shape, [(1, vec![(100, 80), (100, 85)]), (2, vec![(100, 90)])]);
        };
        check(&blocks);
        blocks.reverse();
        check(&blocks);
        assert_eq!(compare(&blocks, &BTreeSet::from([1])).len(), 1);
        blocks.extend([0, 2].map(|side| Block { kind: BlockKind::Drain, ..at(2, 0, side, 0) }));
        check(&blocks);
        blocks[0].trial.step = "other".to_owned();
        assert_eq!(compare(&blocks, &NONE)[0].pairs.len(), 2);
    }

    #[test]
    fn a_read_step_is_trimmed_and_a_write_step_is_not() {
        // Ten pairs of equal speed, in one of which the candidate stalled for nine tenths.
        let blocks: Vec<Block> = (0..10)
            .flat_map(|cycle| [at(1, cycle, 0, 1000), at(1, cycle, 2, if cycle == 4 { 100 } else { 1000 })])
            .collect();
        let launches = compare(&blocks, &NONE);
        assert_eq!(summarize(&launches, false)[0].wall, Some(0.0));
        let stalled = summarize(&launches, true)[0].wall.unwrap();
        assert!((stalled - 0.91f64.ln()).abs() < 1e-12, "{stalled}");
    }

    #[test]
    fn the_adjusted_rate_takes_run_delay_out_and_never_goes_below_cpu_time() {
        let spec = BlockSpec { operations: 1000, wall_us: 100_000, cpu_us: 60_000, ..BlockSpec::default() };
        let base = block(&BlockSpec { side: 0, ..spec });
        let delayed = block(&BlockSpec { side: 2, run_delay_us: 20_000, ..spec });
        let absurd = block(&BlockSpec { side: 2, run_delay_us: 90_000, ..spec });
        let adjusted = |candidate: Block| {
            let blocks = [base.clone(), candidate];
            summarize(&compare(&blocks, &NONE), false)[0].adjusted.unwrap()
        };
        assert!((adjusted(delayed) - (100.0f64 / 80.0).ln()).abs() < 1e-12);
        assert!((adjusted(absurd) - (100.0f64 / 60.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn a_counter_missing_from_a_block_is_missing_from_the_launch() {
        let mut blocks = vec![at(1, 0, 0, 10), at(1, 0, 2, 10), at(1, 1, 0, 10), at(1, 1, 2, 10)];
        for block in &mut blocks {
            block.counters.insert(Counter::MinorFaults, 4);
            block.counters.insert(Counter::ResidentBytes, 8192);
        }
        blocks[2].counters.remove(&Counter::MinorFaults);
        let summary = &summarize(&compare(&blocks, &NONE), false)[0];
        assert_eq!(summary.base.counters, BTreeMap::from([(Counter::ResidentBytes, 8192.0)]));
        assert_eq!(summary.candidate.counters[&Counter::MinorFaults].to_bits(), 8.0f64.to_bits());
    }

    #[test]
    fn the_trimmed_mean_drops_a_tenth_at_each_end() {
        assert_eq!(trimmed_mean(vec![]), None);
        assert_eq!(trimmed_mean(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(trimmed_mean(vec![9.0, 1.0, 2.0]), Some(2.0));
        let ten = [100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -100.0];
        assert_eq!(trimmed_mean(ten.to_vec()), Some(4.5));
    }
}
