//! The whole path of a verdict on made data whose truth is known: blocks, two rates, sequential looks, Lmax from a
//! budget, runs that end early. It counts false verdicts and how often the interval holds the truth.
//!
//! It is pure and seeded, so that `cargo xtask simulate` gives the same figures on every host.

pub mod bisect;
pub mod blocks;
pub mod campaigns;
pub mod families;
pub mod histories;
pub(crate) mod noise;
pub mod otava;
pub mod series;
pub mod sides;

use crate::budget::max_launches;
use crate::judgement::{Judgement, Stage, conclude};
use crate::launch::{Comparison, LaunchSummary, pairs, summarize};
use crate::procedure::Procedure;
use blocks::{BlockSpec, STEP, block, reads};
use model::plan::DecisionRule;
use model::units::Nanos;
use model::verdict::Verdict;
use noise::Noise;
use std::collections::{BTreeMap, BTreeSet};

/// What the made noise is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Scenario {
    /// Normal noise of pairs and launches.
    Normal,
    /// The host grows slower and faster while it is measured.
    Drift,
    /// Student's t with three degrees of freedom, for pairs and launches.
    HeavyTails,
    /// Launches differ far more than their pairs.
    LaunchEffects,
    /// Images favour a side, and each launch has its own.
    ImageEffects,
    /// Images favour a side, and five are rotated.
    RotatedImages,
    /// The candidate is 5 % slower.
    Planted,
    /// The candidate is slower by exactly the margin.
    AtTheMargin,
}

impl Scenario {
    /// Every scenario.
    pub const ALL: &[Scenario] = <Scenario as strum::VariantArray>::VARIANTS;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The true ratio of candidate to base, of both rates.
    pub fn true_ratio(self, rule: &DecisionRule) -> f64 {
        match self {
            Scenario::Planted => 0.95,
            Scenario::AtTheMargin => 1.0 / (1.0 + rule.margin),
            Scenario::Normal
            | Scenario::Drift
            | Scenario::HeavyTails
            | Scenario::LaunchEffects
            | Scenario::ImageEffects
            | Scenario::RotatedImages => 1.0,
        }
    }
}

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationPlan {
    pub replicates: u32,
    /// Seed of all of them.
    pub seed: u64,
    pub scenario: Scenario,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationReport {
    pub plan: SimulationPlan,
    pub all: Tally,
    /// The same by Lmax.
    pub by_max_launches: BTreeMap<u32, Tally>,
}

/// The most false verdicts that a simulation may find, at a nominal 1 %: a share.
pub const LARGEST_FALSE_SHARE: f64 = 0.015;
/// The least coverage of the deciding interval, at a nominal 99 %: a share.
pub const LEAST_COVERAGE: f64 = 0.98;

impl SimulationReport {
    /// Whether verdicts are as seldom false, and intervals as often right, as they must be.
    pub fn meets_targets(&self) -> bool {
        self.all.false_share() <= LARGEST_FALSE_SHARE && self.all.coverage() >= LEAST_COVERAGE
    }
}

/// Counts over comparisons.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub replicates: u32,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<Verdict, u32>,
    /// Verdicts that the truth contradicts: a change where there is none or in the wrong direction, and "no
    /// change beyond the margin" where there is one.
    pub false_verdicts: u32,
    /// Comparisons whose deciding rate has an interval.
    pub intervals: u32,
    /// Those of them that hold the true ratio.
    pub covered: u32,
    /// Comparisons in which the intervals of both rates hold it.
    pub both_covered: u32,
    /// Decided on the contention-adjusted rate.
    pub on_adjusted: u32,
    pub launches: u64,
}

impl Tally {
    /// Share of false verdicts.
    pub fn false_share(&self) -> f64 {
        f64::from(self.false_verdicts) / f64::from(self.replicates.max(1))
    }

    /// Share of deciding intervals that hold the truth.
    pub fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.intervals.max(1))
    }

    /// Share of a verdict.
    pub fn share_of(&self, verdict: Verdict) -> f64 {
        f64::from(self.verdicts.get(&verdict).copied().unwrap_or(0)) / f64::from(self.replicates.max(1))
    }

    /// Launches of a comparison, mean.
    pub fn mean_launches(&self) -> f64 {
        self.launches as f64 / f64::from(self.replicates.max(1))
    }

    fn count(&mut self, judgement: &Judgement, truth: f64, margin: f64) {
        self.replicates += 1;
        *self.verdicts.entry(judgement.verdict).or_default() += 1;
        self.false_verdicts += u32::from(is_false(judgement.verdict, truth, margin));
        let covers = |estimate: &crate::Estimate| {
            estimate.low.is_none_or(|low| low <= truth) && estimate.high.is_none_or(|high| truth <= high)
        };
        let deciding = judgement.deciding();
        if deciding.method != crate::Method::RatioOnly {
            self.intervals += 1;
            self.covered += u32::from(covers(deciding));
            let both = covers(&judgement.wall) && judgement.adjusted.as_ref().is_none_or(covers);
            self.both_covered += u32::from(both);
        }
        self.on_adjusted += u32::from(judgement.decides == model::metric::Metric::OpsPerSecondAdjusted);
        self.launches += u64::from(judgement.launches);
    }
}

/// Pairs in a launch, as in a real one (statistics 7).
const PAIRS: u32 = 10;
/// Seconds of budget after the first launch, and what a launch may cost: Lmax is 6, 9, 14, 20, 33 or 48.
const BUDGET: Nanos = Nanos::from_secs(100);
const LAUNCH_COSTS: [u64; 6] = [16, 11, 7, 5, 3, 2];
/// Share of runs that end before Lmax.
const CUT_SHORT: f64 = 0.1;
/// Images that are rotated.
const ROTATED: u32 = 5;
/// Operations per second of the made engine.
const RATE: f64 = 500_000.0;

/// Runs a plan.
pub fn run(plan: SimulationPlan) -> SimulationReport {
    let rule = DecisionRule::default();
    let truth = plan.scenario.true_ratio(&rule);
    let procedures: Vec<Procedure> = LAUNCH_COSTS
        .iter()
        .map(|seconds| max_launches(BUDGET, Nanos::from_secs(*seconds)))
        .map(|max_launches| Procedure::new(DecisionRule { max_launches, ..rule }))
        .collect();
    let choices: Vec<usize> = (0..procedures.len()).collect();
    let mut noise = Noise::new(plan.seed);
    let mut report = SimulationReport { plan, all: Tally::default(), by_max_launches: BTreeMap::new() };
    for _ in 0..plan.replicates {
        let procedure = &procedures[noise.pick(&choices)];
        let judgement = compare(plan.scenario, truth, procedure, &mut noise);
        report.all.count(&judgement, truth, rule.margin);
        let tally = report.by_max_launches.entry(procedure.rule().max_launches).or_default();
        tally.count(&judgement, truth, rule.margin);
    }
    report
}

fn is_false(verdict: Verdict, truth: f64, margin: f64) -> bool {
    match verdict {
        Verdict::Regression => truth >= 1.0,
        Verdict::Improvement => truth <= 1.0,
        // A truth at the margin counts as beyond it: a rate of false verdicts is largest there.
        Verdict::NoChange => truth.ln().abs() >= margin.ln_1p() * (1.0 - 1e-9),
        Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => false,
    }
}

/// One comparison, launch by launch, asking at the looks as a run does.
fn compare(scenario: Scenario, truth: f64, procedure: &Procedure, noise: &mut Noise) -> Judgement {
    let facts = reads(STEP);
    let looks = procedure.looks();
    let end = if noise.uniform() < CUT_SHORT {
        let all: Vec<usize> = (3..=procedure.max_launches()).collect();
        noise.pick(&all)
    } else {
        procedure.max_launches()
    };
    let mut host = Host::new(scenario, truth, noise);
    let mut summaries: Vec<LaunchSummary> = Vec::with_capacity(end);
    for launch in 1.. {
        summaries.extend(host.launch(launch, noise));
        if summaries.len() >= end {
            break;
        }
        if looks.contains(&summaries.len()) {
            let judgement = conclude(&facts, &summaries, procedure, Stage::Running);
            if judgement.decided {
                return judgement;
            }
        }
    }
    conclude(&facts, &summaries, procedure, Stage::Final)
}

/// Standard deviations in ln, by source.
struct Spread {
    block: f64,
    /// A side of a launch.
    launch: f64,
    /// A side on an image.
    image: f64,
    /// A step of the host's random walk from block to block.
    walk: f64,
}

/// A made host with a made engine on it.
struct Host {
    scenario: Scenario,
    truth: f64,
    spread: Spread,
    /// ln of the host's speed now.
    level: f64,
    /// ln of the candidate's advantage on each image.
    images: BTreeMap<u32, f64>,
    /// How heavily others use the host: scale of the run delay.
    contention: f64,
}

impl Host {
    fn new(scenario: Scenario, truth: f64, noise: &mut Noise) -> Host {
        let usual = Spread { block: 0.035, launch: 0.009, image: 0.0, walk: 0.0 };
        let spread = match scenario {
            Scenario::Drift => Spread { walk: 0.03, ..usual },
            Scenario::LaunchEffects => Spread { block: 0.01, launch: 0.03, ..usual },
            Scenario::ImageEffects | Scenario::RotatedImages => Spread { image: 0.005, ..usual },
            Scenario::Normal | Scenario::HeavyTails | Scenario::Planted | Scenario::AtTheMargin => usual,
        };
        let contention = noise.pick(&[0.0, 0.05, 0.2]);
        Host { scenario, truth, spread, level: 0.0, images: BTreeMap::new(), contention }
    }

    /// One launch, through the same path as a real one.
    fn launch(&mut self, launch: u32, noise: &mut Noise) -> Vec<LaunchSummary> {
        let image = match self.scenario {
            Scenario::RotatedImages => 1 + launch % ROTATED,
            Scenario::Normal
            | Scenario::Drift
            | Scenario::HeavyTails
            | Scenario::LaunchEffects
            | Scenario::ImageEffects
            | Scenario::Planted
            | Scenario::AtTheMargin => launch,
        };
        let image_sd = self.spread.image;
        let advantage = *self.images.entry(image).or_insert_with(|| image_sd * noise.normal());
        let base = self.spread.launch * self.draw(noise);
        let candidate = self.truth.ln() + advantage + self.spread.launch * self.draw(noise);
        let mut blocks = Vec::with_capacity(2 * PAIRS as usize);
        for cycle in 0..PAIRS {
            let first = usize::from(noise.coin());
            for side in [first, 1 - first] {
                let speed = if side == 0 { base } else { candidate };
                blocks.push(self.block(
                    BlockSpec { launch, image, cycle, side, ..BlockSpec::default() },
                    speed,
                    noise,
                ));
            }
        }
        let excluded = BTreeSet::new();
        summarize(&pairs(&blocks, &Comparison { step: STEP, candidate: 1, excluded: &excluded }), false)
    }

    /// A block of 100 ms at ln speed `speed`, of which others take some by running in between.
    fn block(&mut self, spec: BlockSpec, speed: f64, noise: &mut Noise) -> model::block::Block {
        self.level += self.spread.walk * noise.normal();
        if self.scenario == Scenario::Drift {
            // A trend on top, down and up again over a few launches.
            self.level += 0.01 * (f64::from(spec.launch) * 0.7).sin();
        }
        let rate = RATE * (speed + self.level + self.spread.block * self.draw(noise)).exp();
        let delayed = self.contention * self.draw(noise).abs().min(3.0);
        let run_delay_us = whole(spec.wall_us as f64 * (1.0 - (-delayed).exp()));
        let cpu_us = spec.wall_us - run_delay_us;
        let operations = whole(rate * cpu_us as f64 / 1e6).max(1);
        block(&BlockSpec { operations, run_delay_us, cpu_us, ..spec })
    }

    fn draw(&self, noise: &mut Noise) -> f64 {
        match self.scenario {
            Scenario::HeavyTails => noise.student_3(),
            Scenario::Normal
            | Scenario::Drift
            | Scenario::LaunchEffects
            | Scenario::ImageEffects
            | Scenario::RotatedImages
            | Scenario::Planted
            | Scenario::AtTheMargin => noise.normal(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a non-negative number of microseconds or operations")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
