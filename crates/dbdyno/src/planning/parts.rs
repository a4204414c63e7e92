//! Which steps of a workload are measured by which design. A plan states one for all of them, or each step gets the one that suits it:
//! then a workload may be two runs, one interleaved and one in rounds.

use super::interleaved::LEAST_AT_ONCE;
use super::{DEFAULT_BUDGET, interleaved, memory_of, sides_that_fit};
use model::figures::{and_list, count};
use model::plan::Design;
use model::plan_file::PlanFile;
use model::units::Nanos;
use model::workload::{Step, Workload};

/// What is a run of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub design: Design,
    /// Names of the steps to judge.
    pub steps: Vec<String>,
    /// Absent if it lasts as long as it lasts.
    pub budget: Option<Nanos>,
    /// Those of the other part of the workload; empty if there is none.
    pub other_steps: Vec<String>,
}

/// The parts of a workload, and why no step is interleaved if that is so for a reason that lies in no step.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    pub parts: Vec<Part>,
    pub all_in_rounds: Option<String>,
}

impl Parts {
    fn one(design: Design, steps: Vec<String>, budget: Option<Nanos>) -> Parts {
        Parts { parts: vec![Part { design, steps, budget, other_steps: Vec::new() }], all_in_rounds: None }
    }
}

/// The parts of a workload on a host with so much memory.
///
/// # Errors
/// A step that is named and that the design of the plan cannot measure.
pub fn of(file: &PlanFile, workload: &Workload, memory_bytes: u64) -> anyhow::Result<Parts> {
    let named = workload.names_of(&file.steps);
    let budget = file.budget_seconds.map(Nanos::from_secs);
    let in_rounds = || steps_of_rounds(workload, &named);
    match file.design {
        Some(Design::Interleaved) => {
            let steps = interleaved::chosen_steps(workload, &named)?;
            return Ok(Parts::one(Design::Interleaved, steps, budget));
        }
        Some(design) => return Ok(Parts::one(design, in_rounds(), budget)),
        None => {}
    }
    if let Some(obstacle) = obstacle(file, workload, memory_bytes) {
        return Ok(Parts {
            all_in_rounds: Some(obstacle),
            ..Parts::one(Design::Rounds, in_rounds(), budget)
        });
    }
    // Steps that only prepare for others are measured if they are asked for.
    let judged = |step: &&Step| match named.is_empty() {
        true => !step.helper && !step.only_settles(),
        false => named.contains(&step.name),
    };
    let (for_rounds, for_blocks): (Vec<&Step>, Vec<&Step>) =
        workload.steps.iter().filter(judged).partition(|step| suits_rounds(workload, step));
    let names = |steps: Vec<&Step>| steps.into_iter().map(|step| step.name.clone()).collect::<Vec<_>>();
    let of_blocks = budget.or(workload.budget).unwrap_or(DEFAULT_BUDGET);
    Ok(match (for_blocks.is_empty(), for_rounds.is_empty()) {
        (true, _) => Parts::one(Design::Rounds, in_rounds(), budget),
        (false, true) => Parts::one(Design::Interleaved, names(for_blocks), Some(of_blocks)),
        (false, false) => {
            let half = |budget: Nanos| Nanos(budget.0 / 2);
            let (of_blocks, of_rounds) = (Some(budget.map_or(of_blocks, half)), budget.map(half));
            let (for_blocks, for_rounds) = (names(for_blocks), names(for_rounds));
            let part = |design, steps: &Vec<String>, other_steps: &Vec<String>, budget| Part {
                design,
                steps: steps.clone(),
                budget,
                other_steps: other_steps.clone(),
            };
            let parts = vec![
                part(Design::Interleaved, &for_blocks, &for_rounds, of_blocks),
                part(Design::Rounds, &for_rounds, &for_blocks, of_rounds),
            ];
            Parts { parts, all_in_rounds: None }
        }
    })
}

/// What runs concurrently with a step is measured with it.
fn suits_rounds(workload: &Workload, step: &Step) -> bool {
    workload.main_of(step).suits_rounds()
}

/// Those named, or all that measure something.
fn steps_of_rounds(workload: &Workload, named: &[String]) -> Vec<String> {
    let chosen =
        |step: &&Step| if named.is_empty() { !step.only_settles() } else { named.contains(&step.name) };
    workload.steps.iter().filter(chosen).map(|step| step.name.clone()).collect()
}

/// Why the subjects of a plan cannot all be there at the same time.
fn obstacle(file: &PlanFile, workload: &Workload, memory_bytes: u64) -> Option<String> {
    if file.subjects.len() == 1 {
        return Some("there is one subject".to_owned());
    }
    let set: Vec<String> = file.one_at_a_time().map(str::to_owned).collect();
    if !set.is_empty() {
        let verb = if set.len() == 1 { "applies" } else { "apply" };
        return Some(format!("{} {verb} to one subject at a time", and_list(&set)));
    }
    let candidates = file.subjects.len() - 1;
    let least = candidates.min(LEAST_AT_ONCE) + file.interleaved.base_processes_of(candidates);
    (sides_that_fit(workload, &workload.options, memory_bytes) < least).then(|| {
        format!(
            "{} at once would need about {:.1} GB of memory, more than 80 % of the {:.1} GB here",
            count(least as u64, "process", "processes"),
            memory_of(workload, &workload.options) as f64 * least as f64 / 1e9,
            memory_bytes as f64 / 1e9
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources;

    const MEMORY: u64 = 24_000_000_000;

    fn parts(workload: &str, more: &str, memory_bytes: u64) -> anyhow::Result<Parts> {
        let text = format!(
            "name = \"n\"\nworkloads = [\"{workload}\"]\nsubjects = [\"x@1\", \"x@2\", \"x@3\"]\n{more}\n"
        );
        let file = PlanFile::parse(&text, "n.toml")?;
        of(&file, &resources::workload(workload)?.scaled(&file.scale), memory_bytes)
    }

    fn designs(parts: &Parts) -> Vec<(Design, usize, Option<u64>)> {
        let one =
            |part: &Part| (part.design, part.steps.len(), part.budget.map(|budget| budget.0 / 1_000_000_000));
        parts.parts.iter().map(one).collect()
    }

    #[test]
    fn each_step_gets_the_design_that_suits_it() {
        let both = parts("ibench.quick", "budget_minutes = 50", MEMORY).unwrap();
        // l.i0, l.x, l.i1 and l.i2, the latter two with their deletes.
        assert_eq!(designs(&both), [(Design::Interleaved, 18, Some(1500)), (Design::Rounds, 6, Some(1500))]);
        assert_eq!(both.parts[0].other_steps, both.parts[1].steps);
        assert_eq!(both.parts[1].other_steps, both.parts[0].steps);
        assert!(
            both.parts[1].steps.contains(&"l.i1.deletes".to_owned()),
            "a step takes what runs concurrently with it along"
        );
        let unlimited = parts("ibench.quick", "", MEMORY).unwrap();
        assert_eq!(designs(&unlimited), [(Design::Interleaved, 18, Some(840)), (Design::Rounds, 6, None)]);
    }

    #[test]
    fn one_design_is_one_run() {
        let quick = parts("quick", "", MEMORY).unwrap();
        assert_eq!(designs(&quick), [(Design::Interleaved, 5, Some(300))]);
        assert!(quick.parts[0].other_steps.is_empty());
        let stated = parts("ibench.quick", "design = \"rounds\"", MEMORY).unwrap();
        assert_eq!((stated.parts.len(), stated.parts[0].design), (1, Design::Rounds));
        let writes = parts("ibench.quick", "steps = [\"l.i1\", \"l.i2\"]", MEMORY).unwrap();
        assert_eq!(designs(&writes), [(Design::Rounds, 2, None)]);
        let error = parts("ibench.quick", "design = \"interleaved\"\nsteps = [\"l.x\"]", MEMORY).unwrap_err();
        assert!(error.to_string().contains("done in one go"), "{error}");
    }

    #[test]
    fn a_step_that_begins_cold_is_measured_in_rounds_or_not_at_all() {
        let both = parts("sysbench-cold.quick", "", MEMORY).unwrap();
        assert_eq!(designs(&both), [(Design::Interleaved, 5, Some(300)), (Design::Rounds, 5, None)]);
        assert!(both.parts[1].steps.iter().all(|step| step.contains(".cold")), "{:?}", both.parts[1].steps);
        let interleaved = "design = \"interleaved\"";
        assert_eq!(parts("sysbench-cold.quick", interleaved, MEMORY).unwrap().parts[0].steps.len(), 5);
        let named = format!("{interleaved}\nsteps = [\"point-query.cold_range=100\"]");
        let error = parts("sysbench-cold.quick", &named, MEMORY).unwrap_err().to_string();
        let expected =
            "begins with a fresh process and its files out of the page cache and cannot be cut into blocks";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn subjects_that_cannot_be_there_at_once_are_measured_in_rounds() {
        let check = |more: &str, memory_bytes: u64, expected: &str| {
            let parts = parts("rocksdb.byrx", more, memory_bytes).unwrap();
            assert_eq!((parts.parts.len(), parts.parts[0].design), (1, Design::Rounds));
            let reason = parts.all_in_rounds.unwrap();
            assert!(reason.contains(expected), "{reason}");
        };
        check("", MEMORY, "4 processes at once would need about");
        check(
            "scale = { keys = 1000 }\nmemory_limit = \"1 GB\"",
            MEMORY,
            "memory_limit applies to one subject",
        );
        let fits = parts("rocksdb.byrx", "scale = { keys = 1000 }", MEMORY).unwrap();
        assert_eq!((fits.parts.len(), fits.all_in_rounds), (2, None));
        assert_eq!(fits.parts[1].steps, ["overwriteandwait"]);
    }
}
