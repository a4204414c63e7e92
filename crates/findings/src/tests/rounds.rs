//! Rounds: what changed at which release, what moved with it, what is left out of every number.

use super::{case, step, view_of};
use crate::Comparison;
use crate::again;
use crate::comparison::{Cause, Change, ComparedMetric, ComparedStep, Repeats};
use model::block::{BlockKind, Outcome, Second, TrialKey};
use model::counter::Counter;
use model::event::Moment;
use model::metric::Metric;
use model::plan::Design;
use model::plan_file::PlanFile;
use model::reason::Reason;
use model::record::{EngineTextRecord, EngineWorkRecord, RunRecord, RunWarning};
use model::units::Nanos;
use model::verdict::Verdict;
use model::warning::{ApiCall, Warning};
use model::wire::EngineText;
use testing::rounds::{
    LAST, ROUNDS, STEPS, disturb, record, single_round, with_equal_rates, with_loss_by_code, with_steady_loss,
};

const STATS: &str = include_str!("../../../formats/fixtures/rocksdb/8.1.1.stats.txt");
const TICKERS: &str = include_str!("../../../formats/fixtures/rocksdb/8.1.1.tickers.txt");

#[test]
fn a_trial_that_others_disturbed_is_listed_and_in_no_number() {
    let calm = view_of(&record());
    let mut disturbed = record();
    let key = TrialKey { launch: 2, step: LAST.to_owned(), side: 2 };
    disturb(&mut disturbed, &key);
    let view = view_of(&disturbed);
    let listed: Vec<_> = view.disturbed.iter().map(|one| (one.step.as_str(), one.side, one.round)).collect();
    assert_eq!(listed, [(LAST, 2, 2), ("readrandom", 4, 3)]);
    let rounds = |view: &Comparison| {
        let rows = &step(view, LAST).rows;
        rows.iter().find(|row| row.side == 2).unwrap().rounds.iter().map(|(round, _)| *round).collect()
    };
    let (before, after): (Vec<u32>, Vec<u32>) = (rounds(&calm), rounds(&view));
    assert_eq!((before, after), (vec![1, 2, 3], vec![1, 3]));
    assert_eq!(case(&view, LAST, 2).verdict, case(&calm, LAST, 2).verdict);
}

fn change<'a>(view: &'a Comparison, config: &str, metric: &str) -> Option<&'a Change> {
    view.changes.iter().find(|one| one.config == config && one.metric.name() == metric)
}

#[test]
fn the_release_and_what_moved_with_it_are_named() {
    let view = view_of(&record());
    let rate = change(&view, "defaults", "ops_per_s").unwrap();
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
        .map(|shift| shift.name.as_str())
        .collect();
    assert!(shifts.contains(&"disk_read_bytes_mean_with_drain"), "{shifts:?}");
    assert!(!shifts.contains(&"disk_write_bytes_mean_with_drain"), "{shifts:?}");
    assert!(!shifts.contains(&"read_calls_per_op"), "a dozen calls are the worker's own: {shifts:?}");
    // With the defaults pinned nothing happened, and nothing happened to reads.
    assert!(view.changes.iter().all(|one| one.config == "defaults" && one.step == LAST));
    assert!(change(&view, "defaults", "ops_per_s_drained").unwrap().ratio < 0.5);
}

#[test]
fn a_subject_that_left_is_named_with_what_it_lacks() {
    let why = || Reason::Said("the worker was killed by signal 9".to_owned());
    // By round: a visit that failed at once, one that was not tried again, one of which a step is done.
    let with = |visits: [&str; 3]| {
        let mut record = record();
        for ended in record.trials.iter_mut().filter(|ended| ended.trial.side == 5) {
            let is_first = ended.trial.step == STEPS[1];
            ended.outcome = match visits[ended.trial.launch as usize - 1] {
                "failed" if is_first => Outcome::Failed { reason: why() },
                "failed" => Outcome::Skipped { reason: Reason::FailedBefore { step: STEPS[1].to_owned() } },
                "not tried" => Outcome::Skipped { reason: Reason::NotTriedAgain { reason: Box::new(why()) } },
                "no time" => Outcome::Skipped { reason: Reason::BudgetUsedUp },
                _ if is_first => Outcome::Done,
                _ => Outcome::Failed { reason: why() },
            };
        }
        record
    };
    let left = |record: &RunRecord| {
        let warnings = view_of(record).warnings.into_iter().map(|one| one.warning);
        warnings.filter(|one| matches!(one, Warning::SubjectLeft { .. })).collect::<Vec<_>>()
    };
    let subject = record().plan.subjects[5].reference.to_string();
    let gone = Warning::SubjectLeft { subject, rounds: 3, reason: why().to_string() };
    for visits in [["failed"; 3], ["failed", "failed", "not tried"], ["not tried"; 3]] {
        assert_eq!(left(&with(visits)), std::slice::from_ref(&gone), "{visits:?}");
    }
    for visits in [
        ["done"; 3],
        ["done", "failed", "failed"],
        ["failed", "failed", "done"],
        ["failed", "failed", "no time"],
    ] {
        assert_eq!(left(&with(visits)), [], "{visits:?}");
    }
}

#[test]
fn a_steady_loss_is_told_of_each_configuration() {
    let view = view_of(&with_steady_loss());
    let told: Vec<(&str, &str, Metric)> =
        view.trends.iter().map(|one| (one.config.as_str(), one.step.as_str(), one.metric)).collect();
    assert_eq!(
        told,
        ["standard", "defaults"].map(|config| (config, "readrandom", Metric::OpsPerSecond)),
        "a step that changes once has no trend"
    );
    for one in &view.trends {
        // Three releases after the first: 0.95 cubed.
        assert!((one.line.ratio - 0.857).abs() < 0.01 && one.line.low < one.line.ratio, "{one:?}");
        assert!(one.releases == 4 && !one.suspect && !one.maybe_autocorrelation, "{one:?}");
    }
    assert!(view_of(&record()).trends.is_empty());
}

#[test]
fn a_read_size_that_collapses_is_found_where_the_rate_did_not_move() {
    let view = view_of(&with_equal_rates());
    assert!(change(&view, "defaults", "ops_per_s").is_none());
    let size = change(&view, "defaults", "disk_read_bytes_mean_with_drain").unwrap();
    assert_eq!((size.version.as_str(), size.part_of), ("8.6.7", None));
}

#[test]
fn a_change_that_is_there_with_pinned_defaults_too_is_code() {
    let view = view_of(&with_loss_by_code());
    assert_eq!(change(&view, "defaults", "ops_per_s").unwrap().drift.as_ref().unwrap().cause, Cause::Code);
    let pinned = change(&view, "standard", "ops_per_s").unwrap();
    assert_eq!((pinned.version.as_str(), &pinned.drift), ("8.6.7", &None));
}

#[test]
fn the_order_of_rounds_and_of_the_record_does_not_matter() {
    let straight = view_of(&record());
    let mut shuffled = record();
    shuffled.blocks.reverse();
    shuffled.trials.reverse();
    assert_eq!(view_of(&shuffled), straight);
    // Other rounds' numbers are other labels of the same rounds.
    let mut renamed = record();
    let rename = |trial: &mut TrialKey| trial.launch = ROUNDS + 1 - trial.launch;
    renamed.blocks.iter_mut().for_each(|block| rename(&mut block.trial));
    renamed.trials.iter_mut().for_each(|ended| rename(&mut ended.trial));
    let renamed = view_of(&renamed);
    let verdicts = |view: &Comparison| -> Vec<(Verdict, Vec<String>)> {
        let numbers = |one: &ComparedMetric| format!("{:.9?}", (one.ratio, one.low, one.high));
        let all = view.steps.iter().flat_map(|step| &step.cases);
        all.map(|case| (case.verdict, case.metrics.iter().map(numbers).collect())).collect()
    };
    assert_eq!(verdicts(&renamed), verdicts(&straight));
    let places = |view: &Comparison| -> Vec<(String, Metric)> {
        view.changes.iter().map(|one| (one.version.clone(), one.metric)).collect()
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
    let view = view_of(&record);
    let rate = change(&view, "defaults", "ops_per_s").unwrap();
    assert_eq!((rate.version.as_str(), rate.before.as_str()), ("8.6.7", "8.5.4"));
}

#[test]
fn one_after_another_is_never_more_than_a_suspicion() {
    let mut record = record();
    record.plan.layout.design = Design::Sequential;
    let view = view_of(&record);
    let rounds = view_of(&self::record());
    assert_eq!(case(&rounds, LAST, 5).verdict, Verdict::Regression);
    assert_eq!(case(&view, LAST, 5).verdict, Verdict::Suspect);
    assert!(view.changes.iter().all(|one| one.suspect));
    let said = |case: &ComparedStep| {
        matches!(case.verdict, Verdict::Suspect | Verdict::Inconclusive | Verdict::RatioOnly)
    };
    assert!(view.steps.iter().flat_map(|step| &step.cases).all(said));
}

#[test]
fn a_step_that_calls_another_function_than_on_the_base_has_no_verdict() {
    let mut record = record();
    let reference = record.plan.subjects[5].reference.to_string();
    let other = record.plan.subjects[7].reference.to_string();
    let base = record.plan.subjects[0].reference.to_string();
    let call = |subject: &str, function: &str| ApiCall {
        subject: subject.to_owned(),
        function: function.to_owned(),
    };
    let warned = |warning| RunWarning { step: Some(LAST.to_owned()), warning };
    let differs = |candidate: &str, function| {
        warned(Warning::ApiDiffers { calls: vec![call(candidate, function)], base: call(&base, "poll") })
    };
    record.warnings.push(differs(&reference, "wait"));
    let view = view_of(&record);
    assert_eq!(case(&view, LAST, 5).verdict, Verdict::RatioOnly);
    assert_eq!(case(&view, LAST, 7).verdict, Verdict::Regression);

    // Those of one step are one warning, and each candidate is still known.
    record.warnings.push(differs(&other, "ask"));
    let view = view_of(&record);
    assert_eq!([5, 7].map(|side| case(&view, LAST, side).verdict), [Verdict::RatioOnly; 2]);
    let told: Vec<String> = view
        .warnings
        .iter()
        .filter(|one| one.warning.id() == "api-differs")
        .map(|one| one.warning.to_string())
        .collect();
    let gathered = format!(
        "{other}, {reference} runs this step through wait, {base} through poll: the two sides do not run the same code path"
    );
    assert_eq!(told, [gathered]);

    // An older store does not say in data which candidate it is: none has a verdict.
    record.warnings = vec![warned(Warning::Recorded {
        id: "api-differs".to_owned(),
        text: format!("{reference} called by wait, {base} by poll: a difference is not one of code alone"),
    })];
    let view = view_of(&record);
    assert_eq!([5, 7].map(|side| case(&view, LAST, side).verdict), [Verdict::RatioOnly; 2]);
}

#[test]
fn a_single_round_has_ratios_and_no_verdict() {
    let view = view_of(&single_round());
    for case in view.steps.iter().flat_map(|step| &step.cases) {
        assert_eq!(case.verdict, Verdict::RatioOnly);
        assert!(case.metrics.iter().all(|one| one.low.is_none() && one.high.is_none()), "{case:?}");
    }
    assert!(view.changes.iter().all(|one| one.kind.name() == "candidate"));
}

#[test]
fn what_failed_is_listed_and_counts_nowhere() {
    let view = view_of(&record());
    let row = step(&view, "readrandom").rows.iter().find(|row| row.side == 3).unwrap();
    assert_eq!(row.rounds.iter().map(|(round, _)| *round).collect::<Vec<_>>(), [1, 3]);
    assert!(row.mean.get(Metric::OpsPerSecond).unwrap() > 390_000.0);
    assert_eq!((view.trials.done, view.trials.failed, view.trials.skipped), (70, 1, 1));
}

#[test]
fn the_columns_are_those_of_the_posts_in_their_units() {
    let mut record = record();
    let key = TrialKey { launch: 1, step: LAST.to_owned(), side: 0 };
    let block =
        |kind: BlockKind| record.blocks.iter().position(|one| one.trial == key && one.kind == kind).unwrap();
    let (measured, drained) = (block(BlockKind::Whole), block(BlockKind::Drain));
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
    let view = view_of(&record);
    let values = &step(&view, LAST).rows[0].rounds[0].1;
    let shown = |header: &str| {
        let metric = Metric::all().find(|metric| metric.header() == header).unwrap();
        values.get(metric).map(|value| value / metric.scale())
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
    let view = view_of(&record);
    let values = &view.steps[0].rows[0].rounds[0].1;
    let stats = formats::rocksdb_stats::parse(STATS).unwrap();
    assert_eq!(values.get(Metric::WriteAmplification), stats.write_amplification());
    assert_eq!(values.get(Metric::UptimeSeconds), stats.uptime_s);
    assert!(values.get(Metric::WriteAmplification).unwrap() > 1.0);
    let per_op = values.tickers["rocksdb.number.keys.written"];
    let counted = formats::rocksdb_tickers::parse(TICKERS).unwrap().counts["rocksdb.number.keys.written"];
    assert!((per_op * values.operations as f64 / counted as f64 - 1.0).abs() < 1e-12);
    // Between two equal texts nothing happened, and nothing is not an amplification.
    record.engine_texts.push(engine_text(fill, Moment::Before, EngineText::Stats, STATS));
    let view = view_of(&record);
    let values = &view.steps[0].rows[0].rounds[0].1;
    assert_eq!(
        (values.get(Metric::WriteAmplification), values.get(Metric::CompactionSeconds)),
        (None, Some(0.0))
    );
}

#[test]
fn an_engine_text_that_no_parser_knows_is_a_warning_and_no_number() {
    let mut record = record();
    record.engine_texts = vec![engine_text(STEPS[0], Moment::After, EngineText::Stats, "nothing known\n")];
    let view = view_of(&record);
    let is_it = |one: &&RunWarning| one.warning.id() == "engine-text-unread";
    let told = view.warnings.iter().find(is_it).unwrap().warning.to_string();
    assert!(told.contains("rocksdb@8.4.4 (1 texts; the first: failed to parse"), "{told}");
    assert_eq!(view.steps[0].rows[0].mean.get(Metric::LsmBytes), None);
}

#[test]
fn a_stall_has_what_the_logs_of_its_engine_tell_of_its_seconds() {
    let key = TrialKey { launch: 2, step: LAST.to_owned(), side: 1 };
    let began_at_us = 1_795_813_030_000_000;
    let stalls = |works: &[(u32, usize, &str)]| {
        let mut record = record();
        let block =
            record.blocks.iter_mut().find(|block| block.trial == key && block.kind == BlockKind::Whole);
        let block = block.unwrap();
        (block.started_at_us, block.wall) = (Some(began_at_us), Nanos::from_secs(20));
        // The seconds 8 to 10 and the 15th have nothing.
        let second = |second: u32| Second {
            second,
            operations: if matches!(second, 8..=10 | 15) { 0 } else { 1000 },
            p50: Nanos(1),
            p99: Nanos(1),
            max: Nanos(1),
        };
        record.seconds.insert(key.clone(), (0..20).map(second).collect());
        let work = |(launch, side, text): &(u32, usize, &str)| EngineWorkRecord {
            launch: *launch,
            side: *side,
            text: (*text).to_owned(),
        };
        record.engine_works = works.iter().map(work).collect();
        let stalls = view_of(&record).stalls;
        stalls.into_iter().filter(|one| one.side == 1).map(|one| (one.from_s, one.engine)).collect::<Vec<_>>()
    };
    // The checkpoint ends in the second before the shorter stall.
    let server = "known 1795813029000000 1795813060000000\n1795813037500000 1795813044500000 checkpoint\n";
    let rocksdb = "known 1795813029000000 1795813042000000\n1795813040900000 1795813040950000 flush\n";
    let of = |works: &[&str]| Some(works.iter().map(|work| (*work).to_owned()).collect::<Vec<_>>());
    assert_eq!(stalls(&[(2, 1, server)]), [(8, of(&["checkpoint"])), (15, of(&[]))]);
    assert_eq!(
        stalls(&[(2, 1, server), (2, 1, rocksdb)]),
        [(8, of(&["checkpoint", "flush"])), (15, of(&[]))]
    );
    assert_eq!(stalls(&[(2, 1, rocksdb)]), [(8, of(&["flush"])), (15, None)]);
    let of_others = [(1, 1, server), (2, 0, server), (2, 1, "nothing known\n")];
    assert_eq!(stalls(&of_others), [(8, None), (15, None)]);
}

#[test]
fn subjects_of_several_engines_keep_the_engines_name() {
    let mut record = record();
    let label = |record: &RunRecord| view_of(record).subjects[0].label.clone();
    assert_eq!(label(&record), "8.4.4");
    record.plan.subjects[0].reference = "other@8.4.4".parse().unwrap();
    assert_eq!(label(&record), "other@8.4.4");
}

/// The verdicts that hold for the candidates of a step hold for all steps too, or are not confirmed.
#[test]
fn verdicts_of_rounds_are_confirmed_over_all_steps() {
    let view = view_of(&record());
    assert_eq!(view.repeats, Repeats::Rounds);
    assert!(view.cases().all(|(step, _)| step.name != "fillseq"), "a helper is judged");
    assert_eq!(view.cases().count(), 2 * view.candidates().len());
    for (_, case) in view.cases().filter(|(_, case)| case.confirmed) {
        assert!(matches!(case.verdict, Verdict::Regression | Verdict::Improvement));
    }
    let lost = |reference: &str| {
        let side = view.subjects.iter().position(|one| one.subject == reference).unwrap();
        case(&view, LAST, side)
    };
    let found = lost("rocksdb@8.6.7+defaults");
    assert!(found.confirmed && found.verdict == Verdict::Regression);
    assert!(!lost("rocksdb@8.5.4+defaults").confirmed);
    let others: Vec<&ComparedStep> = view.steps[0].cases.iter().collect();
    assert!(others.iter().all(|case| case.decides.is_none() && case.verdict == Verdict::RatioOnly));
}

#[test]
fn the_plan_that_measures_again_is_one() {
    let record = record();
    let again = again::again(&record.plan);
    assert_eq!(again.command, "dbdyno run plan.toml");
    let text = again.plan.unwrap();
    let file = PlanFile::parse(&text, "plan.toml").unwrap();
    assert_eq!(file.design, Some(record.plan.layout.design));
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
