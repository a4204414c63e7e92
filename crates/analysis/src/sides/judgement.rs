//! What is said of all steps and candidates of a run with many sides. It is judged once, when it is over: a run ends with its budget or
//! because its intervals are narrow enough, never because of which side is faster, so there is one test, and it has all of alpha.

use super::control::{Control, control};
use super::rows::Places;
use super::sizes::{Size, sizes};
use super::test::{SidesFound, SidesTest, choose_rates};
use super::{Roles, SideLaunch, StepSides};
use crate::decision::adjusted_may_decide;
use crate::error::Error;
use crate::estimate::{Estimate, Method, Reading, visible_by_t};
use crate::judgement::{Case, Judgement, StepFacts, untested};
use crate::layout;
use crate::procedure::{Look, Procedure};
use crate::refusal::{self, Cap, Ceiling};
use model::metric::Metric;
use model::plan::DecisionRule;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;

/// One step of a run.
pub struct SidesStep<'a> {
    pub facts: StepFacts<'a>,
    /// Values of all sides, in ascending order of launches.
    pub launches: Vec<SideLaunch>,
    /// In the order of the roles' candidates; their launches are pairs with the base's first process, for what is not tested: CPU and
    /// counters.
    pub cases: Vec<Case<'a>>,
}

/// What a run says.
pub struct JudgedSides {
    /// By step, then by candidate.
    pub judgements: Vec<Judgement>,
    /// The base's processes against each other.
    pub control: Control,
}

/// Judges a run that is over; of one that goes on there are sizes alone.
///
/// # Errors
/// A value that is no finite number.
pub fn judge_sides(
    steps: &[SidesStep<'_>],
    roles: &Roles,
    rule: &DecisionRule,
    is_over: bool,
) -> Result<JudgedSides, Error> {
    let sides = sides_of(steps);
    let last = steps.iter().filter_map(|step| step.launches.last()).map(|launch| launch.launch).max();
    let look = Look { launch: last.unwrap_or(0), share: 1.0 };
    let mut test = SidesTest::new(roles.clone(), rule.alpha);
    let found = test.look(&sides, look);
    let of_rate = |rate: Metric| sizes(&sides, roles, &vec![rate; test.rates().len()], rule.alpha);
    let (wall, adjusted) = (of_rate(Metric::OpsPerSecond)?, of_rate(Metric::OpsPerSecondAdjusted)?);
    let candidates = roles.candidates().len();
    let run = Run { rule, found: &found, members: roles.members(steps.len()), is_over };
    let mut judgements = Vec::with_capacity(run.members);
    for (place, step) in steps.iter().enumerate() {
        for (index, case) in step.cases.iter().enumerate() {
            let member = place * candidates + index;
            let is_confirmed = found
                .confirmed
                .iter()
                .any(|one| one.step == place && one.candidate == roles.candidates()[index]);
            judgements.push(run.judgement(
                case,
                &Member {
                    number: member,
                    rate: test.rates()[member],
                    adjusted_may_decide: sides[place].adjusted_may_decide,
                    wall: wall[member].as_ref(),
                    adjusted: adjusted[member].as_ref(),
                    is_confirmed,
                },
            ));
        }
    }
    Ok(JudgedSides { judgements, control: control(&sides, roles, test.rates(), rule.alpha) })
}

/// Half of the widest interval of each step, in ln, over the candidates that have one; absent if none has. It asks how well sizes are
/// known, not what they are.
///
/// # Errors
/// A value that is no finite number.
pub fn widest_halves(
    steps: &[SidesStep<'_>],
    roles: &Roles,
    rule: &DecisionRule,
) -> Result<Vec<Option<f64>>, Error> {
    let sides = sides_of(steps);
    let rates = choose_rates(&sides, roles, &Places::of(&sides, u32::MAX));
    let sizes = sizes(&sides, roles, &rates, rule.alpha)?;
    let widest = |of_step: &[Option<Size>]| {
        of_step.iter().flatten().filter_map(|size| size.half_width).max_by(f64::total_cmp)
    };
    Ok(sizes.chunks(roles.candidates().len()).map(widest).collect())
}

fn sides_of<'a>(steps: &'a [SidesStep<'_>]) -> Vec<StepSides<'a>> {
    let may_decide = |step: &SidesStep<'_>| {
        step.cases.iter().all(|case| adjusted_may_decide(&case.facts, &case.usable(u32::MAX)))
    };
    let of = |step: &'a SidesStep<'_>| StepSides {
        step: step.facts.step,
        adjusted_may_decide: may_decide(step),
        launches: &step.launches,
    };
    steps.iter().map(of).collect()
}

/// What all members share.
struct Run<'a> {
    rule: &'a DecisionRule,
    found: &'a SidesFound,
    members: usize,
    is_over: bool,
}

/// A step and a candidate.
struct Member<'a> {
    number: usize,
    rate: Metric,
    adjusted_may_decide: bool,
    wall: Option<&'a Size>,
    adjusted: Option<&'a Size>,
    is_confirmed: bool,
}

impl Run<'_> {
    fn judgement(&self, case: &Case<'_>, member: &Member<'_>) -> Judgement {
        let mut judgement = untested(case, &Procedure::new(*self.rule));
        judgement.decides = member.rate;
        judgement.decided = self.is_over;
        judgement.adjusted_may_decide = member.adjusted_may_decide;
        self.set_interval(&mut judgement.wall, member.wall, member);
        if let Some(adjusted) = &mut judgement.adjusted {
            self.set_interval(adjusted, member.adjusted, member);
        }
        let launches = member.wall.map_or(0, |size| size.launches);
        judgement.launches = u32::try_from(launches).unwrap_or(u32::MAX);
        let mut verdict = match launches {
            0 => {
                judgement.warnings.push(Warning::NoLaunches);
                Verdict::RatioOnly
            }
            1 => {
                judgement.warnings.push(Warning::OneRun);
                Verdict::RatioOnly
            }
            _ if !self.is_over => Verdict::Inconclusive,
            _ => self.verdict(&mut judgement, member.is_confirmed),
        };
        let refusals = refusal::of_blocks(case.launches.iter());
        judgement.warnings.extend(refusals.iter().map(|cap| cap.warning.clone()));
        for Cap { ceiling, .. } in refusals.iter().chain(case.facts.caps) {
            verdict = ceiling.lower(verdict);
            if *ceiling == Ceiling::RatioOnly {
                without_intervals(&mut judgement);
            }
        }
        judgement.verdict = verdict;
        let is_directional = matches!(verdict, Verdict::Regression | Verdict::Improvement);
        judgement.confirmed = is_directional;
        judgement.layout = match verdict {
            Verdict::Regression | Verdict::Improvement => Some(self.layout(case, &mut judgement)),
            Verdict::NoChange => Some(Layout::Within),
            Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => None,
        };
        judgement
    }

    /// What holds among all steps and candidates is a change, and what lies within the margin as a whole is none.
    fn verdict(&self, judgement: &mut Judgement, is_confirmed: bool) -> Verdict {
        let margin = self.rule.margin;
        let wall = judgement.wall.reading(margin);
        let adjusted = judgement.adjusted.as_ref().map_or(Reading::Open, |one| one.reading(margin));
        let contradict = wall.contradicts(adjusted);
        if contradict && judgement.adjusted_may_decide {
            judgement.warnings.push(Warning::WaitingTimeChanged);
            return Verdict::Inconclusive;
        }
        if contradict {
            judgement.warnings.push(Warning::WaitingTimeOfEngine);
        }
        if self.found.is_parametric {
            judgement.warnings.push(Warning::ParametricInterval { launches: u64::from(judgement.launches) });
        }
        let is_adjusted = judgement.decides == Metric::OpsPerSecondAdjusted;
        let deciding = match &mut judgement.adjusted {
            Some(adjusted) if is_adjusted => adjusted,
            Some(_) | None => &mut judgement.wall,
        };
        let verdict = if is_confirmed && deciding.ratio.is_some() {
            deciding.confirm()
        } else if deciding.lies_within(margin.ln_1p()) {
            Verdict::NoChange
        } else {
            Verdict::Inconclusive
        };
        if is_adjusted && verdict != Verdict::Inconclusive {
            judgement.warnings.push(Warning::ContentionAdjusted);
        }
        verdict
    }

    /// Whether layout of code can account for a change.
    fn layout(&self, case: &Case<'_>, judgement: &mut Judgement) -> Layout {
        let tau = case.facts.tau.unwrap_or(self.rule.tau);
        let most = layout::quantile(self.rule.alpha, self.members) * tau;
        let deciding = judgement.deciding().clone();
        let grade = layout::Change::of(&deciding, 0.0).map_or(Layout::MayBe, |change| change.grade(most));
        judgement.warnings.extend(layout::warning(grade, most, &deciding, self.rule.margin));
        grade
    }

    fn set_interval(&self, estimate: &mut Estimate, size: Option<&Size>, member: &Member<'_>) {
        let Some(size) = size else {
            *estimate = estimate.clone().without_interval();
            return;
        };
        let end = |sign: f64| size.half_width.map(|half| (size.ln_ratio + sign * half).exp());
        estimate.ratio = Some(size.ln_ratio.exp());
        (estimate.low, estimate.high) = (end(-1.0), end(1.0));
        estimate.range = None;
        estimate.confidence = 1.0 - self.rule.alpha;
        estimate.units = u32::try_from(size.launches).unwrap_or(u32::MAX);
        estimate.method = if size.half_width.is_some() { Method::StudentT } else { Method::RatioOnly };
        // By the test that decides, if it was made of this rate.
        let by_test = self
            .found
            .deviations
            .get(member.number)
            .filter(|_| size.rate == member.rate)
            .map(|deviation| visible_by_t(self.found.critical_t, *deviation, size.launches as f64));
        estimate.visible_change = by_test.or(size.visible).map(f64::exp_m1);
        estimate.launch_sd = self.found.deviations.get(member.number).copied();
    }
}

fn without_intervals(judgement: &mut Judgement) {
    judgement.wall = judgement.wall.clone().without_interval();
    judgement.cpu = judgement.cpu.clone().without_interval();
    judgement.adjusted = judgement.adjusted.take().map(Estimate::without_interval);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Comparison, LaunchSummary, pairs, summarize};
    use crate::sides::{ControlVerdict, SideStep, side_launches};
    use crate::simulation::blocks::{BlockSpec, STEP, block};
    use model::block::{Block, Side};
    use std::collections::BTreeSet;

    const BASE_PROCESSES: [Side; 2] = [0, 4];

    /// Launches of a base of two processes and three candidates; the second candidate is 10 % slower.
    fn blocks(launches: u32, scatter: u64) -> Vec<Block> {
        let operations = |launch: u32, cycle: u32, side: Side| {
            let noise =
                (u64::from(launch) * 7919 + u64::from(cycle) * 104_729 + side as u64 * 1_299_709) % 101;
            (if side == 2 { 9000 } else { 10_000 }) + noise * scatter
        };
        let of = |launch| {
            (0..10).flat_map(move |cycle| {
                (0..5).map(move |side| {
                    block(&BlockSpec {
                        launch,
                        cycle,
                        side,
                        operations: operations(launch, cycle, side),
                        ..BlockSpec::default()
                    })
                })
            })
        };
        (1..=launches).flat_map(of).collect()
    }

    fn judged(blocks: &[Block], rule: &DecisionRule, is_over: bool) -> JudgedSides {
        let roles = Roles::new(BASE_PROCESSES.to_vec(), vec![1, 2, 3]).unwrap();
        let none = BTreeSet::new();
        let summaries: Vec<Vec<LaunchSummary>> = roles
            .candidates()
            .iter()
            .map(|candidate| {
                let of = Comparison { step: STEP, candidate: *candidate, excluded: &none };
                summarize(&pairs(blocks, &of), false)
            })
            .collect();
        let facts = StepFacts {
            step: STEP,
            writes: false,
            foreground_threads: 1,
            cpus: 2,
            open_loop: false,
            tau: None,
            caps: &[],
        };
        let excluded = BTreeSet::new();
        let launches = side_launches(blocks, &SideStep { step: STEP, writes: false, excluded: &excluded });
        let cases = summaries.iter().map(|launches| Case { facts, launches }).collect();
        judge_sides(&[SidesStep { facts, launches, cases }], &roles, rule, is_over).unwrap()
    }

    #[test]
    fn a_loss_is_found_and_the_others_are_within_the_margin() {
        let found = judged(&blocks(10, 3), &DecisionRule::default(), true);
        let verdicts: Vec<Verdict> = found.judgements.iter().map(|one| one.verdict).collect();
        assert_eq!(verdicts, [Verdict::NoChange, Verdict::Regression, Verdict::NoChange]);
        let lost = &found.judgements[1];
        let [ratio, low, high] =
            [lost.deciding().ratio, lost.deciding().low, lost.deciding().high].map(Option::unwrap);
        assert!(lost.confirmed && lost.layout == Some(Layout::Beyond));
        assert!(low < ratio && ratio < high && (ratio - 0.9).abs() < 0.01, "{low} {ratio} {high}");
        assert_eq!(found.control.verdict, ControlVerdict::NoDifference);
        let is_provisional = |warning: &Warning| matches!(warning, Warning::Provisional { .. });
        assert!(!found.judgements.iter().flat_map(|one| &one.warnings).any(is_provisional));
    }

    #[test]
    fn how_well_sizes_are_known_does_not_depend_on_which_side_is_faster() {
        let rule = DecisionRule::default();
        let halves = |blocks: &[Block]| {
            let found = judged(blocks, &rule, true);
            found
                .judgements
                .iter()
                .map(|one| one.deciding().high.unwrap().ln() - one.deciding().ratio.unwrap().ln())
                .fold(0.0, f64::max)
        };
        let (of_ten, of_forty) = (halves(&blocks(10, 3)), halves(&blocks(40, 3)));
        assert!(of_forty < 0.6 * of_ten, "{of_ten} {of_forty}");
        let mut turned = blocks(10, 3);
        for block in turned.iter_mut().filter(|block| block.trial.side == 2) {
            block.operations += 2000;
        }
        assert!((halves(&turned) / of_ten - 1.0).abs() < 0.15, "{} {of_ten}", halves(&turned));
    }

    #[test]
    fn a_run_that_goes_on_has_sizes_alone() {
        let found = judged(&blocks(10, 3), &DecisionRule::default(), false);
        assert!(found.judgements.iter().all(|one| one.verdict == Verdict::Inconclusive && !one.confirmed));
        assert!(found.judgements[1].deciding().high.is_some_and(|high| high < 0.95));
    }

    #[test]
    fn one_launch_has_a_ratio_and_none_has_nothing() {
        let one = judged(&blocks(1, 3), &DecisionRule::default(), true);
        assert!(one.judgements.iter().all(|one| one.verdict == Verdict::RatioOnly));
        assert_eq!(one.judgements[0].deciding().low, None);
        let nothing = judged(&[], &DecisionRule::default(), true);
        assert!(nothing.judgements.iter().all(|one| one.warnings.contains(&Warning::NoLaunches)));
    }

    #[test]
    fn few_launches_are_judged_by_student_and_say_so() {
        let found = judged(&blocks(5, 3), &DecisionRule::default(), true);
        assert_eq!(found.judgements[1].verdict, Verdict::Regression);
        let warning = Warning::ParametricInterval { launches: 5 };
        assert!(found.judgements.iter().all(|one| one.warnings.contains(&warning)));
    }
}
