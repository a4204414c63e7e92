//! Jobs of fio by depth: what each gives and costs, as a table, a chart and a sentence for each subject.

use crate::charts::{Bands, Chart, Line, Point, Releases};
use crate::document::Kind::{Name, Number};
use crate::document::{Block, Cell, Figure, PostPart, Section, Sentence, Table};
use crate::documents::ids::Ids;
use crate::documents::latency;
use findings::ComparedRun;
use findings::Comparison;
use findings::comparison::{AtDepth, Depths, NO_MORE};
use model::block::Side;
use model::figures::{NONE, chosen_percent, quantity, quantity_or_none, ratio};

/// "fio@installed: 53,529 requests/s at depth 8 with 6.80 us of the host's CPU each; from there on more depth gives no more."
pub(super) fn sentences(view: &Comparison) -> Vec<Sentence> {
    let of_subject = |depths: &Depths| {
        let most =
            || depths.jobs.iter().max_by(|left, right| left.requests_per_s.total_cmp(&right.requests_per_s));
        let (job, end) = match depths.saturated_at {
            Some(depth) => {
                (depths.jobs.iter().find(|job| job.depth == depth)?, "; a deeper queue gives no more")
            }
            None => (most()?, "; no saturation was found at these depths"),
        };
        let cpu = job.host_cpu_us.map(|cpu| format!(", {} us of the host's CPU each", quantity(cpu)));
        Some(Sentence {
            verdict: None,
            text: format!(
                "{}: {} requests/s at depth {}{}{end}.",
                view.name(depths.side),
                quantity(job.requests_per_s),
                job.depth,
                cpu.unwrap_or_default()
            ),
        })
    };
    view.depths.iter().filter_map(of_subject).collect()
}

/// Everything by depth.
pub(super) fn section(run: &ComparedRun, ids: &mut Ids) -> Option<Section> {
    let view = &run.view;
    if view.depths.is_empty() {
        return None;
    }
    let blocks = vec![Block::Table(table(run)), Block::Paragraph(legend()), Block::Figure(chart(view, ids))];
    Some(Section::new("depths", "Requests in flight", blocks).in_post(PostPart::Results))
}

fn table(run: &ComparedRun) -> Table {
    let columns = [
        ("subject", Name),
        ("depth", Number),
        ("IOPS", Number),
        ("x half", Number),
        ("mean us", Number),
        ("p50 us", Number),
        ("p99 us", Number),
        ("host CPU us", Number),
        ("fio CPU us", Number),
        ("", Name),
    ];
    let mut table = Table::new(&columns);
    for depths in &run.view.depths {
        table.fill(depths.jobs.iter().map(|job| {
            let half = depths.jobs.iter().find(|other| other.depth * 2 == job.depth);
            let more = half.map(|half| ratio(job.requests_per_s / half.requests_per_s));
            let mark = if depths.saturated_at == Some(job.depth) { "enough" } else { "" };
            let cells: Vec<Cell> = vec![
                run.view.label(depths.side).into(),
                job.depth.to_string().into(),
                quantity(job.requests_per_s).into(),
                more.unwrap_or_else(|| NONE.to_owned()).into(),
                quantity_or_none(latency::mean_us(&run.record, &job.step, depths.side)).into(),
                quantity_or_none(job.latency_us_p50).into(),
                quantity_or_none(job.latency_us_p99).into(),
                quantity_or_none(job.host_cpu_us).into(),
                quantity_or_none(job.fio_cpu_us).into(),
                mark.into(),
            ];
            cells
        }));
    }
    table
}

fn legend() -> String {
    format!(
        "Means over rounds. host CPU us: CPU time of the whole host per request by Small Datum's formula, (us + sy) / 100 x CPUs x \
         1e6 / IOPS; it includes all other processes except that of a slow device. fio CPU us: CPU time of fio's own processes (CPU us in other tables). mean, \
         p50, p99: latency from the start of a request's submission to its completion. x half: IOPS divided by the IOPS at half the depth. enough: no depth at least \
         twice as large gives {} more.",
        chosen_percent(NO_MORE)
    )
}

fn chart(view: &Comparison, ids: &mut Ids) -> Figure {
    let mut depths: Vec<u32> =
        view.depths.iter().flat_map(|of| of.jobs.iter().map(|job| job.depth)).collect();
    depths.sort_unstable();
    depths.dedup();
    let point = |of: &Depths, depth: u32| {
        let job: &AtDepth = of.jobs.iter().find(|job| job.depth == depth)?;
        Some(Point { value: job.requests_per_s, low: None, high: None })
    };
    let line = |of: &Depths| {
        let side: Side = of.side;
        Line {
            name: view.label(side).to_owned(),
            points: depths.iter().map(|depth| point(of, *depth)).collect(),
            changes: Vec::new(),
        }
    };
    Figure {
        name: ids.of("depths", "iops"),
        caption: "Requests per second by the requests that are kept in flight.".to_owned(),
        chart: Chart::Releases(Releases {
            bands: Bands::Of(Vec::new()),
            title: "IOPS by depth".to_owned(),
            axis: "requests per second".to_owned(),
            reference: None,
            confidence: None,
            releases: depths.iter().map(ToString::to_string).collect(),
            lines: view.depths.iter().map(line).collect(),
        }),
    }
}
