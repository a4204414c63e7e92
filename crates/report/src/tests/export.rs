//! Exported values are those of the store and of the report.

use super::csv_rows;
use super::read_back::HOSTILE;
use crate::export;
use findings::Comparison;
use findings::judge::Evidence;
use model::block::{Block, BlockKind, Outcome, TrialKey};
use model::counter::Counter;
use model::reason::Reason;
use model::record::TrialRecord;
use std::collections::BTreeMap;
use testing::compared::{Truth, record};
use testing::rounds;

#[test]
fn exported_records_have_every_value_of_the_store() {
    let record = record(&Truth { write: 1.0, read: 0.95 });
    let run = export::ExportedRun::new(&record.id, &record.plan, record.started_at_us);
    let block = &record.blocks[5];
    let rows: Vec<serde_json::Value> = export::block(&run, block)
        .iter()
        .chain(&export::counters(&run, block))
        .map(|row| serde_json::from_str(&row.json().unwrap()).unwrap())
        .collect();
    let value = |table: &str, metric: &str| {
        let row = rows.iter().find(|row| row["table"] == table && row["metric"] == metric).unwrap();
        assert_eq!(
            (&row["step"], &row["launch"]),
            (&block.trial.step.clone().into(), &block.trial.launch.into())
        );
        assert_eq!(row["block"], 1);
        row["value"].as_u64().unwrap()
    };
    assert_eq!(value("blocks", "wall_ns"), block.wall.0);
    assert_eq!(value("blocks", "operations"), block.operations);
    assert_eq!(value("counters", "read_calls"), block.counters[&Counter::ReadCalls]);
    // In rounds scripts know the step as block 0 and its drain as block 1.
    for (kind, number) in [(BlockKind::Cycle(3), 3), (BlockKind::Whole, 0), (BlockKind::Drain, 1)] {
        let block = Block { kind, ..block.clone() };
        let row: serde_json::Value =
            serde_json::from_str(&export::block(&run, &block)[0].json().unwrap()).unwrap();
        assert_eq!(row["block"], number);
    }
    let failed = TrialRecord {
        trial: block.trial.clone(),
        outcome: Outcome::Failed { reason: Reason::Said(HOSTILE.to_owned()) },
        latency: None,
    };
    let rows = export::trial(&run, &failed.trial, Some(&failed));
    let text: String = rows.iter().map(export::LongRow::csv).collect();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let read: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!((&read[0][11], &read[1][9], &read[1][11]), ("failed", "reason", HOSTILE));
    let unfinished = export::trial(&run, &failed.trial, None);
    assert!(unfinished[0].csv().ends_with(",outcome,,unfinished\n"), "{}", unfinished[0].csv());
    // 0.95 with four blocks of 100 ms in each launch.
    let values = export::values(&record);
    assert_eq!(values.len(), record.trials.len());
    let rate = values.iter().flat_map(|trial| trial.rows(&run)).find_map(|row| {
        let row: serde_json::Value = serde_json::from_str(&row.json().unwrap()).unwrap();
        let is_it = row["metric"] == "ops_per_s" && row["step"] == "readrandom" && row["side"] == 1;
        is_it.then(|| row["value"].as_f64().unwrap())
    });
    let blocks = record
        .blocks
        .iter()
        .filter(|one| one.trial.step == "readrandom" && one.trial.side == 1 && one.trial.launch == 1);
    let operations: u64 = blocks.map(|one| one.operations).sum();
    assert!((rate.unwrap() - operations as f64 / 0.4).abs() < 1e-6, "{rate:?}");
}

#[test]
fn exported_values_are_those_of_the_trials_that_count() {
    let record = rounds::record();
    let view = Comparison::of(&record, &Evidence::default());
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
    let lines = csv_rows(&text);
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
    assert_eq!(of_trial, values.metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect());
    assert!(lines.iter().all(|line| line["table"] == "values" && line["run"] == record.id));
    let objects: Vec<String> = trials
        .iter()
        .flat_map(|trial| trial.rows(&run).iter().map(|row| row.json().unwrap()).collect::<Vec<_>>())
        .collect();
    let document = format!("{{\"schema\":1,\"runs\":[],\"values\":[{}]}}", objects.join(","));
    crate::schema_check::check("export", &document);
}
