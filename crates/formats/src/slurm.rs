//! What the programs of Slurm print: `sbatch --parsable`, `squeue`, `sinfo` and `sacct` with the formats that are asked for here. Of Slurm
//! 22.05; later ones print the same columns.

use super::ParseError;

/// What `squeue --format` has to be: job, task of its array, state, node, reason. A reason stands last, since it is free text.
pub const QUEUE_FORMAT: &str = "%i|%K|%T|%N|%r";

/// What `sacct --format` has to be.
pub const ACCOUNT_FORMAT: &str = "JobID,State,ExitCode,NodeList";

/// A job of an array, as squeue tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedJob {
    /// `10_3`
    pub id: String,
    /// Its place in the array; absent of an array that was taken out of the queue before any of it began.
    pub task: Option<u32>,
    pub phase: Phase,
    /// As Slurm names it: `NODE_FAIL`.
    pub state: String,
    /// Absent before it has one.
    pub node: Option<String>,
    /// Why it waits or how it ended; absent if Slurm gives none.
    pub reason: Option<String>,
}

/// How far a job is, as far as it matters to who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It has no node yet.
    Waiting,
    /// It has one, and may run.
    Running,
    /// Its processes are being ended.
    Ending,
    /// Nothing of it runs any more.
    Over,
}

/// A job that is over, as the accounting tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounted {
    /// `CANCELLED by 1000`
    pub state: String,
    /// `0:15`: the status and the signal.
    pub exit: String,
    pub nodes: String,
}

/// The number of a job: `10`, of a cluster of several `10;lab`.
///
/// # Errors
/// A text without one.
pub fn submitted(text: &str) -> Result<u64, ParseError> {
    // Sites print messages of their own before it.
    let numbered = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).last();
    let (line, number) = numbered.unwrap_or(("", 1));
    let job = line.trim().split(';').next().unwrap_or_default();
    job.parse()
        .map_err(|_| refused("the answer of sbatch", number, format!("`{line}` is no number of a job")))
}

/// The jobs of arrays, one a line in [`QUEUE_FORMAT`].
///
/// # Errors
/// A line with too few columns: the text was cut off, or is another one.
pub fn queue(text: &str) -> Result<Vec<QueuedJob>, ParseError> {
    let mut jobs = Vec::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let mut columns = line.splitn(5, '|').map(str::trim);
        let mut next = || columns.next();
        let (Some(id), Some(task), Some(state), Some(node), Some(reason)) =
            (next(), next(), next(), next(), next())
        else {
            return Err(refused("jobs of squeue", number, format!("`{line}` has fewer than 5 columns")));
        };
        let known = |text: &str| !["", "None", "(null)"].contains(&text);
        jobs.push(QueuedJob {
            id: id.to_owned(),
            task: task.parse().ok(),
            phase: Phase::of(state),
            state: state.to_owned(),
            node: known(node).then(|| node.to_owned()),
            reason: known(reason).then(|| reason.to_owned()),
        });
    }
    Ok(jobs)
}

impl QueuedJob {
    /// Whether this is the job of that id, or the array that it is in.
    pub fn is(&self, id: &str) -> bool {
        self.id == id || self.task.is_none() && id.split('_').next() == Some(&self.id)
    }
}

impl Phase {
    /// Of a state that this table does not have, the job may run: its own files say when it has ended.
    fn of(state: &str) -> Phase {
        match state {
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD"
            | "SPECIAL_EXIT" => Phase::Waiting,
            "COMPLETING" | "STAGE_OUT" => Phase::Ending,
            "BOOT_FAIL" | "CANCELLED" | "COMPLETED" | "DEADLINE" | "FAILED" | "LAUNCH_FAILED"
            | "NODE_FAIL" | "OUT_OF_MEMORY" | "PREEMPTED" | "RECONFIG_FAIL" | "REVOKED" | "TIMEOUT" => {
                Phase::Over
            }
            _ => Phase::Running,
        }
    }
}

/// Whether a node takes jobs, by the states of it that `sinfo --noheader --Node --format=%T` prints, one for each of its partitions.
pub fn takes_jobs(text: &str) -> bool {
    const TAKING: [&str; 6] = ["idle", "allocated", "mixed", "completing", "planned", "reserved"];
    // `idle*` does not answer; the other marks are of power saving and of maintenance to come.
    let takes =
        |state: &str| TAKING.contains(&state.trim_end_matches(['~', '#', '%', '@', '^', '-', '+', '$']));
    text.lines().map(str::trim).any(takes)
}

/// What the accounting has of a job, in [`ACCOUNT_FORMAT`]; absent if it does not know it. Lines of the steps of a job are left out.
pub fn accounted(text: &str, id: &str) -> Option<Accounted> {
    text.lines().find_map(|line| {
        let mut columns = line.split('|').map(str::trim);
        if columns.next()? != id {
            return None;
        }
        let mut next = || columns.next().map(str::to_owned);
        Some(Accounted { state: next()?, exit: next()?, nodes: next()? })
    })
}

fn refused(what: &'static str, line: usize, problem: String) -> ParseError {
    ParseError { what, line, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slurm 22.05.8 of Debian 12: three nodes, an array of four, one of which was cancelled; the reason of the last is our addition.
    const QUEUE: &str = "10_3|3|PENDING||JobArrayTaskLimit\n10_2|2|RUNNING|st2|None\n10_1|1|COMPLETING|st1|None\n\
                         17_1|1|FAILED|st1|NonZeroExitCode\n4|N/A|CANCELLED|st1|None\n12_4|4|PENDING||a|b\n";

    #[test]
    fn jobs_of_arrays_are_read_with_what_they_wait_for() {
        let jobs = queue(QUEUE).unwrap();
        let short: Vec<_> = jobs
            .iter()
            .map(|job| (&*job.id, job.task, job.phase, job.node.as_deref(), job.reason.as_deref()))
            .collect();
        assert_eq!(
            short,
            [
                ("10_3", Some(3), Phase::Waiting, None, Some("JobArrayTaskLimit")),
                ("10_2", Some(2), Phase::Running, Some("st2"), None),
                ("10_1", Some(1), Phase::Ending, Some("st1"), None),
                ("17_1", Some(1), Phase::Over, Some("st1"), Some("NonZeroExitCode")),
                ("4", None, Phase::Over, Some("st1"), None),
                ("12_4", Some(4), Phase::Waiting, None, Some("a|b")),
            ]
        );
        assert_eq!(queue("\n").unwrap(), []);
        // An array that was cancelled as a whole is told as one job.
        let of = |id: &str| jobs.iter().filter(|job| job.is(id)).map(|job| &*job.id).collect::<Vec<_>>();
        assert_eq!([of("4_1"), of("10_1"), of("40_1")], [vec!["4"], vec!["10_1"], vec![]]);
    }

    #[test]
    fn a_queue_that_was_cut_off_is_refused_or_has_fewer_jobs() {
        let all = queue(QUEUE).unwrap();
        for end in 0..QUEUE.len() {
            if let Ok(jobs) = queue(&QUEUE[..end]) {
                let whole = jobs.len().saturating_sub(1);
                assert_eq!(jobs[..whole], all[..whole], "cut off at {end}");
            }
        }
        let error = queue("10_3|3|PENDING\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "failed to parse jobs of squeue at line 1: `10_3|3|PENDING` has fewer than 5 columns"
        );
    }

    #[test]
    fn a_state_of_a_later_slurm_is_no_end() {
        assert_eq!(queue("1_1|1|HIBERNATING|st1|None\n").unwrap()[0].phase, Phase::Running);
    }

    #[test]
    fn the_number_of_a_submitted_job_stands_in_the_last_line() {
        assert_eq!(submitted("10\n").unwrap(), 10);
        assert_eq!(submitted("10;lab\n").unwrap(), 10);
        assert_eq!(submitted("Welcome to the lab\n\n1207\n").unwrap(), 1207);
        for text in ["", "\n", "Submitted batch job\n", "10_3"] {
            assert!(submitted(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_node_takes_jobs_unless_it_is_drained_or_does_not_answer() {
        for states in ["idle\n", "allocated\n", "mixed-\n", "drained\nidle\n", "idle~\n"] {
            assert!(takes_jobs(states), "{states:?}");
        }
        for states in ["", "drained\n", "draining\n", "down*\n", "idle*\n", "maint\n", "fail\n"] {
            assert!(!takes_jobs(states), "{states:?}");
        }
    }

    /// The columns are those that sacct(1) of Slurm 22.05 describes.
    #[test]
    fn the_accounting_of_a_job_is_not_that_of_its_steps() {
        let text = "10_3.batch|CANCELLED|0:15|st1\n10_3|CANCELLED by 1000|0:0|st1\n10_30|COMPLETED|0:0|st2\n";
        let found = accounted(text, "10_3").unwrap();
        assert_eq!((&*found.state, &*found.exit, &*found.nodes), ("CANCELLED by 1000", "0:0", "st1"));
        assert_eq!(accounted(text, "10_4"), None);
        assert_eq!(accounted("10_3|CANCELLED by", "10_3"), None);
    }
}
