//! The rates of a run by step and subject, as its report has them.

use crate::campaign::{self, CampaignView};
use crate::document::Sentence;
use crate::labels::told_apart;
use crate::phrases;
use crate::summary;
use crate::view::{ReportView, StepRow};
use model::figures::{self, NONE, count};
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

/// Of a comparison or a calibration.
pub fn of_comparison(view: &ReportView) -> RunFigures {
    let mut steps: BTreeMap<String, Vec<SubjectFigure>> = BTreeMap::new();
    let candidates = view.candidates.iter().map(|candidate| candidate.subject.clone());
    let labels = told_apart(std::iter::once(view.base.clone()).chain(candidates));
    for (candidate, label) in view.candidates.iter().zip(&labels[1..]) {
        for row in &candidate.rows {
            let of_step = steps.entry(row.step.clone()).or_default();
            if of_step.is_empty() {
                of_step.push(base(&view.base, row.wall.base));
            }
            of_step.push(SubjectFigure {
                subject: label.clone(),
                rate: row.wall.candidate,
                relative: relative_of_row(row),
                notes: row.notes.iter().map(|note| note.text.clone()).collect(),
            });
        }
    }
    let sentences = view.candidates.iter().map(|candidate| Sentence {
        verdict: worst(candidate.rows.iter().filter(|row| row.confirmed).map(|row| row.verdict)),
        text: candidate.summary.clone(),
    });
    RunFigures { sentences: sentences.collect(), steps }
}

/// Of a campaign.
pub fn of_campaign(view: &CampaignView) -> RunFigures {
    let of_step = |step: &campaign::StepView| -> Vec<SubjectFigure> {
        let subjects = step.rows.iter().map(|row| {
            let subject = view.subjects.iter().find(|subject| subject.side == row.side);
            let compared = step.comparisons.iter().find(|one| one.decides && one.side == row.side);
            let mut figure =
                base(subject.map_or("", |subject| subject.subject.as_str()), row.mean.get("ops_per_s"));
            if row.side != model::block::BASE {
                figure.relative = compared.map_or_else(|| NONE.to_owned(), relative_of_comparison);
                figure.notes = compared
                    .map(|one| one.notes.iter().map(|note| note.text.clone()).collect())
                    .unwrap_or_default();
            }
            figure
        });
        subjects.collect()
    };
    RunFigures {
        sentences: sentences_of(view),
        steps: view.steps.iter().map(|step| (step.name.clone(), of_step(step))).collect(),
    }
}

fn base(subject: &str, rate: Option<f64>) -> SubjectFigure {
    SubjectFigure { subject: subject.to_owned(), rate, relative: "base".to_owned(), notes: Vec::new() }
}

fn relative_of_row(row: &StepRow) -> String {
    let standing = if summary::is_single_step(row) { ", single step" } else { "" };
    let launches = count(u64::from(row.launches), "launch", "launches");
    format!("{} {}{standing}, {launches}", phrases::relative_rate(row), phrases::verdict(row))
}

fn relative_of_comparison(one: &campaign::Comparison) -> String {
    let Some(ratio) = one.ratio else { return NONE.to_owned() };
    let bounded = one.low.is_some() || one.high.is_some();
    let interval = if bounded { format!(" {}", figures::interval(one.low, one.high)) } else { String::new() };
    // Where no difference was found there is no number that could be read as one.
    let shown = match one.verdict {
        Verdict::Regression | Verdict::Improvement | Verdict::Suspect | Verdict::RatioOnly => {
            figures::ratio(ratio)
        }
        Verdict::NoChange | Verdict::Inconclusive => "~".to_owned(),
    };
    let rounds = count(u64::from(one.rounds), "round", "rounds");
    format!("{shown}{interval} {}, {rounds}", one.verdict.name().replace('-', " "))
}

/// How many steps of all candidates changed: the report says which.
fn sentences_of(view: &CampaignView) -> Vec<Sentence> {
    let decided: Vec<Verdict> = view
        .steps
        .iter()
        .flat_map(|step| step.comparisons.iter().filter(|one| one.decides).map(|one| one.verdict))
        .collect();
    let counted = |verdict: Verdict, word: &str| {
        let steps = decided.iter().filter(|one| **one == verdict).count();
        (steps > 0).then(|| format!("{steps} {word}"))
    };
    let parts: Vec<String> = [
        counted(Verdict::Regression, "slower"),
        counted(Verdict::Improvement, "faster"),
        counted(Verdict::Suspect, "suspect"),
        counted(Verdict::NoChange, "without a difference"),
        counted(Verdict::Inconclusive, "open"),
        counted(Verdict::RatioOnly, "without a verdict"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = if parts.is_empty() {
        "Nothing was compared yet.".to_owned()
    } else {
        format!("Of {} steps and candidates: {}.", decided.len(), parts.join(", "))
    };
    vec![Sentence { verdict: worst(decided.iter().copied()), text }]
}

/// The verdict that colours a sentence over several: a regression before an improvement; none where nothing changed.
fn worst(verdicts: impl Iterator<Item = Verdict> + Clone) -> Option<Verdict> {
    let any = |wanted: Verdict| verdicts.clone().any(|verdict| verdict == wanted).then_some(wanted);
    any(Verdict::Regression).or_else(|| any(Verdict::Improvement)).or_else(|| any(Verdict::Suspect))
}
