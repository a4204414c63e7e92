//! The rates of a run by step and subject, as its report has them.

use crate::comparison::{found, verdict_word};
use crate::document::Sentence;
use findings::Comparison;
use findings::comparison::ComparedStep;
use findings::labels::told_apart;
use model::block::BASE;
use model::figures::{self, NONE};
use model::metric::Metric;
use model::verdict::Verdict;
use std::collections::BTreeMap;

/// What the report of a run says of its steps, in short.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFigures {
    pub sentences: Vec<Sentence>,
    /// For each step its subjects, the base first.
    pub steps: BTreeMap<String, Vec<SubjectFigure>>,
}

/// One subject in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectFigure {
    /// As the user named it; where another of the run has that name, with its side.
    pub subject: String,
    pub rate: Option<f64>,
    /// Relative to the base of its run, with interval, verdict and launches; of the base that it is the base.
    pub relative: String,
    /// What a reader must know of it.
    pub notes: Vec<String>,
}

/// What the view of a run has.
pub fn figures(view: &Comparison) -> RunFigures {
    let mut steps: BTreeMap<String, Vec<SubjectFigure>> = BTreeMap::new();
    let names = told_apart(view.subjects.iter().map(|subject| subject.subject.clone()));
    for step in &view.steps {
        let of_step = view.subjects.iter().zip(&names).filter_map(|(subject, name)| {
            let row = step.rows.iter().find(|row| row.side == subject.side);
            let mean = row.and_then(|row| row.mean.get(Metric::OpsPerSecond));
            if subject.side == BASE {
                return Some(SubjectFigure {
                    subject: name.clone(),
                    rate: mean.or(step.base_rate()),
                    relative: "base".to_owned(),
                    notes: Vec::new(),
                });
            }
            let case = step.case(subject.side)?;
            Some(SubjectFigure {
                subject: name.clone(),
                rate: mean.or_else(|| case.metric(Metric::OpsPerSecond)?.candidate),
                relative: relative(case, view),
                notes: case.warnings.iter().map(ToString::to_string).collect(),
            })
        });
        steps.insert(step.name.clone(), of_step.collect());
    }
    RunFigures { sentences: found(view), steps }
}

/// `0.94 [0.93, 0.95] regression, 14 launches`
fn relative(case: &ComparedStep, view: &Comparison) -> String {
    let Some((deciding, ratio)) = case.deciding().and_then(|one| Some((one, one.ratio?))) else {
        return NONE.to_owned();
    };
    let mut parts = Vec::new();
    // Where no difference was found there is no number that could be read as one.
    if !matches!(case.verdict, Verdict::NoChange | Verdict::Inconclusive) {
        parts.push(figures::ratio(ratio));
    }
    if deciding.is_bounded() {
        parts.push(figures::interval(deciding.low, deciding.high));
    }
    parts.push(verdict_word(case.verdict).to_owned());
    let alone = if case.is_alone() { ", by itself only" } else { "" };
    format!("{}{alone}, {}", parts.join(" "), view.repeats.count(case.repeats))
}
