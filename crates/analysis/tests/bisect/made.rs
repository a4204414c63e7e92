//! A made world that a bisection is run on: levels, and noise that is fixed.

use analysis::bisect::{
    Action, Bisection, Compared, Event, Findings, Measurement, Rule, Stretch, Wanted, Why,
};
use analysis::change_points::CriticalValues;
use model::verdict::{Layout, Verdict};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Simulated once for all tests of the process.
pub static CRITICAL: LazyLock<CriticalValues> = LazyLock::new(CriticalValues::new);

/// Launch noise of all made worlds.
pub const NOISE: f64 = 0.01;

/// Versions with known speeds (ln).
pub struct World {
    pub levels: Vec<f64>,
    pub not_measurable: BTreeSet<usize>,
    /// Added to each launch in turn, in launch noises; none after the last.
    pub noise: Vec<f64>,
    /// Comparisons by this one's number (from 0) say "no change", whatever the truth.
    pub blind: BTreeSet<usize>,
}

/// What happened in a world.
pub struct Story {
    pub actions: Vec<Action>,
    pub findings: Findings,
    pub measurements: Vec<Measurement>,
}

impl World {
    pub fn of(levels: Vec<f64>) -> World {
        World { levels, not_measurable: BTreeSet::new(), noise: Vec::new(), blind: BTreeSet::new() }
    }

    /// `versions` of which those from `first_bad` on are off by `size`.
    pub fn step(versions: usize, first_bad: usize, size: f64) -> World {
        World::of((0..versions).map(|version| if version < first_bad { 0.0 } else { size }).collect())
    }

    pub fn run(&self, rule: Rule) -> Story {
        let search = Bisection::new(self.levels.len(), rule, &CRITICAL).expect("at least two versions");
        self.run_with(search)
    }

    pub fn run_with(&self, mut search: Bisection<'_>) -> Story {
        let mut actions = Vec::new();
        let mut event = Event::Begin;
        let (mut launches, mut comparisons) = (0, 0);
        loop {
            let action = search.next(event);
            actions.push(action);
            assert!(actions.len() < 10_000, "it does not end");
            event = match action {
                Action::End => break,
                Action::Measure { version, .. } if self.not_measurable.contains(&version) => {
                    Event::NotMeasurable(version)
                }
                Action::Measure { anchor, version } => {
                    let noise = self.noise.get(launches).copied().unwrap_or(0.0);
                    launches += 1;
                    Event::Measured(self.difference(Stretch { good: anchor, bad: version }) + NOISE * noise)
                }
                Action::Compare(stretch, _) => {
                    let sees = !self.blind.contains(&comparisons);
                    comparisons += 1;
                    Event::Compared(compared(if sees { self.difference(stretch) } else { 0.0 }))
                }
            };
        }
        Story { actions, findings: search.findings().clone(), measurements: search.measurements().to_vec() }
    }

    fn difference(&self, stretch: Stretch) -> f64 {
        self.levels[stretch.bad] - self.levels[stretch.good]
    }
}

impl Story {
    /// (first bad, confirmed) of each step.
    pub fn steps(&self) -> Vec<(usize, bool)> {
        self.findings.steps().iter().map(|step| (step.first_bad, step.confirmed)).collect()
    }

    pub fn confirmations(&self) -> Vec<Stretch> {
        let of = |action: &Action| match action {
            Action::Compare(stretch, Why::Confirmation { .. }) => Some(*stretch),
            Action::Compare(_, Why::Ends) | Action::Measure { .. } | Action::End => None,
        };
        self.actions.iter().filter_map(of).collect()
    }
}

/// What a comparison says of this difference (ln) after twelve launches.
pub fn compared(difference: f64) -> Compared {
    let half = 3.0 * NOISE / 12f64.sqrt();
    let verdict = if difference < -half {
        Verdict::Regression
    } else if difference > half {
        Verdict::Improvement
    } else {
        Verdict::NoChange
    };
    let layout = if difference.abs() > 0.019 { Layout::Beyond } else { Layout::MayBe };
    Compared {
        verdict,
        layout: Some(layout),
        ratio: Some(difference.exp()),
        low: Some((difference - half).exp()),
        high: Some((difference + half).exp()),
        launch_sd: Some(NOISE),
        launches: 12,
    }
}

pub fn improvement() -> Rule {
    Rule { wanted: Wanted::Improvement, ..Rule::default() }
}
