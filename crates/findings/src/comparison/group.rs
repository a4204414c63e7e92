//! Steps summarised by group: the geometric mean with its interval and the worst member with its simultaneous one, beside
//! the smallest, largest, mean and median ratio that the Small Datum posts give (statistics 1.5).

use super::ComparedStep;
use analysis::group::{self, Member};
use analysis::{Estimate, LaunchSummary, Procedure};
use model::block::Side;
use model::metric::Metric;
use model::verdict::Verdict;
use model::workload::{Group, Step};
use serde::Serialize;

/// One group of one candidate against the base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRow {
    pub group: Group,
    /// As the user named it.
    pub candidate: String,
    #[serde(skip)]
    pub side: Side,
    /// Steps of the group that have a ratio.
    #[serde(rename = "steps")]
    pub members: u32,
    /// Steps that are slower, by their verdicts.
    pub slower: u32,
    pub faster: u32,
    /// Steps without a difference beyond the margin.
    pub unchanged: u32,
    /// Steps that are open, and those that can have no verdict.
    pub inconclusive: u32,
    /// Whether the interval of the mean leaves 1 out, where the design supports a verdict.
    pub verdict: Verdict,
    /// Geometric mean of the members' ratios, over the rounds or launches in which all of them have one.
    pub mean: Option<Interval>,
    /// The member that lost most, with an interval that holds for all members at once.
    pub worst: Option<Worst>,
    /// As Small Datum has it: of single ratios, biased by selection.
    pub quoted: Option<Quoted>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub ratio: f64,
    /// Lower end; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
}

/// The step of a group that lost most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worst {
    pub step: String,
    #[serde(flatten)]
    pub interval: Interval,
}

/// What Small Datum says of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quoted {
    pub min: f64,
    /// The step that has it.
    pub min_step: String,
    pub max: f64,
    /// The step that has it.
    pub max_step: String,
    /// Arithmetic mean of the ratios.
    pub avg: f64,
    pub median: f64,
}

impl Quoted {
    /// Of these ratios; absent where there are none.
    fn of(mut ratios: Vec<(&str, f64)>) -> Option<Quoted> {
        ratios.sort_by(|left, right| left.1.total_cmp(&right.1));
        let (first, last) = (ratios.first()?, ratios.last()?);
        let (upper, lower) = (ratios[ratios.len() / 2].1, ratios[(ratios.len() - 1) / 2].1);
        let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        Some(Quoted {
            min: first.1,
            min_step: first.0.to_owned(),
            max: last.1,
            max_step: last.0.to_owned(),
            avg: analysis::student::mean(&values)?,
            median: 0.5 * (upper + lower),
        })
    }
}

/// What is known of a group beside the verdicts of its steps.
pub(super) struct Summary {
    pub(super) group: Group,
    pub(super) side: Side,
    pub(super) candidate: String,
    pub(super) mean: Option<Interval>,
    /// Of the mean.
    pub(super) verdict: Verdict,
    pub(super) worst: Option<Worst>,
}

/// The row of a group of steps with what is said of the candidate in each; absent where none has a ratio.
pub(super) fn row(summary: Summary, members: &[(&str, &ComparedStep)]) -> Option<GroupRow> {
    let count = |verdicts: &[Verdict]| {
        let found = members.iter().filter(|(_, case)| verdicts.contains(&case.verdict)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let ratios: Vec<(&str, f64)> =
        members.iter().filter_map(|(step, case)| Some((*step, case.ratio()?))).collect();
    // A group is no more certain than its steps may be: one without a verdict leaves it without one.
    let judged = members.iter().all(|(_, case)| case.verdict != Verdict::RatioOnly);
    Some(GroupRow {
        group: summary.group,
        candidate: summary.candidate,
        side: summary.side,
        members: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        slower: count(&[Verdict::Regression]),
        faster: count(&[Verdict::Improvement]),
        unchanged: count(&[Verdict::NoChange]),
        inconclusive: count(&[Verdict::Inconclusive, Verdict::Suspect, Verdict::RatioOnly]),
        verdict: if judged { summary.verdict } else { Verdict::RatioOnly },
        mean: summary.mean,
        worst: summary.worst,
        quoted: Some(Quoted::of(ratios)?),
    })
}

/// A step with the launches that it was judged on, and what is said of it.
pub(super) struct JudgedStep<'a> {
    pub(super) step: &'a Step,
    pub(super) launches: &'a [LaunchSummary],
    pub(super) case: ComparedStep,
}

/// A row for each group of a candidate that has a step with a ratio, launch by launch, in the order of reports.
pub(super) fn of_launches(
    all: &[JudgedStep<'_>],
    (side, candidate): (Side, &str),
    procedure: &Procedure,
) -> Vec<GroupRow> {
    let of_group = |group: Group| {
        let has_ratio = |one: &&JudgedStep<'_>| one.case.ratio().is_some();
        let steps: Vec<&JudgedStep<'_>> = all
            .iter()
            .filter(|one| one.case.side == side && one.step.group == group)
            .filter(has_ratio)
            .collect();
        let members: Vec<Member<'_>> = steps
            .iter()
            .map(|one| Member {
                launches: one.launches,
                decides: one.case.decides.unwrap_or(Metric::OpsPerSecond),
            })
            .collect();
        let mean = group::mean(&members, procedure);
        let worst = group::worst(&members, *procedure.rule()).and_then(|(index, estimate)| {
            Some(Worst { step: steps.get(index)?.step.name.clone(), interval: interval(&estimate)? })
        });
        let summary = Summary {
            group,
            side,
            candidate: candidate.to_owned(),
            verdict: Verdict::RatioOnly,
            mean: mean.as_ref().and_then(interval),
            worst,
        };
        let cases: Vec<(&str, &ComparedStep)> =
            steps.iter().map(|one| (one.step.name.as_str(), &one.case)).collect();
        row(summary, &cases)
    };
    Group::ALL.iter().copied().filter_map(of_group).collect()
}

fn interval(of: &Estimate) -> Option<Interval> {
    Some(Interval { ratio: of.ratio?, low: of.low, high: of.high, confidence: of.confidence })
}
