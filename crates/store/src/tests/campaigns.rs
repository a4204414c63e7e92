//! Campaigns: seconds, texts of the engine, and going on with what was cut off.

use super::{block, by, plan, shape, started, trial};
use crate::{Error, Resumed, ResumedBy, Retry, Writer};
use model::block::{BlockKind, Latency, Outcome, Second, TrialKey};
use model::counter::Counters;
use model::event::{Moment, RunEvent, RunOutcome};
use model::host::HarnessCost;
use model::plan::{Design, Extension, Purpose};
use model::reason::Reason;
use model::record::{EngineTextRecord, EngineWorkRecord, RawOutputName, RunStatus, engine_text_name};
use model::units::Nanos;
use model::warning::Warning;
use model::wire::EngineText;
use std::collections::BTreeSet;

const RUN: &str = "20261121-120000-0001";

fn opening(purpose: Purpose) -> Vec<RunEvent> {
    vec![started(RUN, 1, purpose)]
}

/// Everything that one trial of a campaign tells, but its end.
fn measured(trial: &TrialKey) -> Vec<RunEvent> {
    let second = |second, operations| RunEvent::SecondMeasured {
        trial: trial.clone(),
        second: Second { second, operations, p50: Nanos(5), p99: Nanos(50), max: Nanos(500) },
    };
    vec![
        RunEvent::BlockMeasured(Box::new(block(trial.clone(), BlockKind::Whole, Counters::new()))),
        second(0, 1000),
        second(1, u64::from(u32::MAX) + 1),
        RunEvent::ShapeRead { trial: trial.clone(), moment: Moment::Settled, shape: shape(3) },
        RunEvent::RawOutput {
            launch: trial.launch,
            side: trial.side,
            name: engine_text_name(&trial.step, Moment::Settled, EngineText::Stats),
            text: format!("stats of {} in {}", trial.step, trial.launch),
        },
    ]
}

fn end(trial: TrialKey, outcome: Outcome) -> RunEvent {
    RunEvent::TrialEnded { trial, outcome, latency: None }
}

/// A visit whose both steps ended.
fn visit(launch: u32, side: usize) -> Vec<RunEvent> {
    let mut events = vec![RunEvent::VisitStarted { launch, side }];
    for step in ["fillseq", "readrandom"] {
        events.extend(measured(&trial(launch, step, side)));
        events.push(end(trial(launch, step, side), Outcome::Done));
    }
    events
}

fn launch(launch: u32) -> RunEvent {
    RunEvent::LaunchStarted { launch, at_us: i64::from(launch) * 10 }
}

fn write(writer: &mut Writer, events: &[RunEvent]) {
    for event in events {
        writer.write(RUN, event).unwrap();
    }
}

/// The visits that are not measured again.
fn done(writer: &mut Writer, retry: Retry) -> Vec<(u32, usize)> {
    writer.resume(RUN, retry, &by()).unwrap().done.into_iter().collect()
}

fn written(events: &[RunEvent]) -> Writer {
    let mut writer = Writer::in_memory().unwrap();
    write(&mut writer, events);
    writer
}

#[test]
fn a_campaign_is_read_back_with_its_seconds_and_texts() {
    let mut events = opening(Purpose::Campaign);
    events.push(launch(1));
    events.extend(visit(1, 0));
    let read =
        RunEvent::RawOutput { launch: 1, side: 0, name: "read/LOG".to_owned(), text: "log".to_owned() };
    events.push(read);
    let writer = written(&events);
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!(run.plan, plan(Purpose::Campaign));
    assert_eq!(run.seconds.len(), 2);
    let seconds = &run.seconds[&trial(1, "readrandom", 0)];
    assert_eq!(
        seconds.iter().map(|it| (it.second, it.operations)).collect::<Vec<_>>(),
        [(0, 1000), (1, u64::from(u32::MAX) + 1)]
    );
    assert_eq!((seconds[1].p50, seconds[1].p99, seconds[1].max), (Nanos(5), Nanos(50), Nanos(500)));
    assert_eq!(run.shapes[0].moment, Moment::Settled);
    // A LOG is no text that the engine was asked for, though its name has a slash too.
    assert_eq!(run.raw_outputs.len(), 3);
    let texts: Vec<&EngineTextRecord> = run.engine_texts.iter().collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(
        (texts[1].what, texts[1].moment, texts[1].text.as_str()),
        (EngineText::Stats, Moment::Settled, "stats of readrandom in 1")
    );
    assert_eq!(texts[1].trial, trial(1, "readrandom", 0));
}

#[test]
fn the_largest_percentile_is_kept_where_there_is_one() {
    let latency = |p9999| Latency {
        count: 7,
        p50: Nanos(1),
        p99: Nanos(2),
        p999: Nanos(3),
        p9999,
        max: Nanos(9),
        histogram: "1c84".to_owned(),
    };
    for p9999 in [None, Some(Nanos(8))] {
        let mut events = opening(Purpose::Compare);
        let key = trial(1, "readrandom", 0);
        let latency = Some(latency(p9999));
        events.push(RunEvent::TrialEnded { trial: key, outcome: Outcome::Done, latency: latency.clone() });
        assert_eq!(written(&events).store().load_run(RUN).unwrap().trials[0].latency, latency);
    }
}

/// One launch is complete; of the second one visit is, one was cut off within a step.
fn stopped() -> Vec<RunEvent> {
    let mut events = opening(Purpose::Campaign);
    events.push(launch(1));
    events.extend(visit(1, 0));
    events.extend(visit(1, 1));
    events.push(RunEvent::LaunchEnded {
        launch: 1,
        took: Nanos(5),
        max_launches: 2,
        active_steps: vec!["fillseq".to_owned()],
        look: None,
    });
    events.push(launch(2));
    events.extend(visit(2, 1));
    events.push(RunEvent::VisitStarted { launch: 2, side: 0 });
    events.extend(measured(&trial(2, "fillseq", 0)));
    events.push(end(
        trial(2, "fillseq", 0),
        Outcome::Failed { reason: Reason::Said("the disk was full".to_owned()) },
    ));
    events.extend(measured(&trial(2, "readrandom", 0)));
    events.push(RunEvent::Ended {
        at_us: 99,
        outcome: RunOutcome::Interrupted,
        cost: HarnessCost::default(),
    });
    events
}

fn stopped_interleaved() -> Vec<RunEvent> {
    let mut events = stopped();
    for event in &mut events {
        if let RunEvent::Started { plan, .. } = event {
            plan.layout.design = Design::Interleaved;
        }
    }
    events
}

#[test]
fn an_interleaved_launch_that_did_not_end_is_void() {
    let mut writer = written(&stopped_interleaved());
    assert_eq!(writer.resume(RUN, Retry::CutOff, &by()).unwrap(), Resumed::default());
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!(run.status, RunStatus::Unfinished);
    let launches: Vec<u32> = run.launches.iter().map(|launch| launch.launch).collect();
    assert_eq!(launches, [1]);
    assert!(run.blocks.iter().all(|block| block.trial.launch == 1) && run.blocks.len() == 4);
    assert!(run.trials.iter().all(|ended| ended.trial.launch == 1) && run.trials.len() == 4);
    // It is drawn again, by its number.
    writer.write(RUN, &launch(2)).unwrap();
}

#[test]
fn an_extension_is_part_of_the_plan_and_a_run_that_is_gone_on_with_keeps_it() {
    let mut writer = written(&stopped_interleaved());
    let extension = Some(Extension { after_launch: 1, budget: Nanos::from_secs(600) });
    for by in [ResumedBy { extension, ..by() }, by()] {
        writer.resume(RUN, Retry::CutOff, &by).unwrap();
        let run = writer.store().load_run(RUN).unwrap();
        assert_eq!((run.status, run.plan.rule.extension), (RunStatus::Unfinished, extension));
    }
    writer.write(RUN, &launch(2)).unwrap();
    writer
        .write(
            RUN,
            &RunEvent::LaunchEnded {
                launch: 2,
                took: Nanos(5),
                max_launches: 48,
                active_steps: Vec::new(),
                look: Some(1.5),
            },
        )
        .unwrap();
    let looks: Vec<Option<f64>> =
        writer.store().load_run(RUN).unwrap().launches.iter().map(|launch| launch.look).collect();
    assert_eq!(looks, [None, Some(1.5)]);
}

#[test]
fn what_was_cut_off_is_put_aside_and_measured_again() {
    let mut writer = written(&stopped());
    let before = writer.store().load_run(RUN).unwrap();
    assert_eq!((before.blocks.len(), before.trials.len()), (8, 7));

    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0), (1, 1), (2, 1)]);
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!((run.status, run.ended_at_us, run.cost), (RunStatus::Unfinished, None, None));
    let of_visit = |run: &model::record::RunRecord| {
        (
            run.blocks.iter().filter(|block| block.trial.launch == 2 && block.trial.side == 0).count(),
            run.trials.iter().filter(|it| it.trial.launch == 2 && it.trial.side == 0).count(),
            run.engine_texts.iter().filter(|it| it.trial.launch == 2 && it.trial.side == 0).count(),
            run.raw_outputs.iter().filter(|it| it.launch == 2 && it.side == 0).count(),
            run.seconds.keys().filter(|it| it.launch == 2 && it.side == 0).count(),
        )
    };
    assert_eq!(of_visit(&run), (0, 0, 0, 0, 0));
    assert_eq!((run.blocks.len(), run.trials.len(), run.shapes.len(), run.seconds.len()), (6, 6, 6, 6));
    assert_eq!(run.launches.iter().map(|it| it.launch).collect::<Vec<_>>(), [1]);
    // Nothing is thrown away, and it says why it does not count.
    let aside =
        "SELECT group_concat(concat_ws('|', launch, step, outcome, reason, reason_json), '; ') FROM trials
                 WHERE put_aside = 1";
    let aside: String = writer.store().connection.query_row(aside, [], |row| row.get(0)).unwrap();
    assert_eq!(
        aside,
        "2|fillseq|skipped|the disk was full; \
         2|readrandom|skipped|cut off; measured again after --resume|\"cut-off\""
    );
    let name = engine_text_name("fillseq", Moment::Settled, EngineText::Stats);
    let text = "SELECT text FROM raw_outputs WHERE put_aside = 1 AND launch = 2 AND side = 0 AND name = ?";
    let text: String = writer.store().connection.query_row(text, [&name], |row| row.get(0)).unwrap();
    assert_eq!(text, "stats of fillseq in 2");
    let output = RawOutputName { launch: 2, side: 0, name };
    assert_eq!(writer.store().raw_output(RUN, &output).unwrap(), Vec::<String>::new());
    assert!(!writer.store().raw_output_names(RUN).unwrap().contains(&output));

    // The launch begins again, the visit has its rows again, and is cut off again.
    write(&mut writer, &[launch(2)]);
    write(&mut writer, &measured(&trial(2, "fillseq", 0)));
    assert_eq!(of_visit(&writer.store().load_run(RUN).unwrap()), (1, 0, 1, 1, 1));
    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0), (1, 1), (2, 1)]);
    write(&mut writer, &[launch(2)]);
    write(&mut writer, &visit(2, 0));
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!(of_visit(&run), (2, 2, 2, 2, 2));
    // Each time that it was cut off is kept, under its own launch and a mark of its own.
    let marks = "SELECT group_concat(concat_ws('|', put_aside, launch, step), ' ') FROM (
                     SELECT * FROM trials WHERE launch = 2 AND side = 0 ORDER BY put_aside, step)";
    let marks: String = writer.store().connection.query_row(marks, [], |row| row.get(0)).unwrap();
    assert_eq!(marks, "0|2|fillseq 0|2|readrandom 1|2|fillseq 1|2|readrandom 2|2|fillseq");
    let launches = "SELECT group_concat(concat_ws('|', put_aside, launch), ' ') FROM launches";
    let launches: String = writer.store().connection.query_row(launches, [], |row| row.get(0)).unwrap();
    assert_eq!(launches, "0|1 0|2 1|2 2|2");
    assert_eq!((run.blocks.len(), run.trials.len(), run.launches.len()), (8, 8, 2));
    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0), (1, 1), (2, 0), (2, 1)]);
    assert_eq!(writer.store().load_run(RUN).unwrap(), run);
}

#[test]
fn a_visit_whose_steps_failed_is_complete_and_one_that_lacks_a_step_is_not() {
    let mut events = opening(Purpose::Campaign);
    events.push(launch(1));
    for step in ["fillseq", "readrandom"] {
        events.push(end(
            trial(1, step, 0),
            Outcome::Failed { reason: Reason::Said("no such option".to_owned()) },
        ));
    }
    events.push(end(trial(1, "fillseq", 1), Outcome::Done));
    // A step that makes the tree for others and is not judged itself never has an outcome.
    events.push(RunEvent::BlockMeasured(Box::new(block(
        trial(1, "helper", 0),
        BlockKind::Whole,
        Counters::new(),
    ))));
    let mut writer = written(&events);
    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0)]);
    assert_eq!(writer.store().load_run(RUN).unwrap().trials.len(), 2);
}

#[test]
fn visits_in_which_a_step_failed_are_measured_again_if_asked_for() {
    let mut events = opening(Purpose::Campaign);
    events.push(launch(1));
    events.extend(visit(1, 0));
    events.push(RunEvent::VisitStarted { launch: 1, side: 1 });
    events.extend(measured(&trial(1, "fillseq", 1)));
    events.push(end(
        trial(1, "fillseq", 1),
        Outcome::Failed { reason: Reason::Said("killed for memory".to_owned()) },
    ));
    events.push(end(
        trial(1, "readrandom", 1),
        Outcome::Skipped { reason: Reason::FailedBefore { step: "fillseq".to_owned() } },
    ));
    events.push(RunEvent::Warned { step: None, warning: Warning::DebugBuild });
    let mut writer = written(&events);
    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0), (1, 1)]);
    let before = writer.store().load_run(RUN).unwrap();
    let resumed = writer.resume(RUN, Retry::Failed, &by()).unwrap();
    assert_eq!(resumed.done, BTreeSet::from([(1, 0)]));
    assert_eq!(resumed.again, BTreeSet::from([(1, 1)]));
    // What the visit has counts until it begins again: the command may be stopped before that.
    assert_eq!(writer.store().load_run(RUN).unwrap(), before);
    assert_eq!(before.warnings.len(), 1);
    write(&mut writer, &[launch(1), RunEvent::VisitStarted { launch: 1, side: 1 }]);
    let run = writer.store().load_run(RUN).unwrap();
    assert!(
        run.trials.iter().all(|ended| ended.trial.side == 0) && run.trials.len() == 2,
        "{:?}",
        run.trials
    );
    assert_eq!(run.warnings, [], "it was of the visit that is measured again");
    // The launch that failed is kept, with its reason.
    let aside = "SELECT group_concat(concat_ws('|', step, reason), '; ') FROM trials WHERE put_aside > 0";
    let aside: String = writer.store().connection.query_row(aside, [], |row| row.get(0)).unwrap();
    assert_eq!(aside, "fillseq|killed for memory; readrandom|fillseq failed before it");
    let resumes = "SELECT group_concat(concat_ws('|', at_us, boot_id, tool_version), ' ') FROM resumes
                   JOIN hosts USING (host_key)";
    let resumes: String = writer.store().connection.query_row(resumes, [], |row| row.get(0)).unwrap();
    assert_eq!(resumes, "100|another|0.2.0 100|another|0.2.0");
}

#[test]
fn a_step_that_a_release_lacks_is_not_tried_again() {
    let mut events = opening(Purpose::Campaign);
    events.push(launch(1));
    let reason = Reason::NotSupported("no such call".to_owned());
    for (side, other) in
        [(0, Outcome::Done), (1, Outcome::Failed { reason: Reason::Said("killed".to_owned()) })]
    {
        events.push(end(trial(1, "fillseq", side), Outcome::Failed { reason: reason.clone() }));
        events.push(end(trial(1, "readrandom", side), other));
    }
    let mut writer = written(&events);
    assert_eq!(done(&mut writer, Retry::CutOff), [(1, 0), (1, 1)]);
    assert_eq!(done(&mut writer, Retry::Failed), [(1, 0)]);
}

#[test]
fn a_run_that_was_not_begun_cannot_be_gone_on_with() {
    let error = written(&opening(Purpose::Campaign)).resume("other", Retry::CutOff, &by()).unwrap_err();
    assert!(matches!(error, Error::RunNotBegun { .. }), "{error}");
}

#[test]
fn what_logs_tell_of_an_engine_is_loaded_with_its_launch_and_side() {
    let mut writer = Writer::in_memory().unwrap();
    write(&mut writer, &opening(Purpose::Campaign));
    write(&mut writer, &[launch(1)]);
    let output = |name: &str, text: &str| RunEvent::RawOutput {
        launch: 1,
        side: 1,
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let outputs = [
        output("write/engine-work", "known 1 2"),
        output("write/LOG", "text"),
        output("write/engine-work", "known 3 4"),
        output("write/some-engine-work", "of another"),
    ];
    write(&mut writer, &outputs);
    let found = writer.store().load_run(RUN).unwrap().engine_works;
    let work = |text: &str| EngineWorkRecord { launch: 1, side: 1, text: text.to_owned() };
    assert_eq!(found, [work("known 1 2"), work("known 3 4")]);
}
