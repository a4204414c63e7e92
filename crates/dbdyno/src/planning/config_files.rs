//! Configuration files of servers as users have them, each a configuration under a name of its own: `--config-file mine=my.cnf`, or
//! `config_files` of a plan.

use crate::exit::usage;
use anyhow::{Context, anyhow, bail};
use formats::server_config::{self, ServerOption};
use model::config::{EngineConfig, Options, When};
use model::figures::and_list;
use model::subject::SubjectRef;
use model::workload::sql::Dialect;
use runner::engines::EngineCatalog;
use runner::server::is_ours;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names and files of `--config-file`.
///
/// # Errors
/// A text that is not NAME=FILE.
pub fn named(texts: &[String]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let parsed = |text: &String| {
        let (name, path) = text
            .split_once('=')
            .filter(|(name, path)| !name.is_empty() && !path.is_empty())
            .ok_or_else(|| {
            usage(anyhow!("--config-file `{text}`: write it like mine=./my.cnf, and postgres@18.6+mine"))
        })?;
        Ok((name.to_owned(), PathBuf::from(path)))
    };
    texts.iter().map(parsed).collect()
}

/// Gives each engine the files that its subjects name.
///
/// # Errors
/// A file that cannot be read, an engine that is no server, a name that no subject has.
pub fn add(
    catalog: &mut EngineCatalog,
    files: &BTreeMap<String, PathBuf>,
    subjects: &[SubjectRef],
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    if let Some(name) = files.keys().find(|name| subjects.iter().all(|subject| subject.config != **name)) {
        bail!(usage(anyhow!(
            "no subject has the configuration file `{name}`: write it like postgres@18.6+{name}"
        )));
    }
    let wanted: BTreeSet<(&str, &str)> =
        subjects.iter().map(|subject| (subject.build.engine.as_str(), subject.config.as_str())).collect();
    for (engine, name) in wanted {
        let Some(path) = files.get(name) else { continue };
        let dialect = catalog.dialect(engine).map_err(usage)?;
        let dialect = dialect.ok_or_else(|| {
            usage(anyhow!("{engine} is no server: it has no configuration file like `{}`", path.display()))
        })?;
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read the configuration file `{}`", path.display()))
            .map_err(usage)?;
        let options = match dialect {
            Dialect::Postgres => server_config::postgresql_conf(&text),
            Dialect::Mysql => server_config::my_cnf(&text),
            Dialect::Mongodb => server_config::mongod_conf(&text),
        };
        let options = options.with_context(|| path.display().to_string()).map_err(usage)?;
        let (ours, theirs): (Vec<ServerOption>, Vec<ServerOption>) =
            options.into_iter().partition(|option| is_ours(dialect, &option.name));
        if !ours.is_empty() {
            let names: BTreeSet<String> = ours.into_iter().map(|option| option.name).collect();
            let names = and_list(&names.into_iter().collect::<Vec<_>>());
            tell(&format!("{}: dbdyno decides itself about {names}", path.display()));
        }
        catalog.set_config(engine, config(name, path, theirs)).map_err(usage)?;
    }
    Ok(())
}

fn config(name: &str, path: &Path, options: Vec<ServerOption>) -> EngineConfig {
    let mut of_all = Options::new();
    let mut of_series: BTreeMap<String, Options> = BTreeMap::new();
    for ServerOption { name, value, series } in options {
        let value = without_directory(&name, value);
        match series {
            None => of_all.insert(name, value),
            Some(series) => of_series.entry(series).or_default().insert(name, value),
        };
    }
    let when = |(series, options): (String, Options)| {
        let before = next_series(&series);
        When { since: Some(series), before, memory_from_gb: None, options, memory: BTreeMap::new() }
    };
    EngineConfig {
        name: name.to_owned(),
        description: format!("the file {}", path.display()),
        options: of_all,
        when: of_series.into_iter().map(when).collect(),
        file: Some(path.to_owned()),
        ..EngineConfig::default()
    }
}

/// Files that a server writes lie in its own directory.
fn without_directory(name: &str, value: String) -> String {
    let is_log = matches!(name, "log_bin" | "relay_log" | "log_bin_index");
    let base = value.rsplit('/').next().filter(|base| is_log && !base.is_empty());
    base.map_or_else(|| value.clone(), str::to_owned)
}

/// `8.1` after `8.0`.
fn next_series(series: &str) -> Option<String> {
    let (front, last) = series.rsplit_once('.').map_or(("", series), |(front, last)| (front, last));
    let next = last.parse::<u32>().ok()?.checked_add(1)?;
    Some(if front.is_empty() { next.to_string() } else { format!("{front}.{next}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources;
    use model::config::for_server;
    use model::units::Bytes;

    const MY_CNF: &str = "[mysqld]\nport=3306\ndatadir=/data\nlog_bin=/data/m/my/binlogs/bl\ninnodb_buffer_pool_size=2G\n\
        [mysqld-8.0]\ninnodb_idle_flush_pct=1\n";

    fn added(files: &[(&str, &Path)], subjects: &[&str]) -> anyhow::Result<(EngineCatalog, Vec<String>)> {
        let mut catalog = resources::catalog()?;
        let files = files.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
        let subjects: Vec<SubjectRef> = subjects.iter().map(|subject| subject.parse().unwrap()).collect();
        let mut said = Vec::new();
        add(&mut catalog, &files, &subjects, &mut |text| said.push(text.to_owned()))?;
        Ok((catalog, said))
    }

    #[test]
    fn a_file_is_a_configuration_without_what_is_ours() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        fs::write(&path, MY_CNF).unwrap();
        let (catalog, said) = added(&[("mine", &path)], &["mysql@8.0.15+mine", "mysql@8.0.15"]).unwrap();
        assert!(said[0].contains("datadir and port"), "{said:?}");
        let config = catalog.config("mysql", "mine").unwrap();
        let options = |version: &str| for_server(config, version, Bytes(1));
        let of_8 = options("8.0.15");
        assert_eq!(of_8["log_bin"], "bl");
        assert_eq!(
            of_8.keys().collect::<Vec<_>>(),
            ["innodb_buffer_pool_size", "innodb_idle_flush_pct", "log_bin"]
        );
        assert!(["5.7.22", "8.1.0", "9.7.4"].iter().all(|version| options(version).len() == 2));
        assert_eq!(config.file.as_deref(), Some(path.as_path()));
    }

    #[test]
    fn mistakes_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("postgresql.conf");
        fs::write(&path, "shared_buffers\n").unwrap();
        let check = |files: &[(&str, &Path)], subjects: &[&str], expected: &str| {
            let error = format!("{:#}", added(files, subjects).unwrap_err());
            assert!(error.contains(expected), "{error}");
        };
        check(&[("mine", &path)], &["postgres@18.6"], "no subject has the configuration file `mine`");
        check(&[("mine", &path)], &["rocksdb@8.7.3+mine"], "rocksdb is no server");
        check(&[("mine", &path)], &["postgres@18.6+mine"], "line 1: `shared_buffers` has no value");
        check(&[("mine", Path::new("/none.conf"))], &["postgres@18.6+mine"], "/none.conf");
        assert!(named(&["mine".to_owned()]).is_err());
    }
}
