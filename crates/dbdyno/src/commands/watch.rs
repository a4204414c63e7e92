//! `dbdyno watch PLAN`: measures a plan whose commits have moved, holds what it finds against the nights before, and tells what is new.

use crate::building::with_commit_built;
use crate::cli::{Places, Watch};
use crate::commands::run::{self, Reported, worse};
use crate::commands::{print, render};
use crate::exit::{Ending, Usage, usage};
use crate::progress::Progress;
use crate::{finding, interrupt, paths, resources};
use anyhow::{Context, anyhow, bail, ensure};
use findings::selection::Selection;
use findings::watch;
use model::block::{BASE, Side};
use model::plan::{Plan, Subject};
use model::plan_file::PlanFile;
use model::subject::SubjectRef;
use model::watched::{WatchState, Watched};
use runner::engines::BuildCache;
use runner::process::webhook;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use store::Store;

/// Measures and tells, or lists, or accepts.
pub fn run(places: &Places, arguments: &Watch) -> anyhow::Result<Ending> {
    match (&arguments.plan, arguments.accept) {
        (Some(plan), _) => Night::of(places, arguments, run::parse(&run::read(plan)?, plan)?)?.carry_out(),
        (None, Some(number)) => accept(places, number),
        (None, None) => list(places, arguments),
    }
}

/// One night of a watch.
struct Night<'a> {
    places: &'a Places,
    arguments: &'a Watch,
    file: PlanFile,
    /// The name of its runs.
    name: String,
    earlier: Earlier,
    progress: Progress,
}

/// A subject of the plan.
struct Tonight {
    /// As the plan has it.
    written: SubjectRef,
    /// By the name of its build; as it is written if it could not be built.
    built: SubjectRef,
    /// Of the build; absent if that is not here yet.
    sha256: Option<String>,
}

impl<'a> Night<'a> {
    fn of(places: &'a Places, arguments: &'a Watch, file: PlanFile) -> anyhow::Result<Night<'a>> {
        interrupt::listen()?;
        render::check(&arguments.output, true)?;
        // Tonight's commits are built here.
        ensure!(
            file.server_host.is_none(),
            usage(anyhow!(
                "a watch has clients and servers on one host: leave `server_host` out of the plan"
            ))
        );
        ensure!(
            file.subjects.len() > 1,
            usage(anyhow!("a watch needs a base and a candidate: the plan has one subject"))
        );
        let name = format!("watch/{}", file.name);
        let earlier = Earlier::of(places, &name, &file.subjects)?;
        Ok(Night { places, arguments, file, name, earlier, progress: Progress::new() })
    }

    /// Messages that are due are sent even if tonight's builds or runs fail.
    fn carry_out(self) -> anyhow::Result<Ending> {
        let by_place = |plan: &Plan| written_by_place(plan, &self.file.subjects);
        let before = self.judge(&self.earlier.unjudged, &self.earlier.before_unjudged, &by_place)?;
        let measured = self.measure();
        if interrupt::requested() {
            return measured;
        }
        match (measured, self.tell()) {
            // That something failed comes before a regression, as with a gate.
            (Ok(ending), Ok(told)) => Ok(worse(worse(before, ending), told)),
            (Err(error), Ok(_)) => Err(error),
            (Err(error), Err(untold)) => {
                self.progress.say(&format!("{untold:#}"));
                Err(error)
            }
            (Ok(_), Err(untold)) => Err(untold),
        }
    }

    /// Builds what has moved, measures it and judges it, unless nothing has.
    fn measure(&self) -> anyhow::Result<Ending> {
        let subjects = tonight(self.places, &self.file.subjects, &self.progress)?;
        if let Some((run, plan)) = &self.earlier.last
            && !self.arguments.again
            && !subjects.iter().any(|subject| subject.is_new_since(plan))
        {
            // Standard output is for reports.
            self.progress.say(&format!("nothing is new since run {run}"));
            return Ok(Ending::Done);
        }
        let built = subjects.iter().map(|subject| subject.built.clone()).collect();
        let file = PlanFile { name: self.name.clone(), subjects: built, ..self.file.clone() };
        let reported = Reported { output: &self.arguments.output, detail: false, gate: None };
        let ended = run::measure_file(self.places, &file, &self.arguments.speed, reported);
        if interrupt::requested() {
            return ended;
        }
        // Also if the last of several workloads has failed: the others are judged.
        let runs = paths::open_store(self.places)?.store().runs_to_judge(&self.name)?;
        let judged = self.judge(&runs, &self.earlier.before, &|plan| Some(written(plan, &subjects)))?;
        Ok(worse(judged, ended?))
    }

    /// Holds runs against what is known, and keeps it. `before` is what each candidate was before them, `written` how the plan writes the sides of
    /// a run. A run that cannot be judged will not be later: it is said, and the night has failed.
    fn judge(
        &self,
        runs: &[String],
        before: &BTreeMap<String, String>,
        written: &dyn Fn(&Plan) -> Option<BTreeMap<Side, String>>,
    ) -> anyhow::Result<Ending> {
        let mut writer = paths::open_store(self.places)?;
        let mut ending = Ending::Done;
        for run in runs {
            let changes = self.changes(writer.store(), run, before, written);
            if let Err(error) = &changes {
                self.progress.say(&format!("run {run} is not held against the nights before: {error:#}"));
                ending = Ending::RunFailed;
            }
            writer.write_watched(Some(run), &changes.unwrap_or_default())?;
        }
        Ok(ending)
    }

    /// What a run changes in what is known.
    ///
    /// # Errors
    /// It cannot be read, or has not measured what the plan asks for: if the base could not be measured, the next subject was taken for it.
    fn changes(
        &self,
        store: &Store,
        run: &str,
        before: &BTreeMap<String, String>,
        written: &dyn Fn(&Plan) -> Option<BTreeMap<Side, String>>,
    ) -> anyhow::Result<Vec<Watched>> {
        let record = store.load_run(run)?;
        let Some(written) = written(&record.plan) else {
            bail!("its night was cut off, and it did not measure all subjects of the plan");
        };
        let base = self.file.subjects[BASE].to_string();
        ensure!(written.get(&BASE) == Some(&base), "it did not measure {base}");
        let compared = finding::compared(store, record, &Selection::default())?;
        let seen = watch::seen(&compared, &self.file.name, &written);
        Ok(watch::night(&store.watched(Some(&self.file.name))?, &seen, run, before))
    }

    /// Sends the messages that are due, those of earlier nights too; [`Ending::Regression`] if one of them is of something slower. All are
    /// written to the file before any is posted: the address may not answer. A message that cannot be delivered is sent again by the next night.
    fn tell(&self) -> anyhow::Result<Ending> {
        let known = paths::open_store(self.places)?.store().watched(Some(&self.file.name))?;
        let due: Vec<Watched> = known.into_iter().filter(|one| !one.is_told).collect();
        let messages: Vec<String> = due.iter().map(report::watch::message).collect();
        messages.iter().for_each(|message| self.progress.say(message));
        let line = |(change, message): (&Watched, &String)| {
            json!({ "schema": 1, "text": message, "change": change }).to_string()
        };
        let lines: Vec<String> = due.iter().zip(messages.iter()).map(line).collect();
        if let Some(path) = self.arguments.message.as_ref().filter(|_| !lines.is_empty()) {
            append(path, &lines)
                .with_context(|| format!("failed to write to `{}`; {LISTED}", path.display()))?;
        }
        for (change, line) in due.iter().zip(&lines) {
            if let Some(url) = &self.arguments.webhook {
                webhook::post(url, line).with_context(|| format!("failed to post the message; {LISTED}"))?;
            }
            paths::open_store(self.places)?.mark_told(change.number)?;
        }
        let is_worse = |one: &Watched| one.state != WatchState::Gone && one.identity.is_slower;
        Ok(if due.iter().any(is_worse) { Ending::Regression } else { Ending::Done })
    }
}

/// How the plan writes each side of a run of tonight.
fn written(plan: &Plan, subjects: &[Tonight]) -> BTreeMap<Side, String> {
    let as_written = |reference: &SubjectRef| {
        let subject = subjects.iter().find(|subject| subject.built == *reference)?;
        Some(subject.written.to_string())
    };
    let sides = plan.subjects.iter().enumerate();
    sides.filter_map(|(side, subject)| Some((side, as_written(&subject.reference)?))).collect()
}

const LISTED: &str = "`dbdyno watch --list` has what is new, and the next night sends it again";

fn append(path: &Path, lines: &[String]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    lines.iter().try_for_each(|line| writeln!(file, "{line}"))
}

impl Tonight {
    fn is_built(&self) -> bool {
        self.built.build.commit().is_none()
    }

    /// Whether there is something of it to measure that the run of this plan has not measured. One that could not be measured then would not be
    /// now: its build is the same.
    fn is_new_since(&self, plan: &Plan) -> bool {
        let is_same = |subject: &Subject| {
            subject.reference == self.built && self.sha256.as_ref() == Some(&subject.build.sha256)
        };
        let was_left_out = plan.layout.left_out.iter().any(|one| one.reference == self.built);
        self.is_built() && !was_left_out && !plan.subjects.iter().any(is_same)
    }
}

/// The subjects with tonight's builds: what has moved is built.
///
/// # Errors
/// The base cannot be built, or none of the others; the user has interrupted it.
fn tonight(places: &Places, subjects: &[SubjectRef], progress: &Progress) -> anyhow::Result<Vec<Tonight>> {
    let mut tell = |text: &str| progress.say(text);
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let mut tonight: Vec<Tonight> = Vec::new();
    for written in subjects {
        let built = match with_commit_built(places, &catalog, &cache, written, &mut tell) {
            Ok(built) => built,
            Err(error) if error.is::<Usage>() || interrupt::requested() => return Err(error),
            Err(error) if tonight.is_empty() => {
                return Err(error.context(format!("the base {written} cannot be built")));
            }
            // It is left out of the run, with the reason.
            Err(error) => {
                tell(&format!("{written} cannot be built: {error:#}"));
                written.clone()
            }
        };
        // A branch that was made today is the commit that it was made from.
        if let Some(other) = tonight.iter().find(|other| other.built == built) {
            tell(&format!("{written} is {built} tonight, which is measured as {}", other.written));
            continue;
        }
        let build = built.build.commit().is_none().then_some(&built.build);
        // What is wrong with a build is said when the plan is made.
        let found = build.and_then(|build| cache.resolve(&catalog, build, &mut tell).ok().flatten());
        let sha256 = found.map(|found| found.sha256);
        tonight.push(Tonight { written: written.clone(), built, sha256 });
    }
    if !tonight.iter().skip(1).any(Tonight::is_built) {
        bail!("there is nothing to compare {} with tonight", tonight[BASE].written);
    }
    Ok(tonight)
}

/// The nights before.
struct Earlier {
    /// Their runs that were measured and not judged.
    unjudged: Vec<String>,
    /// What each candidate was before these, as `before` has it.
    before_unjudged: BTreeMap<String, String>,
    /// The last run that was carried out to its end, if its night was, and its plan; none in the first night.
    last: Option<(String, Plan)>,
    /// What each candidate was, by how the plan writes it, in the last night in which all were measured.
    before: BTreeMap<String, String>,
}

/// Nights before these are not looked at.
const MOST_NIGHTS: usize = 30;

impl Earlier {
    fn of(places: &Places, name: &str, subjects: &[SubjectRef]) -> anyhow::Result<Earlier> {
        let mut writer = paths::open_store(places)?;
        let runs = writer.store().runs_below(name)?;
        let mut unjudged = writer.store().runs_to_judge(name)?;
        // One that was resumed after a later one was judged would be held against a night to come.
        let judged = runs.iter().rposition(|run| !unjudged.contains(run)).map_or(0, |last| last + 1);
        for late in &runs[..judged] {
            if unjudged.contains(late) {
                writer.write_watched(Some(late), &[])?;
            }
        }
        unjudged.retain(|run| runs[judged..].contains(run));
        let store = writer.store();
        let mut plans = Vec::new();
        for run in runs.iter().rev().take(MOST_NIGHTS) {
            plans.push(store.run_plan(run)?.0);
        }
        let last_of =
            |plans: &[Plan]| plans.iter().find_map(|plan| candidates_in(plan, subjects)).unwrap_or_default();
        let of_unjudged = unjudged.len().min(plans.len());
        let (before, before_unjudged) = (last_of(&plans), last_of(&plans[of_unjudged..]));
        let last = match runs.last() {
            Some(run) if is_whole(store, run, &runs)? => Some(run.clone()),
            Some(_) | None => None,
        };
        Ok(Earlier { unjudged, before_unjudged, last: last.zip(plans.into_iter().next()), before })
    }
}

/// Whether all runs of the night of a run were carried out to their end.
fn is_whole(store: &Store, run: &str, done: &[String]) -> anyhow::Result<bool> {
    let Some(campaign) = store.campaign_of(run)? else { return Ok(true) };
    let begun = store.runs_of_campaign(&campaign)?;
    Ok(store.queued(&campaign)? == 0 && begun.iter().all(|one| done.contains(one)))
}

/// What each candidate was in an earlier night, by how the plan writes it. Absent if that night has not measured the same subjects: then their
/// places do not tell which was which.
fn candidates_in(plan: &Plan, subjects: &[SubjectRef]) -> Option<BTreeMap<String, String>> {
    let measured = plan.distinct_subjects();
    let is_same = |(written, subject): (&SubjectRef, &Subject)| match written.build.commit() {
        Some(_) => {
            written.build.engine == subject.reference.build.engine
                && written.config == subject.reference.config
        }
        None => *written == subject.reference,
    };
    let pairs = || subjects.iter().zip(measured);
    let are_same = measured.len() == subjects.len() && pairs().all(is_same);
    let named =
        |(written, subject): (&SubjectRef, &Subject)| (written.to_string(), subject.reference.to_string());
    are_same.then(|| pairs().skip(1).map(named).collect())
}

/// How the plan writes each side of a run of an earlier night; absent if that has not measured the same subjects.
fn written_by_place(plan: &Plan, subjects: &[SubjectRef]) -> Option<BTreeMap<Side, String>> {
    candidates_in(plan, subjects)?;
    Some(subjects.iter().map(SubjectRef::to_string).enumerate().collect())
}

fn list(places: &Places, arguments: &Watch) -> anyhow::Result<Ending> {
    let store = Store::open_existing(&paths::store_file(places)?)?;
    let changes = store.watched(None)?;
    if arguments.output.json {
        print::json(&json!({ "schema": 1, "changes": changes }))?;
    } else if changes.is_empty() {
        print::text("no watch has found anything yet\n")?;
    } else {
        print::text(&report::watch::listed(&changes, render::width(arguments.output.width)))?;
    }
    Ok(Ending::Done)
}

fn accept(places: &Places, number: i64) -> anyhow::Result<Ending> {
    let mut writer = paths::open_store(places)?;
    let found = writer.store().watched(None)?.into_iter().find(|one| one.number == number);
    let found = found.ok_or_else(|| {
        usage(anyhow!("no watch has found a change of number {number}; `dbdyno watch --list` shows them"))
    })?;
    if found.state == WatchState::Gone {
        return Err(usage(anyhow!("change {number} is gone: there is nothing to accept")));
    }
    writer.write_watched(None, &[Watched { state: WatchState::Accepted, is_told: true, ..found }])?;
    print::text(&format!("change {number} is accepted: there is another message only if it grows\n"))?;
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::LeftOut;

    const BASE_SUBJECT: &str = "rocksdb@9.3.1";

    /// A night's plan: the base, these, and further processes of the base.
    fn night(candidates: &[&str], further_base_processes: usize) -> Plan {
        let all: Vec<&str> = std::iter::once(BASE_SUBJECT)
            .chain(candidates.iter().copied())
            .chain(std::iter::repeat_n(BASE_SUBJECT, further_base_processes))
            .collect();
        let mut plan = testing::plan(testing::SMALL_WORKLOAD, &all);
        plan.layout.further_base_processes = further_base_processes;
        plan
    }

    #[test]
    fn what_each_candidate_was_is_known_of_a_night_with_all_subjects_alone() {
        let parsed = |text: &str| text.parse::<SubjectRef>().unwrap();
        let written = [BASE_SUBJECT, "rocksdb@git:main", "rocksdb@git:9.x"].map(parsed);
        let found = candidates_in(&night(&["rocksdb@aa", "rocksdb@bb"], 1), &written).unwrap();
        let named: Vec<(&str, &str)> =
            found.iter().map(|(written, build)| (written.as_str(), build.as_str())).collect();
        assert_eq!(named, [("rocksdb@git:9.x", "rocksdb@bb"), ("rocksdb@git:main", "rocksdb@aa")]);
        // One was left out, and a process of the base must not stand in for it.
        assert_eq!(candidates_in(&night(&["rocksdb@bb"], 1), &written), None);
        let other_base = [written[1].clone(), written[0].clone(), written[2].clone()];
        assert_eq!(candidates_in(&night(&["rocksdb@aa", "rocksdb@bb"], 1), &other_base), None);
    }

    #[test]
    fn a_build_is_new_unless_the_last_night_had_it_or_could_not_measure_it() {
        let tonight = |built: &str, sha256: &str| Tonight {
            written: "rocksdb@git:main".parse().unwrap(),
            built: built.parse().unwrap(),
            sha256: Some(sha256.to_owned()),
        };
        let mut plan = night(&["rocksdb@aa"], 0);
        let sha256 = plan.subjects[1].build.sha256.clone();
        assert!(!tonight("rocksdb@aa", &sha256).is_new_since(&plan));
        assert!(tonight("rocksdb@aa", "another").is_new_since(&plan));
        assert!(tonight("rocksdb@bb", &sha256).is_new_since(&plan));
        assert!(!tonight("rocksdb@git:main", &sha256).is_new_since(&plan), "it was not built");
        let reference = "rocksdb@bb".parse().unwrap();
        plan.layout.left_out.push(LeftOut { reference, reason: "it refuses an option".to_owned() });
        assert!(!tonight("rocksdb@bb", &sha256).is_new_since(&plan));
    }
}
