//! Runs of one plan in rounds on one host, one after another: together they are one run with the rounds of all. A campaign in Slurm has several
//! jobs on a node, and a host counts once, however many parts of the campaign it got.
//!
//! Interleaved runs are not joined: each has stopped at a look of its own, and what was decided by that would be decided again from more launches.

use crate::conditions::RunConditions;
use model::block::TrialKey;
use model::event::RunOutcome;
use model::host::Host;
use model::plan::{Design, Plan, Subject};
use model::record::{RunRecord, RunStatus};
use model::warning::Warning;

/// What decides whether two runs are joined.
pub type Head<'a> = (&'a Plan, &'a Host);

/// The places of runs that are joined, each with those that come behind it. A run that is joined with none stands by itself.
pub fn groups(heads: &[Head<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, head) in heads.iter().enumerate() {
        match groups.iter_mut().find(|group| are_alike(heads[group[0]], *head)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// The same plan, on the same host as it was, by the same binaries. Only the seed may be another one, and the number of rounds.
fn are_alike((one, host): Head<'_>, (other, other_host): Head<'_>) -> bool {
    let design = |plan: &Plan| plan.layout.design;
    if (design(one), design(other)) != (Design::Rounds, Design::Rounds)
        || !host.changes(other_host).is_empty()
    {
        return false;
    }
    let subjects = |plan: &Plan| -> Vec<_> {
        let of = |subject: &Subject| {
            (subject.reference.to_string(), subject.build.sha256.clone(), subject.options.clone())
        };
        plan.subjects.iter().map(of).collect()
    };
    one.workload.name == other.workload.name
        && one.layout.steps_of_other_run == other.layout.steps_of_other_run
        && subjects(one) == subjects(other)
        && RunConditions::of(one, host, None)
            .apart_but_for_hosts(&RunConditions::of(other, other_host, None))
            .is_empty()
}

/// One run of all of them, with the id of the first; absent without any. It is for what is judged: raw output is found in the runs themselves.
pub fn joined(records: Vec<RunRecord>) -> Option<RunRecord> {
    let mut records = records.into_iter();
    let mut all = records.next()?;
    all.raw_outputs = Vec::new();
    for record in records {
        append(&mut all, record);
    }
    Some(all)
}

/// The rounds of the other one come behind those that are there.
fn append(all: &mut RunRecord, mut other: RunRecord) {
    renumber(&mut other, all.plan.layout.rounds, images(all).max().map_or(0, |last| last + 1));
    all.plan.layout.rounds += other.plan.layout.rounds;
    if all.status == RunStatus::Ended(RunOutcome::Done) {
        all.status = other.status;
    }
    all.started_at_us = all.started_at_us.min(other.started_at_us);
    all.ended_at_us = all.ended_at_us.zip(other.ended_at_us).map(|(one, other)| one.max(other));
    // What measuring cost is that of a run.
    all.cost = None;
    all.launches.append(&mut other.launches);
    all.images.append(&mut other.images);
    all.blocks.append(&mut other.blocks);
    all.trials.append(&mut other.trials);
    all.shapes.append(&mut other.shapes);
    all.step_exits.append(&mut other.step_exits);
    all.engine_texts.append(&mut other.engine_texts);
    all.engine_works.append(&mut other.engine_works);
    all.seconds.append(&mut other.seconds);
    for warning in other.warnings {
        if !all.warnings.contains(&warning) {
            all.warnings.push(warning);
        }
    }
}

fn images(record: &RunRecord) -> impl Iterator<Item = u32> {
    record.blocks.iter().map(|block| block.image).chain(record.images.iter().map(|image| image.image))
}

/// Gives all rounds and images of a run numbers behind so many others.
fn renumber(record: &mut RunRecord, rounds: u32, images: u32) {
    let trials = record.blocks.iter_mut().map(|block| &mut block.trial.launch);
    let trials = trials.chain(record.trials.iter_mut().map(|trial| &mut trial.trial.launch));
    let trials = trials.chain(record.shapes.iter_mut().map(|shape| &mut shape.trial.launch));
    let trials = trials.chain(record.engine_texts.iter_mut().map(|text| &mut text.trial.launch));
    let launches = record.launches.iter_mut().map(|launch| &mut launch.launch);
    let launches = launches.chain(record.step_exits.iter_mut().map(|exit| &mut exit.launch));
    let launches = launches.chain(record.engine_works.iter_mut().map(|work| &mut work.launch));
    let warned = record.warnings.iter_mut().filter_map(|warning| match &mut warning.warning {
        Warning::FailedOperations { launch: round, .. } | Warning::BehindItsRate { round, .. } => Some(round),
        _ => None,
    });
    trials.chain(launches).chain(warned).for_each(|round| *round += rounds);
    for image in &mut record.images {
        image.launch += rounds;
        image.image += images;
    }
    record.blocks.iter_mut().for_each(|block| block.image += images);
    let later = |key: TrialKey| TrialKey { launch: key.launch + rounds, ..key };
    record.seconds =
        std::mem::take(&mut record.seconds).into_iter().map(|(key, of)| (later(key), of)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;
    use crate::judge::Evidence;
    use model::record::RunWarning;

    fn heads(records: &[RunRecord]) -> Vec<Head<'_>> {
        records.iter().map(|record| (&record.plan, &record.host)).collect()
    }

    fn on(host: &str) -> RunRecord {
        let mut record = testing::rounds::record();
        record.host.name = host.to_owned();
        record
    }

    #[test]
    fn rounds_of_one_host_are_joined_and_what_differs_is_not() {
        let mut updated = on("a");
        updated.host.kernel = "6.99".to_owned();
        let mut rebuilt = on("a");
        rebuilt.plan.subjects[1].build.sha256 = "ef".repeat(32);
        let mut interleaved = on("a");
        interleaved.plan.layout.design = Design::Interleaved;
        let mut later = on("a");
        later.plan.seed += 1;
        let records = [on("a"), on("b"), later, updated, rebuilt, interleaved.clone(), interleaved];
        assert_eq!(groups(&heads(&records)), [vec![0, 2], vec![1], vec![3], vec![4], vec![5], vec![6]]);
    }

    #[test]
    fn a_joined_run_has_every_trial_of_each() {
        let one = on("a");
        let (rounds, trials, blocks) = (one.plan.layout.rounds, one.trials.len(), one.blocks.len());
        let all = joined(vec![one.clone(), one.clone(), one.clone()]).unwrap();
        assert_eq!(
            (all.plan.layout.rounds, all.trials.len(), all.blocks.len()),
            (3 * rounds, 3 * trials, 3 * blocks)
        );
        let mut launches: Vec<u32> = all.launches.iter().map(|launch| launch.launch).collect();
        launches.dedup();
        assert_eq!(launches, (1..=3 * rounds).collect::<Vec<_>>());
        let mut keys: Vec<&TrialKey> = all.trials.iter().map(|trial| &trial.trial).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 3 * trials, "two trials have one key");
        let behind = |round| RunWarning {
            step: None,
            warning: Warning::BehindItsRate {
                subject: "s".to_owned(),
                step: "s".to_owned(),
                round,
                achieved: 1.0,
                rate: 2.0,
            },
        };
        let warned = RunRecord { warnings: vec![behind(1)], ..one.clone() };
        let warnings = joined(vec![warned.clone(), warned]).map(|record| record.warnings);
        assert_eq!(warnings, Some(vec![behind(1), behind(rounds + 1)]), "each says which round it is of");
        let view = Comparison::of(&all, &Evidence::default());
        assert_eq!(view.run.launches, 3 * rounds);
        assert_eq!(joined(vec![one.clone()]).map(|record| record.trials), Some(one.trials));
        assert_eq!(joined(Vec::new()), None);
    }
}
