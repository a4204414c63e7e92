//! Every verdict, every refusal and every warning, on launches made to cause it.

use crate::made::{READS, Ratios, blocks, judged, launches, procedure, wobble};
use analysis::{Cap, Ceiling, Judgement, Method, Stage, StepFacts};
use model::block::{Block, BlockKind};
use model::metric::Metric;
use model::plan::DecisionRule;
use model::units::Nanos;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;

fn running(ratios: &[Ratios], max_launches: u32) -> Judgement {
    judged(&READS, &blocks(ratios), &procedure(max_launches), Stage::Running)
}

fn at_the_end(ratios: &[Ratios], max_launches: u32) -> Judgement {
    judged(&READS, &blocks(ratios), &procedure(max_launches), Stage::Final)
}

fn ids(judgement: &Judgement) -> Vec<&str> {
    judgement.warnings.iter().map(Warning::id).collect()
}

#[test]
fn a_slower_candidate_is_a_regression_at_the_first_look_that_can_tell() {
    let all = launches(14, 0.95, 0.01);
    let early = running(&all[..11], 48);
    assert!(!early.decided && early.verdict == Verdict::Inconclusive, "{early:?}");
    let found = running(&all[..12], 48);
    assert!(found.decided);
    assert_eq!((found.verdict, found.decides), (Verdict::Regression, Metric::OpsPerSecond));
    assert_eq!(found.wall.method, Method::SequentialSignedRank);
    assert!((found.wall.ratio.unwrap() - 0.95).abs() < 0.005, "{found:?}");
    assert!(found.wall.low.unwrap() < 0.95 && 0.95 < found.wall.high.unwrap());
    assert!(found.wall.base_value.unwrap() > found.wall.candidate_value.unwrap());
    assert!((found.wall.confidence - 0.99).abs() < 1e-12);
    // Unanimous launches: as small as the rank test can tell at this look, and far below it by t.
    assert!(found.p_value.unwrap() <= 0.01, "{:?}", found.p_value);
    assert!(found.confirmed && found.layout == Some(Layout::Beyond), "{found:?}");
    assert!(found.visible_change().unwrap() > 0.0 && found.fails_gate(0.02) && ids(&found).is_empty());
}

#[test]
fn a_faster_candidate_is_an_improvement() {
    let found = running(&launches(12, 1.05, 0.01), 48);
    assert_eq!(found.verdict, Verdict::Improvement);
    assert!(!found.fails_gate(0.02));
}

#[test]
fn equal_sides_stop_at_no_change() {
    let found = running(&launches(12, 1.0, 0.01), 48);
    assert_eq!((found.verdict, found.decided), (Verdict::NoChange, true));
    assert!(found.wall.low.unwrap() > 0.98 && found.wall.high.unwrap() < 1.02);
    assert!(found.p_value.unwrap() > 0.05);
}

#[test]
fn launches_after_the_decision_change_nothing() {
    let mut all = launches(12, 0.95, 0.01);
    let decided = running(&all, 48);
    all.extend(launches(8, 1.3, 0.2));
    assert_eq!(at_the_end(&all, 48), decided);
}

#[test]
fn nothing_is_decided_between_looks() {
    // The state of the last look stands; before the first there are sizes only.
    let all = launches(15, 1.003, 0.06);
    assert_eq!(running(&all, 48), running(&all[..14], 48));
    let early = running(&all[..7], 48);
    assert!(!early.decided && early.wall.low.is_none() && early.wall.ratio.is_some(), "{early:?}");
    assert_eq!((early.verdict, early.launches), (Verdict::Inconclusive, 7));
}

#[test]
fn the_adjusted_rate_decides_where_the_wall_rate_is_too_noisy() {
    let ratios: Vec<Ratios> = (1..=12)
        .map(|launch| Ratios {
            wall: 0.95
                * (-0.1 * (1.0 + wobble(launch * 5 + 2))).exp()
                * if launch % 2 == 0 { 1.2 } else { 1.0 },
            adjusted: 0.95 * (0.01 * wobble(launch)).exp(),
        })
        .collect();
    let found = running(&ratios, 48);
    assert_eq!((found.verdict, found.decides), (Verdict::Regression, Metric::OpsPerSecondAdjusted));
    assert_eq!(ids(&found), ["contention-adjusted"]);

    // It may not where the waiting can be the engine's own doing.
    let blocks = blocks(&ratios);
    let check = |facts: &StepFacts<'_>, blocks: &[Block]| {
        let found = judged(facts, blocks, &procedure(48), Stage::Running);
        assert!(!found.adjusted_may_decide && !found.decided, "{facts:?}: {found:?}");
        assert_eq!(found.decides, Metric::OpsPerSecond);
        found
    };
    assert!(check(&StepFacts { writes: true, ..READS }, &blocks).adjusted.is_some());
    check(&StepFacts { foreground_threads: 3, ..READS }, &blocks);
    assert!(check(&StepFacts { open_loop: true, ..READS }, &blocks).adjusted.is_none());
    let mut busy = blocks.clone();
    for block in busy.iter_mut().filter(|block| block.trial.side == 1) {
        let wall = block.wall;
        block.process_cpu = block.process_cpu.map(|cpu| Nanos(cpu.0 + wall.0 / 15));
    }
    check(&READS, &busy);
}

#[test]
fn rates_that_contradict_each_other_leave_no_verdict() {
    let ratios: Vec<Ratios> = (1..=12)
        .map(|launch| Ratios {
            wall: 0.93 * (0.01 * wobble(launch)).exp(),
            adjusted: 1.06 * (0.01 * wobble(launch)).exp(),
        })
        .collect();
    let found = running(&ratios, 48);
    assert_eq!((found.verdict, found.decided), (Verdict::Inconclusive, true));
    assert_eq!(ids(&found), ["waiting-time-changed"]);
    // Waiting that the engine causes is part of its speed: told, and decided on the wall rate.
    let facts = StepFacts { writes: true, ..READS };
    let found = judged(&facts, &blocks(&ratios), &procedure(48), Stage::Running);
    assert_eq!((found.verdict, ids(&found)), (Verdict::Regression, vec!["waiting-time-changed"]));
}

#[test]
fn small_changes_are_real_but_no_failure() {
    let found = running(&launches(12, 0.99, 0.002), 48);
    assert_eq!((found.verdict, ids(&found)), (Verdict::Regression, vec!["within-layout-noise"]));
    assert!(!found.fails_gate(0.001), "code layout alone can do this");

    let rule = DecisionRule { tau: 0.001, ..DecisionRule::default() };
    let blocks = blocks(&launches(12, 0.985, 0.002));
    let found = judged(&READS, &blocks, &analysis::Procedure::new(rule), Stage::Running);
    assert_eq!((found.verdict, ids(&found)), (Verdict::Regression, vec!["within-margin"]));
    assert!(!found.fails_gate(0.02) && found.fails_gate(0.005));
}

#[test]
fn a_machine_that_is_too_noisy_is_given_up_at_the_first_look_with_an_interval() {
    let noisy = launches(10, 1.0, 0.4);
    assert!(!running(&noisy[..9], 20).decided);
    let found = running(&noisy, 20);
    assert_eq!((found.verdict, found.decided), (Verdict::Inconclusive, true));
    assert!(ids(&found).contains(&"machine-too-noisy") && found.launches_needed.unwrap() > 80.0, "{found:?}");
    assert!(found.wall.low.is_some() && found.wall.method == Method::SequentialSignedRank);
    // The same noise with a difference that 80 launches would show goes on.
    assert!(!ids(&running(&launches(10, 0.6, 0.4), 20)).contains(&"machine-too-noisy"));
    let found = running(&launches(16, 0.4, 0.4), 20);
    assert_eq!((found.verdict, found.decided), (Verdict::Regression, true));
}

#[test]
fn few_launches_get_a_parametric_interval_at_the_last_one() {
    let all = launches(5, 0.9, 0.005);
    assert!(!running(&all[..4], 5).decided);
    let found = running(&all, 5);
    assert_eq!((found.verdict, found.wall.method), (Verdict::Regression, Method::StudentT));
    assert_eq!(ids(&found), ["parametric-interval"]);
    assert!(found.visible_change().is_some() && found.p_value.unwrap() < 0.01);
}

#[test]
fn the_last_launch_decides_even_that_nothing_can_be_said() {
    let found = running(&launches(9, 1.003, 0.03), 9);
    assert_eq!((found.verdict, found.decided), (Verdict::Inconclusive, true));
    assert!(found.visible_change().unwrap() > 0.02 && found.launches_needed.unwrap() > 9.0, "{found:?}");
    assert!(running(&launches(1, 1.0, 0.0), 0).decided, "a budget for one launch is used up by it");
}

#[test]
fn the_end_of_a_run_has_what_is_left_of_alpha() {
    let all = launches(13, 0.995, 0.03);
    let cut = at_the_end(&all, 48);
    assert!(cut.decided && cut.wall.method == Method::SequentialSignedRank && cut.launches == 13);
    let going_on = running(&all, 48);
    assert!(!going_on.decided && going_on.launches == 12, "the look at twelve launches");
    assert!(cut.wall.low > going_on.wall.low && cut.wall.high < going_on.wall.high);
    // Below eight launches nothing can be rejected by ranks; Student's t is the one test of that end, and says so.
    let few = at_the_end(&all[..7], 48);
    assert_eq!((few.wall.method, ids(&few)), (Method::StudentT, vec!["parametric-interval"]));
}

#[test]
fn a_change_that_may_be_layout_is_told_and_fails_no_gate() {
    // 1.5 % with an interval that is narrow, but two builds of one source may differ by 1.8 %.
    let found = running(&launches(12, 0.985, 0.008), 48);
    assert_eq!((found.verdict, found.layout), (Verdict::Regression, Some(Layout::MayBe)), "{found:?}");
    assert!(found.confirmed && ids(&found) == ["within-layout-noise"] && !found.fails_gate(0.0));
    let quiet = StepFacts { tau: Some(0.001), ..READS };
    let found = judged(&quiet, &blocks(&launches(12, 0.985, 0.008)), &procedure(48), Stage::Running);
    assert_eq!((found.layout, found.fails_gate(0.0)), (Some(Layout::Beyond), true));
}

#[test]
fn one_and_two_launches_have_a_ratio_and_no_interval() {
    let all = launches(2, 0.5, 0.01);
    let check = |judgement: &Judgement, id: &str| {
        assert_eq!((judgement.verdict, ids(judgement)), (Verdict::RatioOnly, vec![id]));
        assert!(judgement.wall.low.is_none() && judgement.wall.high.is_none());
        assert!(judgement.p_value.is_none() && judgement.visible_change().is_none());
    };
    let one = at_the_end(&all[..1], 48);
    check(&one, "one-run");
    assert!((one.wall.ratio.unwrap() - all[0].wall).abs() < 1e-6);
    let two = at_the_end(&all, 2);
    check(&two, "two-launches");
    let (least, most) = two.wall.range.unwrap();
    assert!(least < two.wall.ratio.unwrap() && two.wall.ratio.unwrap() < most);
    let none = at_the_end(&[], 48);
    check(&none, "no-launches");
    assert_eq!(none.wall.ratio, None);
}

#[test]
fn errors_and_empty_blocks_refuse_a_verdict() {
    let check = |id: &str, spoil: &dyn Fn(&mut Block)| {
        let mut blocks = blocks(&launches(12, 0.9, 0.01));
        blocks.iter_mut().filter(|block| block.trial.side == 1).for_each(spoil);
        let found = judged(&READS, &blocks, &procedure(48), Stage::Running);
        assert_eq!((found.verdict, found.decided), (Verdict::RatioOnly, true), "{id}");
        assert!(
            ids(&found).contains(&id) && found.wall.low.is_none() && found.wall.ratio.is_some(),
            "{found:?}"
        );
    };
    check("errors", &|block| block.failed_operations = block.operations / 900);
    check("empty-blocks", &|block| {
        if block.trial.launch < 4 && block.kind == BlockKind::Cycle(1) {
            block.operations = 0;
        }
    });
    // A few of each are told by nothing: one error in 1200, one empty block in 36.
    let mut blocks = blocks(&launches(12, 0.9, 0.01));
    blocks[1].operations = 0;
    blocks.iter_mut().for_each(|block| block.failed_operations = block.operations / 1200);
    let found = judged(&READS, &blocks, &procedure(48), Stage::Running);
    assert_eq!((found.verdict, ids(&found)), (Verdict::Regression, vec![]));
}

#[test]
fn a_launch_without_a_rate_is_dropped_and_told() {
    let mut blocks = blocks(&launches(13, 0.9, 0.01));
    blocks.iter_mut().filter(|block| block.trial.launch == 2).for_each(|block| block.operations = 0);
    let found = judged(&READS, &blocks, &procedure(48), Stage::Running);
    assert_eq!(found.launches, 8, "the refusal ends it at the first look at launches that have a rate");
    assert!(ids(&found).contains(&"launch-dropped") && ids(&found).contains(&"empty-blocks"), "{found:?}");
}

#[test]
fn what_the_caller_knows_caps_the_verdict() {
    let blocks = blocks(&launches(12, 0.9, 0.01));
    let check = |ceiling: Ceiling, expected: Verdict, has_interval: bool| {
        let caps = [Cap { ceiling, warning: Warning::NotCalibrated }];
        let found = judged(&StepFacts { caps: &caps, ..READS }, &blocks, &procedure(48), Stage::Running);
        assert_eq!((found.verdict, ids(&found)), (expected, vec!["not-calibrated"]));
        assert_eq!(found.wall.low.is_some(), has_interval);
        assert!(found.decided && !found.fails_gate(0.0));
    };
    check(Ceiling::Suspect, Verdict::Suspect, true);
    check(Ceiling::Inconclusive, Verdict::Inconclusive, true);
    check(Ceiling::RatioOnly, Verdict::RatioOnly, false);
}

#[test]
fn shared_images_are_the_unit() {
    let with_images = |image: &dyn Fn(u32) -> u32, count: u32, max_launches: u32, stage: Stage| {
        let mut blocks = blocks(&launches(count, 0.9, 0.01));
        blocks.iter_mut().for_each(|block| block.image = image(block.trial.launch));
        judged(&READS, &blocks, &procedure(max_launches), stage)
    };
    let one = with_images(&|_| 1, 12, 48, Stage::Running);
    assert_eq!((one.verdict, one.wall.units, ids(&one)), (Verdict::Regression, 12, vec!["one-image"]));

    let five = |launch| launch % 5;
    assert!(!with_images(&five, 12, 20, Stage::Running).decided, "image means are tested once");
    let found = with_images(&five, 20, 20, Stage::Running);
    assert_eq!((found.verdict, found.wall.units), (Verdict::Regression, 5));
    assert_eq!(ids(&found), ["parametric-interval", "shared-images"]);
    assert!(found.p_value.unwrap() < 0.01, "{:?}", found.p_value);

    // Ten images in twenty launches: two looks had images of their own, the ranks of images have the rest.
    let ten = |launch| launch % 10;
    let found = with_images(&ten, 20, 20, Stage::Final);
    assert_eq!((found.wall.method, found.wall.units), (Method::SequentialSignedRank, 10));
    let found = with_images(&|launch| launch % 2, 6, 6, Stage::Final);
    assert_eq!((found.verdict, ids(&found)), (Verdict::RatioOnly, vec!["shared-images"]));
}

#[test]
fn an_open_loop_says_what_it_cannot_show() {
    let facts = StepFacts { open_loop: true, ..READS };
    let found = judged(&facts, &blocks(&launches(12, 1.0, 0.001)), &procedure(48), Stage::Running);
    assert_eq!((found.verdict, ids(&found)), (Verdict::NoChange, vec!["open-loop"]));
}

/// Of a server that is not ours nothing is known but its answers: a faster client of a slower server must not look like
/// less waiting for a CPU, nor unknown CPU like none.
#[test]
fn where_the_cpu_of_a_side_is_not_known_neither_its_cost_nor_its_waiting_is_told() {
    let mut blocks = blocks(&launches(12, 0.9, 0.005));
    for block in blocks.iter_mut().filter(|block| block.trial.side == 1) {
        block.process_cpu = None;
    }
    let found = judged(&READS, &blocks, &procedure(48), Stage::Running);
    assert_eq!((found.verdict, found.decides), (Verdict::Regression, Metric::OpsPerSecond));
    assert_eq!((found.adjusted, found.time_identity), (None, None));
    assert_eq!((found.cpu.ratio, found.cpu.candidate_value, found.cpu.low), (None, None, None));
    assert!(found.cpu.base_value.is_some());
}

#[test]
fn cpu_per_operation_has_an_interval_and_decides_nothing() {
    let mut blocks = blocks(&launches(12, 1.0, 0.005));
    for block in blocks.iter_mut().filter(|block| block.trial.side == 1) {
        block.process_cpu = block.process_cpu.map(|cpu| Nanos(cpu.0 + cpu.0 / 4));
        block.foreground_cpu.0 += block.foreground_cpu.0 / 4;
    }
    let found = judged(&READS, &blocks, &procedure(48), Stage::Running);
    assert_eq!(found.verdict, Verdict::NoChange);
    assert!((found.cpu.ratio.unwrap() - 1.25).abs() < 0.01 && found.cpu.low.unwrap() > 1.2, "{found:?}");
    let identity = found.time_identity.unwrap();
    assert!(identity.cpu.candidate_us > 1.2 * identity.cpu.base_us);
}
