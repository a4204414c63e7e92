//! Histories of single runs whose changes are known: steps that all go the same way, a steady loss, noise whose neighbours
//! are alike. What is found in them, beside what a rival finds in the same series.
//!
//! Steps are at least three versions from one another and from the ends, and each is of 5, 6, 8 or 12 standard deviations:
//! the method was chosen on series of other sizes and seeds.

use super::noise::Noise;
use super::otava;
use crate::change_points::{CriticalValues, ErrorFloor, Findings, Rule, Series, TrendKind, find};
use crate::error::Error;

/// What the made series are like; unit normal noise unless said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum HistoryScenario {
    /// No change.
    HistoryFlat,
    /// No change, AR(1) noise with 0.5.
    HistoryCorrelated,
    HistoryTwoSteps,
    HistoryThreeSteps,
    HistoryFourSteps,
    /// One step of two standard deviations, anywhere.
    HistoryStepOf2,
    HistoryStepOf3,
    /// A step of five standard deviations and another back.
    HistoryThereAndBack,
    /// A straight line over five standard deviations in all.
    HistoryRamp,
}

/// What a scenario must reach, with so many points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HistoryTarget {
    /// Share of series in which anything is found.
    AnyAtMost(f64),
    /// Share in which anything is found that autocorrelation does not explain as well.
    ClearAtMost(f64),
    /// Share in which each step is found at its version or a neighbour, with a change more in at most 5 %.
    AllAtLeast(f64),
    /// The same, whatever is found beside.
    FoundAtLeast(f64),
    /// Share in which a trend is told.
    TrendAtLeast(f64),
}

const MOST_ADDITIONAL: f64 = 0.05;

impl HistoryScenario {
    /// Every scenario.
    pub const ALL: &[HistoryScenario] = <HistoryScenario as strum::VariantArray>::VARIANTS;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The lengths of its series.
    pub fn lengths(self) -> &'static [usize] {
        match self {
            HistoryScenario::HistoryTwoSteps => &[10, 12, 13, 16, 20, 24, 30, 40, 60],
            HistoryScenario::HistoryThreeSteps => &[14, 16, 18, 20, 22, 24, 27, 30, 40],
            HistoryScenario::HistoryFourSteps => &[16, 18, 20, 21, 24, 27, 30, 35, 40],
            _ => &[12, 16, 20, 24, 30, 40, 100],
        }
    }

    /// What is asked for; absent where the figure is printed only.
    pub fn target(self, points: usize) -> Option<HistoryTarget> {
        // Of the method before this one, 1,000 series each of other seeds, steps at any place: what may not get worse.
        let before = |shares: [(usize, f64); 7]| {
            shares
                .into_iter()
                .find(|(of, _)| *of == points)
                .map(|(_, share)| HistoryTarget::FoundAtLeast(share))
        };
        match self {
            HistoryScenario::HistoryFlat => {
                Some(HistoryTarget::AnyAtMost((1.0 / points as f64).clamp(0.01, 0.05)))
            }
            HistoryScenario::HistoryCorrelated if points < 20 => Some(HistoryTarget::ClearAtMost(0.1)),
            HistoryScenario::HistoryCorrelated => Some(HistoryTarget::ClearAtMost(0.05)),
            HistoryScenario::HistoryTwoSteps if points >= 12 => Some(HistoryTarget::AllAtLeast(0.95)),
            HistoryScenario::HistoryThreeSteps | HistoryScenario::HistoryFourSteps if points >= 20 => {
                Some(HistoryTarget::AllAtLeast(0.95))
            }
            HistoryScenario::HistoryStepOf2 => before([
                (12, 0.233),
                (16, 0.367),
                (20, 0.630),
                (24, 0.647),
                (30, 0.690),
                (40, 0.729),
                (100, 0.790),
            ]),
            HistoryScenario::HistoryStepOf3 => before([
                (12, 0.500),
                (16, 0.737),
                (20, 0.909),
                (24, 0.856),
                (30, 0.896),
                (40, 0.901),
                (100, 0.930),
            ]),
            HistoryScenario::HistoryRamp if points >= 20 => Some(HistoryTarget::TrendAtLeast(0.95)),
            HistoryScenario::HistoryRamp => Some(HistoryTarget::TrendAtLeast(0.85)),
            HistoryScenario::HistoryTwoSteps
            | HistoryScenario::HistoryThreeSteps
            | HistoryScenario::HistoryFourSteps
            | HistoryScenario::HistoryThereAndBack => None,
        }
    }
}

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryPlan {
    pub scenario: HistoryScenario,
    pub points: usize,
    pub replicates: u32,
    pub seed: u64,
    /// The p below which the rival keeps a change, where it is asked too.
    pub rival_p: Option<f64>,
}

/// What came out: counts over series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryTally {
    pub series: u32,
    /// Anything was found, a step or a trend.
    pub any: u32,
    /// What was found is more than autocorrelation explains.
    pub clear: u32,
    /// Each step was found at its version or a neighbour.
    pub all: u32,
    /// More changes were found than there are.
    pub additional: u32,
    /// A trend was told, as the only or as one of two explanations.
    pub trend: u32,
    /// The rival found anything.
    pub rival_any: u32,
    /// The rival found each step.
    pub rival_all: u32,
    pub rival_additional: u32,
}

impl HistoryTally {
    /// A count as a share of the series.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.series.max(1))
    }

    /// Whether the target is reached, within what this many series leave to chance (three standard errors).
    pub fn meets(&self, target: HistoryTarget) -> bool {
        let chance = |share: f64| 3.0 * (share * (1.0 - share) / f64::from(self.series.max(1))).sqrt();
        let at_most = |count: u32, share: f64| self.share(count) <= share + chance(share);
        let at_least = |count: u32, share: f64| self.share(count) >= share - chance(share);
        match target {
            HistoryTarget::AnyAtMost(share) => at_most(self.any, share),
            HistoryTarget::ClearAtMost(share) => at_most(self.clear, share),
            HistoryTarget::AllAtLeast(share) => {
                at_least(self.all, share) && at_most(self.additional, MOST_ADDITIONAL)
            }
            HistoryTarget::FoundAtLeast(share) => at_least(self.all, share),
            HistoryTarget::TrendAtLeast(share) => at_least(self.trend, share),
        }
    }
}

/// Runs a plan.
///
/// # Errors
/// None: the values are finite.
pub fn run(plan: &HistoryPlan, critical: &CriticalValues) -> Result<HistoryTally, Error> {
    let mut noise = Noise::new(plan.seed);
    let mut tally = HistoryTally::default();
    for _ in 0..plan.replicates {
        let (values, steps) = make(plan.scenario, plan.points, &mut noise);
        let findings = searched(&values, critical)?;
        let near = |found: &[usize]| steps.iter().all(|step| found.iter().any(|at| at.abs_diff(*step) <= 1));
        let found: Vec<usize> = findings.changes.iter().map(|change| change.version).collect();
        let any = anything(&findings);
        tally.series += 1;
        tally.any += u32::from(any);
        tally.clear += u32::from(any && !findings.maybe_autocorrelation);
        tally.all += u32::from(near(&found));
        tally.additional += u32::from(found.len() > steps.len());
        tally.trend += u32::from(findings.trend.is_some_and(|trend| trend.kind != TrendKind::None));
        if let Some(p) = plan.rival_p {
            let found = otava::changes(&values, p);
            tally.rival_any += u32::from(!found.is_empty());
            tally.rival_all += u32::from(near(&found));
            tally.rival_additional += u32::from(found.len() > steps.len());
        }
    }
    Ok(tally)
}

fn anything(findings: &Findings) -> bool {
    !findings.changes.is_empty() || findings.trend.is_some_and(|trend| trend.kind != TrendKind::None)
}

/// The p at which the rival alarms as rarely as we do in series of this length without a change.
///
/// # Errors
/// None: the values are finite.
pub fn rival_p_of_equal_alarms(points: usize, seed: u64, critical: &CriticalValues) -> Result<f64, Error> {
    const SERIES: usize = 4_000;
    let mut noise = Noise::new(seed);
    let all: Vec<Vec<f64>> =
        (0..SERIES).map(|_| make(HistoryScenario::HistoryFlat, points, &mut noise).0).collect();
    let mut ours = 0;
    for values in &all {
        ours += usize::from(anything(&searched(values, critical)?));
    }
    let alarms = |p: f64| all.iter().filter(|values| !otava::changes(values, p).is_empty()).count();
    // Bisection of the logarithm: the more p, the more alarms.
    let (mut low, mut high) = (1e-8_f64.ln(), 0.2_f64.ln());
    for _ in 0..14 {
        let middle = 0.5 * (low + high);
        if alarms(middle.exp()) > ours { high = middle } else { low = middle }
    }
    Ok(low.exp())
}

fn searched(values: &[f64], critical: &CriticalValues) -> Result<Findings, Error> {
    let values: Vec<Option<f64>> = values.iter().map(|value| Some(SINGLE_NOISE * value)).collect();
    Ok(find(&Series::of_single_runs(&values, ErrorFloor::default())?, &Rule::default(), critical))
}

/// Standard deviation of a single run, in ln: large beside the floor of its error.
const SINGLE_NOISE: f64 = 0.02;
const CORRELATION: f64 = 0.5;
const APART: usize = 3;
const SIZES: [f64; 4] = [5.0, 6.0, 8.0, 12.0];

/// One series in standard deviations, and the first versions of its later levels.
fn make(scenario: HistoryScenario, points: usize, noise: &mut Noise) -> (Vec<f64>, Vec<usize>) {
    let mut values: Vec<f64> = (0..points).map(|_| noise.normal()).collect();
    let sign = if noise.coin() { 1.0 } else { -1.0 };
    let sizes: Vec<f64> = match scenario {
        HistoryScenario::HistoryFlat => Vec::new(),
        HistoryScenario::HistoryCorrelated => {
            let innovation = (1.0 - CORRELATION * CORRELATION).sqrt();
            for at in 1..points {
                values[at] = CORRELATION * values[at - 1] + innovation * values[at];
            }
            Vec::new()
        }
        HistoryScenario::HistoryRamp => {
            for (at, value) in values.iter_mut().enumerate() {
                *value += sign * 5.0 * at as f64 / (points - 1) as f64;
            }
            Vec::new()
        }
        HistoryScenario::HistoryTwoSteps => (0..2).map(|_| noise.pick(&SIZES)).collect(),
        HistoryScenario::HistoryThreeSteps => (0..3).map(|_| noise.pick(&SIZES)).collect(),
        HistoryScenario::HistoryFourSteps => (0..4).map(|_| noise.pick(&SIZES)).collect(),
        HistoryScenario::HistoryStepOf2 => vec![2.0],
        HistoryScenario::HistoryStepOf3 => vec![3.0],
        HistoryScenario::HistoryThereAndBack => vec![5.0, -5.0],
    };
    let steps = places(sizes.len(), points, noise);
    for (step, size) in steps.iter().zip(&sizes) {
        values[*step..].iter_mut().for_each(|value| *value += sign * size);
    }
    (values, steps)
}

/// So many places, ascending, each [`APART`] from the next and from the ends, any such choice as likely.
fn places(count: usize, points: usize, noise: &mut Noise) -> Vec<usize> {
    let inner: Vec<usize> = (APART..=points - APART).collect();
    loop {
        let mut places: Vec<usize> = (0..count).map(|_| noise.pick(&inner)).collect();
        places.sort_unstable();
        if places.windows(2).all(|pair| pair[1] - pair[0] >= APART) {
            return places;
        }
    }
}
