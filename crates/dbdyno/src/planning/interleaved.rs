//! What a plan needs whose subjects are all there at once: which steps can be cut into blocks, how often the base runs, how long
//! a block is.

use super::parts::Part;
use crate::exit::usage;
use analysis::sides::SidesLayout;
use anyhow::{anyhow, bail};
use findings::sides::Noise;
use model::figures::{chosen_percent, span};
use model::plan::{DecisionRule, LeftOut, Plan, Subject};
use model::plan_file::PlanFile;
use model::record::RunRecord;
use model::units::Nanos;
use model::workload::{Operation, Workload};

/// The steps to judge: those named, else all that can be cut into blocks and are no helpers.
///
/// # Errors
/// A workload of an engine that is not measured like this, a step without blocks that is named, no step at all.
pub(super) fn chosen_steps(workload: &Workload, named: &[String]) -> anyhow::Result<Vec<String>> {
    if workload.is_fio() {
        bail!(usage(anyhow!(
            "workload `{}` is of fio, whose devices share what they wait for: take `design = \"rounds\"`, or `dbdyno compare`",
            workload.name
        )));
    }
    let steps = super::chosen_steps(workload, named)?;
    if steps.is_empty() {
        bail!(usage(anyhow!(
            "no step of `{}` can be cut into blocks: take `design = \"rounds\"`",
            workload.name
        )));
    }
    Ok(steps)
}

/// Puts further processes of the base at the end of the subjects; returns how many.
///
/// # Errors
/// The base cannot be measured, or nothing else can.
pub(super) fn add_base_processes(
    file: &PlanFile,
    subjects: &mut Vec<Subject>,
    left_out: &[LeftOut],
) -> anyhow::Result<usize> {
    let base = &file.subjects[0];
    if let Some(without) = left_out.iter().find(|one| one.reference == *base) {
        bail!("{base} is what all others are compared with and cannot be measured: {}", without.reason);
    }
    let candidates = subjects.len() - 1;
    if candidates == 0 {
        let reasons: Vec<String> =
            left_out.iter().map(|one| format!("{}: {}", one.reference, one.reason)).collect();
        bail!("there is nothing to compare {base} with: {}", reasons.join("; "));
    }
    let further = file.interleaved.base_processes_of(candidates) - 1;
    let process = subjects[0].clone();
    subjects.extend(std::iter::repeat_n(process, further));
    Ok(further)
}

/// Fewer candidates in a launch than these are pairs with the base, and hardly a table.
pub(super) const LEAST_AT_ONCE: usize = 3;

/// Candidates in each launch, if not all of them can be there at once; so many sides fit into memory. Absent if all are.
pub(super) fn candidates_at_once(
    file: &PlanFile,
    candidates: usize,
    base: usize,
    fit: usize,
) -> Option<usize> {
    let fit = fit.saturating_sub(base).max(LEAST_AT_ONCE);
    let at_once = file.interleaved.candidates_at_once.unwrap_or(fit);
    (at_once < candidates).then_some(at_once)
}

/// With more sides than this a block is as short as [`SHORT_BLOCK`].
const FEW_SIDES: usize = 4;
/// Many short blocks beat few long ones, the more the longer the cycle; its edges cost about 2 ms.
const SHORT_BLOCK: Nanos = Nanos::from_millis(25);
/// The block of a step that builds files, with more sides than [`FEW_SIDES`]. A file takes up to 30 ms; short blocks leave time for more launches.
const SHORT_BLOCK_OF_FILES: Nanos = Nanos::from_millis(50);

/// A block of writes differs from the next by its flushes and compactions, and launches are few and long: so there are this many times
/// the cycles.
const CYCLES_OF_WRITES: u32 = 2;

/// A cycle of many sides with long blocks of reads lasts for seconds, in which the host changes. Blocks of servers stay long:
/// their edges cost more.
pub(super) fn fit_blocks(workload: &mut Workload, sides: usize) {
    if sides <= FEW_SIDES {
        return;
    }
    for step in &mut workload.steps {
        if step.operation.finds_keys() {
            step.block = step.block.min(SHORT_BLOCK);
        } else if matches!(step.operation, Operation::BuildFiles { .. }) {
            step.block = step.block.min(SHORT_BLOCK_OF_FILES);
        } else if step.operation == Operation::Overwrite {
            step.cycles *= CYCLES_OF_WRITES;
        }
    }
}

/// What a dry run says of launches, memory and the change that will be visible; the latter by an earlier run on this host.
pub(super) fn forecast(
    file: &PlanFile,
    workload: &Workload,
    part: &Part,
    memory_bytes: u64,
    earlier: Option<&RunRecord>,
) -> Vec<(&'static str, String)> {
    let candidates = file.subjects.len() - 1;
    let base_processes = file.interleaved.base_processes_of(candidates);
    let fit = super::sides_that_fit(workload, &workload.options, memory_bytes);
    let at_once = candidates_at_once(file, candidates, base_processes, fit);
    let sides = at_once.unwrap_or(candidates) + base_processes;
    let memory = super::memory_of(workload, &workload.options) * sides as u64;
    let mut lines =
        vec![("needs", format!("about {:.1} GB of memory for {sides} processes", memory as f64 / 1e9))];
    lines.extend(
        at_once.map(|some| {
            ("a launch", format!("has {some} of {candidates} candidates, neighbours in the plan"))
        }),
    );
    if let Some(until) = file.interleaved.until {
        lines.push(("until", format!("every interval is within plus or minus {}", chosen_percent(until))));
    }
    let budget = part.budget.map(|budget| budget.as_secs_f64());
    let bound = budget.map_or("no bound".to_owned(), span);
    let Some(noise) = earlier.and_then(Noise::of) else {
        let why =
            "a first run of this workload on this host tells how many launches that is, and what they show";
        lines.push(("time", format!("{bound}; {why}")));
        return lines;
    };
    let launch = noise.seconds_of_a_side * sides as f64;
    let DecisionRule { alpha, max_launches, .. } = DecisionRule::default();
    let most = f64::from(max_launches);
    let launches = budget.map_or(most, |seconds| (seconds / launch).floor().min(most));
    let by = earlier.map(|record| format!(", by run {}", record.id)).unwrap_or_default();
    lines.push(("time", format!("{bound}: about {launches:.0} launches of {}{by}", span(launch))));
    // Each candidate is in a share of the launches only.
    let launches = launches * at_once.unwrap_or(candidates) as f64 / candidates as f64;
    let layout = SidesLayout { base_processes, family: part.steps.len() * candidates, launches, alpha };
    for name in &part.steps {
        if let Some(deviation) = noise.deviation_of_a_side.get(name) {
            let visible = 100.0 * layout.visible(*deviation).exp_m1();
            lines.push(("visible", format!("{name}: a change of {visible:.1} %")));
        }
    }
    lines
}

/// Files and pipes that the controller has open for a side, at most.
const DESCRIPTORS_OF_A_SIDE: u64 = 12;
/// Those that it has open anyway.
const OWN_DESCRIPTORS: u64 = 64;

/// # Errors
/// The limit of this process is too low for so many sides.
pub(super) fn check_descriptors(plan: &Plan) -> anyhow::Result<()> {
    let needed = OWN_DESCRIPTORS + DESCRIPTORS_OF_A_SIDE * plan.subjects.len() as u64;
    match runner::proc::host::most_open_files() {
        Some(limit) if limit < needed => bail!(usage(anyhow!(
            "{} processes at once need up to {needed} open files, and this shell allows {limit}: raise it by `ulimit -n {needed}`",
            plan.subjects.len()
        ))),
        Some(_) | None => Ok(()),
    }
}
