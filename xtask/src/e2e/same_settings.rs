//! A case that asks servers for their settings: each option of each configuration must be in effect.

use super::neighbour::{MARIADB, MEMORY, MYSQL, Neighbour, POSTGRES};
use super::scratch::Scratch;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use model::config::{self, EngineConfig};
use std::collections::BTreeMap;

pub fn cases() -> Vec<Case> {
    vec![Case::new("same settings as configured", as_configured).nightly()]
}

/// The configurations of an engine, and a build that starts with them.
struct Server {
    build: &'static str,
    text: &'static str,
    /// Configurations that this build cannot start with.
    passed_over: &'static [&'static str],
}

/// The first release that reads by worker processes.
const POSTGRES_18: &str = "postgres@18.6";

const SERVERS: [Server; 5] = [
    Server {
        build: POSTGRES,
        text: include_str!("../../../configs/postgres.toml"),
        passed_over: &["io-worker", "io-uring", "jemalloc"],
    },
    Server {
        build: POSTGRES_18,
        text: include_str!("../../../configs/postgres.toml"),
        // It was built without liburing.
        passed_over: &["io-uring", "jemalloc"],
    },
    Server { build: MYSQL, text: include_str!("../../../configs/mysql.toml"), passed_over: &["jemalloc"] },
    Server {
        build: MARIADB,
        text: include_str!("../../../configs/mariadb.toml"),
        passed_over: &["jemalloc"],
    },
    Server {
        build: "myrocks@10.11.19",
        text: include_str!("../../../configs/myrocks.toml"),
        passed_over: &["jemalloc"],
    },
];

/// Options that a server has as a setting of another name.
const RENAMED: [(&str, &str); 1] = [("transaction_isolation", "tx_isolation")];
/// These are 1 in a server whose buffer pool is smaller than 1 GB.
const OF_LARGE_POOLS: [&str; 2] = ["innodb_buffer_pool_instances", "innodb_page_cleaners"];
/// Given the name of a file; the server shows ON or OFF.
const BY_FILE: &str = "log_bin";

fn as_configured(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut differing = Vec::new();
    for Server { build, text, passed_over } in &SERVERS {
        let (_, configs) = config::parse(text, build)?;
        for config in configs.iter().filter(|config| !passed_over.contains(&config.name.as_str())) {
            let subject = format!("{build}+{}", config.name);
            let has = settings(scratch, &subject)?;
            let lines = not_in_effect(build, config, &has).into_iter();
            differing.extend(lines.map(|line| format!("{subject}: {line}")));
        }
    }
    ensure!(differing.is_empty(), "not in effect:\n{}", differing.join("\n"));
    Ok(Ending::Passed)
}

/// What a server that is started with a configuration says of its settings.
fn settings(scratch: &Scratch, subject: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let server = Neighbour::start(scratch, subject)?;
    let sql = if subject.starts_with("postgres") {
        "SELECT name, setting FROM pg_settings"
    } else {
        "SHOW GLOBAL VARIABLES"
    };
    let rows = server.owner("bench")?.read(sql).with_context(|| format!("{subject}: {sql}"))?.rows;
    let pair = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        Some((row.next()??, row.next().flatten().unwrap_or_default()))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

/// What was asked for and what the server has instead.
fn not_in_effect(build: &str, config: &EngineConfig, settings: &BTreeMap<String, String>) -> Vec<String> {
    let release = build.split('@').nth(1).unwrap_or_default();
    let differs = |(name, asked): (String, String)| {
        // A flag that turns something off.
        let (setting, value) = match name.strip_prefix("skip_").filter(|_| asked.is_empty()) {
            Some(what) => (what, "OFF"),
            None if name == BY_FILE => (BY_FILE, "ON"),
            None if OF_LARGE_POOLS.contains(&name.as_str()) => (name.as_str(), "1"),
            None => (name.as_str(), asked.as_str()),
        };
        let renamed = || settings.get(RENAMED.iter().find(|(old, _)| *old == setting)?.1);
        match settings.get(setting).or_else(renamed) {
            Some(has) if is_same(value, has) => None,
            Some(has) => Some(format!("{name} = {asked}, and the server has {has}")),
            None => Some(format!("{name} = {asked}, and the server has no such setting")),
        }
    };
    config::for_server(config, release, MEMORY).into_iter().filter_map(differs).collect()
}

/// Whether two spellings mean the same: `on` and `ON`, `0` and `OFF`, `A,B` and `B,A`, `256MB` and 32768 pages of 8 kB.
fn is_same(asked: &str, has: &str) -> bool {
    let sorted = |text: &str| {
        let mut parts: Vec<String> = text.split(',').map(str::to_ascii_lowercase).collect();
        parts.sort_unstable();
        parts
    };
    let truths = truth(asked).zip(truth(has));
    sorted(asked) == sorted(has)
        || truths.is_some_and(|(asked, has)| asked == has)
        || is_same_amount(asked, has)
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

const MEGABYTE: f64 = 1_048_576.0;

/// Units of memory, in bytes: those that are written, and those that Postgres counts in.
const MEMORY_UNITS: [(&str, f64); 6] = [
    ("kB", 1024.0),
    ("MB", MEGABYTE),
    ("GB", 1_073_741_824.0),
    ("B", 1.0),
    ("pages", 8192.0),
    ("segments", 16_777_216.0),
];
/// Units of time, in milliseconds.
const TIME_UNITS: [(&str, f64); 3] = [("ms", 1.0), ("s", 1000.0), ("min", 60_000.0)];

/// What the server has is a number without its unit: it is the amount that was asked for if it is so in one of the units, rounded.
fn is_same_amount(asked: &str, has: &str) -> bool {
    let Ok(has) = has.parse::<f64>() else { return false };
    if let Ok(asked) = asked.parse::<f64>() {
        // Caches are whole pages or megabytes.
        let less = asked - has;
        return less.abs() <= 1e-9 * asked.abs()
            || (asked > 8.0 * MEGABYTE && (0.0..MEGABYTE).contains(&less));
    }
    let in_units = |units: &[(&str, f64)]| {
        let number = |(unit, size): &(&str, f64)| Some(asked.strip_suffix(unit)?.parse::<f64>().ok()? * size);
        let amount = units.iter().find_map(number);
        let is_same = |amount: f64, size: f64| size <= amount && (amount - has * size).abs() < size;
        amount.is_some_and(|amount| units.iter().any(|(_, size)| is_same(amount, *size)))
    };
    in_units(&MEMORY_UNITS) || in_units(&TIME_UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_the_same_and_other_values_are_not() {
        for (asked, has) in [
            ("on", "ON"),
            ("0", "OFF"),
            ("0.9", "0.90"),
            ("90", "90.000000"),
            ("256MB", "262144"),
            ("256MB", "32768"),
            ("78643kB", "9830"),
            ("3600s", "3600"),
            ("100ms", "100"),
            ("1ms", "1"),
            ("READ-COMMITTED", "read-committed"),
            ("A,B", "b,a"),
            ("128849018", "127926272"),
        ] {
            assert!(is_same(asked, has), "{asked} {has}");
        }
        for (asked, has) in [
            ("256MB", "0"),
            ("256MB", "1"),
            ("100ms", "0"),
            ("30s", "1"),
            ("on", "OFF"),
            ("256MB", "300000"),
            ("4", "8"),
            ("128849018", "100000000"),
            ("4000", "3999"),
            ("3600s", "300"),
            ("a", "b"),
        ] {
            assert!(!is_same(asked, has), "{asked} {has}");
        }
    }
}
