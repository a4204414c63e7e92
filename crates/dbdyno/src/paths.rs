//! Where things are: the store, the work directory, the user's own definitions. XDG's rules, overridable.

use crate::cli::Places;
use crate::exit::usage;
use anyhow::{Context, anyhow};
use runner::rights;
use runner::server::we_are_root;
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use store::Writer;

/// The file of results: `--store`, else `$DBDYNO_STORE`, else below the XDG data directory.
pub fn store_file(places: &Places) -> anyhow::Result<PathBuf> {
    match &places.store {
        Some(path) => Ok(path.clone()),
        None => Ok(xdg("XDG_DATA_HOME", ".local/share")?.join("dbdyno/dbdyno.sqlite")),
    }
}

/// The directory of that file.
pub fn store_directory(places: &Places) -> anyhow::Result<PathBuf> {
    Ok(store::directory_of(&store_file(places)?).to_owned())
}

/// The directory of engines and data: `--work-dir`, else below the XDG cache directory; of root one that other users
/// may enter.
pub fn work_dir(places: &Places) -> anyhow::Result<PathBuf> {
    let path = match &places.work_dir {
        Some(path) => path.clone(),
        None if we_are_root() && env::var_os("XDG_CACHE_HOME").is_none() => match rights::home_of_caller()? {
            Some(home) => home.join(".cache/dbdyno"),
            None => PathBuf::from(CACHE_OF_ROOT),
        },
        None => xdg("XDG_CACHE_HOME", ".cache")?.join("dbdyno"),
    };
    std::path::absolute(&path).with_context(|| format!("failed to resolve `{}`", path.display()))
}

/// Where root's builds and data are: servers that root starts run as another user, who may not enter root's home.
const CACHE_OF_ROOT: &str = "/var/cache/dbdyno";

/// The directory of the user's own workloads, engines and configurations.
pub fn config_dir() -> anyhow::Result<PathBuf> {
    Ok(xdg("XDG_CONFIG_HOME", ".config")?.join("dbdyno"))
}

/// What is remembered between calls and is no result: what `doctor --fix` has changed.
pub fn state_dir() -> anyhow::Result<PathBuf> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("dbdyno"))
}

fn xdg(variable: &str, below_home: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    match env::var_os("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(PathBuf::from(home).join(below_home)),
        None => Err(usage(anyhow!(
            "neither ${variable} nor $HOME is set: name the places by --store and --work-dir"
        ))),
    }
}

/// The store for writing; opened before anything is fetched, so that a store that cannot be used is told at
/// once.
pub fn open_store(places: &Places) -> anyhow::Result<Writer> {
    let (path, directory) = (store_file(places)?, store_directory(places)?);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .with_context(|| format!("failed to make `{}` for the store", directory.display()))?;
    Ok(Writer::open(&path)?)
}
