//! Sentences about the run of a comparison that every format uses alike: how it was laid out, what did not count, what it
//! was measured on.

use crate::documents::setup::figures;
use findings::Comparison;
use findings::comparison::{ControlVerdict, ControlView, Disturbed, Repeats, StepView, TrialReason};
use findings::conditions::cpus;
use model::block::Side;
use model::event::RunOutcome;
use model::figures::{and_list, bytes, count, percent, quantity, span};
use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host, StepPauses};
use model::plan::{Design, LoopDevice};
use model::record::RunStatus;
use model::units::{Bytes, Nanos};
use model::warning::Warning;
use std::collections::BTreeMap;

/// What the workload tells and does not tell.
pub(super) fn headline(view: &Comparison) -> String {
    format!(
        "Workload {} measures {}. It does not measure {}.",
        view.run.workload, view.tells, view.does_not_tell
    )
}

/// Which run, how it ended, how far it came.
pub(crate) fn run_line(view: &Comparison) -> String {
    let run = &view.run;
    let name = run.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let elapsed = run.elapsed_s.map(|elapsed| format!(" in {}", span(elapsed))).unwrap_or_default();
    let of = match view.repeats {
        Repeats::Launches => view.repeats.count(run.launches),
        Repeats::Rounds => format!("{} of {}", run.launches, view.repeats.count(run.max_launches)),
    };
    format!(
        "Run {}{name}: {}, {}; {of}{elapsed}; seed {}.{}",
        run.id,
        run.purpose.word(),
        status(run.status),
        run.seed,
        state_of_looks(view)
    )
}

/// What the verdicts of a run rest on that did not end by itself.
fn state_of_looks(view: &Comparison) -> String {
    let is_over = view.run.status == RunStatus::Ended(RunOutcome::Done);
    match (view.repeats, view.run.looked_at) {
        (Repeats::Launches, Some(launch)) if !is_over => {
            format!(" Verdicts are from its last interim look, after launch {launch}.")
        }
        (Repeats::Launches, None) if !is_over => {
            " No interim look has been made yet, so there are no verdicts.".to_owned()
        }
        (_, _) => String::new(),
    }
}

fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Ended(RunOutcome::Done) => "done",
        RunStatus::Ended(RunOutcome::Interrupted) => "interrupted by the user",
        RunStatus::Ended(RunOutcome::Failed) => "failed",
        RunStatus::Unfinished => "UNFINISHED: it still runs, or it was killed",
    }
}

/// How the trials were laid out in time; nothing of interleaved ones, which is what `compare` does.
pub(super) fn design(view: &Comparison) -> Option<String> {
    let subjects = count(view.conditions.subjects as u64, "subject", "subjects");
    let rounds = u64::from(view.conditions.rounds);
    let design = match view.conditions.design {
        Design::Interleaved => view.conditions.candidates_at_once.map(|some| {
            format!(
                "Each launch has {some} of the {}, neighbours in the plan, and all processes of the base.",
                count(view.conditions.subjects.saturating_sub(1) as u64, "candidate", "candidates")
            )
        }),
        Design::Rounds if view.conditions.file_of_fio => Some(format!(
            "{} of {subjects} in random order, each on a file of its own that is written again in each round, or on the target of its configuration.",
            count(rounds, "round", "rounds")
        )),
        Design::Rounds => Some(format!(
            "{} of {subjects} in random order, each subject on its own database in each round: a step that \
             reads also shows differences of the trees that earlier steps built.",
            count(rounds, "round", "rounds")
        )),
        Design::Sequential => Some(format!(
            "{subjects} one after another, {} each: drift of the host would look like a difference, so every verdict \
             is suspect at most.",
            count(rounds, "time", "times")
        )),
    };
    let texts: Vec<String> = design.into_iter().chain(other_run(view)).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Which steps another run has, where each step of the workload got the design that suits it.
fn other_run(view: &Comparison) -> Option<String> {
    let others = &view.conditions.steps_of_other_run;
    if others.is_empty() {
        return None;
    }
    Some(match view.conditions.design {
        Design::Interleaved => format!(
            "{} measured in rounds, by the other run of this campaign: only running without pauses tells what {}.",
            match &others[..] {
                [one] => format!("Step {one} is"),
                several => format!("Steps {} are", and_list(several)),
            },
            if others.len() == 1 { "it costs" } else { "they cost" }
        ),
        Design::Rounds | Design::Sequential => format!(
            "Only running without pauses tells what these steps cost; the other run of this campaign has the other {}, interleaved.",
            count(others.len() as u64, "step", "steps")
        ),
    })
}

/// What it was measured under.
pub(super) fn conditions(view: &Comparison) -> String {
    let conditions = &view.conditions;
    let mut facts = if conditions.file_of_fio {
        vec![format!("A file of {}", bytes(conditions.data))]
    } else {
        vec![
            format!("{} rows", quantity(conditions.rows as f64)),
            format!("{} of data", bytes(conditions.data)),
        ]
    };
    facts.extend(conditions.cache.map(|cache| format!("block cache {}", bytes(cache))));
    facts.push(match conditions.memory_limit {
        Some(limit) => format!("memory limit {} with the page cache", bytes(limit)),
        None => "no memory limit".to_owned(),
    });
    match (&conditions.loop_device, &conditions.device) {
        (Some(device), _) => facts.push(loop_device(device)),
        (None, Some(device)) => facts.push(format!("device {device}")),
        (None, None) => {}
    }
    if conditions.tickers {
        facts.push("the engine counts tickers, which costs CPU in every operation".to_owned());
    }
    format!("{}.", facts.join(", "))
}

fn loop_device(device: &LoopDevice) -> String {
    let limit = |name: &str, kb: Option<u32>| kb.map(|kb| format!(", {name} {kb}")).unwrap_or_default();
    let further = device.further_settings().into_iter().map(|setting| format!(", {setting}"));
    format!(
        "a loop device of {}{}{}{}{}",
        bytes(device.bytes),
        if device.direct_io { " with direct IO" } else { "" },
        limit("max_sectors_kb", device.max_sectors_kb),
        limit("read_ahead_kb", device.read_ahead_kb),
        further.collect::<String>()
    )
}

/// "Control: the 4 processes of rocksdb@6.0.2 do not differ; the largest range is 0.6 %, in readrandom."
pub(super) fn control(view: &Comparison, control: &ControlView) -> String {
    let processes = match control.processes {
        1 => return format!("Control: none, {} ran as one process in each launch.", view.base),
        count => format!("the {count} processes of {}", view.base),
    };
    let range = percent(control.range);
    match (control.verdict, &control.step) {
        (ControlVerdict::NoDifference, Some(step)) => {
            format!(
                "Control: {processes} do not differ; the largest range of their means is {range}, in {step}."
            )
        }
        (ControlVerdict::Differ, Some(step)) => format!(
            "Control: {processes} differ by {range}, in {step} (p {:.4}), although they are the same build: the harness or the host is the cause, so do not \
             trust differences of this size.",
            control.p
        ),
        (ControlVerdict::Unknown, _) | (_, None) => {
            format!("Control: {processes} have too few launches to be compared with each other.")
        }
    }
}

/// "Excluded, because the host disturbed most processes in them: 1 of 22 launches of overwrite, 2 of 22 launches of seekrandom."
pub(super) fn excluded_launches(view: &Comparison) -> Option<String> {
    let of_step = |step: &StepView| {
        step.cases.iter().flat_map(|case| &case.warnings).find_map(|warning| match warning {
            Warning::LaunchesDisturbed { launches, of } => {
                Some(format!("{launches} of {of} launches of {}", step.name))
            }
            _ => None,
        })
    };
    let steps: Vec<String> = view.steps.iter().filter_map(of_step).collect();
    (!steps.is_empty()).then(|| {
        format!("Excluded, because the host disturbed most processes in them: {}.", steps.join(", "))
    })
}

/// "Trials: 118 done, 2 failed, 0 skipped; 3 of those done excluded from all statistics."
pub(super) fn trials(view: &Comparison) -> String {
    let trials = &view.trials;
    let set_aside = match view.disturbed.len() {
        0 => String::new(),
        count => format!("; {count} of those done excluded from all statistics"),
    };
    format!("Trials: {} done, {} failed, {} skipped{set_aside}.", trials.done, trials.failed, trials.skipped)
}

/// Trials that are not done, those of one subject and reason in one line, then those that others disturbed.
pub(crate) fn trial_reasons(view: &Comparison) -> Vec<String> {
    let mut gathered: Vec<(&TrialReason, Vec<&str>)> = Vec::new();
    for one in &view.trials.reasons {
        let same = |known: &TrialReason| {
            known.subject == one.subject
                && known.skipped == one.skipped
                && known.reason == one.reason
                && known.launches == one.launches
        };
        match gathered.iter_mut().find(|(known, _)| same(known)) {
            Some((_, steps)) => steps.push(&one.step),
            None => gathered.push((one, vec![&one.step])),
        }
    }
    // What failed stands before what was skipped for it; steps in the order of the workload.
    gathered.sort_by_key(|(one, _)| (one.skipped, one.launches.clone(), one.subject.clone()));
    let place = |step: &str| view.steps.iter().position(|known| known.name == step);
    let line = |(one, mut steps): (&TrialReason, Vec<&str>)| {
        steps.sort_by_key(|step| place(step));
        view.repeats.trial_reason(&steps.join(", "), one)
    };
    gathered.into_iter().map(line).chain(disturbed(view)).collect()
}

/// Trials that others disturbed, those of one turn of a subject in one line.
pub(crate) fn disturbed(view: &Comparison) -> Vec<String> {
    let mut turns: BTreeMap<(u32, Side), Vec<&Disturbed>> = BTreeMap::new();
    for one in &view.disturbed {
        turns.entry((one.round, one.side)).or_default().push(one);
    }
    let line = |((round, side), trials): ((u32, Side), Vec<&Disturbed>)| {
        let steps: Vec<&str> = trials.iter().map(|one| one.step.as_str()).collect();
        let others: Vec<f64> = trials.iter().map(|one| one.others_percent).collect();
        let stolen: Option<Vec<f64>> = trials.iter().map(|one| one.stolen_percent).collect();
        let all = percent_range(&others);
        let which = if let Some(stolen) = stolen {
            let processes: Vec<f64> = others.iter().zip(&stolen).map(|(all, stolen)| all - stolen).collect();
            format!(
                "others had {all} of the host's CPU time: other processes {}, other guests of the hypervisor {}",
                percent_range(&processes),
                percent_range(&stolen)
            )
        } else {
            format!("other processes or other guests of the hypervisor had {all} of the host's CPU time")
        };
        format!("excluded: {} of {} in round {round}: {which}", steps.join(", "), view.label(side))
    };
    turns.into_iter().map(line).collect()
}

/// `7.1 %`, or `7.1 to 15 %`.
fn percent_range(shares: &[f64]) -> String {
    let bound = |pick: fn(f64, f64) -> f64, start: f64| quantity(shares.iter().copied().fold(start, pick));
    let (least, most) = (bound(f64::min, f64::INFINITY), bound(f64::max, 0.0));
    if least == most { format!("{most} %") } else { format!("{least} to {most} %") }
}

/// What could not be measured, one line each.
pub(super) fn left_out(view: &Comparison) -> Vec<String> {
    let subjects = view.left_out.iter().map(|one| format!("not measured: {}: {}", one.reference, one.reason));
    let options = view.omitted.iter().map(|one| {
        format!("option not set, unknown to {}: {} = {}", one.subjects.join(", "), one.option, one.value)
    });
    subjects.chain(options).collect()
}

/// What must be known before the numbers are believed, in formats that are no documents: a run that is not done, trials
/// that do not count, subjects that are missing, warnings.
pub(crate) fn cautions(view: &Comparison) -> Vec<String> {
    let mut cautions = Vec::new();
    let status = view.run.status.name();
    if view.run.status != RunStatus::Ended(RunOutcome::Done) {
        cautions.push(format!("the run is {status}"));
    }
    if view.trials.failed + view.trials.skipped > 0 {
        cautions.push(trials(view));
    }
    cautions.extend(trial_reasons(view));
    cautions
        .extend(view.left_out.iter().map(|one| format!("not measured: {}: {}", one.reference, one.reason)));
    cautions.extend(
        view.warnings.iter().map(|warning| format!("warning {}: {}", warning.warning.id(), warning.warning)),
    );
    cautions
}

/// What it was measured on, as far as it is known.
pub(crate) fn host_line(host: &Host) -> String {
    let known = |text: &str, before: &str| (!text.is_empty()).then(|| format!("{before}{text}"));
    let facts = [
        known(&host.cpu_model, ""),
        (host.cpus > 0).then(|| cpus(host)),
        (host.memory_bytes > 0).then(|| format!("{} of memory", bytes(Bytes(host.memory_bytes)))),
        known(&host.kernel, "Linux "),
        host.governor.as_ref().map(|governor| format!("governor {governor}")),
        host.virtual_machine.then(|| "a virtual machine".to_owned()),
        host.load_1m.as_ref().map(|load| format!("load {load} at the start")),
    ];
    format!("Host {}: {}.", host.name, facts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// How fast the host was before the run.
pub(super) fn fingerprint(fingerprint: &Fingerprint) -> String {
    format!("Measured of the host before the run: {}.", figures(fingerprint))
}

/// What measuring itself cost. The client of a server is a process of its own.
pub(super) fn cost(cost: &HarnessCost, of_servers: bool) -> String {
    let client = match cost.client_cpu_ns_per_op {
        Some(client) => {
            format!("{} us per operation, part of both sides' CPU us/op", quantity(client / 1e3))
        }
        None if of_servers => "a process of its own, no part of CPU us/op".to_owned(),
        None => "not measured".to_owned(),
    };
    let pauses = cost.step_pauses.as_ref().map(pauses).unwrap_or_default();
    format!(
        "Cost of measuring: client {client}; sampler {} % of one core; {} us per block to thaw, freeze and read \
         counters; controller {}, client heap {} at most.{pauses}",
        quantity(cost.sampler_core_percent),
        quantity(cost.block_edge_us),
        bytes(Bytes(cost.controller_peak_bytes)),
        bytes(Bytes(cost.worker_heap_peak_bytes))
    )
}

fn pauses(pauses: &StepPauses) -> String {
    let seconds = |nanos: Nanos| quantity(nanos.as_secs_f64());
    format!(
        " Between steps, apart from the engine's own work: {} s on average, {} s at most ({}).",
        seconds(pauses.mean),
        seconds(pauses.longest),
        count(u64::from(pauses.count), "pause", "pauses")
    )
}

/// How to see the run again, and the plan file of its command.
pub(super) fn again(view: &Comparison) -> String {
    let plan = match view.run.again.plan {
        Some(_) => ". Its plan.toml is in the report as --format html or markdown, under \"The plan\".",
        None => "",
    };
    let run = &view.run;
    format!("Again: dbdyno report {} (dbdyno {}, seed {}){plan}", run.id, run.tool_version, run.seed)
}
