//! Relative rates as the sheets of the Small Datum posts have them: the subjects named as `col-1`, `col-2` above, a line of
//! relative rates for each step below, the base's 1.00, the step's name last. `dbdyno import table` reads it.

use super::layout::printable;
use super::separated::{Separator, line};
use crate::comparison::run_line;
use findings::comparison::StepView;
use findings::{ComparedRun, Comparison};
use model::block::BASE;

/// The sheet of a comparison. Its last lines begin with `#` and say which run it is and what to know of it.
pub(super) fn render(run: &ComparedRun) -> String {
    let view = &run.view;
    let named = view
        .subjects
        .iter()
        .zip(1..)
        .map(|(one, number): (_, u32)| format!("col-{number} : {}\n", printable(&one.subject)));
    let header: Vec<String> = (1..=view.subjects.len()).map(|number| format!("col-{number}")).collect();
    let steps = view.judged_steps().map(|step| line(&rates(view, step), Separator::Tab));
    let notes = notes(view).into_iter().map(|note| format!("# {}\n", printable(&note)));
    let table = std::iter::once(line(&header, Separator::Tab)).chain(steps);
    named.chain(["\n".to_owned()]).chain(table).chain(notes).collect()
}

/// Two digits, as Small Datum has them: `--format tsv` has all, with intervals and verdicts.
fn rates(view: &Comparison, step: &StepView) -> Vec<String> {
    let shown = |ratio: Option<f64>| {
        ratio.filter(|ratio| ratio.is_finite()).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
    };
    let ratio = |side| if side == BASE { step.base_rate().map(|_| 1.0) } else { step.case(side)?.ratio() };
    let rates = view.subjects.iter().map(|subject| shown(ratio(subject.side)));
    rates.chain([printable(&step.name)]).collect()
}

fn notes(view: &Comparison) -> Vec<String> {
    let failed = u64::from(view.trials.failed);
    let failed = (failed > 0).then(|| format!("{} failed", model::figures::count(failed, "trial", "trials")));
    let warnings = view.warnings.iter().map(|one| format!("WARNING {}: {}", one.warning.id(), one.warning));
    std::iter::once(run_line(view)).chain(failed).chain(warnings).collect()
}
