//! A part of a campaign, by steps and by subjects.

use super::records::record;
use crate::campaign::{Comparison, build, finding, text};
use crate::selection::Selection;
use crate::text::TextOptions;
use crate::verdicts;
use model::block::Block;
use model::record::RunRecord;

#[test]
fn fewer_steps_of_a_campaign_keep_their_own_findings_only() {
    let whole = record();
    let view = build(&whole);
    let of_step = |step: &str| {
        let part =
            Selection { steps: vec![step.to_owned()], subjects: Vec::new() }.of(whole.clone()).unwrap();
        part.of_campaign(view.clone())
    };
    let some = of_step("readrandom");
    assert_eq!(some.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["readrandom"]);
    assert!(some.findings.is_empty() && !view.findings.is_empty());
    assert!(some.groups.iter().all(|group| group.group == some.steps[0].group));
    let other = of_step("overwriteandwait");
    assert_eq!(other.findings, view.findings);
    assert!(other.warnings.iter().any(|warning| warning.id == "selection"));
}

#[test]
fn what_holds_for_all_together_is_judged_on_all_of_them() {
    let record = record();
    let view = build(&record);
    let whole = verdicts::of_campaign(&view);
    assert!(whole.steps.iter().any(|step| step.confirmed) && whole.steps.iter().any(|step| !step.confirmed));
    let of_step = view.steps.iter().map(|step| [vec![step.name.clone()], Vec::new()]);
    let of_subject = view.subjects.iter().skip(1).map(|subject| [Vec::new(), vec![subject.subject.clone()]]);
    for [steps, subjects] in of_step.chain(of_subject) {
        let some = Selection { steps, subjects }.of(record.clone()).unwrap().of_campaign(view.clone());
        assert_eq!(some.run.again, view.run.again, "the whole run is measured again");
        for step in verdicts::of_campaign(&some).steps {
            let same = |other: &&verdicts::StepVerdict<'_>| {
                (other.step, other.candidate) == (step.step, step.candidate)
            };
            let before = whole.steps.iter().find(same).unwrap();
            assert_eq!((step.confirmed, step.verdict), (before.confirmed, before.verdict));
        }
    }
}

#[test]
fn findings_of_configurations_that_are_not_shown_name_them() {
    let record = record();
    let view = build(&record);
    let selection = Selection { steps: Vec::new(), subjects: vec!["rocksdb@8.7.3".to_owned()] };
    let some = selection.of(record).unwrap().of_campaign(view);
    let told: Vec<String> = some.findings.iter().map(|one| finding(one, &some)).collect();
    assert!(told.iter().any(|text| text.contains("+defaults")), "{told:?}");
}

#[test]
fn a_selection_leaves_verdicts_as_they_are_and_refuses_strangers() {
    let record = record();
    let view = build(&record);
    let selection =
        Selection { steps: vec!["readrandom".to_owned()], subjects: vec!["rocksdb@8.7.3".to_owned()] };
    let part = selection.of(record.clone()).unwrap();
    let (selected, narrowed) = (part.of_campaign(view.clone()), &part.record);
    assert_eq!(selected.steps.len(), 1);
    let names: Vec<&str> = selected.subjects.iter().map(|subject| subject.subject.as_str()).collect();
    assert_eq!(names, ["rocksdb@8.4.4", "rocksdb@8.7.3"]);
    // Views, records and labels count the sides alike.
    let sides: Vec<usize> = selected.steps[0].rows.iter().map(|row| row.side).collect();
    assert_eq!(sides, [0, 1]);
    assert_eq!(narrowed.plan.subjects[1].reference.to_string(), "rocksdb@8.7.3");
    let last =
        record.plan.subjects.iter().position(|one| one.reference.to_string() == "rocksdb@8.7.3").unwrap();
    let of_side = |record: &RunRecord, side: usize| -> Vec<u64> {
        let own = |block: &&Block| block.trial.side == side && block.trial.step == "readrandom";
        record.blocks.iter().filter(own).map(|block| block.operations).collect()
    };
    assert_eq!(of_side(narrowed, 1), of_side(&record, last));
    assert!(narrowed.blocks.iter().all(|block| block.trial.side < 2 && block.trial.step == "readrandom"));
    let whole = view.steps.iter().find(|step| step.name == "readrandom").unwrap();
    for one in &selected.steps[0].comparisons {
        assert_eq!(one.side, 1);
        let same = |other: &&Comparison| other.side == last && other.column == one.column;
        let before = whole.comparisons.iter().find(same).unwrap();
        assert_eq!((one.verdict, one.ratio, one.low), (before.verdict, before.ratio, before.low));
    }
    let text = text(&selected, TextOptions { width: 120, colour: false }, true);
    assert!(text.contains("8.7.3"), "{text}");
    let told = part.sentence().unwrap();
    assert!(
        told.contains("1 of 3 steps (readrandom) and 2 of 8 subjects (rocksdb@8.4.4, rocksdb@8.7.3)"),
        "{told}"
    );

    let stranger = Selection { steps: vec!["readrandm".to_owned()], subjects: Vec::new() };
    assert_eq!(
        stranger.of(record.clone()).unwrap_err().to_string(),
        format!("run {} has no step `readrandm`; did you mean `readrandom`?", record.id)
    );
    let all = Selection::default().of(record.clone()).unwrap();
    assert_eq!((all.of_campaign(view.clone()), all.sentence(), &all.record), (view, None, &record));
    let base = Selection { steps: Vec::new(), subjects: vec!["rocksdb@8.4.4".to_owned()] };
    let refused = base.of(record).unwrap_err().to_string();
    assert!(refused.starts_with("`rocksdb@8.4.4` is the base of run "), "{refused}");
}
