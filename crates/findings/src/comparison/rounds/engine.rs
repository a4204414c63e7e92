//! What the engine says of itself: RocksDB's own statistics before and after a trial, as columns and tickers; of a SQL
//! server the size of its database and how often it found a page in its cache.

use super::values::TrialData;
use crate::comparison::Values;
use formats::rocksdb_stats::{self, RocksDbStats};
use formats::rocksdb_tickers;
use formats::server_status;
use model::block::TrialKey;
use model::event::Moment;
use model::metric::Metric;
use model::record::RunRecord;
use model::wire::EngineText;
use std::collections::BTreeMap;

/// The texts of a run, by trial, kind and moment.
pub(super) struct Texts<'a> {
    by_trial: BTreeMap<(&'a TrialKey, &'static str, &'static str), &'a str>,
}

/// The text before a trial and the last one of it.
struct Pair<'a> {
    before: Option<&'a str>,
    last: &'a str,
}

impl<'a> Texts<'a> {
    /// Those of a record.
    pub(super) fn of(record: &'a RunRecord) -> Texts<'a> {
        let texts = record.engine_texts.iter();
        let by_trial = texts.map(|one| ((&one.trial, one.what.name(), one.moment.name()), one.text.as_str()));
        Texts { by_trial: by_trial.collect() }
    }

    /// Adds what the engine says of a trial; returns why texts could not be read.
    pub(super) fn add(&self, values: &mut Values, trial: &TrialData<'_>) -> Vec<String> {
        let stats = self.pair(trial.key, EngineText::Stats).map(|pair| stats(&pair));
        let tickers = self.pair(trial.key, EngineText::Tickers).map(|pair| tickers(&pair));
        if let Some(pair) = self.pair(trial.key, EngineText::Status) {
            add_status(values, &pair);
        }
        let mut problems = Vec::new();
        match stats {
            Some(Ok(stats)) => add_stats(values, &stats),
            Some(Err(problem)) => problems.push(problem.to_string()),
            None => {}
        }
        match tickers {
            Some(Ok(tickers)) => {
                if let Some(operations) = trial.operations() {
                    let counted = tickers.counts.into_iter().filter(|(_, count)| *count > 0);
                    values.tickers = counted.map(|(name, count)| (name, count as f64 / operations)).collect();
                }
            }
            Some(Err(problem)) => problems.push(problem.to_string()),
            None => {}
        }
        problems
    }

    /// The last text of a trial: settled where it settles, for what its operations left behind belongs to them.
    fn pair(&self, trial: &TrialKey, what: EngineText) -> Option<Pair<'a>> {
        let text = |moment: Moment| self.by_trial.get(&(trial, what.name(), moment.name())).copied();
        let last = text(Moment::Settled).or_else(|| text(Moment::After))?;
        Some(Pair { before: text(Moment::Before), last })
    }
}

/// What happened between the texts.
fn stats(pair: &Pair<'_>) -> Result<RocksDbStats, formats::ParseError> {
    let last = rocksdb_stats::parse(pair.last)?;
    Ok(match pair.before {
        Some(before) => last.since(&rocksdb_stats::parse(before)?),
        None => last,
    })
}

fn add_status(values: &mut Values, pair: &Pair<'_>) {
    let last = server_status::parse(pair.last);
    values.set(Metric::DatabaseBytes, last.database_bytes().map(|bytes| bytes as f64));
    let before = pair.before.map(server_status::parse);
    values.set(Metric::CacheHitPercent, before.and_then(|before| last.hit_percent_since(&before)));
}

fn tickers(pair: &Pair<'_>) -> Result<rocksdb_tickers::Tickers, formats::ParseError> {
    let last = rocksdb_tickers::parse(pair.last)?;
    Ok(match pair.before {
        Some(before) => last.since(&rocksdb_tickers::parse(before)?),
        None => last,
    })
}

fn add_stats(values: &mut Values, stats: &RocksDbStats) {
    let count = |count: Option<u64>| count.map(|count| count as f64);
    values.set(Metric::LsmBytes, count(stats.lsm_bytes));
    values.set(Metric::BlobBytes, count(stats.blob_bytes));
    values.set(Metric::CompactionWriteBytes, count(stats.compaction_write_bytes));
    values.set(Metric::WriteAmplification, stats.write_amplification());
    values.set(Metric::CompactionWriteBytesPerSecond, stats.compaction_write_bytes_per_s);
    values.set(Metric::CompactionSeconds, stats.compaction_s);
    values.set(Metric::CompactionCpuSeconds, stats.compaction_cpu_s);
    values.set(Metric::BlobReadBytes, count(stats.blob_read_bytes));
    values.set(Metric::BlobWriteBytes, count(stats.blob_write_bytes));
    values.set(Metric::UptimeSeconds, stats.uptime_s);
    values.set(Metric::StallPercent, stats.stall_percent);
    values.set(Metric::Stalls, count(stats.stall_count()));
}
