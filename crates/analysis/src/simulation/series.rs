//! Series of versions whose changes are known: how often change points are found that are not there, and how often
//! those that are there are found at their very version.
//!
//! Pure and seeded. A scenario is one kind of series; its targets are those that the project set itself.

use super::noise::Noise;
use crate::change_points::{Change, CriticalValues, ErrorFloor, Findings, Rule, Series, Shape, find};
use crate::error::Error;
use crate::rounds::{RoundValues, fit};

/// What the made series are like. "Releases" are 24 versions in 5 rounds with a launch noise of 1 % and a layout
/// noise of 0.5 %; "commits" are 100 single runs; "few" are 20 single runs; all with unit noise unless said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum SeriesScenario {
    /// Releases without a change.
    Releases,
    /// Releases without a change, a tenth of whose trials failed.
    ReleasesWithGaps,
    /// Releases with one to three steps of 3 %, at least three versions apart and away from the edges.
    ReleasesWithSteps,
    /// Releases of which one is 5 % slower than all others.
    ReleasesWithGlitch,
    /// 8 releases in 17 launches of an interleaved campaign, without a change: a release in the middle is three times as noisy,
    /// the base runs as four processes, a tenth of the trials failed.
    #[strum(serialize = "launches-of-8")]
    LaunchesOf8,
    #[strum(serialize = "launches-of-14")]
    LaunchesOf14,
    #[strum(serialize = "launches-of-22")]
    LaunchesOf22,
    /// Commits with normal noise.
    Commits,
    /// Commits with Student's t noise of three degrees of freedom.
    CommitsHeavyTails,
    /// Commits whose noise is AR(1) with 0.5.
    CommitsAutocorrelated,
    /// Commits with normal noise and one spike of twenty standard deviations.
    CommitsWithSpike,
    /// Commits with one to three steps of two standard deviations, at least ten versions apart.
    CommitsWithSteps,
    /// Few single runs without a change.
    Few,
    /// Few single runs with a step of two standard deviations in the middle.
    FewWithStep,
    /// Eight single runs without a change: the shortest published tables.
    Eight,
}

impl SeriesScenario {
    /// Every scenario.
    pub const ALL: &[SeriesScenario] = <SeriesScenario as strum::VariantArray>::VARIANTS;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What the method must reach.
    pub fn target(self) -> Target {
        match self {
            SeriesScenario::Releases
            | SeriesScenario::ReleasesWithGaps
            | SeriesScenario::LaunchesOf8
            | SeriesScenario::LaunchesOf14
            | SeriesScenario::LaunchesOf22
            | SeriesScenario::Commits
            | SeriesScenario::CommitsHeavyTails
            | SeriesScenario::CommitsWithSpike => Target::AlarmsAtMost(0.01),
            SeriesScenario::CommitsAutocorrelated | SeriesScenario::Few | SeriesScenario::Eight => {
                Target::AlarmsAtMost(0.05)
            }
            SeriesScenario::ReleasesWithSteps => Target::F1AtLeast(0.95),
            SeriesScenario::CommitsWithSteps
            | SeriesScenario::FewWithStep
            | SeriesScenario::ReleasesWithGlitch => Target::AlarmsAtLeast(0.9),
        }
    }
}

/// What a scenario must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Share of series in which anything is found.
    AlarmsAtMost(f64),
    /// Share of series in which anything is found.
    AlarmsAtLeast(f64),
    /// F1 of changes at their exact version.
    F1AtLeast(f64),
}

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPlan {
    pub replicates: u32,
    /// Seed of all of them.
    pub seed: u64,
    /// What they are like.
    pub scenario: SeriesScenario,
    /// How they are searched.
    pub rule: Rule,
}

/// What came out: counts over series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeriesTally {
    pub series: u32,
    /// Series in which anything was found.
    pub alarmed: u32,
    /// Changes that were made.
    pub planted: u32,
    /// Changes that were found.
    pub found: u32,
    /// Those found at the very version of one that was made, and of its shape.
    pub exact: u32,
    /// Changes made whose version is in the location set of a found one.
    pub located: u32,
    /// Exact ones whose interval holds the true size.
    pub covered: u32,
}

impl SeriesTally {
    /// Share of series in which anything was found.
    pub fn alarm_share(&self) -> f64 {
        f64::from(self.alarmed) / f64::from(self.series.max(1))
    }

    /// Share of what was found that is exact.
    pub fn precision(&self) -> f64 {
        f64::from(self.exact) / f64::from(self.found.max(1))
    }

    /// Share of what was made that was found exactly.
    pub fn recall(&self) -> f64 {
        f64::from(self.exact) / f64::from(self.planted.max(1))
    }

    /// Harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        2.0 * f64::from(self.exact) / f64::from((self.found + self.planted).max(1))
    }

    /// Whether the target is reached, within what this many series leave to chance (three standard errors of a share).
    pub fn meets(&self, target: Target) -> bool {
        let chance = |share: f64| 3.0 * (share * (1.0 - share) / f64::from(self.series.max(1))).sqrt();
        match target {
            Target::AlarmsAtMost(share) => self.alarm_share() <= share + chance(share),
            Target::AlarmsAtLeast(share) => self.alarm_share() >= share - chance(share),
            Target::F1AtLeast(share) => self.f1() >= share - chance(share),
        }
    }

    fn count(&mut self, planted: &[Planted], findings: &Findings) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.series += 1;
        self.alarmed += u32::from(!findings.changes.is_empty());
        self.planted += count(planted.len());
        self.found += count(findings.changes.len());
        for made in planted {
            let is_exact = |change: &&Change| change.version == made.version && change.shape == made.shape;
            if let Some(change) = findings.changes.iter().find(is_exact) {
                self.exact += 1;
                self.covered += u32::from(change.low.ln() <= made.size && made.size <= change.high.ln());
            }
            let locates = |change: &Change| change.location.contains(&made.version);
            self.located += u32::from(findings.changes.iter().any(locates));
        }
    }
}

/// A change that was made.
#[derive(Debug, Clone, Copy)]
struct Planted {
    version: usize,
    shape: Shape,
    size: f64,
}

const RELEASES: usize = 24;
const ROUNDS: usize = 5;
const LAUNCH_NOISE: f64 = 0.01;
const LAYOUT_NOISE: f64 = 0.005;
const STEP: f64 = 0.03;
const GLITCH: f64 = 0.05;
const FAILED: f64 = 0.1;
const LAUNCHES: usize = 17;
const BASE_PROCESSES: f64 = 4.0;
const NOISIER: f64 = 3.0;
/// Versions between steps, and from a step to the edge.
const RELEASES_APART: usize = 3;
const COMMITS: usize = 100;
const COMMITS_APART: usize = 10;
/// Standard deviation of a single run, in ln: large beside the floor of its error.
const SINGLE_NOISE: f64 = 0.02;
const CORRELATION: f64 = 0.5;
const FEW: usize = 20;
const EIGHT: usize = 8;

/// Runs a plan. Critical values may be shared with other runs, which saves their simulation.
///
/// # Errors
/// None for the plans of this module: the values that it makes are finite.
pub fn run(plan: &SeriesPlan, critical: &CriticalValues) -> Result<SeriesTally, Error> {
    let mut noise = Noise::new(plan.seed);
    let mut tally = SeriesTally::default();
    for _ in 0..plan.replicates {
        let (series, planted) = make(plan.scenario, &mut noise)?;
        tally.count(&planted, &find(&series, &plan.rule, critical));
    }
    Ok(tally)
}

/// `replicates` change-free series of `points` single runs with normal noise, for a measurement of speed.
///
/// # Errors
/// None: the values are finite.
pub fn change_free(replicates: usize, points: usize, seed: u64) -> Result<Vec<Series>, Error> {
    let mut noise = Noise::new(seed);
    (0..replicates)
        .map(|_| {
            let values = (0..points).map(|_| Some(SINGLE_NOISE * noise.normal())).collect::<Vec<_>>();
            Series::of_single_runs(&values, ErrorFloor::default())
        })
        .collect()
}

/// One series and the changes in it.
fn make(scenario: SeriesScenario, noise: &mut Noise) -> Result<(Series, Vec<Planted>), Error> {
    let planted = planted(scenario, noise);
    let series = match scenario {
        SeriesScenario::Releases
        | SeriesScenario::ReleasesWithGaps
        | SeriesScenario::ReleasesWithSteps
        | SeriesScenario::ReleasesWithGlitch
        | SeriesScenario::LaunchesOf8
        | SeriesScenario::LaunchesOf14
        | SeriesScenario::LaunchesOf22 => releases(scenario, &planted, noise)?,
        SeriesScenario::Commits
        | SeriesScenario::CommitsHeavyTails
        | SeriesScenario::CommitsAutocorrelated
        | SeriesScenario::CommitsWithSpike
        | SeriesScenario::CommitsWithSteps
        | SeriesScenario::Few
        | SeriesScenario::FewWithStep
        | SeriesScenario::Eight => single_runs(scenario, &planted, noise)?,
    };
    Ok((series, planted))
}

fn planted(scenario: SeriesScenario, noise: &mut Noise) -> Vec<Planted> {
    match scenario {
        SeriesScenario::ReleasesWithSteps => steps(RELEASES, RELEASES_APART, STEP, noise),
        SeriesScenario::CommitsWithSteps => steps(COMMITS, COMMITS_APART, 2.0 * SINGLE_NOISE, noise),
        SeriesScenario::ReleasesWithGlitch => {
            let inner: Vec<usize> = (1..RELEASES - 1).collect();
            vec![Planted { version: noise.pick(&inner), shape: Shape::Glitch, size: -GLITCH }]
        }
        SeriesScenario::FewWithStep => {
            vec![Planted { version: FEW / 2, shape: Shape::Step, size: -2.0 * SINGLE_NOISE }]
        }
        SeriesScenario::Releases
        | SeriesScenario::ReleasesWithGaps
        | SeriesScenario::LaunchesOf8
        | SeriesScenario::LaunchesOf14
        | SeriesScenario::LaunchesOf22
        | SeriesScenario::Commits
        | SeriesScenario::CommitsHeavyTails
        | SeriesScenario::CommitsAutocorrelated
        | SeriesScenario::CommitsWithSpike
        | SeriesScenario::Few
        | SeriesScenario::Eight => Vec::new(),
    }
}

/// One to three steps of random signs, `apart` from one another and from the edges.
fn steps(versions: usize, apart: usize, size: f64, noise: &mut Noise) -> Vec<Planted> {
    let wanted = noise.pick(&[1, 2, 3]);
    let mut places: Vec<usize> = Vec::with_capacity(wanted);
    let inner: Vec<usize> = (apart..=versions - apart).collect();
    while places.len() < wanted {
        let place = noise.pick(&inner);
        if places.iter().all(|other| place.abs_diff(*other) >= apart) {
            places.push(place);
        }
    }
    places.sort_unstable();
    let sign = |noise: &mut Noise| if noise.coin() { 1.0 } else { -1.0 };
    let step = |version| Planted { version, shape: Shape::Step, size: size * sign(noise) };
    places.into_iter().map(step).collect()
}

/// What the changes add to each version.
fn levels(versions: usize, planted: &[Planted]) -> Vec<f64> {
    let concerns = |change: &Planted, version: usize| match change.shape {
        Shape::Step => version >= change.version,
        Shape::Glitch => version == change.version,
    };
    (0..versions)
        .map(|version| {
            planted.iter().filter(|change| concerns(change, version)).map(|change| change.size).sum()
        })
        .collect()
}

/// How many releases there are, and launches of all of them; whether these were at the same time.
fn sizes(scenario: SeriesScenario) -> (usize, usize, bool) {
    match scenario {
        SeriesScenario::LaunchesOf8 => (8, LAUNCHES, true),
        SeriesScenario::LaunchesOf14 => (14, LAUNCHES, true),
        SeriesScenario::LaunchesOf22 => (22, LAUNCHES, true),
        _ => (RELEASES, ROUNDS, false),
    }
}

fn releases(scenario: SeriesScenario, planted: &[Planted], noise: &mut Noise) -> Result<Series, Error> {
    let (releases, rounds, at_once) = sizes(scenario);
    let failed = if at_once || scenario == SeriesScenario::ReleasesWithGaps { FAILED } else { 0.0 };
    let builds: Vec<f64> =
        levels(releases, planted).into_iter().map(|level| level + LAYOUT_NOISE * noise.normal()).collect();
    let noise_of = |release: usize| match release {
        0 if at_once => LAUNCH_NOISE / BASE_PROCESSES.sqrt(),
        _ if at_once && release == releases / 2 => NOISIER * LAUNCH_NOISE,
        _ => LAUNCH_NOISE,
    };
    let rounds = (0..rounds).map(|_| {
        // The host of one round may be 5 % faster than that of another.
        let host = 0.05 * noise.normal();
        let cell = |(release, build): (usize, &f64)| {
            let value = host + build + noise_of(release) * noise.normal();
            (noise.uniform() >= failed).then_some(value)
        };
        builds.iter().enumerate().map(cell).collect()
    });
    let values = RoundValues::new(releases, rounds.collect())?;
    Series::of_rounds(&fit(&values), LAYOUT_NOISE)
}

fn single_runs(scenario: SeriesScenario, planted: &[Planted], noise: &mut Noise) -> Result<Series, Error> {
    let versions = match scenario {
        SeriesScenario::Few | SeriesScenario::FewWithStep => FEW,
        SeriesScenario::Eight => EIGHT,
        _ => COMMITS,
    };
    let mut last = noise.normal();
    let mut values: Vec<f64> = levels(versions, planted)
        .into_iter()
        .map(|level| {
            let own = match scenario {
                SeriesScenario::CommitsHeavyTails => noise.student_3(),
                SeriesScenario::CommitsAutocorrelated => {
                    last = CORRELATION * last + (1.0 - CORRELATION.powi(2)).sqrt() * noise.normal();
                    last
                }
                _ => noise.normal(),
            };
            level + SINGLE_NOISE * own
        })
        .collect();
    if scenario == SeriesScenario::CommitsWithSpike {
        let all: Vec<usize> = (0..versions).collect();
        values[noise.pick(&all)] += 20.0 * SINGLE_NOISE;
    }
    let values: Vec<Option<f64>> = values.into_iter().map(Some).collect();
    Series::of_single_runs(&values, ErrorFloor::default())
}
