//! Query plans that differ between sides.

use super::view_of;
use crate::query_plans::PlanChange;
use crate::selection::Selection;
use model::block::{Side, TrialKey};
use model::event::Moment;
use model::query_plan::{PlanForm, PlanText, QueryPlan, to_text};
use model::record::{EngineTextRecord, RunRecord};
use model::wire::EngineText;
use testing::compared::{EQUAL, record};

const READ: &str = "readrandom";
const STATEMENT: &str = "SELECT c FROM t WHERE k = $1";

fn plan(nodes: &[&str]) -> QueryPlan {
    QueryPlan {
        statement: STATEMENT.to_owned(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        texts: vec![PlanText { form: PlanForm::Text, text: nodes.join("\n") }],
        refused: None,
    }
}

/// A run in which sides said these plans, each in a launch of its own.
fn run(said: &[(Side, QueryPlan)]) -> RunRecord {
    let mut record = record(&EQUAL);
    let texts = said.iter().zip(1..).map(|((side, plan), launch)| EngineTextRecord {
        trial: TrialKey { launch, step: READ.to_owned(), side: *side },
        moment: Moment::Before,
        what: EngineText::QueryPlans,
        text: to_text(std::slice::from_ref(plan)),
    });
    record.engine_texts = texts.collect();
    record
}

fn changes(said: &[(Side, QueryPlan)]) -> Vec<PlanChange> {
    view_of(&run(said)).plan_changes
}

#[test]
fn another_plan_is_found_and_the_same_one_is_not() {
    let (scan, index) = (plan(&["Seq Scan on t"]), plan(&["Index Scan using k on t"]));
    assert_eq!(changes(&[(0, scan.clone()), (1, scan.clone())]), []);
    assert_eq!(changes(&[(0, scan.clone())]), [], "a side without a plan did not say that it has another");
    let found = changes(&[(0, scan.clone()), (1, index.clone())]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].step.as_str(), found[0].side, found[0].statement.as_str()), (READ, 1, STATEMENT));
    assert_eq!((&found[0].base.nodes, &found[0].candidate.nodes), (&scan.nodes, &index.nodes));
    assert!(found[0].is_known());
}

#[test]
fn a_plan_that_flips_within_the_run_differs_from_one_that_stays() {
    let (scan, index) = (plan(&["Seq Scan on t"]), plan(&["Index Scan using k on t"]));
    let said = [(0, index.clone()), (1, index.clone()), (1, scan.clone()), (1, index.clone())];
    let found = changes(&said);
    assert_eq!((found[0].base.plans, found[0].candidate.plans), (1, 2));
    assert_eq!(
        found[0].candidate.nodes, scan.nodes,
        "the plan that the base never had is the one to look at"
    );
    let both = [said.as_slice(), &[(0, scan)]].concat();
    assert_eq!(changes(&both), [], "both sides had both");
}

#[test]
fn a_refusal_is_no_plan_and_both_refusing_is_no_difference() {
    let refused = QueryPlan { refused: Some("syntax error (1064)".to_owned()), ..plan(&[]) };
    let found = changes(&[(0, plan(&["Seq Scan on t"])), (1, refused.clone())]);
    assert!(!found[0].is_known() && found[0].candidate.refused.is_some());
    assert_eq!(changes(&[(0, refused.clone()), (1, refused)]), []);
}

#[test]
fn a_selection_leaves_those_of_its_steps() {
    let record = run(&[(0, plan(&["Seq Scan on t"])), (1, plan(&["Index Scan using k on t"]))]);
    let of = |step: &str| {
        let selection = Selection { steps: vec![step.to_owned()], ..Selection::default() };
        selection.of(record.clone()).unwrap().of_comparison(view_of(&record)).plan_changes.len()
    };
    assert_eq!((of(READ), of("overwrite-after-fill")), (1, 0));
}
