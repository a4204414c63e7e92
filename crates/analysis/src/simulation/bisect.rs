//! Bisections over versions whose step is known: how often the right version is named, and in how many launches.
//!
//! Pure and seeded. The ends are compared and steps confirmed by the very procedure of a comparison, launch by launch;
//! the search is the machine that a real one runs. A scenario is one kind of series; its targets are those that the
//! project set itself.

use super::blocks::{launch, reads};
use super::noise::Noise;
use crate::bisect::{Action, Bisection, Compared, Event, Findings, Rule, Stretch, Why};
use crate::change_points::CriticalValues;
use crate::error::Error;
use crate::judgement::{Judgement, Stage, conclude};
use crate::launch::LaunchSummary;
use crate::procedure::Procedure;
use model::plan::DecisionRule;
use model::verdict::{Layout, Verdict};
use std::collections::BTreeSet;

/// How launches scatter; both have the launch noise as their standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tails {
    Normal,
    /// Student's t with three degrees of freedom.
    Heavy,
}

/// What is known of the difference between the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Its size and the launch noise to within 15 % (one standard deviation), as in statistics 2.7.
    Given,
    /// What their comparison finds, which stops early: then the size is overestimated.
    Compared,
}

/// What is special about the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    Nothing,
    /// Three versions cannot be built.
    NotBuildable,
    /// A second step of the same size, at least four versions from the first.
    SecondStep,
    /// Each build is off by the layout noise.
    Layout,
    /// Three steps of unequal sizes, each at least four versions from the others, and builds that are off by the layout
    /// noise: a fifth of the rate that was lost over years.
    Several,
}

/// Launch noises of the steps of [`Special::Several`]: 3, 6 and 4 %.
const SEVERAL: [f64; 3] = [1.0, 2.0, 1.33];

/// 24 versions with one step somewhere, each place as likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectScenario {
    name: &'static str,
    /// The step in launch noises.
    effect: f64,
    tails: Tails,
    ends: Ends,
    special: Special,
    /// Launches of the search that it may take on average.
    most_launches: f64,
}

const fn scenario(name: &'static str, effect: f64, tails: Tails, ends: Ends, most: f64) -> BisectScenario {
    BisectScenario { name, effect, tails, ends, special: Special::Nothing, most_launches: most }
}

const fn special(name: &'static str, special: Special, effect: f64, most_launches: f64) -> BisectScenario {
    BisectScenario { name, effect, tails: Tails::Normal, ends: Ends::Compared, special, most_launches }
}

impl BisectScenario {
    /// Every scenario. The targets of the first three are those that the project set itself; the others are held to the
    /// same, but that a second step is a second search, and that builds which differ without a step cost a launch more.
    pub const ALL: [BisectScenario; 14] = [
        scenario("bisect-3", 3.0, Tails::Normal, Ends::Given, 7.0),
        scenario("bisect-1.7", 1.7, Tails::Normal, Ends::Given, 16.0),
        scenario("bisect-1", 1.0, Tails::Normal, Ends::Given, 45.0),
        scenario("bisect-3-heavy-tails", 3.0, Tails::Heavy, Ends::Given, 7.0),
        scenario("bisect-1.7-heavy-tails", 1.7, Tails::Heavy, Ends::Given, 16.0),
        scenario("bisect-1-heavy-tails", 1.0, Tails::Heavy, Ends::Given, 45.0),
        scenario("bisect-3-ends-compared", 3.0, Tails::Normal, Ends::Compared, 7.0),
        scenario("bisect-1.7-ends-compared", 1.7, Tails::Normal, Ends::Compared, 16.0),
        scenario("bisect-1-ends-compared", 1.0, Tails::Normal, Ends::Compared, 45.0),
        scenario("bisect-1.7-all-of-it", 1.7, Tails::Heavy, Ends::Compared, 16.0),
        special("bisect-not-buildable", Special::NotBuildable, 1.7, 16.0),
        special("bisect-two-steps", Special::SecondStep, 3.0, 14.0),
        special("bisect-layout-noise", Special::Layout, 3.0, 8.0),
        special("bisect-three-unequal", Special::Several, 1.0, 60.0),
    ];

    /// The name in reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Launches of the search that it may take on average.
    pub fn most_launches(&self) -> f64 {
        self.most_launches
    }
}

/// At least this share of the searches must name the right version.
pub const LEAST_RIGHT: f64 = 0.95;
/// Of three unequal steps, of which the smallest is as large as the noise, so many must be found ...
const LEAST_FOUND: f64 = 0.6;
/// ... in so many launches of all kinds: three quarters of what it took when the ends of each part were compared ...
const MOST_LAUNCHES_OF_SEVERAL: f64 = 140.0;
/// ... and a version that is none of them confirmed in at most so many searches, of three comparisons each.
const MOST_WRONG: f64 = 0.03;

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectPlan {
    pub replicates: u32,
    /// Seed of all of them.
    pub seed: u64,
    /// What they are like.
    pub scenario: BisectScenario,
    pub rule: Rule,
}

/// What came out: counts over searches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BisectTally {
    /// Searches whose ends differ: the others are refused, which is no wrong answer.
    pub searches: u32,
    /// Ends that were not told apart.
    pub refused: u32,
    /// Searches whose first comparison was made at the right place: the search by itself, without what confirmation
    /// mends.
    pub right_at_first: u32,
    /// Searches that name the right version in the end; where there are two steps, both.
    pub right: u32,
    /// Searches that name a version and have it confirmed.
    pub confirmed: u32,
    /// Those of them that name a wrong one.
    pub confirmed_wrong: u32,
    /// Searches that say that there is more than one step.
    pub more_than_one: u32,
    /// Steps that there are, of all searches.
    pub steps: u32,
    /// Those of them that were found at their place and confirmed.
    pub steps_found: u32,
    /// Launches of the searches.
    pub search_launches: u64,
    /// Launches for comparing the ends.
    pub ends_launches: u64,
    pub confirmation_launches: u64,
}

impl BisectTally {
    /// Share of the searches.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.searches.max(1))
    }

    /// Of the launches of one search.
    pub fn mean(&self, launches: u64) -> f64 {
        launches as f64 / f64::from(self.searches.max(1))
    }

    /// Whether the right version is named often enough, in few enough launches, within what this many searches leave
    /// to chance (three standard errors of a share).
    pub fn meets(&self, scenario: &BisectScenario) -> bool {
        let chance = 3.0 * (LEAST_RIGHT * (1.0 - LEAST_RIGHT) / f64::from(self.searches.max(1))).sqrt();
        let finds = match scenario.special {
            Special::Several => {
                self.found() >= LEAST_FOUND - chance
                    && self.share(self.confirmed_wrong) <= MOST_WRONG + chance
                    && self.mean(self.all_launches()) <= MOST_LAUNCHES_OF_SEVERAL
            }
            _ => self.share(self.right) >= LEAST_RIGHT - chance,
        };
        finds && self.mean(self.search_launches) <= scenario.most_launches
    }

    /// Share of the true steps that were found at their place and confirmed.
    pub fn found(&self) -> f64 {
        f64::from(self.steps_found) / f64::from(self.steps.max(1))
    }

    pub fn all_launches(&self) -> u64 {
        self.ends_launches + self.search_launches + self.confirmation_launches
    }
}

const VERSIONS: usize = 24;
/// Launch noise in ln: large beside the margin, as on a busy machine, so that a step of its size is a regression.
const LAUNCH_NOISE: f64 = 0.03;
const LAYOUT_NOISE: f64 = 0.005;
/// How well size and noise are known where they are given.
const KNOWN_WITHIN: f64 = 0.15;
const NOT_BUILDABLE: usize = 3;
const STEPS_APART: usize = 4;
/// Launches that given ends count for.
const GIVEN_LAUNCHES: u32 = 12;

/// Runs a plan. Critical values may be shared with other runs, which saves their simulation.
///
/// # Errors
/// None for the plans of this module.
pub fn run(plan: &BisectPlan, critical: &CriticalValues) -> Result<BisectTally, Error> {
    let mut noise = Noise::new(plan.seed);
    let mut tally = BisectTally::default();
    for _ in 0..plan.replicates {
        let world = World::new(plan.scenario, &mut noise);
        let mut search = Bisection::new(VERSIONS, plan.rule, critical)?;
        let mut event = Event::Begin;
        let mut first_place = None;
        loop {
            let action = search.next(event);
            if let Action::Compare(stretch, Why::Confirmation { .. }) = action {
                first_place.get_or_insert(stretch);
            }
            match world.perform(action, &mut noise) {
                Some(next) => event = next,
                None => break,
            }
        }
        tally.count(&world, search.findings(), first_place);
    }
    Ok(tally)
}

impl BisectTally {
    fn count(&mut self, world: &World, findings: &Findings, first_place: Option<Stretch>) {
        let steps = findings.steps();
        if steps.is_empty() {
            self.refused += 1;
            return;
        }
        self.searches += 1;
        let holds =
            |stretch: Stretch| world.steps.iter().any(|step| stretch.good < *step && *step <= stretch.bad);
        let whole = |step: &&crate::bisect::FoundStep| Stretch { good: step.last_good, bad: step.first_bad };
        let found: Vec<Stretch> = steps.iter().map(whole).collect();
        // Without a comparison of its own, the place is that of the ends.
        self.right_at_first += u32::from(holds(first_place.unwrap_or(found[0])));
        let right = found.len() == world.steps.len() && found.iter().all(|stretch| holds(*stretch));
        self.right += u32::from(right);
        let confirmed = steps.iter().any(|step| step.confirmed);
        self.confirmed += u32::from(confirmed);
        self.confirmed_wrong += u32::from(confirmed && !found.iter().all(|stretch| holds(*stretch)));
        let found_one = |step: &usize| {
            steps.iter().any(|one| one.confirmed && one.last_good < *step && *step <= one.first_bad)
        };
        for step in &world.steps {
            self.steps += 1;
            self.steps_found += u32::from(found_one(step));
        }
        self.more_than_one += u32::from(findings.more_than_one_step());
        self.search_launches += u64::from(findings.launches.search);
        self.ends_launches += u64::from(findings.launches.ends);
        self.confirmation_launches += u64::from(findings.launches.confirmation);
    }
}

/// Versions with known speeds.
struct World {
    scenario: BisectScenario,
    /// First versions of the later levels.
    steps: Vec<usize>,
    /// ln of each version's speed.
    levels: Vec<f64>,
    not_buildable: BTreeSet<usize>,
}

impl World {
    fn new(scenario: BisectScenario, noise: &mut Noise) -> World {
        let places: Vec<usize> = (1..VERSIONS).collect();
        let sizes: &[f64] = match scenario.special {
            Special::Several => &SEVERAL,
            Special::SecondStep => &[scenario.effect, scenario.effect],
            Special::Nothing | Special::NotBuildable | Special::Layout => &[scenario.effect],
        };
        let mut steps: Vec<usize> = Vec::new();
        while steps.len() < sizes.len() {
            let is_apart = |place: &usize| steps.iter().all(|step| place.abs_diff(*step) >= STEPS_APART);
            let apart: Vec<usize> = places.iter().copied().filter(is_apart).collect();
            steps.push(noise.pick(&apart));
        }
        let layout = match scenario.special {
            Special::Layout | Special::Several => LAYOUT_NOISE,
            Special::Nothing | Special::NotBuildable | Special::SecondStep => 0.0,
        };
        let levels = (0..VERSIONS)
            .map(|version| {
                let passed = steps.iter().zip(sizes).filter(|(step, _)| **step <= version);
                layout * noise.normal() - LAUNCH_NOISE * passed.map(|(_, size)| size).sum::<f64>()
            })
            .collect();
        steps.sort_unstable();
        let mut not_buildable = BTreeSet::new();
        while scenario.special == Special::NotBuildable && not_buildable.len() < NOT_BUILDABLE {
            not_buildable.insert(noise.pick(&places[..VERSIONS - 2]));
        }
        World { scenario, steps, levels, not_buildable }
    }

    /// What comes of an action; nothing after the last.
    fn perform(&self, action: Action, noise: &mut Noise) -> Option<Event> {
        Some(match action {
            Action::Compare(stretch, Why::Ends) if self.is_given(stretch) => {
                Event::Compared(self.given(stretch, noise))
            }
            Action::Compare(stretch, why) => {
                let rule = DecisionRule::default();
                let rule = match why {
                    Why::Ends => rule,
                    Why::Confirmation { most_launches } => {
                        DecisionRule { max_launches: most_launches, ..rule }
                    }
                };
                Event::Compared(Compared::of(&self.compare(stretch, &Procedure::new(rule), noise)))
            }
            Action::Measure { version, .. } if self.not_buildable.contains(&version) => {
                Event::NotMeasurable(version)
            }
            Action::Measure { anchor, version } => {
                Event::Measured(self.launch(Stretch { good: anchor, bad: version }, noise))
            }
            Action::End => return None,
        })
    }

    fn is_given(&self, stretch: Stretch) -> bool {
        self.scenario.ends == Ends::Given && stretch == Stretch { good: 0, bad: VERSIONS - 1 }
    }

    fn given(&self, stretch: Stretch, noise: &mut Noise) -> Compared {
        let size = (self.levels[stretch.bad] - self.levels[stretch.good]) * about_one(noise);
        Compared {
            verdict: Verdict::Regression,
            layout: Some(Layout::Beyond),
            ratio: Some(size.exp()),
            low: None,
            high: None,
            launch_sd: Some(LAUNCH_NOISE * about_one(noise)),
            launches: GIVEN_LAUNCHES,
        }
    }

    /// Launch by launch, asking at the looks as a run does.
    fn compare(&self, stretch: Stretch, procedure: &Procedure, noise: &mut Noise) -> Judgement {
        let facts = reads("bisect");
        let looks = procedure.looks();
        let most = u32::try_from(procedure.max_launches()).unwrap_or(u32::MAX);
        let mut summaries: Vec<LaunchSummary> = Vec::new();
        for launch in 1..most {
            summaries.push(self.summary(stretch, launch, noise));
            if looks.contains(&summaries.len()) {
                let judgement = conclude(&facts, &summaries, procedure, Stage::Running);
                if judgement.decided {
                    return judgement;
                }
            }
        }
        summaries.push(self.summary(stretch, most, noise));
        conclude(&facts, &summaries, procedure, Stage::Final)
    }

    fn summary(&self, stretch: Stretch, number: u32, noise: &mut Noise) -> LaunchSummary {
        launch(number, self.launch(stretch, noise))
    }

    /// The value of one launch of the later version against the earlier one.
    fn launch(&self, stretch: Stretch, noise: &mut Noise) -> f64 {
        let unit = match self.scenario.tails {
            Tails::Normal => noise.normal(),
            // The variance of t3 is 3.
            Tails::Heavy => noise.student_3() / 3f64.sqrt(),
        };
        self.levels[stretch.bad] - self.levels[stretch.good] + LAUNCH_NOISE * unit
    }
}

/// A factor that is off by as much as what is known; never below a tenth.
fn about_one(noise: &mut Noise) -> f64 {
    (1.0 + KNOWN_WITHIN * noise.normal()).max(0.1)
}
