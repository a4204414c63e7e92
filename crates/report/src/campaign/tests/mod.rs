//! Campaigns made of records: what is found in them, and how it reads.

mod read_back;
mod records;
mod selection;

use super::columns::{DRAINED_RATE, RATE};
use super::view::{CampaignView, Finding};
use super::{build, csv, json, markdown, text, tsv};
use crate::text::TextOptions;
use analysis::drift::Cause;
use model::block::{DRAINED, MEASURED, Side, TrialKey};
use model::counter::Counter;
use model::event::Moment;
use model::plan::Design;
use model::record::{API_DIFFERS, EngineTextRecord, RunRecord, RunWarning};
use model::units::Nanos;
use model::verdict::Verdict;
use model::wire::EngineText;
use records::{ROUNDS, STEPS, disturb, record};
use serde_json::Value;

/// The campaign of these tests, for those of other pages.
pub(crate) fn campaign_record() -> RunRecord {
    record()
}

const STATS: &str = include_str!("../../../../formats/fixtures/rocksdb/8.1.1.stats.txt");
const TICKERS: &str = include_str!("../../../../formats/fixtures/rocksdb/8.1.1.tickers.txt");

fn plain(width: usize) -> TextOptions {
    TextOptions { width, colour: false }
}

#[test]
fn text_at_80_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(80), false));
}

#[test]
fn text_at_120_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(120), false));
}

#[test]
fn text_in_detail_at_120_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(120), true));
}

/// One step, two subjects, one round: the whole of it would be thousands of lines of the same form.
fn short_view() -> CampaignView {
    let mut view = build(&record());
    view.steps.retain(|step| step.name == "overwriteandwait");
    let step = &mut view.steps[0];
    step.rows.retain(|row| [0, 5].contains(&row.side));
    step.rows.iter_mut().for_each(|row| row.rounds.truncate(1));
    step.comparisons.retain(|comparison| comparison.side == 5);
    step.comparisons.truncate(2);
    step.shapes.truncate(2);
    view
}

#[test]
fn markdown_of_a_campaign() {
    insta::assert_snapshot!(markdown(&short_view()));
}

#[test]
fn json_of_a_campaign() {
    insta::assert_snapshot!(json(&short_view()).unwrap());
}

#[test]
fn tsv_of_a_campaign() {
    insta::assert_snapshot!(tsv(&build(&record())));
}

#[test]
fn csv_quotes_what_holds_a_comma() {
    let mut view = build(&record());
    view.steps[1].name = "read,\"random\"".to_owned();
    insta::assert_snapshot!(csv(&view).lines().skip(8).take(3).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_trial_that_others_disturbed_is_listed_and_in_no_number() {
    let calm = build(&record());
    let mut disturbed = record();
    let key = TrialKey { launch: 2, step: "overwriteandwait".to_owned(), side: 2 };
    disturb(&mut disturbed, &key);
    let view = build(&disturbed);
    let listed: Vec<_> = view.disturbed.iter().map(|one| (one.step.as_str(), one.side, one.round)).collect();
    assert_eq!(listed, [("overwriteandwait", 2, 2), ("readrandom", 4, 3)]);
    let rounds = |view: &CampaignView| {
        let step = view.steps.iter().find(|step| step.name == "overwriteandwait").unwrap();
        step.rows.iter().find(|row| row.side == 2).unwrap().rounds.iter().map(|(round, _)| *round).collect()
    };
    let (before, after): (Vec<u32>, Vec<u32>) = (rounds(&calm), rounds(&view));
    assert_eq!((before, after), (vec![1, 2, 3], vec![1, 3]));
    assert_eq!(verdict(&view, "overwriteandwait", 2), verdict(&calm, "overwriteandwait", 2));
    let lines = text(&view, plain(200), false);
    assert!(lines.contains("2 of those done set aside, in no number"), "{lines}");
    assert!(
        lines.contains("set aside: overwriteandwait of 8.5.4 in round 2: other processes had"),
        "{lines}"
    );
}

fn finding<'a>(view: &'a CampaignView, config: &str, metric: &str) -> Option<&'a Finding> {
    view.findings.iter().find(|one| one.config == config && one.column.metric == metric)
}

fn verdict(view: &CampaignView, step: &str, side: Side) -> Verdict {
    let step = view.steps.iter().find(|known| known.name == step).unwrap();
    super::grids::deciding(step, side).unwrap().verdict
}

/// The same rates everywhere, so that only the device tells of the change.
fn with_equal_rates() -> RunRecord {
    let mut record = record();
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == "overwriteandwait") {
        let wobble = 1000 * u64::from(block.trial.launch) + 300 * (block.trial.side as u64 * 5 % 8);
        match block.cycle {
            MEASURED => block.operations = 450_000 + wobble,
            _ => block.wall = Nanos::from_millis(800 + wobble / 1000),
        }
    }
    record
}

#[test]
fn the_release_and_what_moved_with_it_are_named() {
    let view = build(&record());
    let rate = finding(&view, "defaults", RATE).unwrap();
    assert_eq!((rate.version.as_str(), rate.before.as_str()), ("8.6.7", "8.5.4"));
    assert!((rate.ratio - 0.65).abs() < 0.01 && rate.low < 0.65 && rate.high > 0.65, "{rate:?}");
    let drift = rate.drift.as_ref().unwrap();
    assert_eq!(drift.cause, Cause::Default);
    let defaults: Vec<&str> = drift.defaults.iter().map(|one| one.option.as_str()).collect();
    assert_eq!(defaults, ["compaction_readahead_size"]);
    let shifts: Vec<&str> = rate
        .moved
        .iter()
        .flat_map(|moved| std::iter::once(&moved.shift).chain(&moved.twins))
        .map(|shift| shift.metric.as_str())
        .collect();
    assert!(shifts.contains(&"disk_read_bytes_mean_with_drain"), "{shifts:?}");
    assert!(!shifts.contains(&"disk_write_bytes_mean_with_drain"), "{shifts:?}");
    assert!(!shifts.contains(&"read_calls_per_op"), "a dozen calls are the worker's own: {shifts:?}");
    // With the defaults pinned nothing happened, and nothing happened to reads.
    assert!(view.findings.iter().all(|one| one.config == "defaults" && one.step == "overwriteandwait"));
    assert!(finding(&view, "defaults", DRAINED_RATE).unwrap().ratio < 0.5);
}

#[test]
fn a_read_size_that_collapses_is_found_where_the_rate_did_not_move() {
    let view = build(&with_equal_rates());
    assert!(finding(&view, "defaults", RATE).is_none());
    let size = finding(&view, "defaults", "disk_read_bytes_mean_with_drain").unwrap();
    assert_eq!((size.version.as_str(), size.part_of), ("8.6.7", None));
    let text = text(&view, plain(160), false);
    assert!(text.contains("device read size with the drain 120 KB -> 4.40 KB"), "{text}");
    assert!(text.contains("from 8.6.7 on (8.5.4 before it)"), "{text}");
}

#[test]
fn a_change_that_is_there_with_pinned_defaults_too_is_code() {
    let mut record = record();
    // The pinned sides of the two newer releases lose the same.
    for block in &mut record.blocks {
        if [4, 6].contains(&block.trial.side)
            && block.trial.step == "overwriteandwait"
            && block.cycle == MEASURED
        {
            block.operations = block.operations * 65 / 100;
        }
    }
    let view = build(&record);
    assert_eq!(finding(&view, "defaults", RATE).unwrap().drift.as_ref().unwrap().cause, Cause::Code);
    let pinned = finding(&view, "standard", RATE).unwrap();
    assert_eq!((pinned.version.as_str(), &pinned.drift), ("8.6.7", &None));
    assert!(text(&view, plain(160), false).contains("code drift"));
}

#[test]
fn the_order_of_rounds_and_of_the_record_does_not_matter() {
    let straight = build(&record());
    let mut shuffled = record();
    shuffled.blocks.reverse();
    shuffled.trials.reverse();
    assert_eq!(build(&shuffled), straight);
    // Other rounds' numbers are other labels of the same rounds.
    let mut renamed = record();
    let rename = |trial: &mut TrialKey| trial.launch = ROUNDS + 1 - trial.launch;
    renamed.blocks.iter_mut().for_each(|block| rename(&mut block.trial));
    renamed.trials.iter_mut().for_each(|ended| rename(&mut ended.trial));
    let renamed = build(&renamed);
    let verdicts = |view: &CampaignView| -> Vec<(Verdict, String)> {
        let decisions = view.steps.iter().flat_map(|step| &step.comparisons);
        decisions.map(|one| (one.verdict, format!("{:.9?}", (one.ratio, one.low, one.high)))).collect()
    };
    assert_eq!(verdicts(&renamed), verdicts(&straight));
    let places = |view: &CampaignView| -> Vec<(String, String)> {
        view.findings.iter().map(|one| (one.version.clone(), one.column.metric.to_owned())).collect()
    };
    assert_eq!(places(&renamed), places(&straight));
}

#[test]
fn the_order_of_the_plan_does_not_make_the_series() {
    let mut record = record();
    // The newest release first: the base is another, the series is not.
    let last = record.plan.subjects.len() - 1;
    record.plan.subjects.reverse();
    let swap = |trial: &mut TrialKey| trial.side = last - trial.side;
    record.blocks.iter_mut().for_each(|block| swap(&mut block.trial));
    record.trials.iter_mut().for_each(|ended| swap(&mut ended.trial));
    let view = build(&record);
    let rate = finding(&view, "defaults", RATE).unwrap();
    assert_eq!((rate.version.as_str(), rate.before.as_str()), ("8.6.7", "8.5.4"));
}

#[test]
fn one_after_another_is_never_more_than_a_suspicion() {
    let mut record = record();
    record.plan.layout.design = Design::Sequential;
    let view = build(&record);
    let rounds = build(&self::record());
    assert_eq!(verdict(&rounds, "overwriteandwait", 5), Verdict::Regression);
    assert_eq!(verdict(&view, "overwriteandwait", 5), Verdict::Suspect);
    assert!(view.findings.iter().all(|finding| finding.suspect));
    let text = text(&view, plain(120), false);
    assert!(text.contains("0.65s") && text.contains("one after another, 3 times each"), "{text}");
    assert!(!text.contains("0.65*"), "{text}");
    let document: Value = serde_json::from_str(&json(&view).unwrap()).unwrap();
    let verdicts =
        document["comparisons"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap());
    assert!(verdicts.into_iter().all(|verdict| ["suspect", "inconclusive", "ratio-only"].contains(&verdict)));
}

#[test]
fn a_step_that_calls_another_function_than_on_the_base_has_no_verdict() {
    let mut record = record();
    let reference = record.plan.subjects[5].reference.to_string();
    record.warnings.push(RunWarning {
        step: Some("overwriteandwait".to_owned()),
        id: API_DIFFERS.to_owned(),
        text: format!("{reference} is called by one function, the base by another"),
    });
    let view = build(&record);
    assert_eq!(verdict(&view, "overwriteandwait", 5), Verdict::RatioOnly);
    assert_eq!(verdict(&view, "overwriteandwait", 7), Verdict::Regression);
}

#[test]
fn a_single_round_has_ratios_and_no_verdict() {
    let mut record = record();
    record.blocks.retain(|block| block.trial.launch == 1);
    record.trials.retain(|ended| ended.trial.launch == 1);
    record.plan.layout.rounds = 1;
    let view = build(&record);
    let decisions = view.steps.iter().flat_map(|step| &step.comparisons);
    assert!(decisions.into_iter().all(|one| one.verdict == Verdict::RatioOnly && one.low.is_none()));
    assert!(view.findings.iter().all(|finding| finding.kind.name() == "candidate"));
    let text = text(&view, plain(120), false);
    assert!(text.contains("0.65") && text.contains("no verdict, too few rounds"), "{text}");
}

#[test]
fn what_failed_is_listed_and_counts_nowhere() {
    let view = build(&record());
    let read = view.steps.iter().find(|step| step.name == "readrandom").unwrap();
    let row = read.rows.iter().find(|row| row.side == 3).unwrap();
    assert_eq!(row.rounds.iter().map(|(round, _)| *round).collect::<Vec<_>>(), [1, 3]);
    assert!(row.mean.get(RATE).unwrap() > 390_000.0);
    assert_eq!((view.trials.done, view.trials.failed, view.trials.skipped), (70, 1, 1));
    let text = text(&view, plain(160), false);
    assert!(text.contains("failed: readrandom of rocksdb@8.5.4+defaults in round 2"), "{text}");
    assert!(text.contains("left out: rocksdb@8.2.1: no library of it was published"), "{text}");
}

#[test]
fn the_columns_are_those_of_the_posts_in_their_units() {
    let mut record = record();
    let key = TrialKey { launch: 1, step: "overwriteandwait".to_owned(), side: 0 };
    let block =
        |cycle: u32| record.blocks.iter().position(|one| one.trial == key && one.cycle == cycle).unwrap();
    let (measured, drained) = (block(MEASURED), block(DRAINED));
    let set = |block: &mut model::block::Block, wall_s: u64, reads: u64, bytes: u64| {
        block.wall = Nanos::from_secs(wall_s);
        block.counters.insert(Counter::DiskReads, reads);
        block.counters.insert(Counter::DiskReadBytes, bytes);
        block.counters.insert(Counter::DiskReadMicros, reads * 2500);
        block.counters.insert(Counter::UserCpuMicros, 2_000_000);
    };
    set(&mut record.blocks[measured], 4, 200, 200 * 4096);
    set(&mut record.blocks[drained], 1, 50, 50 * 8192);
    record.blocks[measured].operations = 8000;
    let view = build(&record);
    let step = view.steps.iter().find(|step| step.name == "overwriteandwait").unwrap();
    let values = &step.rows[0].rounds[0].1;
    let shown = |header: &str| {
        let column = super::COLUMNS.iter().find(|column| column.header == header).unwrap();
        values.get(column.metric).map(|value| value / column.scale)
    };
    let close = |header: &str, expected: f64| {
        let found = shown(header).unwrap();
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{header}: {found}, not {expected}"
        );
    };
    close("ops_sec", 2000.0);
    close("mb_sec", 2000.0 * 420.0 / 1_048_576.0);
    close("usec_op", 500.0);
    close("ops_dr", 1600.0);
    close("drain_s", 1.0);
    close("u_cpu", 0.004);
    close("rps", 50.0);
    close("rareqsz", 4.0);
    close("rawait", 2.5);
    close("rps+d", 50.0);
    close("rareqsz+d", (200.0 * 4.0 + 50.0 * 8.0) / 250.0);
    close("rd_op", 200.0 / 8000.0);
    assert_eq!(shown("w_amp"), None, "what the engine did not say is absent");
}

fn engine_text(step: &str, moment: Moment, what: EngineText, text: &str) -> EngineTextRecord {
    let trial = TrialKey { launch: 1, step: step.to_owned(), side: 0 };
    EngineTextRecord { trial, moment, what, text: text.to_owned() }
}

#[test]
fn what_the_engine_says_becomes_columns_and_tickers() {
    let mut record = record();
    let fill = STEPS[0];
    record.engine_texts = vec![
        engine_text(fill, Moment::After, EngineText::Stats, STATS),
        engine_text(fill, Moment::After, EngineText::Tickers, TICKERS),
    ];
    let view = build(&record);
    let values = &view.steps[0].rows[0].rounds[0].1;
    let stats = formats::rocksdb_stats::parse(STATS).unwrap();
    assert_eq!(values.get("write_amplification"), stats.write_amplification());
    assert_eq!(values.get("uptime_s"), stats.uptime_s);
    assert!(values.get("write_amplification").unwrap() > 1.0);
    let per_op = values.tickers["rocksdb.number.keys.written"];
    let counted = formats::rocksdb_tickers::parse(TICKERS).unwrap().counts["rocksdb.number.keys.written"];
    assert!((per_op * values.operations as f64 / counted as f64 - 1.0).abs() < 1e-12);
    // Between two equal texts nothing happened, and nothing is not an amplification.
    record.engine_texts.push(engine_text(fill, Moment::Before, EngineText::Stats, STATS));
    let view = build(&record);
    let values = &view.steps[0].rows[0].rounds[0].1;
    assert_eq!((values.get("write_amplification"), values.get("compaction_s")), (None, Some(0.0)));
    assert!(text(&view, plain(120), true).contains("rocksdb.number.keys.written"));
    assert!(tsv(&view).lines().next().unwrap().contains("\trocksdb.number.keys.written"));
}

#[test]
fn an_engine_text_that_no_parser_knows_is_a_warning_and_no_number() {
    let mut record = record();
    record.engine_texts = vec![engine_text(STEPS[0], Moment::After, EngineText::Stats, "nothing known\n")];
    let view = build(&record);
    let warning = view.warnings.iter().find(|warning| warning.id == "engine-text-unread").unwrap();
    assert!(warning.text.contains("rocksdb@8.4.4 (1 texts; the first: failed to parse"), "{}", warning.text);
    assert_eq!(view.steps[0].rows[0].mean.get("lsm_bytes"), None);
}

#[test]
fn no_line_is_wider_than_the_terminal_with_the_sequence_of_the_posts() {
    let view = wide_view();
    for width in [80, 100, 120, 160] {
        for line in text(&view, plain(width), true).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    // Eleven steps stand in one table of 120 columns, and in two of 80.
    let headers = |width| text(&view, plain(width), false).matches("rate, relative").count();
    assert_eq!((headers(120), headers(80)), (1, 2));
}

/// Eleven steps of the posts' names, and a subject with a long configuration.
fn wide_view() -> CampaignView {
    let mut view = build(&record());
    let names = [
        "fillseq",
        "revrange",
        "readrandom",
        "fwdrange",
        "multireadrandom",
        "overwritesome",
        "flush_mt_l0",
        "revrangewhilewriting",
        "fwdrangewhilewriting",
        "readwhilewriting",
        "overwriteandwait",
    ];
    let step = view.steps[2].clone();
    view.steps =
        names.iter().map(|name| super::StepView { name: (*name).to_owned(), ..step.clone() }).collect();
    view.subjects[1].label = "8.4.4+readahead-96k".to_owned();
    view
}

#[test]
fn subjects_of_several_engines_keep_the_engines_name() {
    let mut record = record();
    let label = |record: &RunRecord| build(record).subjects[0].label.clone();
    assert_eq!(label(&record), "8.4.4");
    record.plan.subjects[0].reference = "other@8.4.4".parse().unwrap();
    assert_eq!(label(&record), "other@8.4.4");
}

#[test]
fn a_campaign_in_which_nothing_was_measured_is_a_report_without_numbers() {
    let mut record = record();
    record.blocks.clear();
    record.trials.clear();
    record.shapes.clear();
    let view = build(&record);
    assert!(view.findings.is_empty());
    let text = text(&view, plain(80), true);
    assert!(text.contains("Trials: 0 done, 0 failed, 0 skipped."), "{text}");
    assert!(!json(&view).unwrap().contains("null"));
    let table = tsv(&view);
    assert_eq!(table.lines().count(), 1 + view.steps.len() * view.subjects.len());
    assert!(table.lines().skip(1).all(|line| line.ends_with("\t0\t-\t-\t-\t-\t0\tdone")), "{table}");
    assert!(markdown(&view).contains("## Relative rate"));
}

#[test]
fn the_keys_of_the_contract_come_first_and_in_order() {
    let json = json(&build(&record())).unwrap();
    assert!(!json.contains("null"), "an unknown value is absent");
    let mut rest = json.as_str();
    for key in [
        "schema",
        "run",
        "base",
        "design",
        "rounds",
        "subjects",
        "comparisons",
        "findings",
        "columns",
        "left_out",
        "trials",
        "warnings",
    ] {
        let at = rest.find(&format!("\n  \"{key}\":")).unwrap_or_else(|| panic!("{key} is out of order"));
        rest = &rest[at + 1..];
    }
    let document: Value = serde_json::from_str(&json).unwrap();
    let comparisons = document["comparisons"].as_array().unwrap();
    assert_eq!(comparisons[0]["metric"], "ops_per_s");
    let deciding = comparisons.iter().filter(|one| one["decides"] == true).count();
    assert_eq!(deciding, 2 * 7, "one for each candidate and step that is no helper");
    let mut others = comparisons.iter().filter(|one| one["decides"] == false);
    assert!(others.all(|one| one["verdict"] == "ratio-only"));
    let columns = document["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 70 - 1, "one for each trial that is done and not set aside");
    assert_eq!(document["disturbed"].as_array().unwrap().len(), 1);
    assert!(columns[0]["values"]["ops_per_s"].is_number());
    assert_eq!(document["left_out"][0]["subject"], "rocksdb@8.2.1");
}

#[test]
fn colour_only_repeats_what_the_marks_say() {
    let view = build(&record());
    let coloured = text(&view, TextOptions { width: 120, colour: true }, false);
    assert!(coloured.contains("\x1b[31m0.65*\x1b[0m"), "{coloured}");
    let stripped = ["\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"]
        .iter()
        .fold(coloured, |text, sequence| text.replace(sequence, ""));
    assert_eq!(stripped, text(&view, plain(120), false));
}

#[test]
fn hostile_names_stay_names() {
    let mut view = build(&record());
    view.steps[1].name = "a|b<img src=x>\n\t`c`".to_owned();
    let markdown = markdown(&view);
    assert!(!markdown.contains("<img") && markdown.contains("a\\|b&lt;img"), "{markdown}");
    let lines = tsv(&view);
    let fields: Vec<usize> = lines.lines().map(|line| line.split('\t').count()).collect();
    assert!(fields.windows(2).all(|pair| pair[0] == pair[1]), "{fields:?}");
    let printed = text(&view, plain(80), true);
    assert!(!printed.contains('\t') && !printed.contains('\x1b'), "{printed}");
}
