//! What gives a lost rate back. A *test* measures base and candidate once more, each also under another configuration: if the candidate is no
//! longer slower than the base there, that is the cause. A *chain* measures subjects between two ends and says what each link of it costs.
//!
//! Everything is a sum of logarithms of rates within a launch or round, where the speed of the host drops out; its interval is Student's t over
//! them. The links of a chain add up to its whole by construction. Runs of both have a number of launches that does not depend on what is found.

use crate::change::Change;
use crate::comparison::rounds::{self, Cells};
use crate::judge::Evidence;
use crate::sides;
use model::block::Side;
use model::metric::Metric;
use model::plan::{Design, Plan};
use model::record::RunRecord;
use model::subject::SubjectRef;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A change of a rate with another configuration on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    /// The run that measured it.
    pub run: String,
    #[serde(skip)]
    pub step: String,
    #[serde(skip)]
    pub base: String,
    #[serde(skip)]
    pub candidate: String,
    /// The configuration.
    pub with: String,
    pub says: Says,
    /// About the part of the change that it takes away: 1 is all of it; absent if the change is not proven.
    pub share: Option<f64>,
    /// Candidate over base, as they are.
    pub change: Change,
    /// The same with the configuration on both.
    pub change_with: Change,
    /// What the configuration does to the candidate.
    pub on_candidate: Change,
    /// What it does to the candidate over what it does to the base.
    pub given_back: Change,
    /// Whether the base's release knows the options: if not, the candidate alone has the configuration.
    pub base_has_it: bool,
    /// Launches or rounds.
    pub repeats: u32,
    /// Of the intervals.
    pub confidence: f64,
}

/// What a test says of its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Says {
    /// More than half of the change is proven gone with it, and none can be proven to be left.
    Cause,
    /// Some of the change is proven gone, and it is not proven that this is all.
    Part,
    /// With it the change has the other sign.
    Reversed,
    /// Less than half of the change is gone, if anything: that is proven.
    LessThanHalf,
    /// Neither is proven.
    Open,
    /// This run does not prove the change itself.
    NotSeen,
}

/// What lies between two subjects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chain {
    /// The run that measured it.
    pub run: String,
    /// Launches or rounds.
    pub repeats: u32,
    /// Of all intervals together.
    pub confidence: f64,
    /// In their order.
    #[serde(skip)]
    pub subjects: Vec<String>,
    pub steps: Vec<ChainOfStep>,
}

/// The links of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainOfStep {
    pub step: String,
    /// In their order.
    pub links: Vec<Link>,
    /// The last subject over the first.
    pub whole: Change,
}

/// Two neighbours of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    pub from: String,
    pub to: String,
    /// The second over the first.
    pub change: Change,
    /// About the part of the whole that it makes up; absent if the whole is not proven.
    pub share: Option<f64>,
}

/// In the name of a run that tests a configuration, between the id of the run that it belongs to and the candidate with the configuration.
const TEST: &str = "/test/";

/// The beginning of the names of runs that test configurations on the steps of this run.
pub fn names_of_tests(run: &str) -> String {
    format!("{run}{TEST}")
}

/// The name of a run that measures what lies between the ends of another.
pub fn name_of_chain(run: &str) -> String {
    format!("{run}/chain")
}

/// The subjects that a test measures: base, candidate, the candidate with the configuration, the base with it.
pub fn subjects_of_test(base: &SubjectRef, candidate: &SubjectRef, with: &str) -> [SubjectRef; 4] {
    let configured = |subject: &SubjectRef| SubjectRef { config: with.to_owned(), ..subject.clone() };
    [base.clone(), candidate.clone(), configured(candidate), configured(base)]
}

/// The sides of a test.
struct Sides {
    base: Side,
    candidate: Side,
    base_with: Side,
    candidate_with: Side,
}

impl Sides {
    /// By the names of its subjects: one that could not be made ready is not among them. Absent if one is missing, and if the candidate does not
    /// know an option of the configuration, which then tests nothing.
    fn of(record: &RunRecord) -> Option<Sides> {
        let (_, tested) = record.name.as_deref()?.split_once(TEST)?;
        let tested: SubjectRef = tested.parse().ok()?;
        let subjects = record.plan.distinct_subjects();
        let side = |is_candidate: bool, is_with: bool| {
            subjects.iter().map(|subject| &subject.reference).position(|one| {
                (one.build == tested.build) == is_candidate && (one.config == tested.config) == is_with
            })
        };
        let sides = Sides {
            base: side(false, false)?,
            candidate: side(true, false)?,
            base_with: side(false, true)?,
            candidate_with: side(true, true)?,
        };
        has_it(&record.plan, sides.candidate, sides.candidate_with).then_some(sides)
    }
}

/// Whether a side knows all options that a configuration adds to it.
pub fn has_it(plan: &Plan, plain: Side, with: Side) -> bool {
    let omitted = |side: Side| plan.layout.omitted_options.iter().filter(move |one| one.side == side);
    omitted(with).all(|one| omitted(plain).any(|of_plain| of_plain.option == one.option))
}

/// What a run that tests a configuration says of it, for each step that it measured.
pub fn tests(record: &RunRecord) -> Vec<Test> {
    let Some(sides) = Sides::of(record) else { return Vec::new() };
    let rates = Rates::of(record);
    let steps = &record.plan.steps;
    let alpha = record.plan.rule.alpha / steps.len().max(1) as f64;
    steps.iter().filter_map(|step| test(&rates, step, record, &sides, alpha)).collect()
}

fn test(rates: &Rates, step: &str, record: &RunRecord, sides: &Sides, alpha: f64) -> Option<Test> {
    let &Sides { base, candidate, base_with, candidate_with } = sides;
    let all = [base, candidate, base_with, candidate_with];
    let of = |terms: &[(Side, f64)]| rates.sum(step, terms, &all, alpha);
    let change = of(&[(candidate, 1.0), (base, -1.0)])?;
    let change_with = of(&[(candidate_with, 1.0), (base_with, -1.0)])?;
    let given_back = of(&[(candidate_with, 1.0), (candidate, -1.0), (base_with, -1.0), (base, 1.0)])?;
    // What is given back times the square root of the change: above 1 if more than half of a loss is given back.
    let beyond_half = of(&[(candidate_with, 1.0), (candidate, -0.5), (base_with, -1.0), (base, 0.5)])?;
    let name = |side: Side| record.plan.subjects[side].reference.to_string();
    Some(Test {
        run: record.id.clone(),
        step: step.to_owned(),
        base: name(base),
        candidate: name(candidate),
        with: record.plan.subjects[candidate_with].reference.config.clone(),
        repeats: rates.repeats(step, &all),
        confidence: 1.0 - alpha,
        on_candidate: of(&[(candidate_with, 1.0), (candidate, -1.0)])?,
        base_has_it: has_it(&record.plan, base, base_with),
        share: direction(change).map(|_| -given_back.ratio.ln() / change.ratio.ln()),
        says: says(change, change_with, given_back, beyond_half),
        change,
        change_with,
        given_back,
    })
}

/// What is claimed is proven by an interval; one that is not known proves nothing.
fn says(change: Change, change_with: Change, given_back: Change, beyond_half: Change) -> Says {
    let Some(sign) = direction(change) else {
        return if change.low.is_none() { Says::Open } else { Says::NotSeen };
    };
    let is_given_back = direction(given_back) == Some(-sign);
    let half = direction(beyond_half);
    match direction(change_with) {
        Some(left) if is_given_back && left == -sign => Says::Reversed,
        None if is_given_back && half == Some(-sign) && change_with.low.is_some() => Says::Cause,
        _ if is_given_back => Says::Part,
        _ if half == Some(sign) => Says::LessThanHalf,
        _ => Says::Open,
    }
}

/// 1 if it is proven to be above 1, -1 if below.
fn direction(change: Change) -> Option<i8> {
    let above = change.low.is_some_and(|low| low > 1.0).then_some(1);
    above.or_else(|| change.high.is_some_and(|high| high < 1.0).then_some(-1))
}

/// What a run says of the links between its subjects, in their order. The level is shared out among all intervals.
pub fn chain(record: &RunRecord) -> Chain {
    let rates = Rates::of(record);
    let names = names(&record.plan);
    let intervals = names.len() * record.plan.steps.len();
    let alpha = record.plan.rule.alpha / intervals.max(1) as f64;
    let all: Vec<Side> = (0..names.len()).collect();
    let of_step = |step: &String| {
        let over = |to: Side, from: Side| rates.sum(step, &[(to, 1.0), (from, -1.0)], &all, alpha);
        let whole = over(names.len() - 1, 0)?;
        let link = |to: Side| {
            let change = over(to, to - 1)?;
            let share = direction(whole).map(|_| change.ratio.ln() / whole.ratio.ln());
            Some(Link { from: names[to - 1].clone(), to: names[to].clone(), change, share })
        };
        let links = (1..names.len()).map(link).collect::<Option<Vec<_>>>()?;
        Some(ChainOfStep { step: step.clone(), links, whole })
    };
    let steps: Vec<ChainOfStep> = record.plan.steps.iter().filter_map(of_step).collect();
    Chain {
        run: record.id.clone(),
        repeats: steps.iter().map(|one| rates.repeats(&one.step, &all)).min().unwrap_or(0),
        confidence: 1.0 - record.plan.rule.alpha,
        subjects: names,
        steps,
    }
}

fn names(plan: &Plan) -> Vec<String> {
    plan.distinct_subjects().iter().map(|subject| subject.reference.to_string()).collect()
}

/// Logarithms of rates, by step, side and repeat.
struct Rates(BTreeMap<(String, Side), BTreeMap<u32, f64>>);

impl Rates {
    fn of(record: &RunRecord) -> Rates {
        let cells: Cells = match record.plan.layout.design {
            Design::Interleaved => sides::cells(record, &sides::judge(record, &Evidence::default())),
            Design::Rounds | Design::Sequential => rounds::cells_that_count(record),
        };
        let logarithms = cells.into_iter().map(|(key, repeats)| {
            let rate = |(repeat, values): (u32, crate::comparison::Values)| {
                let rate = values.get(Metric::OpsPerSecond).filter(|rate| *rate > 0.0)?;
                Some((repeat, rate.ln()))
            };
            (key, repeats.into_iter().filter_map(rate).collect())
        });
        Rates(logarithms.collect())
    }

    /// Repeats that have all of these sides.
    fn common(&self, step: &str, sides: &[Side]) -> BTreeSet<u32> {
        let of = |side: &Side| -> BTreeSet<u32> {
            let repeats = self.0.get(&(step.to_owned(), *side));
            repeats.map(|repeats| repeats.keys().copied().collect()).unwrap_or_default()
        };
        let sets: Vec<BTreeSet<u32>> = sides.iter().map(of).collect();
        sets.into_iter().reduce(|one, other| &one & &other).unwrap_or_default()
    }

    fn repeats(&self, step: &str, sides: &[Side]) -> u32 {
        u32::try_from(self.common(step, sides).len()).unwrap_or(u32::MAX)
    }

    /// The product of rates with these exponents, its interval at this level, over the repeats that have all sides `among`, so that sums of
    /// several are about the same repeats; absent if there is none.
    fn sum(&self, step: &str, terms: &[(Side, f64)], among: &[Side], alpha: f64) -> Option<Change> {
        let of_repeat = |repeat: &u32| {
            let term =
                |(side, sign): &(Side, f64)| Some(sign * self.0.get(&(step.to_owned(), *side))?.get(repeat)?);
            terms.iter().map(term).sum::<Option<f64>>()
        };
        let sums: Vec<f64> = self.common(step, among).iter().filter_map(of_repeat).collect();
        Change::of_logarithms(&sums, alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(low: f64, ratio: f64, high: f64) -> Change {
        Change { ratio, low: Some(low), high: Some(high) }
    }

    /// What a test says of a loss or gain, what is left of it and what is given back, each with this half width; half of the change is as wide.
    fn said(ratio: f64, left: f64, half_width: f64) -> Says {
        let around = |ratio: f64| change(ratio / (1.0 + half_width), ratio, ratio * (1.0 + half_width));
        let given_back = left / ratio;
        says(around(ratio), around(left), around(given_back), around(given_back * ratio.sqrt()))
    }

    #[test]
    fn what_gives_the_loss_back_is_its_cause() {
        assert_eq!(said(0.92, 1.0, 0.02), Says::Cause);
        assert_eq!(said(0.92, 0.96, 0.02), Says::Part);
        assert_eq!(said(0.92, 0.92, 0.02), Says::LessThanHalf);
        assert_eq!(said(0.92, 1.05, 0.02), Says::Reversed);
        assert_eq!(said(0.92, 0.96, 0.05), Says::Open);
        assert_eq!(said(1.0, 1.08, 0.02), Says::NotSeen);
        // A loss of 4.5 % becomes one of 1.6 %, which may be none: some of it is proven gone, and not all.
        assert_eq!(said(0.955, 0.984, 0.027), Says::Part);
    }

    #[test]
    fn a_gain_is_tested_the_same_way() {
        assert_eq!(said(1.08, 1.0, 0.02), Says::Cause);
        assert_eq!(said(1.08, 1.08, 0.02), Says::LessThanHalf);
        // What makes it larger still takes nothing away.
        assert_eq!(said(1.08, 1.13, 0.02), Says::LessThanHalf);
    }

    #[test]
    fn what_is_not_known_proves_nothing() {
        let unknown = Change { ratio: 0.92, low: None, high: None };
        let (loss, none) = (change(0.90, 0.92, 0.94), change(0.98, 1.0, 1.02));
        assert_eq!(says(unknown, none, none, none), Says::Open);
        assert_eq!(says(loss, none, unknown, unknown), Says::Open);
        let gone = change(1.05, 1.08, 1.11);
        assert_eq!(says(loss, unknown, gone, gone), Says::Part);
    }

    #[test]
    fn links_add_up_over_the_repeats_that_all_sides_have() {
        let of = |side: Side, values: &[(u32, f64)]| {
            (("read".to_owned(), side), values.iter().map(|(repeat, rate)| (*repeat, rate.ln())).collect())
        };
        let rates = Rates(
            [
                of(0, &[(1, 100.0), (2, 200.0), (3, 100.0), (4, 50.0)]),
                of(1, &[(1, 91.0), (2, 180.0), (3, 89.0), (4, 1.0)]),
                of(2, &[(1, 81.0), (2, 162.0), (3, 81.0)]),
            ]
            .into(),
        );
        let all = [0, 1, 2];
        let ratio = |terms: &[(Side, f64)]| rates.sum("read", terms, &all, 0.01).unwrap().ratio;
        let links = ratio(&[(1, 1.0), (0, -1.0)]) * ratio(&[(2, 1.0), (1, -1.0)]);
        let whole = ratio(&[(2, 1.0), (0, -1.0)]);
        assert!((links - whole).abs() < 1e-12 && (whole - 0.81).abs() < 1e-12, "{links}, {whole}");
        assert_eq!(rates.repeats("read", &all), 3);
        assert_eq!(rates.sum("read", &[(3, 1.0), (0, -1.0)], &[0, 3], 0.01), None);
        assert_eq!(rates.sum("write", &[(1, 1.0), (0, -1.0)], &all, 0.01), None);
    }
}
