//! What was counted per operation in the launches of a profile: events of the CPU, and counters of the engine that moved.

use super::interval::{CONFIDENCE, Interval};
use analysis::family::benjamini_hochberg;
use analysis::student::{mean, mean_is_zero_p};
use formats::server_status;
use model::profile::{BRANCH_MISSES, CACHE_MISSES, CYCLES, INSTRUCTIONS, MIGRATIONS, Profile};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A counter on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterChange {
    /// Of an engine as it names it, in lower case.
    pub name: String,
    /// Others that count the same on both sides.
    pub also: Vec<String>,
    /// Base and candidate.
    pub per_op: [f64; 2],
    /// Candidate less base.
    pub change: Interval,
}

/// Smaller changes are clear too, and explain nothing.
const LEAST_CHANGE: f64 = 0.02;
/// What is counted less often comes from background work, which goes on at its own pace: a slower operation sees more of it.
const LEAST_PER_OP: f64 = 0.001;
/// What goes on with the time, and levels, which rise and fall.
const NO_COUNTERS: [&str; 14] = [
    "uptime",
    "com_show",
    "threads_",
    "database_size",
    "n_live_tup",
    "n_dead_tup",
    "n_mod_since",
    "_pages_dirty",
    "_pages_data",
    "_bytes_data",
    "_bytes_dirty",
    "_current_",
    "max_used",
    "open_tables",
];
/// Counters that differ by less on both sides count the same thing.
const SAME: f64 = 1e-3;

/// What a server counted between two readings of its status, for each of so many operations.
pub fn per_op(before: &str, after: &str, operations: u64) -> BTreeMap<String, f64> {
    let (before, after) = (server_status::parse(before), server_status::parse(after));
    let of = |(name, by): (&str, u64)| (name.to_owned(), by as f64 / operations as f64);
    if operations == 0 { BTreeMap::new() } else { after.risen_since(&before).into_iter().map(of).collect() }
}

/// Events of the CPU, in the order of reports, and one of the kernel.
const EVENTS: [&str; 5] = [INSTRUCTIONS, CYCLES, BRANCH_MISSES, CACHE_MISSES, MIGRATIONS];

/// Events per operation, moved or not; none that was not counted in all launches.
pub fn events(launches: &[[&Profile; 2]]) -> Vec<CounterChange> {
    let value = |profile: &Profile, name: &str| profile.counters.get(name).copied();
    let of_event = |name: &str| {
        let values: Option<Vec<[f64; 2]>> = launches
            .iter()
            .map(|[base, candidate]| Some([value(base, name)?, value(candidate, name)?]))
            .collect();
        let values = values?;
        let of_side = |side: usize| mean(&values.iter().map(|sides| sides[side]).collect::<Vec<f64>>());
        let differences: Vec<f64> = values.iter().map(|[base, candidate]| candidate - base).collect();
        Some(CounterChange {
            name: name.to_owned(),
            also: Vec::new(),
            per_op: [of_side(0)?, of_side(1)?],
            change: Interval::of(&differences),
        })
    };
    EVENTS.into_iter().filter_map(of_event).collect()
}

/// Counters of the engine that moved (Benjamini-Hochberg at a false discovery rate of 1 % over all, of p by Student's t over launches), the clearest first, those
/// with equal counts as one. A counter that one of the releases does not have is left out: what it would have counted there is not known.
pub fn changes(launches: &[[&Profile; 2]]) -> Vec<CounterChange> {
    let has_any: Vec<&[&Profile; 2]> =
        launches.iter().filter(|sides| sides.iter().all(|side| !side.counters.is_empty())).collect();
    let has_all = |name: &&String| {
        has_any.iter().all(|sides| sides.iter().all(|side| side.counters.contains_key(name.as_str())))
    };
    let is_counter = |name: &&String| {
        !EVENTS.contains(&name.as_str()) && !NO_COUNTERS.iter().any(|part| name.contains(part))
    };
    let first = has_any.first().map(|[base, _]| base.counters.keys()).into_iter().flatten();
    let names: BTreeSet<&String> = first.filter(has_all).filter(is_counter).collect();
    let value = |profile: &Profile, name: &String| profile.counters.get(name).copied().unwrap_or(0.0);
    let differences = |name: &String| -> Vec<f64> {
        has_any.iter().map(|[base, candidate]| value(candidate, name) - value(base, name)).collect()
    };
    let p_values: Vec<f64> =
        names.iter().map(|name| mean_is_zero_p(&differences(name)).unwrap_or(1.0)).collect();
    let moved = benjamini_hochberg(&p_values, 1.0 - CONFIDENCE);
    let change = |name: &String| {
        let change = Interval::of(&differences(name));
        let of_side = |side: usize| {
            let values: Vec<f64> = has_any.iter().map(|sides| value(sides[side], name)).collect();
            mean(&values).unwrap_or(0.0)
        };
        let per_op = [of_side(0), of_side(1)];
        let most = per_op[0].max(per_op[1]);
        let is_large = most >= LEAST_PER_OP && change.mean.abs() >= LEAST_CHANGE * most;
        is_large.then(|| CounterChange { name: name.clone(), also: Vec::new(), per_op, change })
    };
    let moved = names.into_iter().zip(moved).filter(|(_, moved)| *moved);
    let mut clear: Vec<CounterChange> = moved.filter_map(|(name, _)| change(name)).collect();
    clear.sort_by(|left, right| clearness(right).total_cmp(&clearness(left)));
    let mut merged: Vec<CounterChange> = Vec::new();
    for one in clear {
        match merged.iter_mut().find(|known| counts_the_same(known, &one)) {
            Some(known) => known.also.push(one.name),
            None => merged.push(one),
        }
    }
    merged
}

/// The change over half of its interval; of one without scatter it is the largest.
fn clearness(one: &CounterChange) -> f64 {
    let half = one.change.high.map_or(f64::INFINITY, |high| high - one.change.mean);
    one.change.mean.abs() / half.max(f64::MIN_POSITIVE)
}

fn counts_the_same(left: &CounterChange, right: &CounterChange) -> bool {
    let is_near = |left: f64, right: f64| (left - right).abs() <= SAME * left.abs().max(right.abs());
    (0..2).all(|side| is_near(left.per_op[side], right.per_op[side]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::profiles::profile;

    fn launches(of: impl Fn(u32, usize) -> Vec<(&'static str, f64)>) -> Vec<[Profile; 2]> {
        let side = |launch: u32, side: usize| Profile {
            counters: of(launch, side).into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            ..profile(launch, side, 1000, &[("main", 10)])
        };
        (1..=5).map(|launch| [side(launch, 0), side(launch, 1)]).collect()
    }

    fn changes_of(launches: &[[Profile; 2]]) -> Vec<CounterChange> {
        changes(&launches.iter().map(|[base, candidate]| [base, candidate]).collect::<Vec<_>>())
    }

    #[test]
    fn counters_that_moved_are_named_once_and_others_are_not() {
        let found = changes_of(&launches(|launch, side| {
            let noise = f64::from(launch % 3) * 0.01;
            let reads = if side == 0 { 1.0 } else { 3.0 } + noise;
            let mut all = vec![
                ("handler_read", reads),
                ("rows_read", reads),
                ("questions", 1.0 + noise),
                ("temporary_tables", side as f64 * (0.5 + noise)),
                ("master_loops", 1e-4 * (1.0 + side as f64)),
                ("uptime", 0.01 * (1.0 + side as f64)),
            ];
            if side == 1 {
                all.push(("new_in_this_release", 0.5 + noise));
            }
            all
        }));
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["handler_read", "temporary_tables"]);
        assert_eq!(found[0].also, ["rows_read"]);
        assert!((found[0].change.mean - 2.0).abs() < 1e-9 && found[1].per_op[0].abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn events_are_told_moved_or_not_and_none_that_is_missing_in_a_launch() {
        let launches = launches(|launch, side| {
            let mut all =
                vec![(INSTRUCTIONS, 1000.0 + side as f64 * 50.0), (MIGRATIONS, 0.0), ("reads", 1.0)];
            if launch > 1 {
                all.push((CYCLES, 500.0));
            }
            all
        });
        let pairs: Vec<[&Profile; 2]> = launches.iter().map(|[base, candidate]| [base, candidate]).collect();
        let found = events(&pairs);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, [INSTRUCTIONS, MIGRATIONS]);
        assert!((found[0].change.mean - 50.0).abs() < 1e-9 && (found[0].per_op[1] - 1050.0).abs() < 1e-9);
        assert!(changes(&pairs).is_empty(), "an event is no counter of the engine");
    }

    #[test]
    fn launches_without_counters_and_few_of_them_say_nothing() {
        assert!(changes_of(&launches(|_, _| Vec::new())).is_empty());
        let two = &launches(|_, side| vec![("reads", 1.0 + side as f64)])[..2];
        assert!(changes_of(two).is_empty(), "two launches bear no interval");
    }

    #[test]
    fn per_operation_of_no_operations_is_nothing() {
        let counted = per_op("a = 1\nb = 5\nc = 9\n", "a = 11\nb = 5\nc = 1\n", 5);
        assert_eq!(counted, BTreeMap::from([("a".to_owned(), 2.0), ("b".to_owned(), 0.0)]));
        assert!(per_op("a = 1\n", "a = 2\n", 0).is_empty());
    }
}
