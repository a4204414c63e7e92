//! An explanation in every format that has it.

use super::*;
use crate::schema_check::check;
use crate::tests::{plain, shown};
use findings::Finding;
use findings::comparison::TimeParts;
use findings::counterfactual::{Chain, ChainOfStep, Link, Says, Test};
use findings::differs::{Difference, DifferenceKind};
use findings::profile::{
    CounterChange, Flame, FunctionChange, Interval, ProfileView, TimeChange, WaitChange,
};
use findings::query_plans::{PlanChange, PlanOfSide};
use model::counter::Counter;
use model::metric::Metric;
use model::pattern::{self, Pattern};
use model::profile::{CYCLES, INSTRUCTIONS, MIGRATIONS, Quality};
use model::query_plan::{PlanForm, PlanText};
use model::verdict::Verdict;

fn function(name: &str, own: [f64; 2], total: [f64; 2]) -> FunctionChange {
    let mean = own[1] - own[0];
    let change = Interval { mean, low: Some(mean - 0.05), high: Some(mean + 0.05) };
    FunctionChange { name: name.to_owned(), own_us_per_op: own, total_us_per_op: total, change }
}

fn flame(name: &str, us_per_op: [f64; 2], children: Vec<Flame>) -> Flame {
    Flame { name: name.to_owned(), us_per_op, change: us_per_op[1] - us_per_op[0], children }
}

fn time(part: &str, us_per_op: [f64; 2]) -> TimeChange {
    let mean = us_per_op[1] - us_per_op[0];
    let change = Interval { mean, low: Some(mean - 0.01), high: Some(mean + 0.01) };
    TimeChange { part: part.to_owned(), us_per_op, change }
}

fn event(name: &str, per_op: [f64; 2]) -> CounterChange {
    let mean = per_op[1] - per_op[0];
    let change = Interval { mean, low: Some(mean * 0.9), high: Some(mean * 1.1) };
    CounterChange { name: name.to_owned(), also: Vec::new(), per_op, change }
}

fn plan_of_side(nodes: &[&str]) -> PlanOfSide {
    let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
    let text = PlanText { form: PlanForm::Text, text: nodes.join("  (cost=1.00..2.00 rows=1 width=4)\n") };
    PlanOfSide { nodes, texts: vec![text], plans: 1, refused: None }
}

fn contention() -> Pattern {
    const TEXT: &str = "[[pattern]]\nid = 'contention'\nsays = 'threads wait for each other more often'\n\
        reference = 'a post'\nremedy = 'spread'\nwhen = [{ any_of = ['voluntary_switches_per_op'], above = 1.2 }]\n";
    pattern::parse(TEXT, "test").unwrap().remove(0)
}

/// A step that is slower by 7 %, with everything that there can be to say.
pub fn view() -> ExplanationView {
    let switches = Metric::Counter(Counter::VoluntarySwitches);
    let sides = |base, candidate| BothSides { base, candidate };
    let change = |ratio: f64| Change { ratio, low: Some(ratio - 0.01), high: Some(ratio + 0.01) };
    let case = Explained {
        step: "readrandom".to_owned(),
        candidate: "rocksdb@6.4.6".to_owned(),
        base: "rocksdb@6.0.2".to_owned(),
        verdict: Some(Verdict::Regression),
        rate: Some(change(0.93)),
        time: Some(TimeParts {
            wall: sides(4.0, 4.3),
            cpu: sides(3.8, 4.05),
            run_delay: sides(0.05, 0.05),
            other: sides(0.15, 0.2),
        }),
        profile: Some(ProfileView {
            launches: 6,
            samples: [12_400, 13_100],
            broken: [0.004, 0.021],
            quality: Quality { frequency: 199, broken: 325, lost: 2, user_only: false, threads_left_out: 0 },
            cpu_us_per_op: [3.8, 4.05],
            change: Interval { mean: 0.25, low: Some(0.2), high: Some(0.3) },
            cost_of_sampling: Some(Interval { mean: 0.012, low: Some(-0.003), high: Some(0.027) }),
            times: vec![
                time("code", [3.2, 3.45]),
                time("kernel pread64", [0.6, 0.6]),
                time("wait lock", [0.1, 0.15]),
            ],
            functions: vec![
                function("rocksdb::BlockIter::Seek", [0.9, 1.1], [1.2, 1.45]),
                function("rocksdb::DBImpl::Get", [0.2, 0.21], [3.5, 3.75]),
                function("unknown in librocksdbjni.so", [0.4, 0.4], [0.4, 0.4]),
            ],
            waits: vec![WaitChange {
                wait: "lock".to_owned(),
                function: "rocksdb::WriteThread::AwaitState".to_owned(),
                us_per_op: [0.1, 0.15],
                change: Interval { mean: 0.05, low: Some(0.04), high: Some(0.06) },
            }],
            events: vec![
                event(INSTRUCTIONS, [12_000.0, 13_200.0]),
                event(CYCLES, [8_000.0, 8_500.0]),
                event(MIGRATIONS, [0.001, 0.001]),
            ],
            counters: vec![CounterChange {
                name: "pg_stat_database.blks_read".to_owned(),
                also: ["a", "b", "c"]
                    .map(|of| format!("pg_statio_user_tables[{of}].heap_blks_read"))
                    .to_vec(),
                per_op: [0.25, 1.0],
                change: Interval { mean: 0.75, low: Some(0.7), high: Some(0.8) },
            }],
            flame: Flame {
                us_per_op: [3.8, 4.05],
                children: vec![flame(
                    "foreground",
                    [3.8, 4.05],
                    vec![flame(
                        "rocksdb::DBImpl::Get",
                        [3.5, 3.75],
                        vec![flame("rocksdb::BlockIter::Seek", [1.2, 1.45], Vec::new())],
                    )],
                )],
                ..Flame::default()
            },
            attributed: Some(0.8),
        }),
        moved: vec![Moved { metric: switches, base: Some(1.2), candidate: Some(1.9), change: change(1.58) }],
        patterns: vec![Matched { pattern: contention(), evidence: vec![(switches, 1.58)] }],
        tests: vec![Test {
            run: "20261126-130000-0123".to_owned(),
            step: "readrandom".to_owned(),
            base: "rocksdb@6.0.2".to_owned(),
            candidate: "rocksdb@6.4.6".to_owned(),
            with: "spread".to_owned(),
            repeats: 12,
            confidence: 0.99,
            change: change(0.931),
            change_with: change(0.999),
            on_candidate: change(1.08),
            given_back: change(1.073),
            base_has_it: true,
            share: Some(0.98),
            says: Says::Cause,
        }],
        plan_changes: vec![PlanChange {
            step: "readrandom".to_owned(),
            side: 1,
            statement: "SELECT c FROM sbtest1 WHERE k > $1 ORDER BY k, c LIMIT 10".to_owned(),
            base: plan_of_side(&[
                "Limit",
                "  ->  Sort",
                "        Sort Key: k, c",
                "        ->  Seq Scan on sbtest1",
            ]),
            candidate: PlanOfSide {
                plans: 2,
                ..plan_of_side(&["Limit", "  ->  Index Scan using k_1 on sbtest1"])
            },
        }],
        differs: vec![Difference {
            kind: DifferenceKind::DefaultInEffect,
            what: "compaction_readahead_size".to_owned(),
            base: Some("0".to_owned()),
            candidate: Some("2097152".to_owned()),
        }],
    };
    ExplanationView {
        id: "20261126-120000-abcd".to_owned(),
        base: "rocksdb@6.0.2".to_owned(),
        cases: vec![case],
        chains: vec![Chain {
            run: "20261126-140000-4567".to_owned(),
            repeats: 14,
            confidence: 0.99,
            subjects: ["rocksdb@6.0.2", "rocksdb@6.0.2+spread", "rocksdb@6.4.6"].map(str::to_owned).to_vec(),
            steps: vec![ChainOfStep {
                step: "readrandom".to_owned(),
                links: vec![
                    Link {
                        from: "rocksdb@6.0.2".to_owned(),
                        to: "rocksdb@6.0.2+spread".to_owned(),
                        change: change(0.94),
                        share: Some(0.85),
                    },
                    Link {
                        from: "rocksdb@6.0.2+spread".to_owned(),
                        to: "rocksdb@6.4.6".to_owned(),
                        change: change(0.989),
                        share: Some(0.15),
                    },
                ],
                whole: change(0.93),
            }],
        }],
    }
}

#[test]
fn an_explanation_reads_well_in_every_format() {
    let finding = Finding::Explanation(view());
    insta::assert_snapshot!("explanation_text", shown(&finding, "text", plain(80)));
    insta::assert_snapshot!("explanation_wide", shown(&finding, "text", plain(120)));
    insta::assert_snapshot!("explanation_markdown", shown(&finding, "markdown", plain(80)));
    insta::assert_snapshot!("explanation_csv", shown(&finding, "csv", plain(80)));
    let json = crate::json(&finding).unwrap();
    check("explanation", &json);
    insta::assert_snapshot!("explanation_json", json);
}

#[test]
fn nothing_that_differs_is_said_and_what_is_not_known_is_left_out() {
    let nothing = Finding::Explanation(ExplanationView { cases: Vec::new(), ..view() });
    let text = shown(&nothing, "text", plain(80));
    assert!(text.contains("no step differs"), "{text}");
    let mut bare = view();
    let case = &mut bare.cases[0];
    (case.time, case.profile, case.rate, case.verdict) = (None, None, None, None);
    (case.moved, case.patterns, case.differs) = (Vec::new(), Vec::new(), Vec::new());
    (case.tests, case.plan_changes) = (Vec::new(), Vec::new());
    let bare = Finding::Explanation(bare);
    let text = shown(&bare, "text", plain(80));
    assert!(text.contains("Nothing else that was measured changed"), "{text}");
    check("explanation", &crate::json(&bare).unwrap());
}
