//! Query plans are asked for at the start and the end of each step, and hardly ever change: those that are the last ones again are not kept again.

use model::block::Side;
use model::event::Moment;
use model::query_plan::{QueryPlan, of_text};
use model::record::engine_text_name;
use model::wire::{EngineText, Request, StepSetup};
use model::workload::Operation;
use std::collections::BTreeMap;

/// The last plans of each step and side, by statement.
#[derive(Debug, Default)]
pub struct LastPlans(BTreeMap<(String, Side), Vec<Known>>);

/// A statement, its nodes, and whether the server refuses to explain it.
type Known = (String, Vec<String>, bool);

impl LastPlans {
    /// The name to keep a text of an engine under; absent of plans that are none, or that are kept already.
    pub fn name_to_keep(
        &mut self,
        what: EngineText,
        step: &str,
        side: Side,
        moment: Moment,
        text: &str,
    ) -> Option<String> {
        if what != EngineText::QueryPlans {
            return Some(engine_text_name(step, moment, what));
        }
        let known = |QueryPlan { statement, nodes, refused, .. }| (statement, nodes, refused.is_some());
        let plans: Vec<Known> = of_text(text).into_iter().map(known).collect();
        let last = self.0.entry((step.to_owned(), side)).or_default();
        if *last == plans {
            return None;
        }
        *last = plans;
        Some(engine_text_name(step, moment, what))
    }
}

/// What to ask of a side in a step; nothing if it is no transaction.
pub fn request(setup: StepSetup) -> Option<Request> {
    matches!(setup.operation, Operation::Transaction(_)).then(|| Request::ExplainStatements(Box::new(setup)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::query_plan::to_text;

    fn text(node: &str, cost: &str) -> String {
        let text = model::query_plan::PlanText {
            form: model::query_plan::PlanForm::Text,
            text: format!("{node} ({cost})"),
        };
        let plan = QueryPlan {
            statement: "SELECT 1".to_owned(),
            nodes: vec![node.to_owned()],
            texts: vec![text],
            refused: None,
        };
        to_text(&[plan])
    }

    #[test]
    fn only_what_changed_is_kept() {
        let mut last = LastPlans::default();
        let mut told = |side, moment, text: &str| {
            last.name_to_keep(EngineText::QueryPlans, "point", side, moment, text).is_some()
        };
        assert!(told(0, Moment::Before, &text("Index Scan", "cost 1")));
        assert!(!told(0, Moment::After, &text("Index Scan", "cost 2")), "a cost is no other plan");
        assert!(told(1, Moment::Before, &text("Index Scan", "cost 1")));
        assert!(told(0, Moment::Before, &text("Seq Scan", "cost 1")));
        assert!(told(0, Moment::After, &text("Index Scan", "cost 1")));
        assert!(!told(2, Moment::Before, "[]") && !told(2, Moment::Before, "no JSON"));
        for _ in 0..2 {
            let name = last.name_to_keep(EngineText::Status, "point", 0, Moment::After, "Uptime = 1");
            assert_eq!(name.as_deref(), Some("point/after/status"), "what is no plan is kept each time");
        }
    }
}
