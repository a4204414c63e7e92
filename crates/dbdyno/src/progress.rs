//! Progress on standard error: a bar on a terminal, plain lines otherwise.

use indicatif::{ProgressBar, ProgressStyle};
use model::block::{Outcome, Side};
use model::event::RunEvent;
use model::figures::count;
use model::plan::{Design, Plan};
use std::io::{IsTerminal, Write};

/// Shows what a run is doing.
pub struct Progress {
    bar: Option<ProgressBar>,
    labels: Vec<String>,
    launch: u32,
    max_launches: Option<u32>,
    steps: usize,
    budget_s: u64,
    /// Visits of a campaign; 0 where sides are interleaved.
    visits: u64,
    visited: u64,
    now: String,
    /// Whether runs are so short and many that only failures are told of each.
    brief: bool,
}

impl Progress {
    /// Before anything is known.
    pub fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Progress {
            bar,
            labels: Vec::new(),
            launch: 0,
            max_launches: None,
            steps: 0,
            budget_s: 0,
            visits: 0,
            visited: 0,
            now: String::new(),
            brief: false,
        }
    }

    /// From now on tells only failures of runs, or everything again.
    pub fn brief(&mut self, brief: bool) {
        self.brief = brief;
    }

    /// A sentence of its own. It may quote what a program or a file says, which a terminal must not obey.
    pub fn say(&self, text: &str) {
        let text = report::printable_lines(text);
        match &self.bar {
            Some(bar) => bar.println(text),
            // Where standard error is closed there is nobody to tell.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    /// The plan is made.
    pub fn begin(&mut self, run: &str, plan: &Plan) {
        self.labels = plan.subjects.iter().map(|subject| subject.reference.to_string()).collect();
        self.steps = plan.steps.len();
        self.budget_s = plan.budget.0 / 1_000_000_000;
        if plan.layout.design != Design::Interleaved {
            self.begin_campaign(run, plan);
            return;
        }
        if !self.brief {
            let what = if plan.is_interleaved_campaign() {
                let (subjects, sides) = (plan.distinct_subjects().len(), plan.subjects.len());
                format!("{subjects} subjects interleaved, {sides} processes, the base {}", self.labels[0])
            } else {
                format!("{} against {}", self.labels[1..].join(", "), self.labels[0])
            };
            self.say(&format!(
                "run {run}: {what}, workload {}, at most {}:{:02} min, seed {}",
                plan.workload.name,
                self.budget_s / 60,
                self.budget_s % 60,
                plan.seed,
            ));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(self.budget_s);
            bar.set_message("learning block sizes");
        }
    }

    fn begin_campaign(&mut self, run: &str, plan: &Plan) {
        let (subjects, rounds) = (self.labels.len(), plan.layout.rounds);
        self.visits = subjects as u64 * u64::from(rounds);
        self.say(&format!(
            "run {run}: {subjects} subjects, workload {}, {} x {rounds}, seed {}",
            plan.workload.name,
            plan.layout.design.name(),
            plan.seed,
        ));
        if let Some(bar) = &self.bar {
            bar.set_length(self.visits);
        }
    }

    /// A subject's turn began.
    fn visit(&mut self, launch: u32, side: usize, elapsed_s: u64) {
        let label = self.labels.get(side).cloned().unwrap_or_default();
        let to_come = self.visits.saturating_sub(self.visited);
        let left = (elapsed_s * to_come)
            .checked_div(self.visited)
            .map(|left| format!(", about {}:{:02} min left", left / 60, left % 60))
            .unwrap_or_default();
        let label = report::printable(&label);
        self.now = format!("round {launch}, {label}, turn {} of {}{left}", self.visited + 1, self.visits);
        self.visited += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.visited);
                bar.set_message(self.now.clone());
            }
            None => self.say(&format!("  {}", self.now)),
        }
    }

    /// Something happened; `elapsed_s` since the plan.
    pub fn on(&mut self, event: &RunEvent, elapsed_s: u64) {
        match event {
            RunEvent::LaunchStarted { launch, .. } => self.launch = *launch,
            RunEvent::VisitStarted { launch, side } => self.visit(*launch, *side, elapsed_s),
            RunEvent::BlockMeasured(block) if self.visits > 0 => {
                if let Some(bar) = &self.bar {
                    let step = report::printable(&block.trial.step);
                    bar.set_message(format!("{}, {step} done", self.now));
                }
            }
            RunEvent::LaunchEnded { .. } if self.visits > 0 => {}
            RunEvent::BlockMeasured(block) => self.show(&block.trial.step, elapsed_s),
            RunEvent::MaxLaunchesFixed { max_launches } => self.max_launches = Some(*max_launches),
            RunEvent::StepLeft { .. }
            | RunEvent::LaunchEnded { .. }
            | RunEvent::Warned { .. }
            | RunEvent::Announced { .. }
                if self.brief => {}
            RunEvent::Announced { step, candidate, warning } => {
                self.say(&format!("  {step} of {}: {warning}", self.label(*candidate)));
            }
            RunEvent::DroppingTables { side, at_most } => self.say(&format!(
                "dropping the tables of this run on {}, which takes at most {:.0} s; a second Ctrl-C leaves them there",
                self.label(*side),
                at_most.as_secs_f64()
            )),
            RunEvent::TablesLeft { side, reason } => self.say(&format!(
                "tables of this run are left on {}: {reason}; the next run on that database drops them",
                self.label(*side)
            )),
            RunEvent::StepLeft { step, launch, reason } => {
                self.say(&format!("  {step}: {reason} (launch {launch})"));
            }
            RunEvent::LaunchEnded { launch, took, active_steps, max_launches, .. } => {
                self.steps = active_steps.len();
                if self.bar.is_none() && !active_steps.is_empty() {
                    self.say(&format!(
                        "  launch {launch} of at most {max_launches}: {:.1} s, {}, {}",
                        took.as_secs_f64(),
                        undecided(active_steps.len()),
                        self.left(elapsed_s),
                    ));
                }
            }
            RunEvent::TrialEnded { trial, outcome: Outcome::Failed { reason }, .. } => {
                self.say(&format!("  launch {}: {} failed: {reason}", trial.launch, trial.step));
            }
            RunEvent::Warned { warning, .. } => self.say(&format!("  warning: {warning}")),
            RunEvent::Ended { .. } => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
            RunEvent::Started { .. }
            | RunEvent::ImageBuilt { .. }
            | RunEvent::ShapeRead { .. }
            | RunEvent::SecondMeasured { .. }
            | RunEvent::TrialEnded { .. }
            | RunEvent::HostMeasured(_)
            | RunEvent::HostSampled(_)
            | RunEvent::Profiled(_)
            | RunEvent::RawOutput { .. } => {}
        }
    }

    fn label(&self, side: Side) -> &str {
        self.labels.get(side).map(String::as_str).unwrap_or_default()
    }

    fn show(&self, step: &str, elapsed_s: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(elapsed_s.min(self.budget_s));
            let most = self.max_launches.map_or("?".to_owned(), |most| most.to_string());
            let step = report::printable(step);
            bar.set_message(format!(
                "launch {}/{most} {step}, {}, {}",
                self.launch,
                undecided(self.steps),
                self.left(elapsed_s)
            ));
        }
    }

    fn left(&self, elapsed_s: u64) -> String {
        let left = self.budget_s.saturating_sub(elapsed_s);
        format!("at most {}:{:02} left", left / 60, left % 60)
    }
}

/// `1 step undecided`
fn undecided(steps: usize) -> String {
    format!("{} undecided", count(steps as u64, "step", "steps"))
}
