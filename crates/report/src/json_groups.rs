//! Groups as JSON objects.

use crate::groups::{GroupRow, Interval};
use model::verdict::Verdict;
use serde::Serialize;

/// One group of one candidate.
#[derive(Serialize)]
pub(crate) struct GroupObject<'a> {
    group: &'static str,
    candidate: &'a str,
    steps: u32,
    slower: u32,
    faster: u32,
    unchanged: u32,
    inconclusive: u32,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<IntervalObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<WorstObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quoted: Option<QuotedObject<'a>>,
}

#[derive(Serialize)]
struct IntervalObject {
    ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    confidence: f64,
}

#[derive(Serialize)]
struct WorstObject<'a> {
    step: &'a str,
    #[serde(flatten)]
    interval: IntervalObject,
}

#[derive(Serialize)]
struct QuotedObject<'a> {
    min: f64,
    min_step: &'a str,
    max: f64,
    max_step: &'a str,
    avg: f64,
    median: f64,
}

/// The object of a group of this candidate.
pub(crate) fn group<'a>(one: &'a GroupRow, candidate: &'a str) -> GroupObject<'a> {
    let interval = |of: &Interval| IntervalObject {
        ratio: of.ratio,
        low: of.low,
        high: of.high,
        confidence: of.confidence,
    };
    GroupObject {
        group: one.group.name(),
        candidate,
        steps: one.members,
        slower: one.slower,
        faster: one.faster,
        unchanged: one.unchanged,
        inconclusive: one.inconclusive,
        verdict: one.verdict,
        mean: one.mean.as_ref().map(interval),
        worst: one.worst.as_ref().map(|(step, of)| WorstObject { step, interval: interval(of) }),
        quoted: one.quoted.as_ref().map(|of| QuotedObject {
            min: of.min,
            min_step: &of.min_step,
            max: of.max,
            max_step: &of.max_step,
            avg: of.avg,
            median: of.median,
        }),
    }
}
