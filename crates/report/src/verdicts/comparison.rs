//! The verdicts of a comparison, from its view.

use super::{CandidateSummary, ComparedMetric, Repeats, RunVerdicts, StepVerdict, finite, why_not};
use crate::view::{CandidateView, Figure, ReportView, StepRow};

/// The verdicts of a comparison.
pub fn of_comparison(view: &ReportView) -> RunVerdicts<'_> {
    RunVerdicts {
        run: &view.run,
        base: &view.base,
        margin: view.margin,
        alpha: view.alpha,
        host: &view.host,
        warnings: &view.warnings,
        trials: &view.trials,
        left_out: &[],
        repeats: Repeats::Launches,
        set_aside: Vec::new(),
        summaries: view
            .candidates
            .iter()
            .map(|candidate| CandidateSummary {
                side: candidate.side,
                candidate: &candidate.subject,
                text: candidate.summary.clone(),
            })
            .collect(),
        steps: view
            .candidates
            .iter()
            .flat_map(|candidate| candidate.rows.iter().map(move |row| of_row(row, candidate, view)))
            .collect(),
    }
}

fn of_row<'a>(row: &'a StepRow, candidate: &'a CandidateView, view: &'a ReportView) -> StepVerdict<'a> {
    let rates = [Some(&row.wall), row.adjusted.as_ref(), Some(&row.cpu)].into_iter().flatten();
    let counters = row.counters.iter().map(|counter| &counter.figure);
    let deciding = row.deciding();
    let said = || row.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ");
    StepVerdict {
        step: &row.step,
        group: row.group,
        side: candidate.side,
        candidate: &candidate.subject,
        verdict: row.verdict,
        confirmed: row.confirmed,
        deciding: of_figure(deciding),
        metrics: rates.chain(counters).map(of_figure).collect(),
        p_value: row.p_value,
        repeats: row.launches,
        seconds: row.seconds,
        notes: row.notes.iter().collect(),
        not_measured: match deciding.ratio {
            Some(_) => None,
            None => Some(why_not(
                (&view.trials, Repeats::Launches),
                &row.step,
                [&candidate.subject, &view.base],
                said(),
            )),
        },
    }
}

fn of_figure(figure: &Figure) -> ComparedMetric {
    ComparedMetric {
        metric: figure.metric.name(),
        unit: figure.metric.unit(),
        base: finite(figure.base),
        candidate: finite(figure.candidate),
        ratio: finite(figure.ratio),
        low: finite(figure.low),
        high: finite(figure.high),
        confidence: figure.confidence,
    }
}
