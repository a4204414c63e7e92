//! RocksDB's OPTIONS files, and the settings of a server in the same form: reading one, and what differs between two.
//!
//! Three lines of one that 8.7.3 wrote:
//!
//! ```text
//! [CFOptions "default"]
//!   write_buffer_size=67108864
//!   compression_opts={checksum=false;max_dict_buffer_bytes=0;level=32767;window_bits=-14;}
//! ```

use std::collections::{BTreeMap, BTreeSet};

/// Options by section and name. A member of a nested value has a name of its own, `compression_opts.level`,
/// because releases write members in different orders, and because one that changed would be lost among
/// those that did not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionsFile {
    sections: BTreeMap<String, BTreeMap<String, String>>,
}

/// Why a text is not an OPTIONS file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    #[error("line {line} of the OPTIONS file is neither `[section]` nor `name=value`: `{text}`")]
    Line { line: usize, text: String },
    #[error("the OPTIONS file ends early: it has no section of table options and is not a server's settings")]
    Truncated,
}

/// One option that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionDifference {
    /// `DBOptions`, `CFOptions "default"`, `TableOptions/BlockBasedTable "default"`.
    pub section: String,
    /// Its name, with a dot before the name of a member of a nested value.
    pub option: String,
    /// The base's value; absent where that release does not have the option.
    pub base: Option<String>,
    pub candidate: Option<String>,
}

/// Two files to compare.
#[derive(Debug, Clone, Copy)]
pub struct OptionsPair<'a> {
    pub base: &'a OptionsFile,
    pub candidate: &'a OptionsFile,
}

/// No section has a longer name, and a value whose name is longer stays whole. RocksDB's are not half as long; a text that nests values
/// without end would fill memory with their names.
const LONGEST_NAME: usize = 200;
/// The section that names the release: it always differs and is no option.
const VERSION_SECTION: &str = "Version";
/// The last section of every file, from 4.3 on.
const LAST_SECTION: &str = "TableOptions/";
/// Where the database lies, which older releases write down: a place, not a setting.
const PLACES: [&str; 2] = ["wal_dir", "db_log_dir"];
/// The one section of a server's settings.
const SETTINGS_SECTION: &str = "Settings";
/// What a server counts among its settings and is none: its names and its places, its release, the time, the connection
/// that it was asked on, and what it was asked last.
const NO_SETTINGS: [&str; 24] = [
    "bind_address",
    "cluster_name",
    "error_count",
    "hostname",
    "identity",
    "in_transaction",
    "last_gtid",
    "last_insert_id",
    "listen_addresses",
    "port",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "server_uid",
    "server_uuid",
    "skip_networking",
    "tcp_keepalives_count",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_user_timeout",
    "timestamp",
    "unix_socket_directories",
    "warning_count",
];

/// Reads an OPTIONS file.
pub fn parse(text: &str) -> Result<OptionsFile, OptionsError> {
    let mut file = OptionsFile::default();
    let mut section = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name.filter(|name| name.len() <= LONGEST_NAME) {
            section = name.to_owned();
            file.sections.entry(section.clone()).or_default();
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .filter(|_| !section.is_empty())
            .ok_or_else(|| OptionsError::Line { line: index + 1, text: line.to_owned() })?;
        insert(file.sections.entry(section.clone()).or_default(), name.trim(), value.trim());
    }
    let is_whole = |name: &String| name.starts_with(LAST_SECTION) || name == SETTINGS_SECTION;
    if !file.sections.keys().any(is_whole) {
        return Err(OptionsError::Truncated);
    }
    Ok(file)
}

/// What differs, by section and name.
pub fn differences(pair: OptionsPair<'_>) -> Vec<OptionDifference> {
    let none = BTreeMap::new();
    let sections: BTreeSet<&String> =
        pair.base.sections.keys().chain(pair.candidate.sections.keys()).collect();
    let mut found = Vec::new();
    for section in sections {
        if section == VERSION_SECTION {
            continue;
        }
        let base = pair.base.sections.get(section).unwrap_or(&none);
        let candidate = pair.candidate.sections.get(section).unwrap_or(&none);
        let options: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
        for option in options {
            let (base, candidate) = (base.get(option), candidate.get(option));
            let is_place = if section == SETTINGS_SECTION {
                is_no_setting(option, base) || is_no_setting(option, candidate)
            } else {
                PLACES.contains(&option.as_str())
            };
            if base != candidate && !is_place {
                found.push(OptionDifference {
                    section: section.clone(),
                    option: option.clone(),
                    base: base.cloned(),
                    candidate: candidate.cloned(),
                });
            }
        }
    }
    found
}

/// Whether what a server lists as a setting says who or where it is, or which release. Of two servers on one host all
/// paths differ.
fn is_no_setting(name: &str, value: Option<&String>) -> bool {
    NO_SETTINGS.contains(&name)
        || name.contains("version")
        || value.is_some_and(|value| value.starts_with('/') || value.starts_with("./"))
}

impl OptionsFile {
    /// The value of an option; absent where the release does not have it.
    pub fn value(&self, section: &str, option: &str) -> Option<&str> {
        self.sections.get(section)?.get(option).map(String::as_str)
    }
}

/// `{a=1;b={c=2;}}` becomes `name.a` and `name.b.c`.
fn insert(options: &mut BTreeMap<String, String>, name: &str, value: &str) {
    let nested = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match nested.filter(|_| name.len() <= LONGEST_NAME).map(members) {
        Some(members) if !members.is_empty() => {
            for (member, value) in members {
                insert(options, &format!("{name}.{member}"), value);
            }
        }
        Some(_) | None => {
            options.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// The members of a nested value; empty where it is a list of something else, which stays whole.
fn members(text: &str) -> Vec<(&str, &str)> {
    let mut depth = 0usize;
    let parts = text.split(|character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ';' && depth == 0
    });
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let split: Vec<(&str, &str)> = parts.iter().filter_map(|part| part.split_once('=')).collect();
    if split.len() == parts.len() { split } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by the releases themselves: an empty database, opened with no option but create_if_missing.
    const OLD: &str = include_str!("../fixtures/rocksdb/6.0.2/OPTIONS.txt");
    const BASE: &str = include_str!("../fixtures/rocksdb/8.5.4/OPTIONS.txt");
    const CANDIDATE: &str = include_str!("../fixtures/rocksdb/8.7.3/OPTIONS.txt");
    const TRUNCATED: &str = include_str!("../fixtures/rocksdb/8.5.4/truncated.txt");

    fn between(base: &str, candidate: &str) -> Vec<OptionDifference> {
        let (base, candidate) = (parse(base).unwrap(), parse(candidate).unwrap());
        differences(OptionsPair { base: &base, candidate: &candidate })
    }

    fn lines(found: &[OptionDifference]) -> String {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        let line = |one: &OptionDifference| {
            format!("{}: {} -> {}", one.option, value(&one.base), value(&one.candidate))
        };
        found.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn defaults_that_changed_between_two_releases_are_found() {
        insta::assert_snapshot!(lines(&between(BASE, CANDIDATE)), @r"
        bottommost_compression_opts.checksum: (none) -> false
        bottommost_file_compaction_delay: (none) -> 0
        compression_opts.checksum: (none) -> false
        default_temperature: (none) -> kUnknown
        memtable_max_range_deletions: (none) -> 0
        compaction_readahead_size: 0 -> 2097152
        compaction_verify_record_count: (none) -> true
        ");
    }

    #[test]
    fn a_release_of_years_before_differs_in_what_matters() {
        let found = between(OLD, CANDIDATE);
        let changed = |option: &str| {
            let one = found.iter().find(|one| one.option == option).unwrap();
            (one.base.as_deref(), one.candidate.as_deref())
        };
        assert_eq!(changed("format_version"), (Some("2"), Some("5")));
        assert_eq!(changed("checksum"), (Some("kCRC32c"), Some("kXXH3")));
        assert_eq!(changed("level_compaction_dynamic_level_bytes"), (Some("false"), Some("true")));
        assert_eq!(changed("enable_blob_files"), (None, Some("false")));
        assert!(!found.iter().any(|one| one.option == "wal_dir" || one.section == "Version"));
    }

    #[test]
    fn a_file_does_not_differ_from_itself_in_another_order() {
        assert_eq!(between(OLD, OLD), []);
        let reordered = CANDIDATE.replace(
            "{checksum=false;max_dict_buffer_bytes=0;enabled=false;",
            "{enabled=false;max_dict_buffer_bytes=0;checksum=false;",
        );
        assert_ne!(reordered, CANDIDATE);
        assert_eq!(between(CANDIDATE, &reordered), []);
    }

    #[test]
    fn nested_values_are_taken_apart_and_lists_stay_whole() {
        let file = "[TableOptions/X \"default\"]\n a={b=1;c={d=2;e=;};}\n f={}\n g={1:2;3}\n";
        let file = parse(file).unwrap();
        let value = |option| file.value("TableOptions/X \"default\"", option);
        assert_eq!(value("a.b"), Some("1"));
        assert_eq!(value("a.c.d"), Some("2"));
        assert_eq!(value("a.c.e"), Some(""));
        assert_eq!((value("f"), value("g"), value("a")), (Some("{}"), Some("{1:2;3}"), None));
    }

    #[test]
    fn a_value_that_nests_without_end_is_taken_apart_only_so_far() {
        let levels = 20_000;
        let text = format!("[Settings]\nx={}{}\n", "{a=".repeat(levels), "}".repeat(levels));
        let file = parse(&text).unwrap();
        let names: Vec<usize> = file.sections["Settings"].keys().map(String::len).collect();
        assert_eq!(names, [LONGEST_NAME + 1]);
        let error = parse(&format!("[{}]\n", "x".repeat(LONGEST_NAME + 1))).unwrap_err();
        assert!(matches!(error, OptionsError::Line { line: 1, .. }), "{error}");
    }

    #[test]
    fn a_truncated_file_is_refused_at_its_line() {
        let error = parse(TRUNCATED).unwrap_err();
        assert!(matches!(&error, OptionsError::Line { text, .. } if text == "write_buf"), "{error}");
        let end = TRUNCATED.rfind('\n').unwrap();
        assert_eq!(parse(&TRUNCATED[..end]).unwrap_err(), OptionsError::Truncated);
        assert_eq!(parse("").unwrap_err(), OptionsError::Truncated);
    }
}
