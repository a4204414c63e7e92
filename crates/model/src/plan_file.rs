//! Plan files: a matrix of builds, configurations and workloads as TOML, with every mistake named.

use crate::config::Options;
use crate::limits::{MOST_BUDGET_MINUTES, MOST_BYTES, MOST_CLIENTS, MOST_KEYS, MOST_SUBJECTS, MOST_TABLES};
pub use crate::loop_device::LoopDeviceText;
use crate::loop_device::{LoopDevice, LoopDeviceTextError};
use crate::plan::{Design, MOST_BASE_PROCESSES};
use crate::subject::{SubjectError, SubjectRef};
use crate::units::{Bytes, BytesError};
use crate::workload::Scale;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A matrix to measure, before anything is fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Its name: that of its runs.
    pub name: String,
    /// One line for reports.
    pub description: String,
    /// How the trials are laid out in time; absent if each step gets the design that suits it.
    pub design: Option<Design>,
    /// Times that each subject runs the sequence.
    pub rounds: u32,
    /// Names or files of workloads; each is a run of its own.
    pub workloads: Vec<String>,
    /// What is measured, the base first.
    pub subjects: Vec<SubjectRef>,
    /// Only these steps are judged; all where empty.
    pub steps: Vec<String>,
    /// Each of these steps runs with each of these numbers of clients; as many as the workload says where empty.
    pub clients: Vec<u32>,
    /// A hardware class that sizes data, cache and background jobs; of SQL servers memory, tables, clients and times.
    pub hardware: Option<String>,
    /// What changes of the workloads' size, over the hardware class.
    pub scale: Scale,
    /// Options over those of the workloads.
    pub options: Options,
    /// What to do with an option that a build does not know.
    pub unknown_options: UnknownOptions,
    /// Whether the engine counts its tickers.
    pub tickers: bool,
    /// Most memory of a worker, page cache included.
    pub memory_limit: Option<Bytes>,
    /// A device of its own for the databases.
    pub loop_device: Option<LoopDevice>,
    /// The user's db_bench programs by subject.
    pub db_bench: BTreeMap<String, PathBuf>,
    /// No visit begins that would end after this many seconds.
    pub budget_seconds: Option<u64>,
    /// Seed of every random choice; drawn where absent.
    pub seed: Option<u64>,
    /// Of an interleaved plan alone.
    pub interleaved: Interleaved,
    /// The user's own configuration files of servers, by the names that subjects have for them.
    pub config_files: BTreeMap<String, PathBuf>,
    /// Where the servers are to be, as the user wrote it: `ssh://me@lab-1`; here if absent.
    pub server_host: Option<String>,
    /// Where clients reach them there; where ssh reaches it if absent.
    pub server_address: Option<String>,
    /// A test hook: slowdowns in percent, each from one subject on.
    pub planted: BTreeMap<String, f64>,
}

/// What only an interleaved plan has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Interleaved {
    /// Processes that the base runs as in each launch; by the number of candidates if absent.
    pub base_processes: Option<usize>,
    /// Launches end as soon as every interval is within plus or minus this share (0.05 is 5 %).
    pub until: Option<f64>,
    /// Candidates in each launch, beside the base; as many as fit into memory if absent.
    pub candidates_at_once: Option<usize>,
}

impl Interleaved {
    /// Processes of the base beside so many candidates. What the base's own noise adds to a comparison with each of them is least for the
    /// same time if it runs as often as the square root of their number; two at least, for the control.
    pub fn base_processes_of(&self, candidates: usize) -> usize {
        self.base_processes.unwrap_or_else(|| candidates.isqrt().clamp(2, MOST_BASE_PROCESSES))
    }
}

/// How a plan file lays trials out in time: a [`Design`], or the one that suits each step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanDesign {
    #[default]
    Auto,
    Interleaved,
    Rounds,
    Sequential,
}

impl PlanDesign {
    /// The one for all steps; absent if each step gets its own.
    fn of_all_steps(self) -> Option<Design> {
        match self {
            PlanDesign::Auto => None,
            PlanDesign::Interleaved => Some(Design::Interleaved),
            PlanDesign::Rounds => Some(Design::Rounds),
            PlanDesign::Sequential => Some(Design::Sequential),
        }
    }
}

impl From<Design> for PlanDesign {
    fn from(design: Design) -> PlanDesign {
        match design {
            Design::Interleaved => PlanDesign::Interleaved,
            Design::Rounds => PlanDesign::Rounds,
            Design::Sequential => PlanDesign::Sequential,
        }
    }
}

/// What to do with an option that a build does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownOptions {
    /// The subject is left out, with the option's name as the reason.
    #[default]
    Error,
    /// The option is left out for that build, and recorded.
    LeaveOut,
}

/// Why a plan file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    #[error("failed to parse the plan `{origin}`")]
    Toml { origin: String, source: Box<toml::de::Error> },
    #[error("plan `{origin}`, subjects")]
    Subject { origin: String, source: SubjectError },
    #[error("plan `{origin}`, {place}")]
    Size {
        origin: String,
        /// `memory_limit`.
        place: &'static str,
        source: BytesError,
    },
    #[error("plan `{origin}`")]
    LoopDevice { origin: String, source: LoopDeviceTextError },
    #[error("plan `{origin}`, {place}: {problem}")]
    Invalid { origin: String, place: &'static str, problem: String },
}

/// A plan as a file has it, to be read and to be written. Tables stand at the end, as TOML wants them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// If absent, [`PlanDesign::Rounds`] if the plan says how many, else [`PlanDesign::Auto`].
    pub design: Option<PlanDesign>,
    pub rounds: Option<u32>,
    pub workloads: Vec<String>,
    pub subjects: Vec<String>,
    /// Crossed with the subjects that name none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    pub hardware: Option<String>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unknown_options: UnknownOptions,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tickers: bool,
    pub memory_limit: Option<String>,
    /// `ssh://me@lab-1`
    pub server_host: Option<String>,
    pub server_address: Option<String>,
    pub budget_minutes: Option<u64>,
    pub seed: Option<u64>,
    /// Of an interleaved plan.
    pub base_processes: Option<usize>,
    /// Of an interleaved plan: `5 %`.
    pub until: Option<String>,
    /// Of an interleaved plan.
    pub candidates_at_once: Option<usize>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub scale: Scale,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub options: Options,
    pub loop_device: Option<LoopDeviceText>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub db_bench: BTreeMap<String, PathBuf>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub config_files: BTreeMap<String, PathBuf>,
}

impl PlanText {
    /// The text of the file.
    ///
    /// # Errors
    /// A seed above the integers of TOML, a path that is not UTF-8.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// Rounds of a plan that does not say how many.
const ROUNDS: u32 = 3;

impl PlanFile {
    /// Reads a plan; `origin` names the file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<PlanFile, PlanFileError> {
        let file: PlanText = toml::from_str(text)
            .map_err(|source| PlanFileError::Toml { origin: origin.to_owned(), source: Box::new(source) })?;
        let invalid = |place: &'static str, problem: &str| PlanFileError::Invalid {
            origin: origin.to_owned(),
            place,
            problem: problem.to_owned(),
        };
        let size = |place: &'static str, text: &str| {
            text.parse::<Bytes>().map_err(|source| PlanFileError::Size {
                origin: origin.to_owned(),
                place,
                source,
            })
        };
        if file.workloads.is_empty() {
            return Err(invalid("workloads", "there is none; name one from `dbdyno workload list`"));
        }
        let in_rounds = if file.rounds.is_some() { PlanDesign::Rounds } else { PlanDesign::Auto };
        let design = file.design.unwrap_or(in_rounds);
        let rounds = file.rounds.unwrap_or(ROUNDS);
        let interleaved = interleaved(&file, design).map_err(|(place, problem)| invalid(place, &problem))?;
        if design != PlanDesign::Interleaved && !(1..=1000).contains(&rounds) {
            return Err(invalid("rounds", "must be 1 to 1000"));
        }
        sizes(&file).map_err(|(place, problem)| invalid(place, &problem))?;
        clients(&file).map_err(|problem| invalid("clients", &problem))?;
        let positive = |seconds: Option<f64>| seconds.is_none_or(|seconds| seconds > 0.0 && seconds <= 1e6);
        if !(positive(file.scale.read_seconds) && positive(file.scale.write_seconds)) {
            return Err(invalid(
                "scale",
                "read_seconds and write_seconds must be above 0 and at most 1000000",
            ));
        }
        let crossed = file.subjects.len().saturating_mul(file.configs.len().max(1));
        if crossed > MOST_SUBJECTS {
            let problem = format!("with all `configs` they are {crossed}, must be at most {MOST_SUBJECTS}");
            return Err(invalid("subjects", &problem));
        }
        let subjects = subjects(&file.subjects, &file.configs)
            .map_err(|source| PlanFileError::Subject { origin: origin.to_owned(), source })?;
        if subjects.is_empty() {
            return Err(invalid("subjects", "there is none; write them like \"rocksdb@8.7.3\""));
        }
        if design == PlanDesign::Interleaved && subjects.len() == 1 {
            return Err(invalid(
                "subjects",
                "there is one: an interleaved plan compares others with the first",
            ));
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = subjects.iter().find(|subject| !seen.insert(subject.to_string())) {
            return Err(invalid("subjects", &format!("{twice} is there twice")));
        }
        let loop_device = file.loop_device.as_ref().map(LoopDeviceText::read).transpose();
        let loop_device =
            loop_device.map_err(|source| PlanFileError::LoopDevice { origin: origin.to_owned(), source })?;
        if let Some(host) = &file.server_host {
            crate::server_host::target(host).map_err(|error| invalid("server_host", &error.to_string()))?;
        } else if file.server_address.is_some() {
            return Err(invalid(
                "server_address",
                "is where servers of `server_host` are reached: name that too",
            ));
        }
        let plan = PlanFile {
            name: file.name,
            description: file.description,
            design: design.of_all_steps(),
            rounds,
            workloads: file.workloads,
            subjects,
            steps: file.steps,
            clients: file.clients,
            hardware: file.hardware,
            scale: file.scale,
            options: file.options,
            unknown_options: file.unknown_options,
            tickers: file.tickers,
            memory_limit: file.memory_limit.as_deref().map(|text| size("memory_limit", text)).transpose()?,
            loop_device,
            db_bench: file.db_bench,
            budget_seconds: file.budget_minutes.map(|minutes| minutes * 60),
            seed: file.seed,
            interleaved,
            config_files: file.config_files,
            server_host: file.server_host,
            server_address: file.server_address,
            planted: BTreeMap::new(),
        };
        match plan.one_at_a_time().next() {
            Some(key) if design == PlanDesign::Interleaved => Err(invalid(
                key,
                "applies to one subject at a time, but an interleaved plan runs all at once: leave it out, or use `design = \"rounds\"`",
            )),
            _ => Ok(plan),
        }
    }

    /// The keys that are set and apply to one subject at a time.
    pub fn one_at_a_time(&self) -> impl Iterator<Item = &'static str> + use<> {
        let keys = [
            ("tickers", self.tickers),
            ("memory_limit", self.memory_limit.is_some()),
            ("loop_device", self.loop_device.is_some()),
            ("db_bench", !self.db_bench.is_empty()),
        ];
        keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key)
    }
}

/// What is wrong with the sizes: the key and what is wrong with it.
fn sizes(file: &PlanText) -> Result<(), (&'static str, String)> {
    const MOST_MEGABYTES: u64 = MOST_BYTES.0 / 1_000_000;
    let scale = &file.scale;
    let (tables, threads) = (scale.tables.map(u64::from), scale.threads.map(u64::from));
    let stated = [
        ("scale.keys", scale.keys, MOST_KEYS),
        ("scale.file_mb", scale.file_mb, MOST_MEGABYTES),
        ("scale.tables", tables, u64::from(MOST_TABLES)),
        ("scale.rows", scale.rows, MOST_KEYS),
        ("scale.memory_mb", scale.memory_mb, MOST_MEGABYTES),
        ("scale.threads", threads, u64::from(MOST_CLIENTS)),
        ("budget_minutes", file.budget_minutes, MOST_BUDGET_MINUTES),
    ];
    for (key, value, most) in stated {
        if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
            return Err((key, format!("{value} is not 1 to {most}")));
        }
    }
    let (tables, rows) = (tables.unwrap_or(1), scale.rows.unwrap_or(1));
    if tables * rows > MOST_KEYS {
        return Err(("scale", format!("{tables} tables of {rows} rows are more than {MOST_KEYS} rows")));
    }
    Ok(())
}

/// What is wrong with the numbers of clients.
fn clients(file: &PlanText) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for number in &file.clients {
        if !(1..=MOST_CLIENTS).contains(number) {
            return Err(format!("{number} is not 1 to {MOST_CLIENTS}"));
        }
        if !seen.insert(number) {
            return Err(format!("{number} is there twice"));
        }
    }
    if file.scale.threads.is_some() && !file.clients.is_empty() {
        return Err("exclude `threads` of `scale`: leave one of them out".to_owned());
    }
    Ok(())
}

/// What only an interleaved plan has, and what it cannot have: the key and what is wrong with it.
fn interleaved(file: &PlanText, design: PlanDesign) -> Result<Interleaved, (&'static str, String)> {
    let until = file.until.as_deref().map(|text| {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.1..=50.0).contains(percent));
        let problem = || ("until", format!("`{text}` is no share of 0.1 to 50 %; write it like \"5 %\""));
        percent.map(|percent| percent / 100.0).ok_or_else(problem)
    });
    let settings = Interleaved {
        base_processes: file.base_processes,
        until: until.transpose()?,
        candidates_at_once: file.candidates_at_once,
    };
    if matches!(design, PlanDesign::Rounds | PlanDesign::Sequential) {
        let of_interleaved = [
            ("base_processes", settings.base_processes.is_some()),
            ("until", settings.until.is_some()),
            ("candidates_at_once", settings.candidates_at_once.is_some()),
        ];
        return match of_interleaved.into_iter().find(|(_, is_set)| *is_set) {
            Some((key, _)) => Err((
                key,
                "applies to steps that are interleaved: leave it out, or say `design = \"auto\"`".to_owned(),
            )),
            None => Ok(settings),
        };
    }
    if settings.base_processes.is_some_and(|count| !(1..=MOST_BASE_PROCESSES).contains(&count)) {
        return Err(("base_processes", format!("must be 1 to {MOST_BASE_PROCESSES}")));
    }
    if settings.candidates_at_once == Some(0) {
        return Err(("candidates_at_once", "must be at least 1".to_owned()));
    }
    Ok(settings)
}

/// Every subject with every configuration; one that names its own configuration stays as it is.
fn subjects(subjects: &[String], configs: &[String]) -> Result<Vec<SubjectRef>, SubjectError> {
    let mut all = Vec::new();
    for subject in subjects {
        if subject.contains('+') || configs.is_empty() {
            all.push(subject.parse()?);
            continue;
        }
        for config in configs {
            all.push(format!("{subject}+{config}").parse()?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        name = "two"
        rounds = 2
        workloads = ["rocksdb.byrx"]
        subjects = ["rocksdb@8.5.4", "rocksdb@8.6.7", "rocksdb@6.0.2+format-5"]
        configs = ["standard", "defaults"]
        memory_limit = "400 MB"
        scale = { keys = 1000, read_seconds = 2.5 }
        loop_device = { size = "12 GB", max_sectors_kb = 128 }
    "#;

    #[test]
    fn a_plan_is_read_and_crossed() {
        let plan = PlanFile::parse(PLAN, "two.toml").unwrap();
        let subjects: Vec<String> = plan.subjects.iter().map(ToString::to_string).collect();
        let expected = [
            "rocksdb@8.5.4",
            "rocksdb@8.5.4+defaults",
            "rocksdb@8.6.7",
            "rocksdb@8.6.7+defaults",
            "rocksdb@6.0.2+format-5",
        ];
        assert_eq!(subjects, expected);
        assert_eq!((plan.design, plan.rounds), (Some(Design::Rounds), 2));
        let of_each_step = PlanFile::parse(&PLAN.replace("rounds = 2", ""), "two.toml").unwrap();
        assert_eq!((of_each_step.design, of_each_step.rounds), (None, ROUNDS));
        let stated = PlanFile::parse(&PLAN.replace("rounds = 2", "rounds = 2\ndesign = 'auto'"), "two.toml");
        assert_eq!(stated.map(|plan| (plan.design, plan.rounds)).unwrap(), (None, 2));
        assert_eq!(plan.memory_limit, Some(Bytes(400_000_000)));
        let device = plan.loop_device.unwrap();
        assert_eq!((device.bytes, device.direct_io), (Bytes(12_000_000_000), true));
    }

    #[test]
    fn an_interleaved_plan_is_read() {
        let plan = r#"
            name = "history"
            design = "interleaved"
            until = "3.5 %"
            workloads = ["quick"]
            subjects = ["rocksdb@8.5.4", "rocksdb@8.6.7", "rocksdb@8.7.3"]
        "#;
        let parsed = PlanFile::parse(plan, "history.toml").unwrap();
        let expected = Interleaved { until: Some(0.035), ..Interleaved::default() };
        assert_eq!(parsed.interleaved, expected);
        let processes = [2, 8, 9, 18, 40].map(|candidates| parsed.interleaved.base_processes_of(candidates));
        assert_eq!(processes, [2, 2, 3, 4, 4]);
        let check = |from: &str, to: &str, expected: &str| {
            let text = PlanFile::parse(&plan.replace(from, to), "history.toml").unwrap_err().to_string();
            assert!(text.contains(expected) && text.contains("history.toml"), "{text}");
        };
        check("3.5 %", "3.5", "until: `3.5` is no share");
        check("3.5 %", "NaN %", "until: `NaN %` is no share");
        check("until = \"3.5 %\"", "base_processes = 5", "base_processes: must be 1 to 4");
        check("until = \"3.5 %\"", "candidates_at_once = 0", "candidates_at_once: must be at least 1");
        check("until = \"3.5 %\"", "tickers = true", "tickers: applies to one subject at a time");
        check(", \"rocksdb@8.6.7\", \"rocksdb@8.7.3\"", "", "subjects: there is one");
    }

    #[test]
    fn mistakes_are_named_with_the_file() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = PlanFile::parse(&PLAN.replace(from, to), "two.toml").unwrap_err();
            let text = format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(text.contains(expected) && text.contains("two.toml"), "{text}");
        };
        check("rocksdb@8.5.4", "rocksdb-8.5.4", "the `@` is missing");
        check("rocksdb@8.6.7", "rocksdb@8.5.4", "is there twice");
        let many = format!("\"standard\"{}", ", \"x\"".repeat(400));
        check("\"standard\"", &many, "with all `configs` they are 1206, must be at most 1000");
        check("400 MB", "400 megs", "400 megs");
        check("12 GB", "12 gigs", "loop_device.size: `12 gigs` is not a size");
        check("rounds = 2", "rounds = 0", "1 to 1000");
        check("rounds = 2", "design = 'interleaved'", "one subject at a time");
        check(
            "rounds = 2",
            "design = 'rounds'\nuntil = '5 %'",
            "until: applies to steps that are interleaved",
        );
        check(
            "rounds = 2",
            "design = 'both'",
            "expected one of `auto`, `interleaved`, `rounds`, `sequential`",
        );
        check("rounds = 2", "runds = 2", "unknown field");
        check("rounds = 2", "clients = [0]", "clients: 0 is not 1 to 1024");
        check("rounds = 2", "clients = [8, 1, 8]", "clients: 8 is there twice");
        let both = PLAN.replace("read_seconds = 2.5", "threads = 2").replace("rounds = 2", "clients = [8]");
        let error = PlanFile::parse(&both, "two.toml").unwrap_err().to_string();
        assert!(error.contains("clients: exclude `threads`"), "{error}");
        check("[\"rocksdb.byrx\"]", "[]", "name one");
        check("read_seconds = 2.5", "read_seconds = -1", "above 0");
    }

    /// 9223372036854775807 is the largest integer of TOML: with units, or as rows of tables, it would not fit into 64 bits.
    #[test]
    fn sizes_that_no_host_has_room_for_are_refused() {
        const LARGEST: &str = "9223372036854775807";
        let parsed = |key: &str, value: &str| {
            let plan = match key.strip_prefix("scale.") {
                Some(key) => PLAN.replace("keys = 1000", &format!("{key} = {value}")),
                None => PLAN.replace("rounds = 2", &format!("rounds = 2\n{key} = {value}")),
            };
            PlanFile::parse(&plan, "two.toml").map_err(|error| error.to_string())
        };
        for (key, most) in [
            ("scale.keys", "1000000000000"),
            ("scale.file_mb", "1000000000"),
            ("scale.tables", "10000"),
            ("scale.rows", "1000000000000"),
            ("scale.memory_mb", "1000000000"),
            ("scale.threads", "1024"),
            ("budget_minutes", "527040"),
        ] {
            assert!(parsed(key, most).is_ok(), "{key} = {most}");
            // The keys whose numbers have 32 bits.
            let absurd = if matches!(key, "scale.tables" | "scale.threads") { "4294967295" } else { LARGEST };
            for value in ["0", absurd] {
                let expected = format!("plan `two.toml`, {key}: {value} is not 1 to {most}");
                assert_eq!(parsed(key, value).unwrap_err(), expected);
            }
        }
        let error = parsed("scale.tables = 10000, rows", "922337203685").unwrap_err();
        assert_eq!(
            error,
            "plan `two.toml`, scale: 10000 tables of 922337203685 rows are more than 1000000000000 rows"
        );
    }
}
