//! What a run was measured under, and whether its rates may stand beside those of another run: only where workload,
//! size, host and design are the same.

use model::figures::{bytes, change, count, or_none, quantity};
use model::fingerprint::{FigureChange, Fingerprint};
use model::host::Host;
use model::plan::{LoopDevice, Plan};
use model::record::RunRecord;
use model::server_host::ServerHost;
use model::units::{Bytes, Nanos};
use model::warning::Warning;
use model::workload::sql::Tables;
use model::workload::{Extent, Step};
use std::collections::BTreeMap;
use std::fmt;

/// What decides whether rates of two runs may be compared, and what a reader should know of both besides.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConditions {
    pub workload: String,
    /// The subjects by their sides.
    pub subjects: Vec<SubjectFacts>,
    /// The steps that were measured, by name.
    pub steps: BTreeMap<String, Step>,
    /// The same names, in the order of the workload.
    pub step_names: Vec<String>,
    /// What must be the same, in words: name and value.
    must_be_same: Vec<(&'static str, String)>,
    /// What may differ and should be known.
    may_differ: Vec<(&'static str, String)>,
    /// What the host was set to, by name; none of a run of before 2026-11-24.
    settings: BTreeMap<String, String>,
    /// How fast the host was when it began; absent if it was not measured.
    fingerprint: Option<Fingerprint>,
}

/// A subject of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectFacts {
    /// As the user named it.
    pub reference: String,
    /// `rocksdb`
    pub engine: String,
    pub version: String,
    pub config: String,
    pub sha256: String,
    /// Whether a test planted a slowdown in it.
    pub planted: bool,
}

/// Something that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// `host`
    pub what: String,
    pub a: String,
    pub b: String,
}

impl RunConditions {
    /// Those of a run.
    pub fn of(plan: &Plan, host: &Host, fingerprint: Option<&Fingerprint>) -> RunConditions {
        let steps: BTreeMap<String, Step> =
            plan.chosen_steps().map(|step| (step.name.clone(), step.clone())).collect();
        RunConditions {
            workload: plan.workload.name.clone(),
            subjects: plan.subjects.iter().map(subject).collect(),
            step_names: plan.chosen_steps().map(|step| step.name.clone()).collect(),
            steps,
            must_be_same: must_be_same(plan, host),
            may_differ: may_differ(plan, host),
            settings: host.facts.clone(),
            fingerprint: fingerprint.cloned(),
        }
    }

    /// What keeps the rates of a step from being compared with those of another run; empty where nothing does.
    pub fn apart(&self, other: &RunConditions, step: &str) -> Vec<Differing> {
        let mut apart = self.apart_in_all(other);
        apart.extend(self.defined_otherwise(other, step));
        apart
    }

    /// What keeps the two from standing in one report: that of every step, else what steps of both are defined
    /// otherwise.
    pub fn apart_anywhere(&self, other: &RunConditions) -> Vec<Differing> {
        match self.apart_in_all(other) {
            apart if apart.is_empty() => {
                self.step_names.iter().filter_map(|step| self.defined_otherwise(other, step)).collect()
            }
            apart => apart,
        }
    }

    /// What keeps two runs from being one comparison on two hosts.
    pub fn apart_but_for_hosts(&self, other: &RunConditions) -> Vec<Differing> {
        let of_host = |what: &str| [HOST, CPU, MEMORY].contains(&what);
        let mut apart = self.apart_in_all(other);
        apart.retain(|one| !of_host(&one.what));
        apart.extend(self.step_names.iter().filter_map(|step| self.defined_otherwise(other, step)));
        // Candidates that one of them could not measure are no reason; another base is.
        let base =
            |of: &RunConditions| of.subjects.first().map(|one| one.reference.clone()).unwrap_or_default();
        let (a, b) = (base(self), base(other));
        if a != b {
            apart.push(Differing { what: "base".to_owned(), a, b });
        }
        let build =
            |of: &RunConditions| of.subjects.first().map(|one| one.sha256.clone()).unwrap_or_default();
        let (a, b) = (build(self), build(other));
        if a != b {
            let short = |sha256: String| format!("sha256 {sha256:.12}");
            apart.push(Differing { what: "build of the base".to_owned(), a: short(a), b: short(b) });
        }
        apart
    }

    /// What keeps the rates of every step apart.
    pub fn apart_in_all(&self, other: &RunConditions) -> Vec<Differing> {
        differing(&self.must_be_same, &other.must_be_same)
    }

    fn defined_otherwise(&self, other: &RunConditions, step: &str) -> Option<Differing> {
        let (a, b) = (self.steps.get(step)?, other.steps.get(step)?);
        (a != b).then(|| Differing {
            what: format!("definition of {step}"),
            a: definition(a),
            b: definition(b),
        })
    }

    /// What differs and lets rates be compared all the same.
    pub fn also_differs(&self, other: &RunConditions) -> Vec<Differing> {
        let settings = self.settings.iter().filter_map(|(name, a)| {
            let b = other.settings.get(name).filter(|b| *b != a)?;
            Some(Differing { what: name.clone(), a: a.clone(), b: b.clone() })
        });
        let figures =
            figures(self.fingerprint.as_ref(), other.fingerprint.as_ref()).into_iter().map(|one| Differing {
                what: one.figure,
                a: quantity(one.before),
                b: format!("{} ({})", quantity(one.now), change(one.now / one.before)),
            });
        differing(&self.may_differ, &other.may_differ).into_iter().chain(settings).chain(figures).collect()
    }

    /// The name of the host.
    pub fn host(&self) -> &str {
        self.facts().find(|(what, _)| *what == HOST).map_or("", |(_, name)| name)
    }

    /// What it was measured under, as names and values.
    pub fn facts(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.must_be_same.iter().chain(&self.may_differ)
    }
}

/// What is to be known of runs that stand together: the host was not equally fast before each, beyond what its figures repeat within. Said of
/// each run in which the host differs from what it was before the first.
pub fn host_warning(first: &RunRecord, run: &RunRecord) -> Option<Warning> {
    let figures = figures(first.fingerprint.as_ref(), run.fingerprint.as_ref());
    (!figures.is_empty()).then(|| Warning::HostDiffers {
        first: first.id.clone(),
        run: run.id.clone(),
        figures: figures.iter().map(FigureChange::to_string).collect(),
    })
}

/// The figures in which two hosts differ; none if one of them was not measured.
fn figures(a: Option<&Fingerprint>, b: Option<&Fingerprint>) -> Vec<FigureChange> {
    a.zip(b).map(|(a, b)| a.differences(b)).unwrap_or_default()
}

/// `rows (2000 and 3000)`
impl fmt::Display for Differing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({} and {})", self.what, self.a, self.b)
    }
}

/// Both lists have the same names in the same order: they are made by one function.
fn differing(a: &[(&'static str, String)], b: &[(&'static str, String)]) -> Vec<Differing> {
    let pairs = a.iter().zip(b).filter(|((_, a), (_, b))| a != b);
    pairs
        .map(|((what, a), (_, b))| Differing { what: (*what).to_owned(), a: a.clone(), b: b.clone() })
        .collect()
}

const HOST: &str = "host";
const CPU: &str = "CPU";
const MEMORY: &str = "memory";

fn must_be_same(plan: &Plan, host: &Host) -> Vec<(&'static str, String)> {
    let layout = &plan.layout;
    let limit = |limit: Option<Bytes>| or_none(limit, bytes);
    vec![
        ("workload", plan.workload.name.clone()),
        ("text of the workload", format!("sha256 {:.16}", plan.workload_sha256)),
        ("rows", plan.workload.data.keys.to_string()),
        ("data", bytes(plan.workload.data.size())),
        ("tables", or_none(plan.workload.tables.as_ref(), tables)),
        ("memory of a server", limit(plan.workload.memory)),
        ("design", layout.design.name().to_owned()),
        ("memory limit", limit(layout.memory_limit)),
        ("device of its own", or_none(layout.loop_device.as_ref(), loop_device)),
        (HOST, host.name.clone()),
        (CPU, format!("{}, {}", host.cpu_model, cpus(host))),
        (MEMORY, bytes(Bytes(host.memory_bytes))),
        ("host of the clients", or_none(layout.server_host.as_deref(), clients)),
    ]
}

fn may_differ(plan: &Plan, host: &Host) -> Vec<(&'static str, String)> {
    let known = |text: &Option<String>| or_none(text.as_deref(), str::to_owned);
    let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
    vec![
        ("kernel", host.kernel.clone()),
        ("governor", known(&host.governor)),
        ("file system", known(&host.file_system)),
        ("boot", format!("{:.8}", host.boot_id)),
        ("load at the start", known(&host.load_1m)),
        ("dbdyno", plan.tool_version.clone()),
        ("engine counts tickers", yes(plan.layout.tickers)),
        ("each build its own image", yes(plan.own_image)),
        ("seed", plan.seed.to_string()),
    ]
}

/// Over another network they are other clients.
fn clients(of: &ServerHost) -> String {
    let by = of.address.as_ref().map(|address| format!(", which reach {address}"));
    format!("{}{}", of.clients.name, by.unwrap_or_default())
}

fn tables(tables: &Tables) -> String {
    format!("{} of {} rows", tables.count, tables.rows)
}

fn loop_device(device: &LoopDevice) -> String {
    let direct = if device.direct_io { ", direct IO" } else { "" };
    let setting = |name: &str, value: Option<u32>| {
        value.map(|value| format!(", {name} {value} KiB")).unwrap_or_default()
    };
    let further = device.further_settings().into_iter().map(|setting| format!(", {setting}"));
    format!(
        "{}{direct}{}{}{}",
        bytes(device.bytes),
        setting("requests of at most", device.max_sectors_kb),
        setting("readahead", device.read_ahead_kb),
        further.collect::<String>()
    )
}

fn subject(subject: &model::plan::Subject) -> SubjectFacts {
    SubjectFacts {
        reference: subject.reference.to_string(),
        engine: subject.reference.build.engine.clone(),
        version: subject.reference.build.version.clone(),
        config: subject.reference.config.clone(),
        sha256: subject.build.sha256.clone(),
        planted: subject.planted_slowdown_percent > 0.0,
    }
}

/// What a reader can tell two definitions by; where that is the same, that something else is not.
fn definition(step: &Step) -> String {
    let seconds = |time: Nanos| format!("{} s", time.as_secs_f64());
    let extent = match step.extent {
        Extent::Blocks => format!("{} blocks of {}", step.cycles, seconds(step.block)),
        Extent::Time { wall } => seconds(wall),
        Extent::Operations { count } => format!("{count} operations"),
        Extent::PerKey { share } => format!("{share} operations per key"),
    };
    let rate = step.rate.map(|rate| format!(", {rate}/s")).unwrap_or_default();
    let options = match step.options.len() {
        0 => String::new(),
        own => format!(", {} of its own", count(own as u64, "option", "options")),
    };
    format!("{}, {extent}{rate}{options}", count(u64::from(step.threads), "thread", "threads"))
}

/// The CPUs that were at hand, and of how many where the others were withheld: `8 CPUs`, `2 of 8 CPUs`.
pub fn cpus(host: &Host) -> String {
    let all = host.withheld_from().unwrap_or(host.cpus);
    format!("{} {}", cpu_count(host), if all == 1 { "CPU" } else { "CPUs" })
}

/// The same as a bare number: `8`, `2 of 8`.
pub fn cpu_count(host: &Host) -> String {
    let of = host.withheld_from().map(|online| format!(" of {online}")).unwrap_or_default();
    format!("{}{of}", host.cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fingerprint::HostFigure;
    use testing::compared::{EQUAL, record};

    /// A run before which memory was so fast.
    fn measured(id: &str, nanos: f64) -> RunRecord {
        let figures = [("memory_latency_ns", nanos), ("cpu_ns_per_step", 1.92)]
            .map(|(name, value)| HostFigure { name: name.to_owned(), value, spread: 0.01 });
        let fingerprint = Fingerprint {
            at_us: 1,
            host: "bench-1".to_owned(),
            boot_id: "b".to_owned(),
            device: None,
            figures: figures.to_vec(),
        };
        RunRecord { id: id.to_owned(), fingerprint: Some(fingerprint), ..record(&EQUAL) }
    }

    fn also_differs(a: &RunRecord, b: &RunRecord) -> Vec<String> {
        let of = |one: &RunRecord| RunConditions::of(&one.plan, &one.host, one.fingerprint.as_ref());
        of(a).also_differs(&of(b)).iter().map(Differing::to_string).collect()
    }

    #[test]
    fn a_host_that_was_faster_before_one_of_two_runs_is_named() {
        let (slow, fast) = (measured("a", 240.0), measured("b", 181.0));
        assert_eq!(also_differs(&fast, &slow), ["memory_latency_ns (181 and 240 (+32.6 %))"]);
        assert_eq!(
            host_warning(&fast, &slow),
            Some(Warning::HostDiffers {
                first: "b".to_owned(),
                run: "a".to_owned(),
                figures: vec!["memory_latency_ns: 181 then 240 (+32.6 %)".to_owned()],
            })
        );
    }

    #[test]
    fn what_was_not_measured_or_repeats_is_no_difference() {
        let fast = measured("a", 181.0);
        let unmeasured = RunRecord { fingerprint: None, ..fast.clone() };
        for other in [measured("b", 186.0), unmeasured] {
            assert_eq!(also_differs(&fast, &other), [""; 0]);
            assert_eq!(host_warning(&fast, &other), None);
            assert_eq!(host_warning(&other, &fast), None);
        }
    }
}
