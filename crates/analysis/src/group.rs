//! What the steps of a group say together: the geometric mean of their ratios launch by launch, and the member that lost
//! most with an interval that holds for all members at once (statistics 1.5).

use crate::estimate::{Estimate, estimate, value_of};
use crate::launch::{LaunchSummary, Totals};
use crate::procedure::Procedure;
use model::metric::Metric;
use model::plan::DecisionRule;
use std::collections::{BTreeMap, BTreeSet};

/// A step of the group: its launches and the rate that carries its verdict.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub launches: &'a [LaunchSummary],
    pub decides: Metric,
}

/// The geometric mean of these members' ratios against the base, over the launches in which every member has one: a member
/// that had its verdict leaves the later ones, and a mean over the others would be of something else. Absent if they have
/// no launch in common. It is a size with an interval and no verdict: a group is no member of the family that is tested.
pub fn mean(members: &[Member<'_>], procedure: &Procedure) -> Option<Estimate> {
    let launches = common_launches(members);
    (!launches.is_empty()).then(|| at_the_end(Metric::OpsPerSecond, &launches, procedure))
}

fn at_the_end(metric: Metric, launches: &[LaunchSummary], procedure: &Procedure) -> Estimate {
    estimate(metric, launches, procedure.single(launches), 1.0 - procedure.rule().alpha)
}

/// The member with the smallest ratio, by its index, with an interval for all members at once: alpha is shared out
/// among them (Bonferroni). Absent where no member has a ratio.
pub fn worst(members: &[Member<'_>], rule: DecisionRule) -> Option<(usize, Estimate)> {
    let shared = DecisionRule { alpha: rule.alpha / members.len().max(1) as f64, ..rule };
    let procedure = Procedure::new(shared);
    let estimates = members.iter().map(|member| {
        let usable: Vec<LaunchSummary> =
            member.launches.iter().filter(|one| value_of(member.decides)(one).is_some()).cloned().collect();
        at_the_end(member.decides, &usable, &procedure)
    });
    estimates
        .enumerate()
        .filter(|(_, one)| one.ratio.is_some())
        .min_by(|(_, left), (_, right)| left.ratio.unwrap_or(1.0).total_cmp(&right.ratio.unwrap_or(1.0)))
}

/// One summary for each launch that all members have: the mean of their logarithms.
fn common_launches(members: &[Member<'_>]) -> Vec<LaunchSummary> {
    let values: Vec<BTreeMap<u32, (u32, f64)>> = members
        .iter()
        .map(|member| {
            let value = value_of(member.decides);
            member.launches.iter().filter_map(|one| Some((one.launch, (one.image, value(one)?)))).collect()
        })
        .collect();
    let mut common: Option<BTreeSet<u32>> = None;
    for of_member in &values {
        let here: BTreeSet<u32> = of_member.keys().copied().collect();
        common = Some(common.map_or(here.clone(), |common| common.intersection(&here).copied().collect()));
    }
    common
        .unwrap_or_default()
        .into_iter()
        .map(|launch| {
            let of_launch: Vec<(u32, f64)> =
                values.iter().filter_map(|of_member| of_member.get(&launch).copied()).collect();
            let sum: f64 = of_launch.iter().map(|(_, value)| value).sum();
            LaunchSummary {
                launch,
                image: of_launch.first().map_or(launch, |(image, _)| *image),
                base: Totals::default(),
                candidate: Totals::default(),
                wall: Some(sum / of_launch.len() as f64),
                adjusted: None,
                cpu: None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(values: &[f64]) -> Vec<LaunchSummary> {
        values
            .iter()
            .zip(1..)
            .map(|(value, launch)| LaunchSummary {
                launch,
                image: launch,
                base: Totals::default(),
                candidate: Totals::default(),
                wall: Some(*value),
                adjusted: None,
                cpu: None,
            })
            .collect()
    }

    fn members(steps: &[Vec<LaunchSummary>]) -> Vec<Member<'_>> {
        steps.iter().map(|launches| Member { launches, decides: Metric::OpsPerSecond }).collect()
    }

    fn procedure() -> Procedure {
        Procedure::new(DecisionRule { max_launches: 12, ..DecisionRule::default() })
    }

    #[test]
    fn members_that_lose_together_make_a_group_that_lost() {
        let slower: Vec<f64> = (0..12).map(|launch| -0.05 + 0.001 * f64::from(launch % 4)).collect();
        let even: Vec<f64> = (0..12).map(|launch| -0.03 + 0.001 * f64::from(launch % 3)).collect();
        let steps = [launches(&slower), launches(&even)];
        let group = mean(&members(&steps), &procedure()).unwrap();
        assert!(group.units == 12 && group.high.unwrap() < 1.0, "{group:?}");
        assert!((group.ratio.unwrap().ln() + 0.0385).abs() < 0.001);
        let (worst, estimate) = worst(&members(&steps), *procedure().rule()).unwrap();
        assert_eq!(worst, 0);
        let alone = mean(&members(&steps[..1]), &procedure()).unwrap();
        assert!(estimate.confidence > alone.confidence && estimate.low <= alone.low);
    }

    #[test]
    fn launches_that_one_member_left_do_not_count() {
        let steps = [launches(&[-0.5; 4]), launches(&[0.5; 12])];
        let group = mean(&members(&steps), &procedure()).unwrap();
        assert_eq!(group.units, 4);
        assert!(group.ratio.unwrap().ln().abs() < 1e-12);
        assert!(mean(&members(&[launches(&[]), launches(&[0.1])]), &procedure()).is_none());
        assert!(mean(&[], &procedure()).is_none());
        assert!(worst(&[], *procedure().rule()).is_none());
    }
}
