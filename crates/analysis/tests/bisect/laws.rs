//! What holds for every world.

use crate::made::{World, improvement};
use analysis::bisect::Rule;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_large_step_is_found_wherever_it_is_in_few_launches(versions in 2usize..200, place in 0usize..1000) {
        let first_bad = 1 + place % (versions - 1);
        let story = World::step(versions, first_bad, -0.2).run(Rule::default());
        prop_assert_eq!(story.steps(), [(first_bad, true)]);
        let halvings = versions.next_power_of_two().ilog2();
        prop_assert!(story.findings.launches.search <= halvings + 2, "{:?}", story.findings.launches);
    }

    #[test]
    fn an_improvement_is_a_regression_in_the_mirror(
        first_bad in 1usize..24,
        noise in prop::collection::vec(-2.0f64..2.0, 60),
    ) {
        let mut world = World::step(24, first_bad, -0.03);
        world.noise.clone_from(&noise);
        let regression = world.run(Rule::default());
        let mut mirrored = World::step(24, first_bad, 0.03);
        mirrored.noise = noise.iter().map(|value| -value).collect();
        let improvement = mirrored.run(improvement());
        prop_assert_eq!(regression.steps(), improvement.steps());
        prop_assert_eq!(regression.actions, improvement.actions);
    }

    #[test]
    fn it_ends_whatever_is_measured(
        levels in prop::collection::vec(-0.3f64..0.1, 2..30),
        noise in prop::collection::vec(-8.0f64..8.0, 120),
        most_launches in 0u32..80,
    ) {
        let mut world = World::of(levels);
        let last = world.levels.len() - 1;
        (world.levels[0], world.levels[last]) = (0.0, -0.1);
        world.noise = noise;
        let story = world.run(Rule { most_launches, ..Rule::default() });
        prop_assert!(story.findings.launches.search <= most_launches);
        // Besides those of the search, the launches of the ends of parts.
        let launches = story.findings.launches;
        let measured = story.measurements.len();
        prop_assert!((launches.search as usize..=(launches.search + launches.ends) as usize).contains(&measured), "{launches:?}");
        for report in &story.findings.stretches {
            let sum: f64 = report.suspected.iter().map(|one| one.probability).sum();
            prop_assert!(report.suspected.is_empty() || (sum - 1.0).abs() < 1e-6);
        }
        for step in story.findings.steps() {
            prop_assert!(step.last_good < step.first_bad && step.first_bad <= last);
        }
    }
}
