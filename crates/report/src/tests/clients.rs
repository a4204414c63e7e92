//! What the formats make of a step at several numbers of clients.

use super::samples::comparison;
use super::{of, parsed, text};
use crate::schema_check;
use findings::Comparison;
use findings::comparison::{AtClients, Dependence, OverFewest, StepView, Sweep};
use model::metric::Metric;
use model::verdict::Verdict;

/// Relative rates and their half widths (ln) at so many clients.
const AT: [(u32, f64, f64); 3] = [(1, 0.992, 0.02), (8, 0.901, 0.03), (40, 0.853, 0.05)];

fn by_clients(dependence: Option<Dependence>) -> Comparison {
    let view = comparison();
    let like = view.steps.iter().find(|step| step.name == "readrandom").unwrap().clone();
    let step = |(clients, ratio, half): (u32, f64, f64)| {
        let mut step = StepView { name: format!("point_clients={clients}"), ..like.clone() };
        let case = &mut step.cases[0];
        case.decides = Some(Metric::OpsPerSecond);
        case.verdict = if ratio * half.exp() < 1.0 { Verdict::Regression } else { Verdict::Inconclusive };
        case.confirmed = case.verdict == Verdict::Regression;
        let rate = case.metrics.iter_mut().find(|metric| metric.metric == Metric::OpsPerSecond).unwrap();
        rate.ratio = Some(ratio);
        (rate.low, rate.high) = (Some(ratio * (-half).exp()), Some(ratio * half.exp()));
        step
    };
    let over = |ratio, low, high| {
        Some(OverFewest { ratio, low: Some(low), high: Some(high), confidence: 0.995, repeats: 9 })
    };
    let at = |(clients, over_fewest): (u32, Option<OverFewest>)| AtClients {
        clients,
        step: format!("point_clients={clients}"),
        over_fewest,
    };
    let sweep = Sweep {
        step: "point".to_owned(),
        side: 1,
        at: [(1, None), (8, over(0.908, 0.86, 0.958)), (40, over(0.86, 0.803, 0.921))].map(at).to_vec(),
        dependence,
    };
    Comparison { steps: AT.map(step).to_vec(), sweeps: vec![sweep], ..view }
}

#[test]
fn a_loss_is_said_to_begin_at_a_number_of_clients() {
    let view = by_clients(Some(Dependence::Begins { at: 8 }));
    let said = "point: the loss begins at 8 clients: relative rate 0.992 at 1, 0.901 at 8 and 0.853 at 40; at 40 clients it is 0.860 \
                [0.803, 0.921] of that at 1.";
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line(&text(&view, 120)).contains(said), "{}", text(&view, 120));
    let page = of(&view, "html");
    assert!(page.contains("By number of clients") && page.contains("point by clients"));
    let varies = in_one_line(&text(&by_clients(Some(Dependence::Varies)), 120));
    assert!(
        varies.contains("point: how it compares depends on the number of clients: relative rate"),
        "{varies}"
    );
}

#[test]
fn relative_rates_by_clients_are_a_table_whatever_is_proven() {
    let text = text(&by_clients(None), 80);
    assert!(!text.contains("begins at"), "{text}");
    let section = text.split("By number of clients").nth(1).unwrap();
    insta::assert_snapshot!(section.split("\n\n").take(4).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn json_has_them() {
    let view = by_clients(Some(Dependence::Ends { at: 40 }));
    let json = of(&view, "json");
    schema_check::check("comparison", &json);
    let sweep = &parsed(&view)["sweeps"][0];
    assert_eq!(sweep["dependence"], serde_json::json!({ "is": "ends", "at": 40 }));
    assert_eq!(sweep["at"][2]["over_fewest"]["repeats"], 9);
    assert_eq!(sweep["at"][0].get("over_fewest"), None);
}
