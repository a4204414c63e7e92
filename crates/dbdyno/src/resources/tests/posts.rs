//! The page that says how the configuration `posts` of each SQL server differs from `standard`, held to the configurations themselves.

use super::*;
use model::config::{EngineConfig, MemoryShare, Options, Transport, for_server};
use model::subject::compare_versions;
use model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../../../docs/sql-posts.md");
const HEADING: &str = "| option | releases | `standard` | `posts` | why it matters |";
/// The heading of each engine's table on the page.
const ENGINES: [(&str, &str); 4] =
    [("postgres", "Postgres"), ("mysql", "MySQL"), ("mariadb", "MariaDB"), ("myrocks", "MyRocks")];
/// What the page gives a server.
const MEMORY: Bytes = Bytes::from_mib(24 << 10);
const NOT_SET: &str = "not set";

/// Option, releases, value in `standard`, value in `posts`.
type Row = [String; 4];

#[test]
fn the_page_has_every_option_in_which_posts_differs_from_standard() {
    let catalog = parse_catalog(&built_in("engines"), &built_in("configs")).unwrap();
    let mut wrong = String::new();
    for (engine, heading) in ENGINES {
        let config = |name: &str| catalog.config(engine, name).unwrap();
        let mut differing = differences(config("standard"), config("posts"));
        let mut listed = listed(heading);
        differing.sort();
        listed.sort();
        if differing != listed {
            wrong += &format!("{engine} needs:\n{}and has:\n{}", text(&differing), text(&listed));
        }
    }
    assert!(wrong.is_empty(), "docs/sql-posts.md lists other options than those that differ\n{wrong}");
}

fn text(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("| `{}` | {} | {} | {} | |\n", row[0], row[1], row[2], row[3])).collect()
}

#[test]
fn what_is_new_gone_or_changed_is_a_difference_of_the_releases_that_have_it() {
    let text = "engine = 'e'
        [[config]]
        name = 'standard'
        description = ''
        options = { same = '1', changed = '1', gone = '', cf = 'a=1;t={b=2;c=3};d={e={f=1}}' }
        [[config.when]]
        since = '8.0'
        options = { new = '4' }
        [[config]]
        name = 'posts'
        description = ''
        transport = 'tcp'
        options = { same = '1', changed = '2', cf = 't={b=9;c=3};a=1;d={e={f=2}}' }
        memory = { pool = { percent = 25 } }
        [[config.when]]
        before = '8.0'
        memory = { log = { percent = 50, unit = 'MB' } }
        [[config.when]]
        since = '8.0'
        memory = { log = { percent = 125, unit = 'MB' } }
        [[config.when]]
        since = '8.0'
        before = '8.4'
        options = { new = '5' }";
    let (_, configs) = model::config::parse(text, "test").unwrap();
    let rows = differences(&configs[0], &configs[1]);
    let shown: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        shown,
        [
            "transport all Unix socket TCP",
            "cf: d.e.f all 1 2",
            "cf: t.b all 2 9",
            "changed all 1 2",
            "gone all set not set",
            "log before 8.0 not set 12288MB (50 %)",
            "log from 8.0 not set 30720MB (125 %)",
            "new from 8.0, before 8.4 4 5",
            "new from 8.4 4 not set",
            "pool all not set 6442450944 (25 %)",
        ]
    );
}

/// The rows that a page about two configurations needs, of each option as many as it has pairs of values.
fn differences(standard: &EngineConfig, posts: &EngineConfig) -> Vec<Row> {
    let mut rows = Vec::new();
    if standard.transport != posts.transport {
        let shown = |config: &EngineConfig| match config.transport {
            Transport::Socket => "Unix socket".to_owned(),
            Transport::Tcp => "TCP".to_owned(),
        };
        rows.push(["transport".to_owned(), "all".to_owned(), shown(standard), shown(posts)]);
    }
    // What holds changes at these releases; "0" stands for all before the first.
    let limits = [standard, posts].into_iter().flat_map(|config| &config.when);
    let mut since: Vec<&str> =
        limits.flat_map(|when| [&when.since, &when.before]).flatten().map(String::as_str).collect();
    since.push("0");
    since.sort_by(|left, right| compare_versions(left, right));
    since.dedup();
    let mut held: BTreeMap<[String; 3], Vec<usize>> = BTreeMap::new();
    for (index, release) in since.iter().enumerate() {
        let (ours, theirs) = (shown_options(standard, release), shown_options(posts, release));
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for name in names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)) {
            let value = |options: &Options| options.get(name).map_or(NOT_SET, String::as_str).to_owned();
            held.entry([name.clone(), value(&ours), value(&theirs)]).or_default().push(index);
        }
    }
    for ([name, ours, theirs], at) in held {
        for run in at.chunk_by(|left, right| left + 1 == *right) {
            let before = since.get(run[run.len() - 1] + 1);
            let releases = match (run[0], before) {
                (0, None) => "all".to_owned(),
                (0, Some(before)) => format!("before {before}"),
                (first, None) => format!("from {}", since[first]),
                (first, Some(before)) => format!("from {}, before {before}", since[first]),
            };
            rows.push([name.clone(), releases, ours.clone(), theirs.clone()]);
        }
    }
    rows
}

/// The options that a release is started with, as the page shows them: a share of memory with its percentage, the options within an option of
/// RocksDB apart.
fn shown_options(config: &EngineConfig, release: &str) -> Options {
    let mut shown = Options::new();
    for (name, value) in for_server(config, release, MEMORY) {
        if value.is_empty() {
            shown.insert(name, "set".to_owned());
        } else if let Some(percent) = percent_of_memory(config, &name, &value) {
            shown.insert(name, format!("{value} ({percent} %)"));
        } else if value.contains(';') {
            nested(&format!("{name}: "), &value, &mut shown);
        } else {
            shown.insert(name, value);
        }
    }
    shown
}

/// The share of memory that a value is; none where it is no share.
fn percent_of_memory(config: &EngineConfig, name: &str, value: &str) -> Option<u16> {
    let shares = std::iter::once(&config.memory).chain(config.when.iter().map(|when| &when.memory));
    let is_value = |share: &&MemoryShare| {
        let alone = BTreeMap::from([(name.to_owned(), **share)]);
        for_server(&EngineConfig { memory: alone, ..EngineConfig::default() }, "1", MEMORY)[name] == value
    };
    shares.filter_map(|shares| shares.get(name)).find(is_value).map(|share| share.percent)
}

/// `a=1;t={b=2;c=3}` as `a`, `t.b` and `t.c`, each behind `prefix`.
fn nested(prefix: &str, text: &str, options: &mut Options) {
    let mut depth = 0;
    let parts = text.split(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ';' && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap();
        match value.strip_prefix('{').and_then(|value| value.strip_suffix('}')) {
            Some(inner) => nested(&format!("{prefix}{name}."), inner, options),
            None => {
                options.insert(format!("{prefix}{name}"), value.to_owned());
            }
        }
    }
}

/// The rows of the table below a heading of the page.
fn listed(heading: &str) -> Vec<Row> {
    let section = PAGE.lines().skip_while(|line| *line != format!("## {heading}")).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let rows = section.skip_while(|line| *line != HEADING).skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| -> Row {
        let cells: Vec<&str> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        [cells[0], cells[1], cells[2], cells[3]].map(str::to_owned)
    };
    rows.map(row).collect()
}
