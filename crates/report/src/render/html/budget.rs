//! How many points of timelines fit into a page: where not all do, neighbours become one, alike in all timelines.

use super::pack::{self, Packed};
use crate::document::{Block, Document, Timeline};
use std::collections::BTreeMap;

/// Characters of a whole page: 2 MB, which a browser shows at once and a CI job keeps as an artifact without thinking,
/// with some room, because what is measured before the points are packed is not the last byte of it.
const PAGE_BYTES: usize = 1_970_000;
/// Characters of all points together, however little else there is.
const MOST_BYTES: usize = 1_300_000;
/// And however much: a page of many charts is larger than planned rather than without its seconds.
const LEAST_BYTES: usize = 200_000;

/// How many points become one, tried in this order: steps that people count seconds in.
const STRIDES: [usize; 12] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/// Points that are packed to estimate what all of them take.
const SAMPLED_POINTS: usize = 200_000;

/// The timelines of a page, packed.
pub(super) struct Packs<'a> {
    /// Points that became one.
    pub stride: usize,
    /// The run to ask for single points.
    pub run: &'a str,
    by_id: BTreeMap<&'a str, Packed>,
    absent: Absent,
}

/// What becomes of a timeline that was not packed with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// It is packed when it is shown.
    Packed,
    /// Its points are left out.
    LeftOut,
}

impl<'a> Packs<'a> {
    /// Those of a document, in as many points as fit beside the rest of the page.
    pub fn beside(document: &'a Document, rest_bytes: usize) -> Packs<'a> {
        Packs::within(document, PAGE_BYTES.saturating_sub(rest_bytes).clamp(LEAST_BYTES, MOST_BYTES))
    }

    fn within(document: &'a Document, most_bytes: usize) -> Packs<'a> {
        let timelines = timelines(document);
        let run = run(document);
        let last = STRIDES[STRIDES.len() - 1];
        for stride in STRIDES {
            if stride != last && estimated_bytes(&timelines, stride) > most_bytes {
                continue;
            }
            let by_id: BTreeMap<&str, Packed> =
                timelines.iter().map(|one| (one.id.as_str(), pack::packed(one, stride))).collect();
            let bytes: usize = by_id.values().map(|packed| packed.points.len()).sum();
            if stride == last || bytes <= most_bytes {
                return Packs { stride, run, by_id, absent: Absent::Packed };
            }
        }
        Packs::none()
    }

    /// No timeline is packed before it is shown: each keeps all of its points.
    pub fn none() -> Packs<'a> {
        Packs { stride: 1, run: "RUN", by_id: BTreeMap::new(), absent: Absent::Packed }
    }

    /// Points are left out, and captions say all that they may have to: what a page takes without points.
    pub fn left_out(document: &'a Document) -> Packs<'a> {
        Packs { stride: STRIDES[1], run: run(document), by_id: BTreeMap::new(), absent: Absent::LeftOut }
    }

    /// One of them.
    pub fn get(&self, timeline: &Timeline) -> Packed {
        self.by_id.get(timeline.id.as_str()).cloned().unwrap_or_else(|| match self.absent {
            Absent::Packed => pack::packed(timeline, self.stride),
            Absent::LeftOut => pack::without_points(timeline),
        })
    }
}

/// The run to ask for single points.
fn run(document: &Document) -> &str {
    document.runs.first().map_or("RUN", String::as_str)
}

fn timelines<'a>(document: &'a Document) -> Vec<&'a Timeline> {
    let timeline =
        |block: &'a Block| if let Block::Timeline(timeline) = block { Some(timeline) } else { None };
    document.blocks().filter_map(timeline).collect()
}

/// What they would take, from every so many lines: packing all of them for each stride would take seconds.
fn estimated_bytes(timelines: &[&Timeline], stride: usize) -> usize {
    let lines = timelines.iter().flat_map(|timeline| &timeline.lines).flat_map(|line| &line.values);
    let points: usize = lines.map(|values| values.len().div_ceil(stride)).sum();
    // An odd distance, so that not always the same metric or subject has its turn.
    let every = points.div_ceil(SAMPLED_POINTS).max(1) | 1;
    let sample = pack::sample(timelines, stride, every);
    sample.bytes * points / sample.points.max(1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::noise;
    use super::*;
    use crate::document::{Merge, Section, TimelineLine, TimelineMetric};

    fn document(timelines: usize, points: u64) -> Document {
        let noisy = |salt: u64| (1..=points).map(|at| Some(noise(at + 10_000 * salt) >> 50)).collect();
        let timeline = |index: usize| {
            Block::Timeline(Timeline {
                id: format!("t{index}"),
                caption: String::new(),
                x: "second",
                metrics: vec![TimelineMetric {
                    name: "operations".into(),
                    unit: "1/s".into(),
                    scale: 1.0,
                    merge: Merge::Mean,
                }],
                lines: (0..3)
                    .map(|round| TimelineLine {
                        subject: "s".into(),
                        round,
                        values: vec![noisy(u64::from(round))],
                    })
                    .collect(),
            })
        };
        let section = Section::new("s", "s", (0..timelines).map(timeline).collect());
        Document { runs: vec!["r1".into()], sections: vec![section], ..Document::default() }
    }

    fn bytes(packs: &Packs<'_>) -> usize {
        packs.by_id.values().map(|packed| packed.points.len()).sum()
    }

    #[test]
    fn what_fits_keeps_every_point() {
        let document = document(2, 500);
        let packs = Packs::beside(&document, 0);
        assert_eq!((packs.stride, packs.run), (1, "r1"));
    }

    #[test]
    fn a_page_full_of_other_things_leaves_less_room() {
        let document = document(8, 30_000);
        let alone = Packs::beside(&document, 0);
        let crowded = Packs::beside(&document, 1_500_000);
        assert!(bytes(&alone) <= MOST_BYTES && bytes(&crowded) <= PAGE_BYTES - 1_500_000);
        assert!(alone.stride < crowded.stride, "{} and {}", alone.stride, crowded.stride);
    }

    #[test]
    fn what_does_not_fit_is_merged_as_little_as_can_be() {
        let document = document(4, 2000);
        let all = bytes(&Packs::within(&document, usize::MAX));
        let packs = Packs::within(&document, all / 4);
        assert!(bytes(&packs) <= all / 4);
        assert_eq!(packs.stride, 5, "{} of {all}", bytes(&packs));
        // However little there is, something is shown.
        assert_eq!(Packs::within(&document, 1).stride, 3600);
    }
}
