//! The state machine of a bisection: `next(event) -> action`, with no clock, process or file of its own.
//!
//! ends compared -> launches, one by one -> a place is likely enough -> compared there -> done, or on with less belief
//! in that place. What does not look like one step is cut in stretches, and each goes the same way, except that its ends
//! are not compared: the fit of all launches so far mostly tells how far they are apart.

use super::actions::{Action, Event, Why};
use super::confirming;
use super::fit::Difference;
use super::launches::{Ends, Taken};
use super::posterior::Posterior;
use super::stretches::Measured;
use super::{
    Compared, Effect, Findings, Fitted, FoundStep, Launches, Measurement, NotConfirmed, Outcome, Rule,
    Stretch, StretchReport, Wanted,
};
use crate::change_points::CriticalValues;
use crate::error::Error;
use std::collections::{BTreeSet, VecDeque};

/// Places that are compared in one stretch before it is given up: not one clear step.
const MOST_CONFIRMATIONS: usize = 3;
/// Launches farther than this from all that is expected of them are surprises (statistics 1.7) ...
const SURPRISING: f64 = 4.0;
/// ... and so many of them are no accident.
const SURPRISES: u32 = 2;
/// Parts that are searched at most, the whole included.
const MOST_STRETCHES: usize = 9;
/// A step leaves something to explain where its size and that between the ends of its stretch differ by this many
/// standard errors, layout noise of the four builds included ...
const REMAINDER_ERRORS: f64 = 3.0;
/// ... and by no less than this, in ln: what `change_points` too calls no change.
const LEAST_REMAINDER: f64 = 0.01;
/// The ends of a part are taken to differ if the fit of all launches says so by this many standard errors ...
const APART_ERRORS: f64 = 3.0;
/// ... and it is left if a step that can be confirmed is this many standard errors more than they differ by.
const EXCLUDED_ERRORS: f64 = 2.0;
/// Launches of the ends of a part at most: it is left if they do not tell.
const MOST_OF_PART: u32 = 24;

/// A search for the first version that differs.
pub struct Bisection<'a> {
    rule: Rule,
    /// What each version weighs as the first to differ, before anything is measured.
    weights: Vec<f64>,
    /// What a launch of each version costs.
    costs: Vec<f64>,
    critical: &'a CriticalValues,
    not_measurable: BTreeSet<usize>,
    taken: Taken,
    waiting: VecDeque<Stretch>,
    phase: Phase,
    findings: Findings,
}

enum Phase {
    NotBegun,
    /// The ends of the whole are compared.
    Ends(Stretch),
    /// The ends of a part are measured, for so many launches by now.
    Part(Stretch, u32),
    /// The version is what the last action named.
    Searching(Box<Search>, usize),
    Confirming(Box<Search>, Place),
    Ended,
}

/// The search of one stretch.
struct Search {
    stretch: Stretch,
    ends: Ends,
    effect: Effect,
    posterior: Posterior,
    surprises: u32,
    not_confirmed: Vec<NotConfirmed>,
    /// Whether its launches were held against one step once: the comparison decides after that.
    checked: bool,
}

/// A place that launches can tell from others: between neighbours among the versions that can be measured.
#[derive(Debug, Clone, Copy)]
struct Place {
    between: Stretch,
    probability: f64,
}

impl<'a> Bisection<'a> {
    /// A search over `versions` versions in their order, the first of them good and the last different.
    ///
    /// # Errors
    /// Fewer than two versions.
    pub fn new(versions: usize, rule: Rule, critical: &'a CriticalValues) -> Result<Bisection<'a>, Error> {
        if versions < 2 {
            return Err(Error::TooFewVersions { versions });
        }
        Ok(Bisection {
            rule,
            weights: vec![1.0; versions],
            costs: vec![1.0; versions],
            critical,
            not_measurable: BTreeSet::new(),
            taken: Taken::default(),
            waiting: VecDeque::from([Stretch { good: 0, bad: versions - 1 }]),
            phase: Phase::NotBegun,
            findings: Findings { stretches: Vec::new(), launches: Launches::default() },
        })
    }

    /// The same with weights of the versions as the first to differ, in place of equal ones; that of the first version
    /// is of no consequence.
    ///
    /// # Errors
    /// Another number of weights than of versions, and a weight that is not above zero.
    pub fn with_weights(self, weights: Vec<f64>) -> Result<Bisection<'a>, Error> {
        if weights.len() != self.weights.len() {
            return Err(Error::LengthsDiffer { left: self.weights.len(), right: weights.len() });
        }
        if weights.iter().skip(1).any(|weight| !(weight.is_finite() && *weight > 0.0)) {
            return Err(Error::BadSpread { what: "the weight of a version, which must be above 0 too," });
        }
        Ok(Bisection { weights, ..self })
    }

    /// Sets what measuring a version once costs, in any unit: a build that is not there costs more than one that is.
    pub fn set_cost(&mut self, version: usize, cost: f64) {
        if let Some(of) = self.costs.get_mut(version) {
            *of = cost;
        }
    }

    /// Takes in what happened and says what to do.
    pub fn next(&mut self, event: Event) -> Action {
        if let Event::NotMeasurable(version) = event {
            self.not_measurable.insert(version);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Ended);
        match (phase, event) {
            (phase, Event::Stopped) => self.stop(phase),
            (Phase::NotBegun, _) => self.next_stretch(),
            (Phase::Ends(stretch), Event::Compared(compared)) => {
                self.findings.launches.ends += compared.launches;
                self.taken.comparisons.push((stretch, compared));
                self.begin_whole(stretch, compared)
            }
            (Phase::Part(stretch, launches), Event::Measured(value)) => {
                self.findings.launches.ends += 1;
                let Stretch { good, bad } = stretch;
                self.taken.measurements.push(Measurement { anchor: good, version: bad, value });
                self.begin_part(stretch, launches + 1)
            }
            (Phase::Ends(stretch) | Phase::Part(stretch, _), _) => {
                self.close(stretch, None, Outcome::EndNotMeasurable);
                self.next_stretch()
            }
            (Phase::Searching(search, version), Event::Measured(value)) => self.take(search, version, value),
            (Phase::Searching(search, _), _) => self.search(search),
            (Phase::Confirming(search, place), Event::Compared(compared)) => {
                self.findings.launches.confirmation += compared.launches;
                self.taken.comparisons.push((place.between, compared));
                self.take_confirmation(search, place, compared)
            }
            (Phase::Confirming(search, _), _) => self.search(search),
            (Phase::Ended, _) => Action::End,
        }
    }

    /// What is known so far; what is being searched is not in it.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The launches of the search, in their order.
    pub fn measurements(&self) -> &[Measurement] {
        &self.taken.measurements
    }

    /// Versions that turned out not to be measurable.
    pub fn not_measurable(&self) -> &BTreeSet<usize> {
        &self.not_measurable
    }

    /// Where the step may lie as far as the stretch under search goes, for those who watch; empty between stretches.
    pub fn likeliest(&self) -> Option<(Stretch, f64)> {
        let (Phase::Searching(search, _) | Phase::Confirming(search, _)) = &self.phase else { return None };
        let place = self.best(search);
        Some((place.between, place.probability))
    }

    fn next_stretch(&mut self) -> Action {
        let Some(stretch) = self.waiting.pop_front() else {
            self.phase = Phase::Ended;
            return Action::End;
        };
        if !self.taken.comparisons.is_empty() {
            return self.begin_part(stretch, 0);
        }
        self.phase = Phase::Ends(stretch);
        Action::Compare(stretch, Why::Ends)
    }

    fn begin_whole(&mut self, stretch: Stretch, ends: Compared) -> Action {
        let Some(effect) = ends.effect(self.rule.wanted) else {
            self.close(stretch, Some(Ends::Compared(ends)), Outcome::NoDifference);
            return self.next_stretch();
        };
        self.begin_search(stretch, Ends::Compared(ends), effect)
    }

    /// Searches a part of the whole if its ends differ by enough, as far as all launches know; measures them until that
    /// is known.
    ///
    /// No verdict is needed to begin a search: what it finds is confirmed by a comparison, or it is not.
    fn begin_part(&mut self, stretch: Stretch, launches: u32) -> Action {
        if self.has_lost_an_end(stretch) {
            self.close(stretch, None, Outcome::EndNotMeasurable);
            return self.next_stretch();
        }
        if let Some(fitted) = self.taken.difference(stretch) {
            let Difference { shift, error } = fitted;
            let size = self.rule.wanted.size(shift);
            if size + EXCLUDED_ERRORS * error < self.rule.least_confirmed() || launches >= MOST_OF_PART {
                self.close(stretch, Some(Ends::Fitted(fitted)), Outcome::NoDifference);
                return self.next_stretch();
            }
            if size > APART_ERRORS * error {
                let effect = Effect { shift, error, noise: self.taken.noise() };
                return self.begin_search(stretch, Ends::Fitted(fitted), effect);
            }
        }
        self.phase = Phase::Part(stretch, launches);
        Action::Measure { anchor: stretch.good, version: stretch.bad }
    }

    fn begin_search(&mut self, stretch: Stretch, ends: Ends, effect: Effect) -> Action {
        let mut search = Search {
            stretch,
            ends,
            effect,
            posterior: Posterior::new(stretch, effect, |version| self.weights[version]),
            surprises: 0,
            not_confirmed: Vec::new(),
            checked: false,
        };
        for one in self.taken.within(stretch) {
            search.posterior.take_with(one.measurement.version, one.measurement.value, one.error);
        }
        self.search(Box::new(search))
    }

    fn take(&mut self, mut search: Box<Search>, version: usize, value: f64) -> Action {
        self.findings.launches.search += 1;
        if search.posterior.surprise(version, value) > SURPRISING {
            search.surprises += 1;
        }
        search.posterior.take(version, value);
        self.taken.measurements.push(Measurement { anchor: search.stretch.good, version, value });
        if search.surprises >= SURPRISES {
            search.surprises = 0;
            if let Some(stretches) = self.several(&search) {
                return self.cut(&search, stretches);
            }
        }
        self.search(search)
    }

    /// What to do in a stretch, as things stand.
    fn search(&mut self, mut search: Box<Search>) -> Action {
        if self.has_lost_an_end(search.stretch) {
            self.close_search(&search, Outcome::EndNotMeasurable);
            return self.next_stretch();
        }
        let places = self.places(&search);
        let best = self.best(&search);
        // If nothing can be measured between the ends, their comparison is the confirmation.
        let compared = match (places.len(), search.ends) {
            (1, Ends::Compared(compared)) => Some(compared),
            (1, Ends::Fitted(_)) => search.not_confirmed.last().map(|place| place.compared),
            _ => None,
        };
        if compared.is_some() {
            let step = self.step(best, compared);
            self.close_search(&search, Outcome::Step(step));
            return self.next_stretch();
        }
        if best.probability >= self.rule.stop {
            if !search.checked {
                search.checked = true;
                if self.measured(&search).contradicts_step_at(best.between.bad)
                    && let Some(stretches) = self.several(&search)
                {
                    return self.cut(&search, stretches);
                }
            }
            let (expected, known) = (search.posterior.size(), self.taken.difference(best.between));
            let most_launches = confirming::most_launches(&self.rule, expected, known, self.taken.noise());
            self.phase = Phase::Confirming(search, best);
            return Action::Compare(best.between, Why::Confirmation { most_launches });
        }
        let version = self.choice(&search);
        if self.findings.launches.search >= self.rule.most_launches {
            return self.stop(Phase::Searching(search, version));
        }
        let anchor = search.stretch.good;
        self.phase = Phase::Searching(search, version);
        Action::Measure { anchor, version }
    }

    fn take_confirmation(&mut self, mut search: Box<Search>, place: Place, compared: Compared) -> Action {
        let step = self.step(place, Some(compared));
        if step.confirmed {
            let step = self.with_remainder(step, &search);
            self.wait_for_the_rest(&step, search.stretch);
            self.close_search(&search, Outcome::Step(step));
            return self.next_stretch();
        }
        search.not_confirmed.push(NotConfirmed { between: place.between, compared });
        search.posterior.take_not_confirmed(place.between, compared.measured());
        if search.not_confirmed.len() < MOST_CONFIRMATIONS {
            return self.search(search);
        }
        let best = self.best(&search);
        let same = best.between == place.between;
        let step = self.step(best, same.then_some(compared));
        self.close_search(&search, Outcome::Step(step));
        self.next_stretch()
    }

    /// What the step leaves of the difference between the ends of its stretch.
    fn with_remainder(&self, step: FoundStep, search: &Search) -> FoundStep {
        let found = step.confirmation.and_then(|compared| compared.effect(self.rule.wanted));
        let Some(found) = found else { return step };
        let remainder = search.effect.shift - found.shift;
        let layout = 2.0 * self.rule.layout_noise; // of four builds
        let error = search.effect.error.hypot(found.error).hypot(layout);
        let matters = remainder.abs() > (REMAINDER_ERRORS * error).max(LEAST_REMAINDER);
        FoundStep { remainder: matters.then_some(remainder), ..step }
    }

    /// Where a step explains too little, there are others before or behind it.
    fn wait_for_the_rest(&mut self, step: &FoundStep, stretch: Stretch) {
        let goes_on = match self.rule.wanted {
            Wanted::Regression => step.remainder.is_some_and(|remainder| remainder < 0.0),
            Wanted::Improvement => step.remainder.is_some_and(|remainder| remainder > 0.0),
        };
        if goes_on {
            self.wait_for([
                Stretch { good: stretch.good, bad: step.last_good },
                Stretch { good: step.first_bad, bad: stretch.bad },
            ]);
        }
    }

    fn cut(&mut self, search: &Search, stretches: Vec<Stretch>) -> Action {
        self.close_search(search, Outcome::Several);
        self.wait_for(stretches);
        self.next_stretch()
    }

    fn wait_for(&mut self, stretches: impl IntoIterator<Item = Stretch>) {
        for stretch in stretches.into_iter().filter(|stretch| stretch.good < stretch.bad) {
            if self.findings.stretches.len() + self.waiting.len() + 1 < MOST_STRETCHES {
                self.waiting.push_back(stretch);
            }
        }
    }

    /// Parts of a search that does not look like one step; absent where it does.
    fn several(&self, search: &Search) -> Option<Vec<Stretch>> {
        let stretches = self.measured(search).around_changes(self.rule.wanted, self.critical);
        // A stretch that is the whole would be searched in the same way again.
        let smaller = stretches.iter().all(|stretch| *stretch != search.stretch);
        (!stretches.is_empty() && smaller).then_some(stretches)
    }

    fn measured(&self, search: &Search) -> Measured {
        Measured {
            stretch: search.stretch,
            effect: search.effect,
            launches: self.taken.comparisons.iter().map(|(_, compared)| compared.launches).sum(),
            measurements: self.taken.within(search.stretch),
            layout_noise: self.rule.layout_noise,
        }
    }

    /// Whether an end turned out not to be measurable.
    fn has_lost_an_end(&self, stretch: Stretch) -> bool {
        [stretch.good, stretch.bad].iter().any(|end| self.not_measurable.contains(end))
    }

    /// The versions between the ends that can be measured.
    fn inner(&self, search: &Search) -> impl Iterator<Item = usize> {
        (search.stretch.good + 1..search.stretch.bad).filter(|version| !self.not_measurable.contains(version))
    }

    /// The places of a stretch that can be told apart, with their probabilities; at least one.
    fn places(&self, search: &Search) -> Vec<Place> {
        let Stretch { good, bad } = search.stretch;
        let behind = search.posterior.behind();
        let mut last_good = good;
        let mut before = 0.0;
        let mut places = Vec::new();
        for first_bad in self.inner(search).chain([bad]) {
            let until = behind[first_bad - good - 1];
            places.push(Place {
                between: Stretch { good: last_good, bad: first_bad },
                probability: until - before,
            });
            (last_good, before) = (first_bad, until);
        }
        places
    }

    fn best(&self, search: &Search) -> Place {
        let likelier = |left: Place, right: Place| {
            if right.probability > left.probability { right } else { left }
        };
        let nowhere = Place { between: search.stretch, probability: 0.0 };
        self.places(search).into_iter().fold(nowhere, likelier)
    }

    /// The version to measure next: that which splits the probability in halves, or where costs differ, that which
    /// tells most for its cost. There must be one between the ends.
    fn choice(&self, search: &Search) -> usize {
        let first = search.stretch.good + 1;
        let costs = &self.costs[first..search.stretch.bad];
        let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let prices: Vec<f64> = if costs.iter().all(|cost| *cost <= cheapest) {
            search.posterior.behind().iter().map(|behind| (behind - 0.5).abs()).collect()
        } else {
            let tells = search.posterior.information();
            costs.iter().zip(&tells).map(|(cost, tells)| cost / tells.max(f64::MIN_POSITIVE)).collect()
        };
        let lower = |left: usize, right: usize| {
            if prices[right - first] < prices[left - first] { right } else { left }
        };
        self.inner(search).reduce(lower).unwrap_or(search.stretch.bad)
    }

    fn step(&self, place: Place, confirmation: Option<Compared>) -> FoundStep {
        let Stretch { good, bad } = place.between;
        FoundStep {
            last_good: good,
            first_bad: bad,
            candidates: (good + 1..=bad).collect(),
            probability: place.probability,
            confirmation,
            confirmed: confirmation.is_some_and(|compared| compared.shows(self.rule.wanted)),
            remainder: None,
        }
    }

    fn stop(&mut self, phase: Phase) -> Action {
        match phase {
            Phase::Ends(stretch) | Phase::Part(stretch, _) => {
                self.close(stretch, None, Outcome::Unfinished(None));
            }
            Phase::Searching(search, _) | Phase::Confirming(search, _) => {
                let step = self.step(self.best(&search), None);
                self.close_search(&search, Outcome::Unfinished(Some(step)));
            }
            Phase::NotBegun | Phase::Ended => {}
        }
        while let Some(stretch) = self.waiting.pop_front() {
            self.close(stretch, None, Outcome::Unfinished(None));
        }
        self.phase = Phase::Ended;
        Action::End
    }

    fn close_search(&mut self, search: &Search, outcome: Outcome) {
        self.close(search.stretch, Some(search.ends), outcome);
        if let Some(report) = self.findings.stretches.last_mut() {
            report.suspected = search.posterior.suspected();
            report.not_confirmed.clone_from(&search.not_confirmed);
        }
    }

    fn close(&mut self, stretch: Stretch, ends: Option<Ends>, outcome: Outcome) {
        let (compared, fitted) = match ends {
            Some(Ends::Compared(compared)) => (Some(compared), None),
            Some(Ends::Fitted(difference)) => (None, Some(Fitted::of(difference, self.taken.df()))),
            None => (None, None),
        };
        self.findings.stretches.push(StretchReport {
            stretch,
            ends: compared,
            fitted,
            suspected: Vec::new(),
            not_confirmed: Vec::new(),
            outcome,
        });
    }
}
