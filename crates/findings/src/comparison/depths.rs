//! Jobs of fio that differ in nothing but the requests which they keep in flight: what each depth gives and costs, and the
//! depth from which more gives no more.

use super::{StepView, Values};
use model::block::Side;
use model::counter::Counter;
use model::metric::Metric;
use model::plan::Plan;
use model::workload::fio::FioJob;
use model::workload::{Operation, Step};
use serde::Serialize;

/// Twice the depth gives no more if it gives less than this more. Not tuned: more than the means of three rounds scatter (an engine without
/// a queue came out between -2 and +6 % of depth 1), and far less than the doubling of a device that still has room.
pub const NO_MORE: f64 = 0.1;

/// The jobs of one subject, by depth.
#[derive(Debug, Clone, PartialEq)]
pub struct Depths {
    pub side: Side,
    /// At least two, the shallowest first.
    pub jobs: Vec<AtDepth>,
    /// The depth from which twice as many requests in flight give less than [`NO_MORE`] more; absent if each doubling gives
    /// more.
    pub saturated_at: Option<u32>,
}

/// One job, means over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtDepth {
    pub depth: u32,
    pub step: String,
    /// Requests per second.
    pub requests_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us_p99: Option<f64>,
    /// CPU of the whole host per request, as Small Datum counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_cpu_us: Option<f64>,
    /// CPU of fio's own processes per request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fio_cpu_us: Option<f64>,
}

/// CPU time per request by Small Datum's formula: what vmstat calls us + sy, in percent of all CPUs, over the requests of a
/// second. In microseconds.
pub fn cpu_us_per_io(us_and_sy_percent: f64, cpus: u32, requests_per_s: f64) -> f64 {
    us_and_sy_percent / 100.0 * f64::from(cpus) * 1e6 / requests_per_s
}

/// Those of every subject; of the judged steps that are most in number if there are several such rows of jobs.
pub(super) fn of(plan: &Plan, steps: &[StepView]) -> Vec<Depths> {
    let jobs: Vec<(&Step, &FioJob)> = plan
        .chosen_steps()
        .filter(|step| !step.helper)
        .filter_map(|step| match &step.operation {
            Operation::Fio(job) => Some((step, &**job)),
            _ => None,
        })
        .collect();
    let alike = |of: &(&Step, &FioJob)| -> Vec<(&Step, &FioJob)> {
        let is_alike = |other: &&(&Step, &FioJob)| {
            std::ptr::eq(other.0, of.0)
                || other.1.differs_in_depth_only(of.1) && other.0.threads == of.0.threads
        };
        let mut alike: Vec<(&Step, &FioJob)> = jobs.iter().filter(is_alike).copied().collect();
        alike.sort_by_key(|(_, job)| job.depth);
        alike
    };
    let Some(row) = jobs.iter().map(alike).max_by_key(Vec::len).filter(|row| row.len() > 1) else {
        return Vec::new();
    };
    (0..plan.subjects.len()).filter_map(|side| of_side(side, &row, steps)).collect()
}

fn of_side(side: Side, row: &[(&Step, &FioJob)], steps: &[StepView]) -> Option<Depths> {
    let at = |(step, job): &(&Step, &FioJob)| {
        let view = steps.iter().find(|view| view.name == step.name)?;
        at_depth(job.depth, &step.name, &view.rows.iter().find(|row| row.side == side)?.mean)
    };
    let jobs: Vec<AtDepth> = row.iter().filter_map(at).collect();
    (jobs.len() > 1).then(|| Depths { side, saturated_at: saturated_at(&jobs), jobs })
}

fn at_depth(depth: u32, step: &str, mean: &Values) -> Option<AtDepth> {
    Some(AtDepth {
        depth,
        step: step.to_owned(),
        requests_per_s: mean.get(Metric::OpsPerSecond)?,
        latency_us_p50: mean.get(Metric::LatencyP50),
        latency_us_p99: mean.get(Metric::LatencyP99),
        host_cpu_us: mean.get(Metric::Counter(Counter::HostCpuMicros)),
        fio_cpu_us: mean.get(Metric::CpuMicrosPerOp),
    })
}

/// The shallowest depth of which no deeper one, by a factor of two or more, gives more.
fn saturated_at(jobs: &[AtDepth]) -> Option<u32> {
    let enough = |(index, job): &(usize, &AtDepth)| {
        let mut deeper = jobs[index + 1..].iter().filter(|other| other.depth >= 2 * job.depth).peekable();
        deeper.peek().is_some()
            && deeper.all(|other| other.requests_per_s < job.requests_per_s * (1.0 + NO_MORE))
    };
    jobs.iter().enumerate().find(enough).map(|(_, job)| job.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_posts_figures() {
        // Local and network storage on 16 cores: 10.16 and 12.61 us a read.
        let local = cpu_us_per_io(3.429, 16, 54_000.0);
        let network = cpu_us_per_io(1.182, 16, 15_000.0);
        assert_eq!(
            (format!("{local:.2}"), format!("{network:.2}")),
            ("10.16".to_owned(), "12.61".to_owned())
        );
    }

    #[test]
    fn saturation_is_where_no_deeper_queue_gives_more() {
        let at = |rates: &[(u32, f64)]| {
            let jobs: Vec<AtDepth> = rates
                .iter()
                .map(|(depth, rate)| AtDepth {
                    depth: *depth,
                    step: String::new(),
                    requests_per_s: *rate,
                    latency_us_p50: None,
                    latency_us_p99: None,
                    host_cpu_us: None,
                    fio_cpu_us: None,
                })
                .collect();
            saturated_at(&jobs)
        };
        assert_eq!(at(&[(1, 100.0), (2, 190.0), (4, 350.0), (8, 360.0), (16, 355.0)]), Some(4));
        assert_eq!(at(&[(1, 100.0), (2, 101.0), (4, 99.0)]), Some(1));
        assert_eq!(at(&[(1, 100.0), (2, 101.0), (4, 300.0)]), None, "a dip is not the end");
        assert_eq!(at(&[(8, 100.0), (12, 100.0)]), None, "less than twice the depth tells nothing");
        assert_eq!(at(&[]), None);
    }
}
