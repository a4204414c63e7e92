//! Campaigns in rounds without any difference, as noisy as those of small hosts are: how often a candidate is marked all the
//! same, where one release is noisier than the others, and where a second campaign measures again what the first picked.

use super::noise::Noise;
use crate::error::Error;
use crate::family::benjamini_hochberg;
use crate::rounds::{BaseRule, RoundValues, fit};
use model::metric::Direction;
use model::verdict::Verdict;

/// What the made campaigns are like: a base and 25 candidates, visits that differ by 15 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum CampaignScenario {
    /// Every release is as noisy as the others.
    CampaignEven,
    /// One candidate is three times as noisy.
    CampaignNoisyCandidate,
    /// The base is three times as noisy: it stands in every comparison.
    CampaignNoisyBase,
    /// Three rounds; then only the base and the releases beside the place where the first differ most, again. One of the
    /// releases is three times as noisy.
    CampaignJoined,
}

impl CampaignScenario {
    /// Every scenario.
    pub const ALL: &[CampaignScenario] = <CampaignScenario as strum::VariantArray>::VARIANTS;
    /// Rounds of a campaign; of joined ones those of the second.
    pub const ROUNDS: [usize; 3] = [3, 5, 8];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The share of campaigns in which anything may be marked; absent where the figure is printed only.
    pub fn target(self) -> Option<f64> {
        match self {
            CampaignScenario::CampaignEven
            | CampaignScenario::CampaignNoisyCandidate
            | CampaignScenario::CampaignJoined => Some(ALPHA),
            CampaignScenario::CampaignNoisyBase => None,
        }
    }
}

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CampaignPlan {
    pub scenario: CampaignScenario,
    pub rounds: usize,
    pub replicates: u32,
    pub seed: u64,
}

/// What came out: counts over campaigns.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CampaignTally {
    pub campaigns: u32,
    /// Any candidate has a verdict that says that it differs; of joined campaigns, the place is confirmed.
    pub marked: u32,
    /// Any candidate stands out among all (Benjamini-Hochberg, 5 %).
    pub discovered: u32,
    /// Sum over campaigns of the median half width of the intervals, in ln.
    pub half_widths: f64,
}

impl CampaignTally {
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.campaigns.max(1))
    }

    /// Whether the target is reached, within what this many campaigns leave to chance (three standard errors).
    pub fn meets(&self, target: f64) -> bool {
        let chance = 3.0 * (target * (1.0 - target) / f64::from(self.campaigns.max(1))).sqrt();
        self.share(self.marked) <= target + chance
    }
}

const CANDIDATES: usize = 25;
const VISIT_NOISE: f64 = 0.15;
const NOISIER: f64 = 3.0;
const NOISY_CANDIDATE: usize = 9;
const FIRST_ROUNDS: usize = 3;
const ALPHA: f64 = 0.01;
const FALSE_DISCOVERY_RATE: f64 = 0.05;
const RULE: BaseRule = BaseRule {
    base: 0,
    alpha: ALPHA,
    margin: 0.02,
    layout_noise: 0.005,
    direction: Direction::HigherIsBetter,
};

/// Runs a plan.
///
/// # Errors
/// None: the values are finite.
pub fn run(plan: &CampaignPlan) -> Result<CampaignTally, Error> {
    let mut noise = Noise::new(plan.seed);
    let mut tally = CampaignTally::default();
    for _ in 0..plan.replicates {
        tally.campaigns += 1;
        match plan.scenario {
            CampaignScenario::CampaignJoined => {
                tally.marked += u32::from(joined_confirms(plan.rounds, &mut noise)?);
            }
            CampaignScenario::CampaignEven
            | CampaignScenario::CampaignNoisyCandidate
            | CampaignScenario::CampaignNoisyBase => compare(plan, &mut noise, &mut tally)?,
        }
    }
    Ok(tally)
}

fn compare(plan: &CampaignPlan, noise: &mut Noise, tally: &mut CampaignTally) -> Result<(), Error> {
    let noisy = match plan.scenario {
        CampaignScenario::CampaignNoisyCandidate => Some(NOISY_CANDIDATE),
        CampaignScenario::CampaignNoisyBase => Some(0),
        CampaignScenario::CampaignEven | CampaignScenario::CampaignJoined => None,
    };
    let cells = (0..plan.rounds).map(|_| round(noisy, |_| true, noise));
    let comparisons = fit(&RoundValues::new(CANDIDATES + 1, cells.collect())?).against_base(&RULE)?;
    let is_marked = |verdict: Verdict| matches!(verdict, Verdict::Regression | Verdict::Improvement);
    tally.marked += u32::from(comparisons.iter().any(|one| is_marked(one.verdict)));
    let p_values: Vec<f64> = comparisons.iter().filter_map(|one| one.difference?.p).collect();
    let discovered = benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE);
    tally.discovered += u32::from(discovered.iter().any(|one| *one));
    let half_width = |one: &crate::rounds::VersionComparison| {
        let difference = one.difference?;
        Some(0.5 * (difference.high? / difference.low?).ln())
    };
    let mut half_widths: Vec<f64> = comparisons.iter().filter_map(half_width).collect();
    half_widths.sort_unstable_by(f64::total_cmp);
    tally.half_widths += half_widths[half_widths.len() / 2];
    Ok(())
}

/// Whether the rounds of a second campaign confirm the place at which the first differs most.
fn joined_confirms(rounds: usize, noise: &mut Noise) -> Result<bool, Error> {
    let first = (0..FIRST_ROUNDS).map(|_| round(Some(NOISY_CANDIDATE), |_| true, noise));
    let first = fit(&RoundValues::new(CANDIDATES + 1, first.collect())?);
    let step = |at: usize| first.between(&[at - 1], &[at], RULE.layout_noise).map_or(1.0, |step| step.p);
    let place = (2..=CANDIDATES).min_by(|left, right| step(*left).total_cmp(&step(*right))).unwrap_or(2);
    let again = |version: usize| version == 0 || version == place - 1 || version == place;
    let later = (0..rounds).map(|_| round(Some(NOISY_CANDIDATE), again, noise));
    let later = fit(&RoundValues::new(CANDIDATES + 1, later.collect())?);
    Ok(later.between(&[place - 1], &[place], RULE.layout_noise).is_some_and(|step| step.p <= ALPHA))
}

/// One round of all releases without a difference; its own host is faster or slower for all of them.
fn round(noisy: Option<usize>, measured: impl Fn(usize) -> bool, noise: &mut Noise) -> Vec<Option<f64>> {
    let host = 0.1 * noise.normal();
    let cell = |version: usize| {
        let factor = if Some(version) == noisy { NOISIER } else { 1.0 };
        let value = host + factor * VISIT_NOISE * noise.normal();
        measured(version).then_some(value)
    };
    (0..=CANDIDATES).map(cell).collect()
}
