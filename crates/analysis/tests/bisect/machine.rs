//! Every turn that a bisection can take.

use crate::made::{World, compared, improvement};
use analysis::bisect::{Action, Bisection, Event, Outcome, Rule, Stretch, Why};
use analysis::change_points::CriticalValues;
use model::verdict::{Layout, Verdict};
use std::collections::BTreeSet;

#[test]
fn the_ends_are_compared_then_launches_halve_the_rest_then_the_step_is_confirmed() {
    let story = World::step(24, 17, -0.1).run(Rule::default());
    assert_eq!(story.actions[0], Action::Compare(Stretch { good: 0, bad: 23 }, Why::Ends));
    assert_eq!(story.actions[1], Action::Measure { anchor: 0, version: 11 });
    assert_eq!(story.confirmations(), [Stretch { good: 16, bad: 17 }]);
    assert_eq!(story.steps(), [(17, true)]);
    assert!((4..=7).contains(&story.findings.launches.search), "{:?}", story.findings.launches);
    assert_eq!((story.findings.launches.ends, story.findings.launches.confirmation), (12, 12));
    let step = story.findings.steps()[0];
    assert!(step.probability >= 0.95 && step.candidates == [17] && step.remainder.is_none(), "{step:?}");
    assert!(!story.findings.more_than_one_step());
}

#[test]
fn ends_that_do_not_differ_are_refused_with_what_their_comparison_said() {
    let story = World::step(24, 12, 0.0).run(Rule::default());
    assert_eq!(story.actions.len(), 2);
    assert_eq!(story.findings.stretches[0].outcome, Outcome::NoDifference);
    assert_eq!(story.findings.stretches[0].ends.unwrap().verdict, Verdict::NoChange);
    // What is faster is no regression, and the other way round.
    assert_eq!(World::step(24, 12, 0.1).run(Rule::default()).steps(), []);
    assert_eq!(World::step(24, 12, -0.1).run(improvement()).steps(), []);
    assert_eq!(World::step(24, 12, 0.1).run(improvement()).steps(), [(12, true)]);
}

#[test]
fn what_the_layout_of_code_can_make_is_neither_searched_for_nor_confirmed() {
    let refused = World::step(24, 12, -0.015).run(Rule::default());
    let [whole] = &refused.findings.stretches[..] else { panic!("{:?}", refused.findings) };
    assert_eq!(
        (whole.ends.unwrap().verdict, whole.ends.unwrap().layout),
        (Verdict::Regression, Some(Layout::MayBe))
    );
    assert_eq!((&whole.outcome, refused.actions.len()), (&Outcome::NoDifference, 2));
    // A twentieth that is lost in four steps of which none is beyond layout.
    let levels = (0..24).map(|version| -0.013 * f64::from(version / 5)).collect();
    let spread = World::of(levels).run(Rule::default());
    assert!(spread.steps().iter().all(|(_, confirmed)| !confirmed), "{:?}", spread.steps());
}

#[test]
fn the_ends_of_a_part_are_not_compared_and_not_measured_if_all_launches_tell() {
    let levels = (0..24).map(|version| -0.1 * f64::from(u8::from(version >= 5) + u8::from(version >= 15)));
    let story = World::of(levels.collect()).run(Rule::default());
    let ends = |action: &&Action| matches!(action, Action::Compare(_, Why::Ends));
    assert_eq!(story.actions.iter().filter(ends).count(), 1);
    let parts = &story.findings.stretches[1..];
    assert!(
        !parts.is_empty() && parts.iter().all(|part| part.ends.is_none() && part.fitted.is_some()),
        "{parts:?}"
    );
    let launches = story.findings.launches;
    assert!(launches.ends as usize <= 12 + 2 * parts.len(), "{launches:?}");
    for part in parts {
        let Stretch { good, bad } = part.stretch;
        let size =
            f64::from(u8::from((good + 1..=bad).contains(&5)) + u8::from((good + 1..=bad).contains(&15)));
        let fitted = part.fitted.unwrap();
        assert!((fitted.ratio.ln() + 0.1 * size).abs() < 1e-9, "{part:?}");
        assert!(fitted.low < fitted.ratio && fitted.ratio < fitted.high);
    }
}

#[test]
fn a_clear_step_is_confirmed_in_few_launches_and_one_near_what_layout_makes_in_all() {
    let most = |size: f64| {
        let story = World::step(24, 17, size).run(Rule::default());
        story.actions.iter().find_map(|action| match action {
            Action::Compare(_, Why::Confirmation { most_launches }) => Some(*most_launches),
            _ => None,
        })
    };
    assert_eq!((most(-0.1), most(-0.021)), (Some(10), Some(48)));
}

#[test]
fn two_versions_need_no_search() {
    let story = World::step(2, 1, -0.1).run(Rule::default());
    assert_eq!(story.steps(), [(1, true)]);
    assert_eq!((story.findings.launches.search, story.findings.launches.confirmation), (0, 0));
    let critical = CriticalValues::new();
    assert!(Bisection::new(1, Rule::default(), &critical).is_err());
}

#[test]
fn what_cannot_be_measured_is_asked_for_once_and_stays_among_the_candidates() {
    let mut world = World::step(24, 13, -0.1);
    world.not_measurable = BTreeSet::from([11, 12, 13]);
    let story = world.run(Rule::default());
    for version in [11, 12, 13] {
        let asked =
            |action: &&Action| matches!(action, Action::Measure { version: asked, .. } if *asked == version);
        assert!(story.actions.iter().filter(asked).count() <= 1, "{version}");
    }
    let step = story.findings.steps()[0];
    assert_eq!((step.last_good, step.first_bad, step.confirmed), (10, 14, true));
    assert_eq!(step.candidates, [11, 12, 13, 14]);
}

#[test]
fn where_nothing_between_can_be_measured_the_ends_are_the_answer() {
    let mut world = World::step(4, 2, -0.1);
    world.not_measurable = BTreeSet::from([1, 2]);
    let story = world.run(Rule::default());
    let step = story.findings.steps()[0];
    assert_eq!((step.first_bad, step.candidates.clone(), step.confirmed), (3, vec![1, 2, 3], true));
    assert_eq!(story.findings.launches.confirmation, 0);
}

#[test]
fn a_place_that_is_not_confirmed_loses_belief_and_the_search_goes_on() {
    let mut world = World::step(24, 17, -0.1);
    world.blind = BTreeSet::from([1]); // the first confirmation
    let story = world.run(Rule::default());
    assert!(story.confirmations().len() >= 2, "{:?}", story.confirmations());
    assert_eq!(story.steps(), [(17, true)]);
}

#[test]
fn three_places_that_are_not_confirmed_are_the_end() {
    let mut world = World::step(24, 17, -0.1);
    world.blind = (1..100).collect();
    let story = world.run(Rule::default());
    assert_eq!(story.confirmations().len(), 3);
    assert_eq!(story.steps().iter().filter(|step| step.1).count(), 0);
    assert_eq!(story.steps().len(), 1, "what is likeliest is named all the same");
}

#[test]
fn a_step_that_explains_half_is_not_the_only_one() {
    let levels = (0..24).map(|version| {
        if version < 5 {
            0.0
        } else if version < 15 {
            -0.1
        } else {
            -0.2
        }
    });
    let story = World::of(levels.collect()).run(Rule::default());
    assert_eq!(story.steps(), [(5, true), (15, true)]);
    assert!(story.findings.more_than_one_step());
}

#[test]
fn a_regression_that_was_repaired_and_came_back_is_found_from_launches_that_surprise() {
    // Far below the ends' difference in the middle: neither good nor bad.
    let levels = (0..24).map(|version| {
        if version < 8 {
            0.0
        } else if version < 16 {
            -0.4
        } else {
            -0.15
        }
    });
    let story = World::of(levels.collect()).run(Rule::default());
    assert!(story.findings.more_than_one_step(), "{:?}", story.findings);
    assert!(story.steps().contains(&(8, true)), "{:?}", story.steps());
}

#[test]
fn launches_and_time_are_bounded_and_what_is_likeliest_is_told() {
    let story = World::step(24, 17, -0.1).run(Rule { most_launches: 3, ..Rule::default() });
    assert_eq!(story.findings.launches.search, 3);
    let [report] = &story.findings.stretches[..] else { panic!("{:?}", story.findings) };
    assert!(matches!(&report.outcome, Outcome::Unfinished(Some(step)) if !step.confirmed));
    let sum: f64 = report.suspected.iter().map(|one| one.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);

    let critical = CriticalValues::new();
    let mut search = Bisection::new(24, Rule::default(), &critical).unwrap();
    search.next(Event::Begin);
    search.next(Event::Compared(compared(-0.1)));
    assert_eq!(search.next(Event::Stopped), Action::End);
    assert!(matches!(search.findings().stretches[0].outcome, Outcome::Unfinished(Some(_))));
    assert_eq!(search.next(Event::Measured(0.0)), Action::End);
}

#[test]
fn an_end_that_cannot_be_measured_ends_the_search() {
    let critical = CriticalValues::new();
    let mut search = Bisection::new(24, Rule::default(), &critical).unwrap();
    search.next(Event::Begin);
    assert_eq!(search.next(Event::NotMeasurable(23)), Action::End);
    assert_eq!(search.findings().stretches[0].outcome, Outcome::EndNotMeasurable);
}

#[test]
fn dear_versions_are_measured_where_cheap_ones_do_not_tell_as_much() {
    let critical = CriticalValues::new();
    let first = |costs: &[(usize, f64)]| {
        let mut search = Bisection::new(24, Rule::default(), &critical).unwrap();
        (1..23).for_each(|version| search.set_cost(version, 10.0));
        costs.iter().for_each(|(version, cost)| search.set_cost(*version, *cost));
        search.next(Event::Begin);
        search.next(Event::Compared(compared(-0.1)))
    };
    assert_eq!(first(&[]), Action::Measure { anchor: 0, version: 11 });
    assert_eq!(first(&[(9, 1.0)]), Action::Measure { anchor: 0, version: 9 });
    // The middle of 23 places is two versions.
    let middle = first(&[(22, 5.0)]);
    assert!(matches!(middle, Action::Measure { anchor: 0, version: 11 | 12 }), "{middle:?}");
}

#[test]
fn weights_say_where_to_look_first() {
    let critical = CriticalValues::new();
    let weighted =
        |weights: Vec<f64>| Bisection::new(24, Rule::default(), &critical).unwrap().with_weights(weights);
    let mut weights = vec![1.0; 24];
    weights[5] = 100.0;
    let mut search = weighted(weights).unwrap();
    search.next(Event::Begin);
    let Action::Measure { version, .. } = search.next(Event::Compared(compared(-0.1))) else { panic!() };
    assert!((4..=5).contains(&version), "{version}");
    assert!(weighted(vec![1.0; 23]).is_err());
    assert!(weighted(vec![0.0; 24]).is_err());
}
