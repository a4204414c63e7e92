//! Families of steps as a run measures them: looks on the way, steps that leave, their time spent on those that stay.
//! Launch values are drawn, not blocks: what is simulated is the test of the family, its stopping rule and its words.

use super::blocks::{self, reads};
use super::noise::Noise;
use crate::judgement::{Case, Judgement, Judging, judge_family};
use crate::launch::LaunchSummary;
use crate::procedure::{Look, Procedure};
use model::plan::DecisionRule;
use model::verdict::{Layout, Verdict};
use std::collections::BTreeSet;

/// How the launch values of a step scatter, and what else is true of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum FamilyNoise {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// Each side's own noise is skewed, in the same way on both sides.
    Skewed,
    /// A launch is fast or slow, with a little on top: where memory happened to be placed.
    TwoPoint,
    /// Half of the variance is of the launch, the same in all its steps.
    Correlated,
}

impl FamilyNoise {
    pub const ALL: &[FamilyNoise] = <FamilyNoise as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A run of one base and one candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FamilyPlan {
    pub steps: usize,
    /// Launches of all steps that the budget pays for.
    pub launches: u32,
    pub noise: FamilyNoise,
    /// Standard deviation of a launch value, in ln.
    pub launch_sd: f64,
    /// What the first step is faster by, in ln; below 0 slower.
    pub effect: f64,
    /// Standard deviation between builds of one source, in ln: each step has a difference of its own. The rule assumes
    /// 0.005.
    pub tau: f64,
    /// Whether a run that ends open is extended, by as much time as it had.
    pub extended: bool,
}

/// What a scenario has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FamilyTarget {
    /// Families with a false change.
    FalseAtMost(f64),
    /// Families in which the changed step is confirmed.
    FoundAtLeast(f64),
    /// Families in which a step that differs by layout alone is called beyond layout.
    FalseBeyondAtMost(f64),
    /// Families in which the changed step is called beyond layout.
    FoundBeyondAtLeast(f64),
}

/// A plan with a name and what it has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FamilyScenario {
    pub name: &'static str,
    pub plan: FamilyPlan,
    pub target: FamilyTarget,
}

/// Five steps that 24 launches are paid for, as `quick` in five minutes.
const FIVE: FamilyPlan = FamilyPlan {
    steps: 5,
    launches: 24,
    noise: FamilyNoise::Normal,
    launch_sd: 0.02,
    effect: 0.0,
    tau: 0.0,
    extended: false,
};
/// The 42 microbenchmarks, twelve launches.
const ALL_42: FamilyPlan = FamilyPlan { steps: 42, launches: 12, ..FIVE };
/// ln of 4 % slower.
const FOUR_PERCENT: f64 = -0.040_822;

impl FamilyScenario {
    /// Every scenario.
    pub const ALL: &[FamilyScenario] = &[
        FamilyScenario::null("5-normal", FIVE, FamilyNoise::Normal),
        FamilyScenario::null("5-heavy-tails", FIVE, FamilyNoise::HeavyTails),
        FamilyScenario::null("5-skewed", FIVE, FamilyNoise::Skewed),
        FamilyScenario::null("5-two-point", FIVE, FamilyNoise::TwoPoint),
        FamilyScenario::null("5-correlated", FIVE, FamilyNoise::Correlated),
        FamilyScenario::null("42-normal", ALL_42, FamilyNoise::Normal),
        FamilyScenario::null("42-heavy-tails", ALL_42, FamilyNoise::HeavyTails),
        FamilyScenario::null("42-skewed", ALL_42, FamilyNoise::Skewed),
        FamilyScenario::null("42-two-point", ALL_42, FamilyNoise::TwoPoint),
        FamilyScenario::null("42-correlated", ALL_42, FamilyNoise::Correlated),
        FamilyScenario::null("5-noisy", FamilyPlan { launch_sd: 0.05, ..FIVE }, FamilyNoise::Correlated),
        FamilyScenario::null("5-noisier", FamilyPlan { launch_sd: 0.1, ..FIVE }, FamilyNoise::Normal),
        FamilyScenario::null("42-noisy", FamilyPlan { launch_sd: 0.05, ..ALL_42 }, FamilyNoise::Correlated),
        FamilyScenario::null(
            "42-noisy-normal",
            FamilyPlan { launch_sd: 0.05, ..ALL_42 },
            FamilyNoise::Normal,
        ),
        FamilyScenario::null("42-noisier", FamilyPlan { launch_sd: 0.1, ..ALL_42 }, FamilyNoise::Normal),
        FamilyScenario::null(
            "42-noisy-24",
            FamilyPlan { launch_sd: 0.05, launches: 24, ..ALL_42 },
            FamilyNoise::Correlated,
        ),
        FamilyScenario::changed("42-normal-2sd", FamilyNoise::Normal),
        FamilyScenario::changed("42-heavy-tails-2sd", FamilyNoise::HeavyTails),
        FamilyScenario::changed("42-skewed-2sd", FamilyNoise::Skewed),
        FamilyScenario::changed("42-correlated-2sd", FamilyNoise::Correlated),
        FamilyScenario::rebuilt("5-rebuilt-quiet", FIVE, 0.01),
        FamilyScenario::rebuilt("5-rebuilt", FIVE, 0.015),
        FamilyScenario::rebuilt("5-rebuilt-noisy", FIVE, 0.022),
        FamilyScenario::rebuilt("42-rebuilt-quiet", ALL_42, 0.01),
        FamilyScenario::rebuilt("42-rebuilt", ALL_42, 0.015),
        FamilyScenario::rebuilt("42-rebuilt-noisy", ALL_42, 0.022),
        FamilyScenario::slower("5-slower-quiet", FIVE, 0.01, 0.95),
        FamilyScenario::slower("5-slower", FIVE, 0.015, 0.95),
        FamilyScenario::slower("5-slower-noisy", FIVE, 0.022, 0.95),
        FamilyScenario::slower("42-slower", ALL_42, 0.015, 0.75),
        FamilyScenario::extended("5-extended", FIVE, FamilyNoise::Normal, 20),
        FamilyScenario::extended("5-extended-heavy-tails", FIVE, FamilyNoise::HeavyTails, 12),
        FamilyScenario::extended("5-extended-from-6", FIVE, FamilyNoise::Normal, 6),
        FamilyScenario::extended("5-extended-two-point", FIVE, FamilyNoise::TwoPoint, 9),
        FamilyScenario::extended("42-extended", ALL_42, FamilyNoise::Correlated, 12),
        FamilyScenario::found_later("5-found-in-24", FIVE, 24),
        FamilyScenario::found_later("5-found-in-12-and-12", FamilyPlan { extended: true, ..FIVE }, 12),
    ];

    const fn null(name: &'static str, plan: FamilyPlan, noise: FamilyNoise) -> FamilyScenario {
        FamilyScenario { name, plan: FamilyPlan { noise, ..plan }, target: FamilyTarget::FalseAtMost(0.012) }
    }

    /// One of 42 steps is slower by two standard deviations of a launch.
    const fn changed(name: &'static str, noise: FamilyNoise) -> FamilyScenario {
        let plan = FamilyPlan { noise, effect: -2.0 * ALL_42.launch_sd, ..ALL_42 };
        FamilyScenario { name, plan, target: FamilyTarget::FoundAtLeast(0.9) }
    }

    /// No change, and who finds nothing asks once more.
    const fn extended(
        name: &'static str,
        plan: FamilyPlan,
        noise: FamilyNoise,
        launches: u32,
    ) -> FamilyScenario {
        let plan = FamilyPlan { noise, launches, launch_sd: 0.05, extended: true, ..plan };
        FamilyScenario { name, plan, target: FamilyTarget::FalseAtMost(0.012) }
    }

    /// A step is slower by as much as one standard deviation of a launch.
    const fn found_later(name: &'static str, plan: FamilyPlan, launches: u32) -> FamilyScenario {
        let plan = FamilyPlan { launches, effect: -plan.launch_sd, ..plan };
        FamilyScenario { name, plan, target: FamilyTarget::FoundAtLeast(0.8) }
    }

    /// The same source built twice.
    const fn rebuilt(name: &'static str, plan: FamilyPlan, launch_sd: f64) -> FamilyScenario {
        let plan = FamilyPlan { launch_sd, tau: 0.005, ..plan };
        FamilyScenario { name, plan, target: FamilyTarget::FalseBeyondAtMost(0.015) }
    }

    /// Another build, and one step is slower by 4 % besides.
    const fn slower(name: &'static str, plan: FamilyPlan, launch_sd: f64, least: f64) -> FamilyScenario {
        let plan = FamilyPlan { launch_sd, tau: 0.005, effect: FOUR_PERCENT, ..plan };
        FamilyScenario { name, plan, target: FamilyTarget::FoundBeyondAtLeast(least) }
    }
}

/// Counts over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FamilyTally {
    pub families: u32,
    /// With a change that is confirmed of a step that has none, or of the wrong sign.
    pub false_families: u32,
    /// In which the changed step was confirmed with its sign.
    pub found: u32,
    /// In which some step without a change but for layout was called beyond layout.
    pub false_beyond: u32,
    /// In which the changed step was called beyond layout.
    pub found_beyond: u32,
    /// In which a change was announced, before there was a verdict, of a step that has none.
    pub falsely_announced: u32,
    /// In which that of the changed step was announced.
    pub announced: u32,
    /// Launches of steps, all together.
    pub step_launches: u64,
    /// Launches of runs.
    pub launches: u64,
}

/// Simulates so many runs of a plan.
pub fn run(plan: &FamilyPlan, replicates: u32, seed: u64) -> FamilyTally {
    let mut noise = Noise::new(seed);
    let mut tally = FamilyTally::default();
    for _ in 0..replicates {
        let mut run = Run::new(plan, &mut noise);
        let judgements = run.measure(&mut noise, |_, _| {});
        tally.count(plan, &judgements);
        let is_true = |step: &usize| *step == 0 && plan.effect != 0.0;
        tally.announced += u32::from(run.announced.iter().any(is_true));
        tally.falsely_announced += u32::from(!run.announced.iter().all(is_true));
    }
    tally
}

impl FamilyTally {
    /// The count that a target is about.
    pub fn counted(&self, target: FamilyTarget) -> u32 {
        match target {
            FamilyTarget::FalseAtMost(_) => self.false_families,
            FamilyTarget::FoundAtLeast(_) => self.found,
            FamilyTarget::FalseBeyondAtMost(_) => self.false_beyond,
            FamilyTarget::FoundBeyondAtLeast(_) => self.found_beyond,
        }
    }

    /// Whether the share that was counted is what it must be.
    pub fn meets(&self, target: FamilyTarget) -> bool {
        let share = f64::from(self.counted(target)) / f64::from(self.families.max(1));
        match target {
            FamilyTarget::FalseAtMost(most) | FamilyTarget::FalseBeyondAtMost(most) => share <= most,
            FamilyTarget::FoundAtLeast(least) | FamilyTarget::FoundBeyondAtLeast(least) => share >= least,
        }
    }

    fn count(&mut self, plan: &FamilyPlan, judgements: &[Judgement]) {
        let is_true = |(step, judgement): (usize, &Judgement)| {
            let faster = judgement.verdict == Verdict::Improvement;
            step == 0 && plan.effect != 0.0 && faster == (plan.effect > 0.0)
        };
        let confirmed = |one: &&(usize, &Judgement)| one.1.confirmed;
        let beyond = |one: &&(usize, &Judgement)| one.1.confirmed && one.1.layout == Some(Layout::Beyond);
        let all: Vec<(usize, &Judgement)> = judgements.iter().enumerate().collect();
        let is_found =
            |which: &dyn Fn(&&(usize, &Judgement)) -> bool| all.iter().filter(which).any(|one| is_true(*one));
        let is_false = |which: &dyn Fn(&&(usize, &Judgement)) -> bool| {
            all.iter().filter(which).any(|one| !is_true(*one))
        };
        self.families += 1;
        self.false_families += u32::from(is_false(&confirmed));
        self.found += u32::from(is_found(&confirmed));
        self.false_beyond += u32::from(is_false(&beyond));
        self.found_beyond += u32::from(is_found(&beyond));
        self.step_launches += judgements.iter().map(|judgement| u64::from(judgement.launches)).sum::<u64>();
        self.launches += judgements.iter().map(|judgement| u64::from(judgement.launches)).max().unwrap_or(0);
    }
}

/// Set-up of a launch costs as much as this many of its steps.
const SET_UP: f64 = 1.0;

/// One run, launch by launch, until all steps have left or the time is over.
struct Run<'a> {
    plan: &'a FamilyPlan,
    procedure: Procedure,
    names: Vec<String>,
    /// What layout adds to each step.
    layouts: Vec<f64>,
    values: Vec<Vec<LaunchSummary>>,
    looks: Vec<Look>,
    /// Steps of which a change was announced.
    announced: BTreeSet<usize>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a FamilyPlan, noise: &mut Noise) -> Run<'a> {
        Run {
            plan,
            procedure: Procedure::new(DecisionRule { extendable: plan.extended, ..DecisionRule::default() }),
            names: (0..plan.steps).map(|step| format!("step{step}")).collect(),
            layouts: (0..plan.steps).map(|_| plan.tau * std::f64::consts::SQRT_2 * noise.normal()).collect(),
            values: vec![Vec::new(); plan.steps],
            looks: Vec::new(),
            announced: BTreeSet::new(),
        }
    }

    fn cases(&self) -> Vec<Case<'_>> {
        let cases = self.names.iter().zip(&self.values);
        cases.map(|(name, launches)| Case { facts: reads(name), launches }).collect()
    }

    /// Measures to the end; `after_look` sees what is said after each look.
    fn measure(
        &mut self,
        noise: &mut Noise,
        mut after_look: impl FnMut(&Judging, &[Case<'_>]),
    ) -> Vec<Judgement> {
        let mut judging = Judging::new(self.procedure, self.plan.steps);
        let mut open = vec![true; self.plan.steps];
        let cost = |open: &[bool]| SET_UP + open.iter().filter(|open| **open).count() as f64;
        let budget = f64::from(self.plan.launches) * cost(&open);
        let mut spent = 0.0;
        let mut extended = 0.0;
        for launch in 1.. {
            spent += cost(&open);
            self.launch(launch, &open, noise);
            let out_of_time = spent + cost(&open) > budget * (1.0 + 1e-9);
            let is_last = out_of_time || launch as usize >= self.procedure.max_launches();
            let look = Look::after(launch, extended + spent / budget, is_last);
            self.looks.extend(look);
            let cases = self.cases();
            if let Some(look) = look {
                judging.look(&cases, look);
                after_look(&judging, &cases);
            }
            let is_announced = |step: &usize| judging.provisional(*step, &cases[*step]).is_some();
            let announced: Vec<usize> = (0..cases.len()).filter(is_announced).collect();
            if is_last && self.plan.extended && extended < 1.0 {
                judging.extend();
                (extended, spent) = (1.0, 0.0);
            }
            let is_over = is_last && spent > 0.0;
            open = (0..self.plan.steps).map(|step| !judging.is_decided(step)).collect();
            if is_over || !open.contains(&true) {
                return judging.judgements(&cases);
            }
            self.announced.extend(announced);
        }
        Vec::new()
    }

    fn launch(&mut self, launch: u32, open: &[bool], noise: &mut Noise) {
        let plan = self.plan;
        let shared = plan.noise.draw(noise);
        for (step, _) in open.iter().enumerate().filter(|(_, open)| **open) {
            let own = plan.noise.draw(noise);
            let drawn =
                if plan.noise == FamilyNoise::Correlated { (own + shared) * 0.5f64.sqrt() } else { own };
            let effect = if step == 0 { plan.effect } else { 0.0 };
            self.values[step]
                .push(blocks::launch(launch, effect + self.layouts[step] + plan.launch_sd * drawn));
        }
    }
}

/// Measures one run and hands over, by step, verdict and launches when it left on the way, what is said at the end, and
/// what a report says that replays the looks.
pub fn replay(
    plan: &FamilyPlan,
    seed: u64,
    check: impl Fn(&[Option<(Verdict, u32)>], &[Judgement], &[Judgement]),
) {
    let mut noise = Noise::new(seed);
    let mut run = Run::new(plan, &mut noise);
    let mut left: Vec<Option<(Verdict, u32)>> = vec![None; plan.steps];
    let said = run.measure(&mut noise, |judging, cases| {
        // At the last look all leave, changed or not.
        let is_over = (0..cases.len()).all(|step| judging.is_decided(step));
        for (step, judgement) in judging.judgements(cases).into_iter().enumerate() {
            if judging.is_decided(step) && left[step].is_none() && !is_over {
                left[step] = Some((judgement.verdict, judgement.launches));
            }
        }
    });
    check(&left, &said, &judge_family(&run.cases(), &run.procedure, &run.looks));
}

impl FamilyNoise {
    /// Of mean 0 and variance 1.
    fn draw(self, noise: &mut Noise) -> f64 {
        match self {
            FamilyNoise::Normal | FamilyNoise::Correlated => noise.normal(),
            FamilyNoise::HeavyTails => noise.student_3() / 3.0f64.sqrt(),
            FamilyNoise::Skewed => {
                let side = |noise: &mut Noise| -noise.uniform().max(f64::MIN_POSITIVE).ln();
                (side(noise) - side(noise)) * 0.5f64.sqrt()
            }
            FamilyNoise::TwoPoint => {
                let side = if noise.coin() { 1.0 } else { -1.0 };
                (side + 0.1 * noise.normal()) / 1.01f64.sqrt()
            }
        }
    }
}
