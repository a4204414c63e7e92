//! What is judged: a step and a candidate, and what must be known of them beyond their blocks.

use crate::launch::LaunchSummary;
use crate::refusal::Cap;
use model::workload::Step;
use std::borrow::Cow;

/// What a verdict needs to know of a step beyond its blocks.
#[derive(Debug, Clone, Copy)]
pub struct StepFacts<'a> {
    pub step: &'a str,
    /// Whether it changes the database: then nothing is trimmed and the wall rate decides.
    pub writes: bool,
    pub foreground_threads: u32,
    /// CPUs that they may use.
    pub cpus: u32,
    /// Whether its rate is given, by a schedule or by a stream that it follows, so that only a drop below it can be
    /// seen.
    pub open_loop: bool,
    /// Standard deviation of ln(rate) between builds of one source, if it was measured for this step.
    pub tau: Option<f64>,
    /// What the caller knows that keeps it from a verdict.
    pub caps: &'a [Cap],
}

impl<'a> StepFacts<'a> {
    /// Of a step on a host with this many CPUs, under these caps.
    pub fn of(step: &'a Step, cpus: u32, caps: &'a [Cap]) -> StepFacts<'a> {
        StepFacts {
            step: &step.name,
            writes: step.writes(),
            foreground_threads: step.threads,
            cpus,
            open_loop: step.rate.is_some() || step.is_companion(),
            tau: None,
            caps,
        }
    }
}

/// A step and a candidate with their launches, in ascending order.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub facts: StepFacts<'a>,
    pub launches: &'a [LaunchSummary],
}

impl<'a> Case<'a> {
    /// The launches up to this one that have all rates.
    pub(crate) fn usable(&self, until: u32) -> Cow<'a, [LaunchSummary]> {
        let so_far = &self.launches[..self.launches.partition_point(|launch| launch.launch <= until)];
        if so_far.iter().all(LaunchSummary::has_rates) {
            Cow::Borrowed(so_far)
        } else {
            Cow::Owned(so_far.iter().filter(|launch| launch.has_rates()).cloned().collect())
        }
    }
}
