//! Where the CPU time of an operation went on two sides, by function, and by how much that differs.
//!
//! The unit is the launch: of each the CPU time of an operation is split by the samples of its stacks, and the differences of launches have a mean
//! and an interval by Student's t. What is ranked is the change of a function's own CPU time per operation, not of its share: if one function
//! takes longer, the shares of all others fall.

mod counters;
mod flame;
mod interval;
mod waits;

pub use counters::{CounterChange, per_op};
pub use flame::Flame;
pub use interval::{CONFIDENCE, Interval};
pub use waits::WaitChange;

use analysis::student::mean;
use model::block::{BASE, Side};
use model::profile::{FOREGROUND, Profile, Quality, Seen, Stack, Wait};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A step of a candidate compared with the base, by function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileView {
    /// Launches in which both sides were sampled.
    pub launches: usize,
    /// Samples of the base and of the candidate.
    pub samples: [u64; 2],
    /// The part of their stacks that could not be followed to the end.
    pub broken: [f64; 2],
    /// The worst of all.
    #[serde(skip)]
    pub quality: Quality,
    /// CPU time of an operation in microseconds, base and candidate.
    pub cpu_us_per_op: [f64; 2],
    pub change: Interval,
    /// What sampling adds to it, as a share of it, in launches of both sides; absent if every block was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_of_sampling: Option<Interval>,
    /// Where the time of an operation went: CPU of the foreground by kind of code, CPU of the background, waiting by what is waited for. Clear
    /// changes first, then by size, whatever the sign.
    pub times: Vec<TimeChange>,
    /// Clear changes first, then by size, whatever the sign.
    pub functions: Vec<FunctionChange>,
    /// Functions of the engine that foreground threads waited in, clear changes first, then by size, whatever the sign.
    pub waits: Vec<WaitChange>,
    /// Events of the CPU and the kernel per operation, moved or not; without those that were not counted.
    pub events: Vec<CounterChange>,
    /// What the engine counted per operation that moved, the clearest first; none of an engine that does not tell.
    pub counters: Vec<CounterChange>,
    /// All stacks.
    #[serde(skip)]
    pub flame: Flame,
    /// The part of the change that functions make up whose own change is clear of zero. Above 1 if others make up for some of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributed: Option<f64>,
}

/// A part of the time of an operation on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeChange {
    /// `code`, `kernel pread64`, `background compaction`, `wait lock`
    pub part: String,
    /// In microseconds, base and candidate.
    pub us_per_op: [f64; 2],
    pub change: Interval,
}

/// A function on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionChange {
    pub name: String,
    /// CPU time of its own, in microseconds per operation of the client, base and candidate.
    pub own_us_per_op: [f64; 2],
    /// With what it calls.
    pub total_us_per_op: [f64; 2],
    /// Of its own time.
    pub change: Interval,
}

/// CPU time of an operation in one launch on one side, by function, in microseconds.
struct OfLaunch<'a> {
    cpu: f64,
    times: BTreeMap<String, f64>,
    functions: BTreeMap<&'a str, [f64; 2]>,
}

/// The profiles of a run of one step, base and candidate; absent if no launch has both.
pub fn build(profiles: &[Profile], step: &str, candidate: Side) -> Option<ProfileView> {
    let of_side = |side: Side| {
        let of_step = profiles.iter().filter(|one| one.trial.step == step && one.trial.side == side);
        of_step.map(|one| (one.trial.launch, one)).collect::<BTreeMap<u32, &Profile>>()
    };
    let (base, candidate) = (of_side(BASE), of_side(candidate));
    let mut pairs = Vec::new();
    for (launch, base) in &base {
        let of_candidate = candidate.get(launch).copied();
        if let Some((sides, profiles)) =
            of_candidate.and_then(|other| Some(([of_launch(base)?, of_launch(other)?], [*base, other])))
        {
            pairs.push((sides, profiles));
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let profiles: Vec<[&Profile; 2]> = pairs.iter().map(|(_, profiles)| *profiles).collect();
    let launches: Vec<&[OfLaunch<'_>; 2]> = pairs.iter().map(|(sides, _)| sides).collect();
    let change = Interval::of(&differences(&launches, |side| side.cpu));
    let mut times = times(&launches);
    times.sort_by(|left, right| left.change.clearest_first(&right.change));
    let mut functions = functions(&launches);
    functions.sort_by(|left, right| left.change.clearest_first(&right.change));
    let clear: f64 =
        functions.iter().map(|one| one.change).filter(|one| one.is_clear()).map(|one| one.mean).sum();
    let of_side = |place: usize| pairs.iter().map(move |(_, profiles)| profiles[place]);
    let samples = [0, 1].map(|place| of_side(place).map(Profile::samples).sum::<u64>());
    let broken = [0, 1].map(|place| {
        let broken: u64 = of_side(place).map(|one| one.quality.broken).sum();
        broken as f64 / samples[place].max(1) as f64
    });
    Some(ProfileView {
        launches: launches.len(),
        samples,
        broken,
        quality: pairs
            .iter()
            .flat_map(|(_, profiles)| profiles)
            .fold(Quality::default(), |worst, one| worse(worst, one.quality)),
        cpu_us_per_op: [0, 1].map(|place| mean_of(&launches, place, |side| side.cpu)),
        change,
        cost_of_sampling: cost_of_sampling(&profiles),
        times,
        flame: Flame::of(&profiles, &total_changes(&functions)),
        functions,
        waits: waits::changes(&profiles),
        events: counters::events(&profiles),
        counters: counters::changes(&profiles),
        // Of a change that may be none there is no part.
        attributed: change.is_clear().then(|| clear / change.mean),
    })
}

fn worse(left: Quality, right: Quality) -> Quality {
    Quality {
        frequency: left.frequency.max(right.frequency),
        broken: left.broken + right.broken,
        lost: left.lost + right.lost,
        user_only: left.user_only || right.user_only,
        threads_left_out: left.threads_left_out.max(right.threads_left_out),
    }
}

/// Absent if nothing was sampled, or the client did nothing.
fn of_launch(profile: &Profile) -> Option<OfLaunch<'_>> {
    let cpu = profile.cpu_us_per_op()?;
    let samples = profile.samples();
    if samples == 0 {
        return None;
    }
    let of = |samples_of: u64| cpu * samples_of as f64 / samples as f64;
    let mut times: BTreeMap<String, f64> = BTreeMap::new();
    for stack in &profile.stacks {
        *times.entry(part_of_cpu(profile, stack)).or_default() += of(stack.samples);
    }
    let waits = profile.waits_us_per_op().unwrap_or_default();
    // The client's next request is what the other side of a connection took: no time of an operation.
    let waits = waits.into_iter().filter(|(wait, _)| *wait != Wait::Client);
    times.extend(waits.map(|(wait, us)| (format!("wait {}", wait.name()), us)));
    let functions = profile.functions().into_iter();
    Some(OfLaunch {
        cpu,
        times,
        functions: functions.map(|(name, Seen { own, total })| (name, [of(own), of(total)])).collect(),
    })
}

/// What the kernel calls the code of a system call: `__x64_sys_pread64_[k]`.
const SYSTEM_CALLS: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];
/// The way into the kernel and out of it, where it is not known by which call: many short calls show here.
const ENTRY: &str = "kernel call entry";
/// The end of the names of its functions.
const OF_KERNEL: &str = "_[k]";

/// The part of the time of an operation that a stack counts for.
fn part_of_cpu(profile: &Profile, stack: &Stack) -> String {
    let name = |place: &usize| profile.names.get(*place).map_or("", String::as_str);
    let thread = name(&stack.thread);
    if thread != FOREGROUND {
        return format!("background {thread}");
    }
    let in_kernel = stack.frames.last().is_some_and(|last| name(last).ends_with(OF_KERNEL));
    if !in_kernel {
        return "code".to_owned();
    }
    let call = stack.frames.iter().find_map(|frame| {
        let name = name(frame).strip_suffix(OF_KERNEL)?;
        SYSTEM_CALLS.iter().find_map(|prefix| name.strip_prefix(prefix))
    });
    let is_entry = |frame: &usize| name(frame).to_ascii_lowercase().contains("syscall");
    match call {
        Some(call) => format!("kernel {call}"),
        None if stack.frames.iter().any(is_entry) => ENTRY.to_owned(),
        None => "kernel".to_owned(),
    }
}

fn times(launches: &[&[OfLaunch<'_>; 2]]) -> Vec<TimeChange> {
    let all = launches.iter().flat_map(|sides| sides.iter()).flat_map(|side| side.times.keys());
    let parts: BTreeSet<&String> = all.collect();
    let change = |part: &String| {
        let value = |side: &OfLaunch<'_>| side.times.get(part).copied().unwrap_or(0.0);
        TimeChange {
            part: part.clone(),
            us_per_op: [0, 1].map(|side| mean_of(launches, side, value)),
            change: Interval::of(&differences(launches, value)),
        }
    };
    parts.into_iter().map(change).collect()
}

fn differences(launches: &[&[OfLaunch<'_>; 2]], value: impl Fn(&OfLaunch<'_>) -> f64) -> Vec<f64> {
    launches.iter().map(|[base, candidate]| value(candidate) - value(base)).collect()
}

fn mean_of(launches: &[&[OfLaunch<'_>; 2]], place: usize, value: impl Fn(&OfLaunch<'_>) -> f64) -> f64 {
    let values: Vec<f64> = launches.iter().map(|sides| value(&sides[place])).collect();
    mean(&values).unwrap_or(0.0)
}

fn cost_of_sampling(launches: &[[&Profile; 2]]) -> Option<Interval> {
    let of_launch = |sides: &[&Profile; 2]| {
        let costs = sides.iter().filter_map(|one| one.cost_of_sampling());
        mean(&costs.collect::<Vec<f64>>())
    };
    let costs: Vec<f64> = launches.iter().filter_map(of_launch).collect();
    (!costs.is_empty()).then(|| Interval::of(&costs))
}

fn total_changes(functions: &[FunctionChange]) -> BTreeMap<&str, f64> {
    functions.iter().map(|one| (one.name.as_str(), one.total_us_per_op[1] - one.total_us_per_op[0])).collect()
}

/// Each that was seen on either side. One that a side lacks took no time there.
fn functions(launches: &[&[OfLaunch<'_>; 2]]) -> Vec<FunctionChange> {
    let mut names: Vec<&str> = launches
        .iter()
        .flat_map(|sides| sides.iter())
        .flat_map(|side| side.functions.keys().copied())
        .collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &str| {
        let value = |side: &OfLaunch<'_>, place: usize| side.functions.get(name).map_or(0.0, |of| of[place]);
        let mean_of_place = |place: usize| [0, 1].map(|side| mean_of(launches, side, |of| value(of, place)));
        FunctionChange {
            name: name.to_owned(),
            own_us_per_op: mean_of_place(0),
            total_us_per_op: mean_of_place(1),
            change: Interval::of(&differences(launches, |side| value(side, 0))),
        }
    };
    names.into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::Stacks;
    use testing::profiles::profile;

    fn launches(slower_percent: u64) -> Vec<Profile> {
        let of = |launch: u32| {
            let noise = 10 * u64::from(launch % 3);
            let extra = 10 * slower_percent;
            let stacks = |extra| [("main;get;seek", 600 + extra), ("main;get", 400)];
            [
                profile(launch, 0, 10_000 + noise, &stacks(0)),
                profile(launch, 1, 100 * (100 + slower_percent) + noise, &stacks(extra)),
            ]
        };
        (1..=5).flat_map(of).collect()
    }

    #[test]
    fn the_function_that_takes_longer_stands_first_and_makes_up_the_change() {
        let view = build(&launches(10), "read", 1).unwrap();
        assert_eq!((view.launches, view.functions[0].name.as_str()), (5, "seek"));
        assert!(
            view.cost_of_sampling.is_some_and(|cost| (cost.mean - 1.0 / 99.0).abs() < 1e-6),
            "{:?}",
            view.cost_of_sampling
        );
        let seek = &view.functions[0];
        assert!((seek.change.mean - 1.0).abs() < 0.02 && seek.change.is_clear(), "{seek:?}");
        assert!(
            (view.change.mean - 1.0).abs() < 0.02
                && view.attributed.is_some_and(|part| (0.95..1.05).contains(&part)),
            "{view:?}"
        );
        let main = view.functions.iter().find(|one| one.name == "main").unwrap();
        assert!(main.own_us_per_op[1] < 1e-9 && (main.total_us_per_op[1] - 11.0).abs() < 0.1, "{main:?}");
        let get = view.functions.iter().find(|one| one.name == "get").unwrap();
        assert!(get.change.mean.abs() < 0.02, "its share fell, and its time did not: {get:?}");
    }

    #[test]
    fn the_time_of_an_operation_is_split_by_code_calls_threads_and_waits() {
        let stacks = |reads: u64| {
            let mut all = Stacks::default();
            for (thread, frames, samples) in [
                (FOREGROUND, "main;get", 500),
                (FOREGROUND, "main;read;do_syscall_64_[k];__x64_sys_pread64_[k];copy_[k]", reads),
                ("compaction", "main;compact", 100),
            ] {
                all.add(thread, frames.split(';'), samples);
            }
            all.finish()
        };
        let of = |launch: u32, side: Side, reads: u64| {
            let (names, stacks) = stacks(reads);
            Profile { names, stacks, ..profile(launch, side, 10 * (600 + reads), &[]) }
        };
        let profiles: Vec<Profile> =
            (1..=4).flat_map(|launch| [of(launch, 0, 100), of(launch, 1, 300 + u64::from(launch))]).collect();
        let view = build(&profiles, "read", 1).unwrap();
        let first = &view.times[0];
        assert_eq!(first.part, "kernel pread64");
        assert!(
            (first.us_per_op[0] - 1.0).abs() < 0.01 && (first.us_per_op[1] - 3.0).abs() < 0.05,
            "{first:?}"
        );
        let of = |part: &str| view.times.iter().find(|one| one.part == part).map(|one| one.us_per_op[0]);
        assert!(
            (of("code").unwrap() - 5.0).abs() < 0.01
                && (of("background compaction").unwrap() - 1.0).abs() < 0.01
        );
        assert!(of("wait lock").is_some() && of("wait client").is_none());
    }

    #[test]
    fn equal_sides_have_no_clear_change() {
        let view = build(&launches(0), "read", 1).unwrap();
        assert!(!view.change.is_clear() && view.attributed.is_none());
        assert!(view.functions.iter().all(|one| !one.change.is_clear()), "{view:?}");
    }

    #[test]
    fn a_function_of_one_side_took_nothing_on_the_other() {
        let profiles: Vec<Profile> = (1..=4)
            .flat_map(|launch| {
                [profile(launch, 0, 5000, &[("main;old", 10)]), profile(launch, 1, 5000, &[("main;new", 10)])]
            })
            .collect();
        let view = build(&profiles, "read", 1).unwrap();
        let of = |name: &str| view.functions.iter().find(|one| one.name == name).unwrap().own_us_per_op;
        assert_eq!((of("old"), of("new")), ([5.0, 0.0], [0.0, 5.0]));
    }

    #[test]
    fn few_launches_have_no_interval_and_none_no_view() {
        let two = &launches(10)[..4];
        assert_eq!(build(two, "read", 1).unwrap().change.low, None);
        assert_eq!(build(&[], "read", 1), None);
        assert_eq!(build(&launches(10), "write", 1), None);
        let no_operations = [Profile { operations: 0, ..launches(10)[0].clone() }, launches(10)[1].clone()];
        assert_eq!(build(&no_operations, "read", 1), None);
    }
}
