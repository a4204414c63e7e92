//! The keys of scripts.

use crate::comparison::json::{differing, time_parts};
use crate::contract::SCHEMA;
use crate::query_plans;
use findings::change::Change;
use findings::explanation::{Explained, ExplanationView, Matched, Moved};
use model::metric::Metric;
use serde_json::{Value, json};

/// What a script reads of an explanation.
pub fn json(view: &ExplanationView) -> Value {
    json!({
        "schema": SCHEMA,
        "run": view.id,
        "base": view.base,
        "chains": view.chains,
        "cases": view.cases.iter().map(case).collect::<Vec<_>>(),
    })
}

fn case(case: &Explained) -> Value {
    let differs = case.differs.iter().map(|one| differing(&case.candidate, one));
    json!({
        "step": case.step,
        "candidate": case.candidate,
        "base": case.base,
        "verdict": case.verdict,
        "rate": case.rate,
        "time": case.time.map(time_parts).unwrap_or_default(),
        "profile": case.profile,
        "moved": case.moved.iter().map(moved).collect::<Vec<_>>(),
        "patterns": case.patterns.iter().map(pattern).collect::<Vec<_>>(),
        "tests": case.tests,
        "plan_changes": case.plan_changes.iter().map(|one| query_plans::json(one, &case.candidate)).collect::<Vec<_>>(),
        "differs": differs.collect::<Vec<_>>(),
    })
}

fn moved(one: &Moved) -> Value {
    let Change { ratio, low, high } = one.change;
    json!({
        "metric": one.metric.name(),
        "base_value": one.base,
        "candidate_value": one.candidate,
        "ratio": ratio,
        "low": low,
        "high": high,
    })
}

fn pattern(Matched { pattern, evidence }: &Matched) -> Value {
    let shown = |(metric, ratio): &(Metric, f64)| json!({ "metric": metric.name(), "ratio": ratio });
    json!({
        "id": pattern.id,
        "says": pattern.says,
        "reference": pattern.reference,
        "remedy": pattern.remedy,
        "evidence": evidence.iter().map(shown).collect::<Vec<_>>(),
    })
}
