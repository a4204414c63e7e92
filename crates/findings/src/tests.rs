//! Views made of records: what counts, what is refused, what differs, what a selection leaves.

mod background_rates;
mod calibration;
mod compared;
mod differs;
mod elsewhere;
mod explanation;
mod gate;
pub(crate) mod history;
mod query_plans;
mod rounds;
mod selection;
mod sides;

use crate::Comparison;
use crate::comparison::{ComparedMetric, ComparedStep, StepView};
use model::block::Side;
use model::metric::Metric;
use model::record::RunRecord;

fn view_of(record: &RunRecord) -> Comparison {
    Comparison::of(record, &crate::judge::Evidence::default())
}

fn step<'a>(view: &'a Comparison, name: &str) -> &'a StepView {
    view.steps.iter().find(|step| step.name == name).unwrap()
}

fn case<'a>(view: &'a Comparison, name: &str, side: Side) -> &'a ComparedStep {
    step(view, name).case(side).unwrap()
}

fn rate(case: &ComparedStep) -> &ComparedMetric {
    case.metric(Metric::OpsPerSecond).unwrap()
}
