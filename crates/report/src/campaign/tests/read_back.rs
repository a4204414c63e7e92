//! Formats for other programs, made of campaigns.

use super::records::record;
use crate::campaign::{CampaignView, build, csv, json};
use crate::separated::number;
use crate::verdicts::{self, Repeats};
use crate::{benchstat, command, export, gate, junit, openmetrics, post, step_summary};
use gate::Passage;
use model::block::TrialKey;
use model::event::RunOutcome;
use model::plan_file::PlanFile;
use model::record::RunStatus;
use model::verdict::Verdict;
use std::collections::BTreeMap;

#[test]
fn post_of_a_campaign() {
    let record = record();
    insta::assert_snapshot!(post::of_campaign(&build(&record), &record, &[]));
}

#[test]
fn step_summary_of_a_campaign() {
    let text = step_summary::of_campaign(&build(&record()), step_summary::MOST_BYTES);
    insta::assert_snapshot!(text.split("<details>").next().unwrap());
}

#[test]
fn benchstat_of_a_campaign() {
    let mut view = build(&record());
    view.subjects.truncate(3);
    insta::assert_snapshot!(benchstat::of_campaign(&view));
}

/// The verdicts that hold for the candidates of a step hold for all steps too, or are not confirmed.
#[test]
fn verdicts_of_a_campaign_are_confirmed_over_all_steps() {
    let view = build(&record());
    let run = verdicts::of_campaign(&view);
    assert_eq!(run.repeats, Repeats::Rounds);
    assert!(run.steps.iter().all(|step| step.step != "fillseq"), "a helper is judged");
    assert_eq!(run.steps.len(), 2 * (view.subjects.len() - 1));
    for step in &run.steps {
        let of_view = view.steps.iter().find(|known| known.name == step.step).unwrap();
        let decides = of_view.comparisons.iter().find(|one| one.decides && one.side == step.side).unwrap();
        assert_eq!(step.verdict, decides.verdict);
        assert_eq!((step.deciding.ratio, step.deciding.low), (decides.ratio, decides.low));
        assert_eq!(step.deciding.base, decides.base_value);
        if step.confirmed {
            assert!(matches!(step.verdict, Verdict::Regression | Verdict::Improvement));
        }
    }
    let lost = |version: &str| {
        let named = format!("rocksdb@{version}+defaults");
        run.steps.iter().find(|step| step.candidate == named && step.step == "overwriteandwait").unwrap()
    };
    assert!(lost("8.6.7").confirmed && lost("8.6.7").verdict == Verdict::Regression);
    assert!(!lost("8.5.4").confirmed);
    let telling = run.telling();
    assert_eq!(telling.len(), 3, "{telling:?}");
    assert!(telling[0].starts_with("rocksdb@8.6.7+defaults against"), "{telling:?}");
    assert!(telling[0].contains("slower on overwriteandwait (-3"), "{telling:?}");
    assert!(telling[2].ends_with("no difference was found."), "{telling:?}");
    assert!(run.cautions().iter().any(|one| one.contains("set aside: readrandom of 8.6.7 in round 3")));
}

fn passage(view: &CampaignView) -> Passage {
    gate::judge(&verdicts::of_campaign(view), view.margin).passage
}

#[test]
fn a_gate_of_a_campaign_fails_for_what_was_not_measured_first() {
    let mut view = build(&record());
    assert!(view.trials.failed > 0 && !view.left_out.is_empty());
    assert_eq!(passage(&view), Passage::RunFailed);
    view.trials.reasons.clear();
    assert_eq!(passage(&view), Passage::RunFailed, "a candidate was left out");
    view.left_out.clear();
    assert_eq!(passage(&view), Passage::Regression);
    view.run.status = RunStatus::Ended(RunOutcome::Interrupted);
    assert_eq!(passage(&view), Passage::RunFailed);
}

#[test]
fn every_step_of_every_subject_has_a_line_of_the_table_also_where_nothing_was_measured() {
    let mut view = build(&record());
    let text = csv(&view);
    let read = |text: &str| -> Vec<BTreeMap<String, String>> {
        csv_reader(text).deserialize().collect::<Result<_, _>>().unwrap()
    };
    let rows = read(&text);
    assert_eq!(rows.len(), view.steps.len() * view.subjects.len());
    for step in &view.steps {
        for subject in &view.subjects {
            let is_it = |row: &&BTreeMap<String, String>| {
                row["step"] == step.name && row["subject"] == subject.subject
            };
            let row = rows.iter().find(is_it).unwrap();
            let measured = step.rows.iter().find(|row| row.side == subject.side);
            for column in &step.columns {
                let mean = measured.and_then(|row| row.mean.get(column.metric));
                assert_eq!(
                    row[column.header],
                    number(mean.map(|mean| mean / column.scale)),
                    "{}",
                    column.header
                );
            }
        }
    }
    let failed: u32 = rows.iter().map(|row| row["failed_trials"].parse::<u32>().unwrap()).sum();
    assert_eq!(failed, view.trials.failed);
    view.steps[1].rows.retain(|row| row.side != 2);
    let row = read(&csv(&view)).swap_remove(view.subjects.len() + 2);
    assert_eq!((row["rounds"].as_str(), row["ops_sec"].as_str()), ("0", "-"));
}

fn csv_reader(text: &str) -> ::csv::Reader<&[u8]> {
    ::csv::Reader::from_reader(text.as_bytes())
}

#[test]
fn junit_and_openmetrics_of_a_campaign_tell_of_every_candidate() {
    let view = build(&record());
    let text = junit::render(&[(verdicts::of_campaign(&view), view.margin)]);
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites = document.descendants().filter(|node| node.has_tag_name("testsuite")).count();
    assert_eq!(suites, view.subjects.len());
    for left_out in &view.left_out {
        assert!(text.contains(&format!("left out: {}", left_out.reference)), "{text}");
    }
    let metrics = openmetrics::render(&[verdicts::of_campaign(&view)]);
    for part in [
        "# UNIT dbdyno_value_latency_p99_seconds seconds\n",
        "# UNIT dbdyno_value_resident_peak_bytes bytes\n",
        "dbdyno_run_left_out{",
    ] {
        assert!(metrics.contains(part), "{part} is missing");
    }
    let both = openmetrics::render(&[verdicts::of_campaign(&view), verdicts::of_campaign(&view)]);
    assert_eq!(both.matches("# TYPE dbdyno_step_verdict stateset").count(), 1);
    assert_eq!(
        both.lines().count() - metrics.lines().count(),
        metrics.lines().filter(|line| !line.starts_with('#')).count()
    );
}

#[test]
fn the_plan_that_measures_again_is_one() {
    let record = record();
    let again = command::again(&record.plan);
    assert_eq!(again.command, "dbdyno run plan.toml");
    let text = again.plan.unwrap();
    let file = PlanFile::parse(&text, "plan.toml").unwrap();
    assert_eq!(file.design, record.plan.layout.design);
    assert_eq!((file.rounds, file.seed), (record.plan.layout.rounds, Some(record.plan.seed)));
    let measured: Vec<String> =
        record.plan.subjects.iter().map(|subject| subject.reference.to_string()).collect();
    let asked: Vec<String> = file.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(asked[..measured.len()], measured);
    assert_eq!(asked.len(), measured.len() + record.plan.layout.left_out.len());
    assert_eq!(file.memory_limit, record.plan.layout.memory_limit);
    assert_eq!(file.loop_device, record.plan.layout.loop_device);
    assert_eq!(file.options, record.plan.workload.options);
    let scaled = record.plan.workload.clone().scaled(&file.scale);
    assert_eq!(scaled, record.plan.workload);
}

#[test]
fn exported_values_are_those_of_the_trials_that_count() {
    let record = record();
    let view = build(&record);
    let run = export::ExportedRun::new(&record.id, &record.plan, record.started_at_us);
    let trials = export::values(&record);
    let rows: usize = view.steps.iter().flat_map(|step| &step.rows).map(|row| row.rounds.len()).sum();
    assert_eq!(trials.len(), rows);
    let text: String = std::iter::once(export::csv_header())
        .chain(
            trials
                .iter()
                .flat_map(|trial| trial.rows(&run).iter().map(export::LongRow::csv).collect::<Vec<_>>()),
        )
        .collect();
    let lines: Vec<BTreeMap<String, String>> =
        csv_reader(&text).deserialize().collect::<Result<_, _>>().unwrap();
    let step = view.steps.iter().find(|step| step.name == "readrandom").unwrap();
    let (round, values) = &step.rows[1].rounds[0];
    let key = TrialKey { launch: *round, step: step.name.clone(), side: step.rows[1].side };
    let of_trial: BTreeMap<&str, f64> = lines
        .iter()
        .filter(|line| {
            line["step"] == key.step
                && line["side"] == key.side.to_string()
                && line["launch"] == key.launch.to_string()
        })
        .map(|line| (line["metric"].as_str(), line["value"].parse().unwrap()))
        .collect();
    assert_eq!(of_trial, values.columns.iter().map(|(metric, value)| (*metric, *value)).collect());
    assert!(lines.iter().all(|line| line["table"] == "values" && line["run"] == record.id));
    let objects: Vec<String> = trials
        .iter()
        .flat_map(|trial| trial.rows(&run).iter().map(|row| row.json().unwrap()).collect::<Vec<_>>())
        .collect();
    let document = format!("{{\"schema\":1,\"runs\":[],\"values\":[{}]}}", objects.join(","));
    crate::schema_check::check("export", &document);
}

#[test]
fn the_whole_json_of_a_campaign_is_of_the_schema() {
    crate::schema_check::check("campaign", &json(&build(&record())).unwrap());
}
