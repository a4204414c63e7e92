//! Which functions the CPU time of an operation went to.

use crate::document::Kind::{Name, Number, Prose};
use crate::document::Table;
use findings::profile::{
    CONFIDENCE, CounterChange, FunctionChange, Interval, ProfileView, TimeChange, WaitChange,
};
use model::figures::{count, or_none, quantity, ratio};
use model::profile::{BRANCH_MISSES, CACHE_MISSES, CYCLES, INSTRUCTIONS};

/// Rows of the table; JSON has all.
const MOST_FUNCTIONS: usize = 15;
/// Of parts of the time.
const MOST_TIMES: usize = 10;
/// Of them, in a sentence.
const MOST_NAMED: usize = 2;
/// Below this part of broken stacks nothing is said of them.
const FEW_BROKEN: f64 = 0.01;

/// "CPU of an operation: 4.21 us and 4.53 us, +0.32 us [+0.25, +0.39]. 12,400 and 13,100 samples in 6 launches; ..."
pub fn about(profile: &ProfileView) -> String {
    let [base, candidate] = profile.cpu_us_per_op;
    let [of_base, of_candidate] = profile.samples.map(|samples| samples.to_string());
    let launches = count(profile.launches as u64, "launch", "launches");
    let mut text = format!(
        "CPU of an operation: {base:.3} us and {candidate:.3} us, {} us. {of_base} and {of_candidate} samples in {launches}.",
        difference(profile.change)
    );
    if let Some(part) = profile.attributed {
        text.push_str(&format!(" Functions whose change is clear make up {:.0} % of it", 100.0 * part));
        text.push_str(&match 1.0 - part {
            rest if rest >= 0.0 => format!("; {:.0} % are not attributed.", 100.0 * rest),
            _ => "; what the others do less makes up for the rest.".to_owned(),
        });
    }
    if profile.broken.iter().any(|part| *part >= FEW_BROKEN) {
        let [base, candidate] = profile.broken.map(|part| 100.0 * part);
        text.push_str(&format!(
            " {base:.0} % and {candidate:.0} % of the stacks could not be followed to their end: functions that call others have less than is theirs."
        ));
    }
    if let Some(cost) = profile.cost_of_sampling {
        text.push_str(&format!(" Sampling adds {} of it.", share(cost)));
    }
    let quality = profile.quality;
    if quality.user_only {
        text.push_str(
            " Time in the kernel was not sampled: it needs root, or kernel.perf_event_paranoid at 1.",
        );
    }
    if quality.lost > 0 {
        text.push_str(&format!(" {} were lost for want of room.", count(quality.lost, "sample", "samples")));
    }
    if quality.threads_left_out > 0 {
        text.push_str(&format!(
            " {} could not be sampled: raise the limit of locked memory (ulimit -l).",
            count(quality.threads_left_out, "thread", "threads")
        ));
    }
    let is_counted = |name: &&&str| profile.events.iter().any(|one| one.name == **name);
    let of_cpu = [INSTRUCTIONS, CYCLES, BRANCH_MISSES, CACHE_MISSES];
    let absent: Vec<&str> = of_cpu.iter().filter(|name| !is_counted(name)).copied().collect();
    if !absent.is_empty() {
        text.push_str(&format!(
            " Not counted here: {}; virtual machines often have no counters of the CPU, and users other than root may be refused them.",
            absent.join(", ")
        ));
    }
    text
}

/// "+1.2 % [-0.3, +2.7]"
fn share(of: Interval) -> String {
    let bounds = of.low.zip(of.high);
    let bounds = bounds.map(|(low, high)| format!(" [{:+.1}, {:+.1}]", 100.0 * low, 100.0 * high));
    format!("{:+.1} %{}", 100.0 * of.mean, bounds.unwrap_or_default())
}

fn caption(profile: &ProfileView) -> String {
    let left = profile.functions.len().saturating_sub(MOST_FUNCTIONS);
    let more = if left > 0 { format!(" {left} more are in --format json.") } else { String::new() };
    format!(
        "CPU time of an operation by function, clear changes first, then by size; intervals of {:.0} %.{more}",
        100.0 * CONFIDENCE
    )
}

/// "+0.32 [+0.25, +0.39]", in microseconds.
fn difference(of: Interval) -> String {
    match (of.low, of.high) {
        (Some(low), Some(high)) => format!("{:+.3} [{low:+.3}, {high:+.3}]", of.mean),
        _ => format!("{:+.3}", of.mean),
    }
}

/// "; code +0.25 us, wait lock +0.05 us": the parts whose change is clear, the largest first.
pub fn largest(profile: &ProfileView) -> String {
    let clear = profile.times.iter().filter(|one| one.change.is_clear()).take(MOST_NAMED);
    let parts: Vec<String> = clear.map(|one| format!("{} {:+.3} us", one.part, one.change.mean)).collect();
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

/// Where the time of an operation went.
pub fn times(profile: &ProfileView) -> Table {
    let rows = profile.times.iter().take(MOST_TIMES);
    let table = Table::by_columns(
        rows,
        &[
            ("time", Name, &|one: &&TimeChange| one.part.clone()),
            ("base us/op", Number, &|one| us(one.us_per_op[0])),
            ("candidate us/op", Number, &|one| us(one.us_per_op[1])),
            ("change", Number, &|one| difference(one.change)),
        ],
    );
    table.captioned("Where the time of an operation went, clear changes first, then by size: code of the foreground threads, system calls, background threads, waiting.")
}

fn us(value: f64) -> String {
    format!("{value:.3}")
}

/// Rows of the table of waits; JSON has all.
const MOST_WAITS: usize = 10;
/// Shorter waits than this, in microseconds per operation on both sides, are not shown.
const LEAST_WAIT_US: f64 = 0.001;

/// Which functions waited; absent if none did.
pub fn waits(profile: &ProfileView) -> Option<Table> {
    let is_shown = |one: &&WaitChange| one.us_per_op.iter().any(|us| *us >= LEAST_WAIT_US);
    let table = Table::by_columns(
        profile.waits.iter().filter(is_shown).take(MOST_WAITS),
        &[
            ("function that waits", Name, &|one: &&WaitChange| one.function.clone()),
            ("for", Name, &|one| one.wait.clone()),
            ("base us/op", Number, &|one| us(one.us_per_op[0])),
            ("candidate us/op", Number, &|one| us(one.us_per_op[1])),
            ("change", Number, &|one| difference(one.change)),
        ],
    );
    table
        .captioned(
            "Where foreground threads waited, clear changes first, then by size: the innermost function of the engine in the stacks of those that were blocked.",
        )
        .unless_empty()
}

/// What the CPU counted; absent if it counted nothing.
pub fn events(profile: &ProfileView) -> Option<Table> {
    let of = |name: &str| profile.events.iter().find(|one| one.name == name);
    let row = |one: &CounterChange| {
        let [base, candidate] = one.per_op;
        let of_base = or_none((base > 0.0).then(|| candidate / base), ratio);
        [one.name.clone(), quantity(base), quantity(candidate), quantities(one.change), of_base]
    };
    let mut rows: Vec<[String; 5]> = profile.events.iter().map(row).collect();
    if let (Some(instructions), Some(cycles)) = (of(INSTRUCTIONS), of(CYCLES)) {
        let [base, candidate] = [0, 1].map(|side| instructions.per_op[side] / cycles.per_op[side]);
        let name = "instructions for each cycle".to_owned();
        rows.push([
            name,
            format!("{base:.2}"),
            format!("{candidate:.2}"),
            String::new(),
            ratio(candidate / base),
        ]);
    }
    let mut table = Table::new(&[
        ("per operation", Name),
        ("base", Number),
        ("candidate", Number),
        ("change", Number),
        ("ratio", Number),
    ]);
    table.fill(rows);
    table
        .captioned(format!(
            "Events that the CPU and the kernel counted; intervals of {:.0} %.",
            100.0 * CONFIDENCE
        ))
        .unless_empty()
}

/// "+120 [+100, +140]"
fn quantities(of: Interval) -> String {
    let signed = |value: f64| {
        if value < 0.0 { format!("-{}", quantity(-value)) } else { format!("+{}", quantity(value)) }
    };
    let bounds = of.low.zip(of.high).map(|(low, high)| format!(" [{}, {}]", signed(low), signed(high)));
    format!("{}{}", signed(of.mean), bounds.unwrap_or_default())
}

/// Rows of the table of counters; JSON has all.
const MOST_COUNTERS: usize = 12;
/// Of counters that count the same, named after the first.
const MOST_ALSO: usize = 2;

/// What the engine counted per operation; absent if nothing of it changed clearly.
pub fn counters(profile: &ProfileView) -> Option<Table> {
    let left = profile.counters.len().saturating_sub(MOST_COUNTERS);
    let more = if left > 0 { format!(" {left} more are in --format json.") } else { String::new() };
    let name = |one: &&CounterChange| {
        let also: Vec<&str> = one.also.iter().map(String::as_str).take(MOST_ALSO).collect();
        let rest = one.also.len() - also.len();
        match (also.is_empty(), rest) {
            (true, _) => one.name.clone(),
            (false, 0) => format!("{}; equal: {}", one.name, also.join(", ")),
            (false, rest) => format!("{}; equal: {} and {rest} more", one.name, also.join(", ")),
        }
    };
    let table = Table::by_columns(
        profile.counters.iter().take(MOST_COUNTERS),
        &[
            ("the engine's counter, per operation", Prose, &name),
            ("base", Number, &|one| quantity(one.per_op[0])),
            ("candidate", Number, &|one| quantity(one.per_op[1])),
            ("ratio", Number, &|one| {
                or_none((one.per_op[0] > 0.0).then(|| one.per_op[1] / one.per_op[0]), ratio)
            }),
        ],
    );
    let caption = format!(
        "Counters of the engine that moved, per operation, the clearest first; about {:.0} % of those listed may be chance.{more}",
        100.0 * (1.0 - CONFIDENCE)
    );
    table.captioned(caption).unless_empty()
}

/// The functions whose own time changed most.
pub fn table(profile: &ProfileView) -> Table {
    let rows = profile.functions.iter().take(MOST_FUNCTIONS);
    Table::by_columns(
        rows,
        &[
            ("function", Name, &|one: &&FunctionChange| one.name.clone()),
            ("base us/op", Number, &|one| us(one.own_us_per_op[0])),
            ("candidate us/op", Number, &|one| us(one.own_us_per_op[1])),
            ("change", Number, &|one| difference(one.change)),
            ("with callees", Number, &|one| {
                format!("{} -> {}", us(one.total_us_per_op[0]), us(one.total_us_per_op[1]))
            }),
        ],
    )
    .captioned(caption(profile))
}
