//! Why a trial is not done, and why a step leaves the later launches: as data, with a sentence made from it where it
//! is shown. Nobody reads a sentence back.

use crate::figures::count;
use serde::{Deserialize, Serialize};

/// So many visits of a subject in a row in which nothing was measured end its part in a campaign. One alone may be a full disk
/// or a process that the kernel killed for memory.
pub const MOST_FAILURES_IN_A_ROW: u32 = 3;

/// Why a trial failed or was skipped. `Display` is its sentence, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// What an engine, a worker or the system said; and what an older store holds.
    #[error("{0}")]
    Said(String),
    /// What the release said of a step that it lacks: another try would end alike.
    #[error("{0}")]
    NotSupported(String),
    #[error("the budget is used up")]
    BudgetUsedUp,
    /// [`MOST_FAILURES_IN_A_ROW`] visits of the subject in a row failed before anything was measured, the last for this reason.
    #[error("not tried again: {reason}")]
    NotTriedAgain { reason: Box<Reason> },
    /// A step of the same visit.
    #[error("{step} failed before it")]
    FailedBefore { step: String },
    /// Another subject failed in a launch, in this step or at its start.
    #[error("{subject} failed in {}", place(.step))]
    SubjectFailed { subject: String, step: Option<String> },
    /// A launch failed on no one side, in this step or at its start.
    #[error("{} failed", place(.step))]
    LaunchFailed { step: Option<String> },
    /// The process ended within it, and `--resume` measured it again.
    #[error("cut off; measured again after --resume")]
    CutOff,
}

/// Why a step leaves the later launches. `Display` is its sentence, without a full stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum LeaveReason {
    /// It has its verdict.
    #[error("{DECIDED}")]
    Decided,
    /// All of its intervals are narrow enough.
    #[error("known to within {:.1} %", 100.0 * .half_width)]
    KnownWithin {
        /// Half of the widest, as a share.
        half_width: f64,
    },
    /// The budget is too small for the steps that write.
    #[error(
        "dropped: the budget allows {} with the steps that write, {least} are the fewest that can decide",
        launches_of(*.affordable)
    )]
    Dropped { affordable: u32, least: u32 },
    #[error("dropped: the pilot failed: {reason}")]
    PilotFailed { reason: Reason },
    /// It failed in so many.
    #[error("failed in {}", launches_of(*.launches))]
    LaunchesFailed { launches: u32 },
    /// What an older store holds.
    #[error("{0}")]
    Recorded(String),
}

impl LeaveReason {
    /// Whether the step left although a verdict was still to be had. What an older store holds counts as that: it has a
    /// reason other than a verdict.
    pub fn is_drop(&self) -> bool {
        match self {
            LeaveReason::Dropped { .. } | LeaveReason::PilotFailed { .. } | LeaveReason::Recorded(_) => true,
            LeaveReason::Decided | LeaveReason::KnownWithin { .. } | LeaveReason::LaunchesFailed { .. } => {
                false
            }
        }
    }

    /// What a store holds that has only the sentence. That of a decision is a word of the format.
    pub fn recorded(text: String) -> LeaveReason {
        if text == DECIDED { LeaveReason::Decided } else { LeaveReason::Recorded(text) }
    }
}

const DECIDED: &str = "decided";

fn place(step: &Option<String>) -> &str {
    step.as_deref().unwrap_or("the start of the launch")
}

fn launches_of(number: u32) -> String {
    count(u64::from(number), "launch", "launches")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::{self, Display};

    fn check<T>(reason: T, json: &str, sentence: &str)
    where
        T: Display + PartialEq + fmt::Debug + Serialize + for<'a> Deserialize<'a>,
    {
        assert_eq!(reason.to_string(), sentence);
        assert_eq!(serde_json::to_string(&reason).unwrap(), json);
        assert_eq!(serde_json::from_str::<T>(json).unwrap(), reason);
    }

    fn overwrite() -> Option<String> {
        Some("overwrite".to_owned())
    }

    #[test]
    fn a_reason_of_a_trial_reads_as_a_sentence_and_is_read_back_from_json() {
        let said = || Reason::Said("signal 11".to_owned());
        let subject = || "rocksdb@8.7.3".to_owned();
        check(said(), r#"{"said":"signal 11"}"#, "signal 11");
        check(
            Reason::NotSupported("it has no rocksdb_wait_for_compact".to_owned()),
            r#"{"not-supported":"it has no rocksdb_wait_for_compact"}"#,
            "it has no rocksdb_wait_for_compact",
        );
        check(Reason::BudgetUsedUp, r#""budget-used-up""#, "the budget is used up");
        check(
            Reason::NotTriedAgain { reason: Box::new(said()) },
            r#"{"not-tried-again":{"reason":{"said":"signal 11"}}}"#,
            "not tried again: signal 11",
        );
        check(
            Reason::FailedBefore { step: "overwrite".to_owned() },
            r#"{"failed-before":{"step":"overwrite"}}"#,
            "overwrite failed before it",
        );
        check(
            Reason::SubjectFailed { subject: subject(), step: overwrite() },
            r#"{"subject-failed":{"subject":"rocksdb@8.7.3","step":"overwrite"}}"#,
            "rocksdb@8.7.3 failed in overwrite",
        );
        check(
            Reason::SubjectFailed { subject: subject(), step: None },
            r#"{"subject-failed":{"subject":"rocksdb@8.7.3","step":null}}"#,
            "rocksdb@8.7.3 failed in the start of the launch",
        );
        check(
            Reason::LaunchFailed { step: None },
            r#"{"launch-failed":{"step":null}}"#,
            "the start of the launch failed",
        );
        check(Reason::CutOff, r#""cut-off""#, "cut off; measured again after --resume");
    }

    #[test]
    fn a_reason_for_leaving_reads_as_a_sentence_and_is_read_back_from_json() {
        let dropped = |affordable| LeaveReason::Dropped { affordable, least: 11 };
        let sentence = |launches: &str| {
            format!(
                "dropped: the budget allows {launches} with the steps that write, 11 are the fewest that can decide"
            )
        };
        check(LeaveReason::Decided, r#""decided""#, "decided");
        check(dropped(1), r#"{"dropped":{"affordable":1,"least":11}}"#, &sentence("1 launch"));
        check(dropped(4), r#"{"dropped":{"affordable":4,"least":11}}"#, &sentence("4 launches"));
        check(
            LeaveReason::PilotFailed { reason: Reason::Said("signal 11".to_owned()) },
            r#"{"pilot-failed":{"reason":{"said":"signal 11"}}}"#,
            "dropped: the pilot failed: signal 11",
        );
        check(
            LeaveReason::LaunchesFailed { launches: 3 },
            r#"{"launches-failed":{"launches":3}}"#,
            "failed in 3 launches",
        );
    }

    #[test]
    fn of_an_older_store_only_a_decision_is_known() {
        assert_eq!(LeaveReason::recorded("decided".to_owned()), LeaveReason::Decided);
        let old = "dropped: the budget allows 1 launches";
        let recorded = LeaveReason::recorded(old.to_owned());
        assert_eq!((recorded.to_string().as_str(), recorded.is_drop()), (old, true));
        assert!(!LeaveReason::Decided.is_drop() && !LeaveReason::LaunchesFailed { launches: 3 }.is_drop());
    }
}
