//! What a failure costs. In a comparison, whose pairs need both sides, a step or a part of the launch on all of them; in a campaign the side
//! alone: it leaves the launch, or the step that it refuses, and after some launches in a row the run.

use super::machine::Campaign;
use super::referee::Referee;
use crate::campaign::action::{Action, Line, Meaning, Part, Role, WorkerId};
use crate::campaign::world::{Failure, Performed, Severity};
use model::block::{Block, Outcome, Side, TrialKey};
use model::event::{RunEvent, RunOutcome};
use model::reason::{LeaveReason, MOST_FAILURES_IN_A_ROW, Reason};
use model::units::Nanos;
use model::warning::Warning;
use model::wire::Request;
use model::workload::DatabaseKind;
use std::collections::BTreeSet;

/// Threads that do nothing end within this.
const ABANDON_TIMEOUT: Nanos = Nanos::from_secs(60);

impl<R: Referee> Campaign<R> {
    /// Records what failed and replaces what is left of its part; the outcome where the run cannot go on.
    pub(super) fn take_failure(&mut self, mut failure: Failure, now: Nanos) -> Option<RunOutcome> {
        let line = self.current.take()?;
        if failure.severity == Severity::Interrupted {
            return Some(RunOutcome::Interrupted);
        }
        if let Some(worker) = self.who_can_be_lost(&line, &failure) {
            let others = std::mem::take(&mut failure.others);
            let further = std::mem::take(&mut failure.further);
            self.lose(&line, worker, &failure);
            for another in &further {
                if let Some(worker) = self.who_can_be_lost(&line, another) {
                    self.lose(&line, worker, another);
                }
            }
            self.take_in(&line, Performed::Replies(others), now);
            return None;
        }
        let failure = &failure;
        if let (Severity::NotSupported | Severity::Step, Some(step), Action::Ask { requests, .. }) =
            (failure.severity, &line.step, &line.action)
        {
            let workers: Vec<WorkerId> = requests.iter().map(|(worker, _)| *worker).collect();
            self.fail_step(&line, step, &workers, failure);
            return None;
        }
        self.fail_trials(&line, failure);
        if failure.severity == Severity::Run {
            return Some(RunOutcome::Failed);
        }
        self.script.retain(|other| other.part != line.part);
        if line.action != Action::Abandon {
            self.script.push_front(Line { meaning: Meaning::Done, action: Action::Abandon, ..line });
        }
        None
    }

    /// One step failed before it was measured, and what it runs on is sound: the others of its part go on without it.
    fn fail_step(&mut self, line: &Line, step: &str, workers: &[WorkerId], failure: &Failure) {
        self.script.retain(|other| other.step.as_deref() != Some(step));
        // The sides that were ready for it wait for blocks that do not come.
        let requests = workers.iter().map(|worker| (*worker, Request::AbandonStep)).collect();
        let action = Action::Ask { requests, timeout: ABANDON_TIMEOUT };
        self.script.push_front(Line { part: line.part, step: None, meaning: Meaning::Done, action });
        let streams = self.plan.workload.streams(step);
        let judged = streams.filter(|stream| *stream == step || self.active.contains(*stream));
        let judged: Vec<String> = judged.map(str::to_owned).collect();
        for stream in &judged {
            self.end_failed(stream, line, failure);
        }
    }

    /// The step under way failed on the side named, or on all; what would have followed it is skipped.
    fn fail_trials(&mut self, line: &Line, failure: &Failure) {
        let kind = if line.part == Part::Image { DatabaseKind::Image } else { DatabaseKind::Own };
        let pending: Vec<String> = self
            .plan
            .chosen_steps()
            .filter(|step| step.database == kind && self.active.contains(&step.name))
            .filter(|step| !self.launch.ended.contains(&step.name))
            .map(|step| step.name.clone())
            .collect();
        for step in pending {
            self.end_failed(&step, line, failure);
        }
    }

    /// Ends the trials of a step on all sides: failed where the line at which it happened is about it, else skipped.
    fn end_failed(&mut self, step: &str, line: &Line, failure: &Failure) {
        let under_way = line.step.as_ref().is_none_or(|current| current == step);
        self.launch.failed.insert(step.to_owned());
        for side in self.launch.sides.clone() {
            if self.launch.lost.contains(&(step.to_owned(), side)) {
                continue; // its trial has ended, with a reason of its own
            }
            let here = failure.side.is_none_or(|failed| failed == side);
            let outcome = if under_way && here {
                Outcome::Failed { reason: failure.as_reason() }
            } else {
                Outcome::Skipped { reason: self.skip_reason(line, failure) }
            };
            let trial = TrialKey { launch: self.launch.number, step: step.to_owned(), side };
            self.events.push(RunEvent::TrialEnded { trial, outcome, latency: None });
        }
        if line.part == Part::Pilot {
            self.leave(step, LeaveReason::PilotFailed { reason: failure.as_reason() });
        }
    }

    fn skip_reason(&self, line: &Line, failure: &Failure) -> Reason {
        let step = line.step.clone();
        match failure.side {
            Some(side) => {
                Reason::SubjectFailed { subject: self.plan.subjects[side].reference.to_string(), step }
            }
            None => Reason::LaunchFailed { step },
        }
    }

    /// The worker whose failure costs its own side alone. Not of a comparison, whose pairs need both sides; not one that works for all:
    /// the pilot, and who makes the image.
    fn who_can_be_lost(&mut self, line: &Line, failure: &Failure) -> Option<WorkerId> {
        let side = failure.side.filter(|_| self.plan.is_interleaved_campaign())?;
        if failure.severity > Severity::Launch || !matches!(line.part, Part::Own | Part::Image) {
            return None;
        }
        let worker = match &line.action {
            Action::Ask { requests, .. } => {
                requests.iter().map(|(worker, _)| *worker).find(|one| one.side == side)
            }
            Action::RunBlock { worker, .. } | Action::Collect { worker } => Some(*worker),
            Action::Freeze { workers }
            | Action::Stop { workers, .. }
            | Action::MakeDirectories { workers, .. }
            | Action::Start { workers } => workers.iter().copied().find(|one| one.side == side),
            _ => None,
        }?;
        if worker.role == Role::Builder {
            self.no_builders.insert(side);
            return None;
        }
        if matches!(line.action, Action::MakeDirectories { .. }) {
            // Half of the others have one and half have not: this part is void, and the next launch does without the side.
            self.launch.broken.insert(side);
            return None;
        }
        Some(worker)
    }

    /// Its trials that were to come end with the reason, and nothing more is asked of it: in the step that it refuses, else in the part.
    fn lose(&mut self, line: &Line, worker: WorkerId, failure: &Failure) {
        let side = worker.side;
        let of_step = line.step.clone().filter(|_| failure.severity < Severity::Launch);
        let steps: Vec<String> = match &of_step {
            Some(step) => self.plan.workload.streams(step).map(str::to_owned).collect(),
            None => {
                let kind = if line.part == Part::Image { DatabaseKind::Image } else { DatabaseKind::Own };
                let of_part = self.plan.chosen_steps().filter(|step| step.database == kind);
                of_part.map(|step| step.name.clone()).collect()
            }
        };
        for step in steps {
            let is_open = self.active.contains(&step) && !self.launch.ended.contains(&step);
            if is_open && self.launch.lost.insert((step.clone(), side)) {
                let trial = TrialKey { launch: self.launch.number, step, side };
                let outcome = Outcome::Failed { reason: failure.as_reason() };
                self.events.push(RunEvent::TrialEnded { trial, outcome, latency: None });
            }
        }
        let is_meant = |other: &Line| match &of_step {
            Some(step) => other.step.as_ref() == Some(step),
            None => other.part == line.part,
        };
        self.script = std::mem::take(&mut self.script)
            .into_iter()
            .filter_map(|other| match is_meant(&other) {
                true => without(other, side, of_step.is_none()),
                false => Some(other),
            })
            .collect();
        if of_step.is_none() {
            // What was done on some of the others is done on all of them; twice is as good as once.
            if matches!(line.action, Action::Freeze { .. } | Action::Stop { .. })
                && let Some(line) = without(line.clone(), side, true)
            {
                self.script.push_front(line);
            }
            let action = Action::AbandonSide { worker };
            self.script.push_front(Line { part: line.part, step: None, meaning: Meaning::Done, action });
        }
    }

    /// After a launch: a side of which nothing was measured in so many in a row would fail again, and so would one that could not be
    /// started.
    pub(super) fn count_failures(
        &mut self,
        in_launch: &[Side],
        lost: &BTreeSet<(String, Side)>,
        broken: &BTreeSet<Side>,
        blocks: &[Block],
    ) {
        for (side, failures) in self.sides.iter_mut().filter(|(side, _)| in_launch.contains(side)) {
            if broken.contains(side) {
                *failures = MOST_FAILURES_IN_A_ROW;
                continue;
            }
            let is_measured = blocks.iter().any(|block| block.trial.side == *side);
            let is_lost = lost.iter().any(|(_, of)| of == side);
            *failures = if is_lost && !is_measured { *failures + 1 } else { 0 };
        }
        let has_left =
            |(side, failures): (&Side, &u32)| (*failures >= MOST_FAILURES_IN_A_ROW).then_some(*side);
        let left: Vec<Side> = self.sides.iter().filter_map(has_left).collect();
        for side in left {
            self.sides.remove(&side);
            let subject = self.plan.subjects[side].reference.to_string();
            let launches = if broken.contains(&side) { 1 } else { u64::from(MOST_FAILURES_IN_A_ROW) };
            let warning = Warning::SideLeft { subject, launches };
            self.events.push(RunEvent::Warned { step: None, warning });
        }
    }

    /// Whether no process of the base is left, or no candidate.
    pub(super) fn nothing_to_compare(&self) -> bool {
        let has = |side: &Side| self.sides.contains_key(side);
        let base = self.plan.base_sides().any(|side| has(&side));
        !(base && self.plan.candidate_sides().any(|side| has(&side)))
    }
}

/// The same without a side; nothing if it was about that side alone. One that only refuses a step is alive, and stands still with the
/// others.
fn without(mut line: Line, side: Side, is_dead: bool) -> Option<Line> {
    let is_empty = match &mut line.action {
        Action::Freeze { .. } | Action::Thaw { .. } if !is_dead => false,
        Action::Ask { requests, .. } => {
            requests.retain(|(worker, _)| worker.side != side);
            requests.is_empty()
        }
        Action::MakeDirectories { workers, .. }
        | Action::Start { workers }
        | Action::Freeze { workers }
        | Action::Thaw { workers }
        | Action::Stop { workers, .. }
        | Action::RemoveDirectories { workers } => {
            workers.retain(|worker| worker.side != side || worker.role == Role::Builder);
            workers.is_empty()
        }
        Action::LinkImage { readers, .. } => {
            readers.retain(|reader| reader.side != side);
            readers.is_empty()
        }
        Action::RunBlock { worker, .. }
        | Action::Collect { worker }
        | Action::Measure { worker, .. }
        | Action::Drain { worker, .. }
        | Action::Evict { worker }
        | Action::RemoveDatabase { worker }
        | Action::RunDbBench { worker, .. }
        | Action::AbandonSide { worker } => worker.side == side,
        Action::DrainDevice | Action::Abandon => false,
    };
    (!is_empty).then_some(line)
}

#[cfg(test)]
mod tests;
