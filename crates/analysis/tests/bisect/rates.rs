//! The rates that the method was chosen for, on fewer searches than `cargo xtask simulate` makes.

use crate::made::CRITICAL;
use analysis::bisect::Rule;
use analysis::simulation::bisect::{BisectPlan, BisectScenario, run};

#[test]
fn every_scenario_comes_near_its_target() {
    for scenario in BisectScenario::ALL {
        let plan = BisectPlan { replicates: 200, seed: 7, scenario, rule: Rule::default() };
        let tally = run(&plan, &CRITICAL).expect("plans of the module");
        let name = scenario.name();
        assert!(tally.searches >= 190, "{name}: {tally:?}");
        // 200 searches leave 4 points of a share, and a tenth of the launches, to chance.
        if name == "bisect-three-unequal" {
            assert!(tally.found() >= 0.57, "{name}: {tally:?}");
            assert!(tally.mean(tally.all_launches()) <= 150.0, "{name}: {tally:?}");
        } else {
            assert!(tally.share(tally.right) >= 0.93, "{name}: {tally:?}");
        }
        assert!(tally.mean(tally.search_launches) <= 1.1 * scenario.most_launches(), "{name}: {tally:?}");
        // What is confirmed and wrong is as rare as any false verdict, of which three steps have three.
        assert!(tally.share(tally.confirmed_wrong) <= 0.03, "{name}: {tally:?}");
    }
}
