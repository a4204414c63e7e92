//! The self-test of the harness in one step of one calibration, as the store keeps it: little enough that a report can read
//! those of hundreds of calibrations.

use serde::{Deserialize, Serialize};

/// What the launches of one step in one calibration say against "both sides are treated alike".
#[derive(Debug, Clone, PartialEq)]
pub struct SelfTestRecord {
    /// Id of the run.
    pub run: String,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// The boot of the host that it was measured in.
    pub boot_id: String,
    /// Name of the workload.
    pub workload: String,
    /// SHA-256 of the workload's text: steps of one name in two workloads are two steps.
    pub workload_sha256: String,
    pub step: String,
    /// Steps of the workload that can be tested: the level is shared out among so many.
    pub family: u32,
    pub gains: Gains,
}

/// What bets against equal sides won, each as the natural logarithm of its e-value, in the order of `analysis::self_test`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gains {
    /// Launches that were bet on.
    pub launches: u32,
    /// On the wall rate.
    pub wall: Vec<f64>,
    /// On the contention-adjusted rate.
    pub adjusted: Vec<f64>,
}
