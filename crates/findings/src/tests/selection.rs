//! A part of a run, by steps and by subjects: it finds no more than the whole.

use super::{case, step, view_of};
use crate::comparison::Comparison;
use crate::selection::{Part, Selection};
use model::block::Block;
use model::record::RunRecord;
use model::workload::Group;
use testing::compared::{self, Truth};
use testing::rounds;

fn part(steps: &[&str], subjects: &[&str], whole: &RunRecord) -> Part {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Selection { steps: owned(steps), subjects: owned(subjects) }.of(whole.clone()).unwrap()
}

fn selected(view: &Comparison) -> String {
    view.warnings.iter().find(|one| one.warning.id() == "selection").unwrap().warning.to_string()
}

#[test]
fn fewer_steps_find_no_more_and_say_that_they_are_fewer() {
    let whole = compared::record(&Truth { write: 1.0, read: 0.95 });
    let view = view_of(&whole);
    let readrandom = part(&["readrandom"], &[], &whole);
    let some = readrandom.of_comparison(view.clone());
    assert_eq!(some.steps, view.steps[1..]);
    assert!(selected(&some).starts_with("Shown: 1 of 2 steps (readrandom); "), "{}", selected(&some));
    assert_eq!((view.trials.done, some.trials.done), (56, 28));
    assert!(readrandom.record.blocks.iter().all(|block| block.trial.step == "readrandom"));
    let all = part(&["overwrite-after-fill", "readrandom"], &[], &whole);
    assert_eq!((all.of_comparison(view.clone()), all.record), (view, whole));
}

#[test]
fn a_group_is_shown_with_all_its_steps_or_not_at_all() {
    let mut record = rounds::record();
    record.plan.workload.steps[1].group = Group::Writes;
    let view = view_of(&record);
    let candidates: Vec<usize> = view.groups.iter().map(|group| group.side).collect();
    assert_eq!(candidates, [1, 2, 3, 4, 5, 6, 7]);
    let only = |steps: &[&str]| part(steps, &[], &record).of_comparison(view.clone()).groups;
    assert_eq!(only(&["readrandom", "overwriteandwait"]), view.groups);
    assert_eq!(only(&["fillseq", "readrandom"]), []);
}

#[test]
fn fewer_steps_of_rounds_keep_their_own_changes_only() {
    let whole = rounds::record();
    let view = view_of(&whole);
    let of_step = |step: &str| part(&[step], &[], &whole).of_comparison(view.clone());
    let some = of_step("readrandom");
    assert_eq!(some.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["readrandom"]);
    assert!(some.changes.is_empty() && !view.changes.is_empty());
    assert!(some.groups.iter().all(|group| group.group == some.steps[0].group));
    let other = of_step("overwriteandwait");
    assert_eq!(other.changes, view.changes);
    assert!(selected(&other).contains("1 of 3 steps (overwriteandwait)"), "{}", selected(&other));
}

#[test]
fn fewer_steps_of_rounds_keep_their_own_trends_only() {
    let whole = rounds::with_steady_loss();
    let trends = |step: &str| part(&[step], &[], &whole).of_comparison(view_of(&whole)).trends;
    assert_eq!(trends("readrandom"), view_of(&whole).trends);
    assert_eq!(trends("overwriteandwait"), []);
}

#[test]
fn what_holds_for_all_together_is_judged_on_all_of_them() {
    let record = rounds::record();
    let whole = view_of(&record);
    assert!(whole.cases().any(|(_, case)| case.confirmed) && whole.cases().any(|(_, case)| !case.confirmed));
    let of_steps = whole.steps.iter().map(|step| part(&[step.name.as_str()], &[], &record));
    let of_subjects = whole.candidates().iter().map(|one| part(&[], &[one.subject.as_str()], &record));
    for part in of_steps.chain(of_subjects) {
        let some = part.of_comparison(whole.clone());
        assert_eq!(some.run.again, whole.run.again, "the whole run is measured again");
        for (step, now) in some.cases() {
            let side = whole.subjects.iter().position(|one| one.subject == some.name(now.side)).unwrap();
            let before = case(&whole, &step.name, side);
            assert_eq!((now.confirmed, now.verdict), (before.confirmed, before.verdict));
        }
    }
}

#[test]
fn a_selection_leaves_verdicts_as_they_are_and_numbers_the_sides_anew() {
    let record = rounds::record();
    let whole = view_of(&record);
    let part = part(&["readrandom"], &["rocksdb@8.7.3"], &record);
    let (some, narrowed) = (part.of_comparison(whole.clone()), &part.record);
    assert_eq!(some.steps.len(), 1);
    let names: Vec<&str> = some.subjects.iter().map(|subject| subject.subject.as_str()).collect();
    assert_eq!(names, ["rocksdb@8.4.4", "rocksdb@8.7.3"]);
    // Views, records and labels count the sides alike.
    let sides: Vec<usize> = some.steps[0].rows.iter().map(|row| row.side).collect();
    assert_eq!((sides, some.steps[0].cases.len(), some.steps[0].cases[0].side), (vec![0, 1], 1, 1));
    assert_eq!(narrowed.plan.subjects[1].reference.to_string(), "rocksdb@8.7.3");
    let last = whole.subjects.iter().position(|one| one.subject == "rocksdb@8.7.3").unwrap();
    let of_side = |record: &RunRecord, side: usize| -> Vec<u64> {
        let own = |block: &&Block| block.trial.side == side && block.trial.step == "readrandom";
        record.blocks.iter().filter(own).map(|block| block.operations).collect()
    };
    assert_eq!(of_side(narrowed, 1), of_side(&record, last));
    assert!(narrowed.blocks.iter().all(|block| block.trial.side < 2 && block.trial.step == "readrandom"));
    let (now, before) = (case(&some, "readrandom", 1), case(&whole, "readrandom", last));
    assert_eq!((now.verdict, &now.metrics), (before.verdict, &before.metrics));
    assert_eq!(step(&some, "readrandom").columns, step(&whole, "readrandom").columns);
    let told = selected(&some);
    let parts = "1 of 3 steps (readrandom) and 2 of 8 subjects (rocksdb@8.4.4, rocksdb@8.7.3)";
    assert!(told.contains(parts), "{told}");
}

#[test]
fn a_selection_refuses_strangers_and_the_base_alone() {
    let record = rounds::record();
    let refused = |steps: &[&str], subjects: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let selection = Selection { steps: owned(steps), subjects: owned(subjects) };
        selection.of(record.clone()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&["readrandm"], &[]),
        format!("run {} has no step `readrandm`; did you mean `readrandom`?", record.id)
    );
    let base = refused(&[], &["rocksdb@8.4.4"]);
    assert!(base.starts_with("`rocksdb@8.4.4` is the base of run "), "{base}");
    let (all, whole) = (Selection::default().of(record.clone()).unwrap(), view_of(&record));
    assert_eq!((all.of_comparison(whole.clone()), all.record), (whole, record));
}
