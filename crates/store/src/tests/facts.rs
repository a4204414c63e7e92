//! Warnings and reasons: with their data where the store has it, as sentences where it has not.

use super::{RUN, started, trial, written};
use crate::Writer;
use model::block::Outcome;
use model::event::RunEvent;
use model::plan::Purpose;
use model::reason::{LeaveReason, Reason};
use model::record::{RunRecord, RunWarning, StepExit};
use model::warning::{ApiCall, Warning};
use std::collections::BTreeMap;

fn warnings() -> Vec<RunWarning> {
    let call = |subject: &str, function: &str| ApiCall {
        subject: subject.to_owned(),
        function: function.to_owned(),
    };
    let of_step = |warning| RunWarning { step: Some("readrandom".to_owned()), warning };
    vec![
        RunWarning { step: None, warning: Warning::BusyHost { load_1m: 0.1 + 0.2, cpus: 8 } },
        RunWarning { step: None, warning: Warning::VirtualMachine },
        of_step(Warning::ApiDiffers { calls: vec![call("b", "wait")], base: call("a", "poll") }),
        of_step(Warning::Retries {
            subject: "b".to_owned(),
            kinds: BTreeMap::from([("deadlock".to_owned(), u64::MAX)]),
        }),
        of_step(Warning::Recorded { id: "of-a-later-day".to_owned(), text: "nobody knows".to_owned() }),
    ]
}

fn reasons() -> Vec<Outcome> {
    let said = Reason::Said("signal 11".to_owned());
    vec![
        Outcome::Failed { reason: said.clone() },
        Outcome::Skipped { reason: Reason::NotTriedAgain { reason: Box::new(said) } },
        Outcome::Skipped { reason: Reason::LaunchFailed { step: None } },
        Outcome::Skipped { reason: Reason::BudgetUsedUp },
    ]
}

fn exits() -> Vec<LeaveReason> {
    let reason = Reason::FailedBefore { step: "fillseq".to_owned() };
    vec![
        LeaveReason::Decided,
        LeaveReason::Dropped { affordable: 1, least: 11 },
        LeaveReason::PilotFailed { reason },
        LeaveReason::Recorded("of a later day".to_owned()),
    ]
}

fn with_facts() -> Writer {
    let mut events = vec![started(RUN, 1, Purpose::Compare)];
    events.extend(
        warnings().into_iter().map(|RunWarning { step, warning }| RunEvent::Warned { step, warning }),
    );
    events.extend((1..).zip(reasons()).map(|(launch, outcome)| RunEvent::TrialEnded {
        trial: trial(launch, "readrandom", 0),
        outcome,
        latency: None,
    }));
    events.extend((1..).zip(exits()).map(|(launch, reason)| RunEvent::StepLeft {
        step: "readrandom".to_owned(),
        launch,
        reason,
    }));
    written(&events)
}

/// What a run says, as sentences.
fn said(run: &RunRecord) -> Vec<String> {
    let reason = |outcome: &Outcome| match outcome {
        Outcome::Done => String::new(),
        Outcome::Failed { reason } | Outcome::Skipped { reason } => reason.to_string(),
    };
    let warnings = run.warnings.iter().map(|one| format!("{}: {}", one.warning.id(), one.warning));
    let trials = run.trials.iter().map(|ended| reason(&ended.outcome));
    warnings.chain(trials).chain(run.step_exits.iter().map(|exit| exit.reason.to_string())).collect()
}

#[test]
fn warnings_and_reasons_are_read_back_with_their_data() {
    let run = with_facts().store().load_run(RUN).unwrap();
    assert_eq!(run.warnings, warnings());
    assert_eq!(run.trials.iter().map(|ended| ended.outcome.clone()).collect::<Vec<_>>(), reasons());
    assert_eq!(run.step_exits.iter().map(|exit| exit.reason.clone()).collect::<Vec<_>>(), exits());
}

#[test]
fn a_run_in_progress_has_the_same_warnings_and_exits() {
    let writer = with_facts();
    let head = writer.store().run_head(RUN).unwrap().unwrap();
    let live = writer.store().live(&head).unwrap();
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!((live.warnings, live.exits), (run.warnings, run.step_exits));
}

#[test]
fn rows_without_data_and_with_data_of_a_later_version_are_read_as_their_sentences() {
    let writer = with_facts();
    let known = said(&writer.store().load_run(RUN).unwrap());
    for data in ["NULL", "'{\"kind\":\"of-a-later-version\"}'"] {
        let forget = format!(
            "UPDATE warnings SET warning_json = {data}; UPDATE trials SET reason_json = {data};
             UPDATE step_exits SET reason_json = {data};"
        );
        writer.store().connection.execute_batch(&forget).unwrap();
        let run = writer.store().load_run(RUN).unwrap();
        assert_eq!(said(&run), known);
        assert!(run.warnings.iter().all(|one| matches!(one.warning, Warning::Recorded { .. })));
        assert_eq!(
            run.trials[2].outcome,
            Outcome::Skipped { reason: Reason::Said("the start of the launch failed".to_owned()) }
        );
        let [StepExit { reason: decided, .. }, StepExit { reason: dropped, .. }, ..] = &run.step_exits[..]
        else {
            panic!("{:?}", run.step_exits)
        };
        assert_eq!(*decided, LeaveReason::Decided);
        assert!(matches!(dropped, LeaveReason::Recorded(text) if text.starts_with("dropped: ")));
    }
}
