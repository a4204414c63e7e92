//! The group rows of a comparison: the steps of a group taken together, launch by launch.

use crate::groups::{GroupRow, Interval, Quoted};
use crate::view::StepRow;
use analysis::group::{self, Member};
use analysis::{Estimate, LaunchSummary, Procedure};
use model::block::Side;
use model::verdict::Verdict;
use model::workload::Group;

/// A step with the launches that it was judged on.
pub(crate) struct JudgedStep<'a> {
    pub(crate) row: &'a StepRow,
    pub(crate) launches: &'a [LaunchSummary],
}

/// A row for each group that has a step with a ratio, in the order of reports.
pub(crate) fn rows(steps: &[JudgedStep<'_>], side: Side, procedure: &Procedure) -> Vec<GroupRow> {
    Group::ALL.into_iter().filter_map(|group| row(group, steps, side, procedure)).collect()
}

fn row(group: Group, steps: &[JudgedStep<'_>], side: Side, procedure: &Procedure) -> Option<GroupRow> {
    let of_group: Vec<&JudgedStep<'_>> =
        steps.iter().filter(|step| step.row.group == group && step.row.deciding().ratio.is_some()).collect();
    let members: Vec<Member<'_>> =
        of_group.iter().map(|step| Member { launches: step.launches, decides: step.row.decides }).collect();
    let count = |verdicts: &[Verdict]| {
        let found = of_group.iter().filter(|step| verdicts.contains(&step.row.verdict)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let mean = group::mean(&members, procedure);
    // A group is no more certain than its steps may be: one without a verdict leaves it without one.
    let judged = of_group.iter().all(|step| step.row.verdict != Verdict::RatioOnly);
    let quoted = Quoted::of(
        of_group
            .iter()
            .filter_map(|step| Some((step.row.step.as_str(), step.row.deciding().ratio?)))
            .collect(),
    )?;
    Some(GroupRow {
        group,
        side,
        members: u32::try_from(of_group.len()).unwrap_or(u32::MAX),
        slower: count(&[Verdict::Regression]),
        faster: count(&[Verdict::Improvement]),
        unchanged: count(&[Verdict::NoChange]),
        inconclusive: count(&[Verdict::Inconclusive, Verdict::Suspect, Verdict::RatioOnly]),
        verdict: match &mean {
            Some(mean) if judged => mean.verdict,
            Some(_) | None => Verdict::RatioOnly,
        },
        mean: mean.and_then(|mean| interval(&mean.estimate)),
        worst: group::worst(&members, *procedure.rule()).and_then(|(index, estimate)| {
            Some((of_group.get(index)?.row.step.clone(), interval(&estimate)?))
        }),
        quoted: Some(quoted),
    })
}

fn interval(of: &Estimate) -> Option<Interval> {
    Some(Interval { ratio: of.ratio?, low: of.low, high: of.high, confidence: of.confidence })
}
