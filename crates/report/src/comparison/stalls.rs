//! When trials did hardly anything, and what their engine and their device did meanwhile.

use crate::document::{Block, Kind, Level, PostPart, Section, Table};
use crate::documents::host;
use findings::ComparedRun;
use findings::comparison::Stall;
use model::figures::{NONE, count, or_none, percent, span};

/// The table has no more rows.
const MOST_ROWS: usize = 30;
/// A cell names no more works of an engine: vacuums are of one table each.
const MOST_WORKS: usize = 4;

/// The section; absent where nothing stalled.
pub(super) fn section(run: &ComparedRun) -> Option<Section> {
    let stalls = &run.view.stalls;
    if stalls.is_empty() {
        return None;
    }
    let during = |stall: &Stall| {
        let from = stall.began_at_us?;
        host::device_between(&run.host, &run.record.host, from, from + i64::from(stall.lasted_s) * 1_000_000)
    };
    let table = Table::by_columns(
        stalls.iter().take(MOST_ROWS),
        &[
            ("step", Kind::Name, &|stall| stall.step.clone()),
            ("subject", Kind::Name, &|stall| run.view.label(stall.side).to_owned()),
            ("round", Kind::Number, &|stall| stall.round.to_string()),
            ("from s", Kind::Number, &|stall| stall.from_s.to_string()),
            ("lasted", Kind::Number, &|stall| span(f64::from(stall.lasted_s))),
            ("rate", Kind::Number, &|stall| percent(stall.share)),
            ("engine", Kind::Prose, &|stall| engine(stall)),
            ("device busy", Kind::Number, &|stall| or_none(during(stall), |of| percent(of.busy))),
            ("MB/s read", Kind::Number, &|stall| or_none(during(stall), |of| megabytes(of.read_bytes_per_s))),
            ("written", Kind::Number, &|stall| or_none(during(stall), |of| megabytes(of.write_bytes_per_s))),
        ],
    );
    let left = stalls.len().saturating_sub(MOST_ROWS);
    let more =
        (left > 0).then(|| format!(" {} shorter ones are left out.", count(left as u64, "stall", "stalls")));
    let legend = format!(
        "Seconds of a trial with at most a tenth of the operations of its middle second, the longest first; the rate is their mean over that \
         second's. The engine: what its log tells of that time, what took longest first (checkpoints and vacuums of Postgres, flushes, \
         compactions and held up writes of RocksDB and MyRocks; of InnoDB no more than a late page cleaner). {NONE}: not known.{}",
        more.unwrap_or_default()
    );
    let blocks = vec![Block::Paragraph(legend), Block::Table(table)];
    Some(Section::new("stalls", "Stalls", blocks).at(Level::Folded).in_post(PostPart::Results))
}

fn engine(stall: &Stall) -> String {
    let Some(works) = &stall.engine else { return NONE.to_owned() };
    let (shown, left) = works.split_at(works.len().min(MOST_WORKS));
    match (shown, left.len()) {
        ([], _) => "nothing logged".to_owned(),
        (shown, 0) => shown.join(", "),
        (shown, left) => format!("{} and {left} more", shown.join(", ")),
    }
}

fn megabytes(bytes_per_s: f64) -> String {
    format!("{:.1}", bytes_per_s / 1_048_576.0)
}
