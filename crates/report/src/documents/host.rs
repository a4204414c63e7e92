//! The host second by second over a whole run: what vmstat and iostat would have shown.

use crate::document::{Block, Level, Merge, Section, Timeline, TimelineLine, TimelineMetric};
use crate::documents::ids::Ids;
use model::block::{Block as MeasuredBlock, BlockKind, Side};
use model::host::{Host, HostSample};
use model::record::RunRecord;

/// Percent with one digit after the point, as an integer.
const TENTHS: f64 = 10.0;
const MEGABYTE: f64 = 1_048_576.0;

/// How one metric is made of two readings, one after the other.
struct HostMetric {
    name: &'static str,
    unit: &'static str,
    scale: f64,
    value: fn(&Interval<'_>) -> Option<f64>,
}

const METRICS: [HostMetric; 9] = [
    metric("CPU busy", "%", TENTHS, |interval| {
        interval.cpu_percent(&["user", "nice", "system", "irq", "softirq", "steal"])
    }),
    metric("CPU waiting for IO", "%", TENTHS, |interval| interval.cpu_percent(&["iowait"])),
    metric("CPU stolen by other guests", "%", TENTHS, |interval| interval.cpu_percent(&["steal"])),
    metric("device reads", "1/s", 1.0, |interval| interval.device_per_s("reads")),
    metric("device read rate", "MB/s", MEGABYTE, |interval| interval.device_per_s("read_bytes")),
    metric("device writes", "1/s", 1.0, |interval| interval.device_per_s("writes")),
    metric("device write rate", "MB/s", MEGABYTE, |interval| interval.device_per_s("write_bytes")),
    // Microseconds in a second over ten thousand are percent.
    metric("device busy", "%", TENTHS, |interval| Some(interval.device_per_s("busy_us")? / 1e4)),
    metric("context switches", "1/s", 1.0, |interval| interval.per_s("stat.ctxt")),
];

const fn metric(
    name: &'static str,
    unit: &'static str,
    scale: f64,
    value: fn(&Interval<'_>) -> Option<f64>,
) -> HostMetric {
    HostMetric { name, unit, scale, value }
}

/// The section of the whole run; absent where there are not two samples.
pub(crate) fn section(samples: &[HostSample], host: &Host, ids: &mut Ids) -> Option<Section> {
    let first_us = samples.first()?.at_us;
    let seconds = usize::try_from((samples.last()?.at_us - first_us) / 1_000_000).ok()? + 1;
    let line = TimelineLine {
        subject: "host".to_owned(),
        round: 0,
        values: values(samples, host, first_us, seconds),
    };
    let timeline = timeline(
        ids.of("timeline", "host"),
        "The whole host second by second, from the start of the run to its end.".to_owned(),
        vec![line],
    )?;
    let blocks = vec![Block::Timeline(timeline)];
    Some(Section::new(ids.of("host", ""), "The host over the run", blocks).at(Level::Page))
}

/// The host while the trials of a step ran that was measured in one go, each from its own start; absent where nobody
/// knows when they began.
pub(crate) fn during_step(
    record: &RunRecord,
    samples: &[HostSample],
    step: &str,
    labels: &[String],
    ids: &mut Ids,
) -> Option<Timeline> {
    let of_side = |side: Side| {
        record.blocks.iter().filter(move |block| {
            block.kind == BlockKind::Whole && block.trial.step == step && block.trial.side == side
        })
    };
    let line = |label: &String, block: &MeasuredBlock| {
        let started_at_us = block.started_at_us?;
        let seconds = usize::try_from(block.wall.0 / 1_000_000_000).ok()?;
        let ended_at_us = started_at_us + i64::try_from(block.wall.0 / 1000).ok()?;
        // With the sample before it, from which the first second counts.
        let first = samples.partition_point(|sample| sample.at_us < started_at_us).saturating_sub(1);
        let last = samples.partition_point(|sample| sample.at_us <= ended_at_us);
        let during = samples.get(first..last)?;
        Some(TimelineLine {
            subject: label.clone(),
            round: block.trial.launch,
            values: values(during, &record.host, started_at_us, seconds),
        })
    };
    let lines: Vec<TimelineLine> = labels
        .iter()
        .enumerate()
        .flat_map(|(side, label)| of_side(side).filter_map(move |block| line(label, block)))
        .collect();
    timeline(
        ids.of("host-during", step),
        format!("The whole host while {step} ran, second by second from the start of each trial."),
        lines,
    )
}

/// What the device of the host did between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DeviceWork {
    /// Share of the time in which some request was in flight.
    pub(crate) busy: f64,
    pub(crate) read_bytes_per_s: f64,
    pub(crate) write_bytes_per_s: f64,
}

/// Between the sample before a moment and the first one after another; absent where the device was not read.
pub(crate) fn device_between(
    samples: &[HostSample],
    host: &Host,
    from_us: i64,
    to_us: i64,
) -> Option<DeviceWork> {
    let before = samples.get(samples.partition_point(|sample| sample.at_us <= from_us).checked_sub(1)?)?;
    let after = samples.get(samples.partition_point(|sample| sample.at_us < to_us))?;
    let interval = Interval { before, after, device: host.device.as_deref() };
    Some(DeviceWork {
        busy: interval.device_per_s("busy_us")? / 1e6,
        read_bytes_per_s: interval.device_per_s("read_bytes")?,
        write_bytes_per_s: interval.device_per_s("write_bytes")?,
    })
}

/// All metrics over some seconds from a moment on.
fn values(samples: &[HostSample], host: &Host, from_us: i64, seconds: usize) -> Vec<Vec<Option<u64>>> {
    let mut values = vec![vec![None; seconds]; METRICS.len()];
    for pair in samples.windows(2) {
        let interval = Interval { before: &pair[0], after: &pair[1], device: host.device.as_deref() };
        let Ok(at) = usize::try_from((pair[1].at_us - from_us).div_euclid(1_000_000)) else { continue };
        for (metric, points) in METRICS.iter().zip(&mut values) {
            if let Some(point) = points.get_mut(at) {
                *point = (metric.value)(&interval).and_then(|value| whole(value * stored_scale(metric)));
            }
        }
    }
    values
}

/// Of the metrics that any line has; absent where none has any.
fn timeline(id: String, caption: String, mut lines: Vec<TimelineLine>) -> Option<Timeline> {
    let has = |line: &TimelineLine, metric: usize| line.values[metric].iter().any(Option::is_some);
    let known: Vec<usize> =
        (0..METRICS.len()).filter(|metric| lines.iter().any(|line| has(line, *metric))).collect();
    if known.is_empty() {
        return None;
    }
    for line in &mut lines {
        line.values = known.iter().map(|metric| std::mem::take(&mut line.values[*metric])).collect();
    }
    let metrics = known.iter().map(|index| &METRICS[*index]).map(|metric| TimelineMetric {
        name: metric.name.to_owned(),
        unit: metric.unit.to_owned(),
        scale: metric.scale,
        merge: Merge::Mean,
    });
    Some(Timeline { id, caption, x: "second", metrics: metrics.collect(), lines })
}

/// Percent are kept in tenths; bytes and counts as they are.
fn stored_scale(metric: &HostMetric) -> f64 {
    if metric.unit == "%" { metric.scale } else { 1.0 }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates of a host are far below 2^53 and not negative, which is looked at first"
)]
fn whole(value: f64) -> Option<u64> {
    (value.is_finite() && value >= 0.0).then(|| value.round() as u64)
}

/// Two readings, one after the other.
struct Interval<'a> {
    before: &'a HostSample,
    after: &'a HostSample,
    device: Option<&'a str>,
}

impl Interval<'_> {
    /// By how much a cumulative reading went up; absent where it was not read, or began again.
    fn delta(&self, name: &str) -> Option<f64> {
        let before = self.before.readings.get(name)?;
        let after = self.after.readings.get(name)?;
        after.checked_sub(*before).map(|delta| delta as f64)
    }

    fn per_s(&self, name: &str) -> Option<f64> {
        let seconds = (self.after.at_us - self.before.at_us) as f64 / 1e6;
        (seconds > 0.0).then_some(self.delta(name)? / seconds)
    }

    fn device_per_s(&self, field: &str) -> Option<f64> {
        self.per_s(&format!("disk.{}.{field}", self.device?))
    }

    /// Share of all ticks that the CPUs spent in some states.
    fn cpu_percent(&self, states: &[&str]) -> Option<f64> {
        let all: f64 = self
            .after
            .readings
            .keys()
            .filter(|name| name.starts_with("stat.cpu."))
            .filter_map(|name| self.delta(name))
            .sum();
        let spent = states.iter().map(|state| self.delta(&format!("stat.cpu.{state}_ticks")));
        let spent: f64 = spent.sum::<Option<f64>>()?;
        (all > 0.0).then_some(100.0 * spent / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_us: i64, readings: &[(&str, u64)]) -> HostSample {
        HostSample {
            at_us,
            readings: readings.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        }
    }

    #[test]
    fn rates_are_per_second_and_what_was_not_read_is_absent() {
        let host = Host { device: Some("vda".to_owned()), ..Host::default() };
        let samples = [
            sample(0, &[("disk.vda.reads", 100), ("stat.ctxt", 7)]),
            sample(2_000_000, &[("disk.vda.reads", 300)]),
            sample(3_000_000, &[("disk.vda.reads", 10)]),
        ];
        let section = section(&samples, &host, &mut Ids::default()).expect("there are reads");
        let Block::Timeline(timeline) = &section.blocks[0] else { panic!("no timeline: {section:?}") };
        assert_eq!(timeline.metrics.len(), 1);
        // Nothing in second 1; a reading that fell began again and says nothing.
        assert_eq!(timeline.lines[0].values, [[None, None, Some(100), None]]);
    }

    #[test]
    fn the_device_is_told_between_the_samples_around_two_moments() {
        let host = Host { device: Some("vda".to_owned()), ..Host::default() };
        let at = |seconds: i64, busy_ms: u64, written: u64| {
            let readings = [
                ("disk.vda.busy_us", busy_ms * 1000),
                ("disk.vda.read_bytes", 0),
                ("disk.vda.write_bytes", written),
            ];
            sample(seconds * 1_000_000, &readings)
        };
        let samples = [at(0, 0, 0), at(1, 100, 5), at(2, 1000, 2005), at(3, 1900, 4005), at(4, 2000, 4005)];
        let work = device_between(&samples, &host, 1_200_000, 2_900_000).unwrap();
        assert_eq!(work, DeviceWork { busy: 0.9, read_bytes_per_s: 0.0, write_bytes_per_s: 2000.0 });
        assert_eq!(device_between(&samples, &host, 3_500_000, 4_500_000), None, "the run ended before");
        assert_eq!(device_between(&samples, &Host::default(), 1_200_000, 2_900_000), None);
    }

    #[test]
    fn one_sample_is_no_interval() {
        assert_eq!(section(&[sample(0, &[("stat.ctxt", 1)])], &Host::default(), &mut Ids::default()), None);
        assert_eq!(section(&[], &Host::default(), &mut Ids::default()), None);
    }
}
