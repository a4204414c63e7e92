//! Cases about builds: fetch, info, list, one's own builds, and libraries that are none.

use super::expect::{self, Compared};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The release that cases use where any would do.
pub const RELEASE: &str = "rocksdb@8.5.4";

/// Releases by how far they are tried, from `engines/rocksdb.toml`.
pub struct Releases {
    pub ci: Vec<String>,
    pub tried: Vec<String>,
}

impl Releases {
    pub fn read() -> anyhow::Result<Releases> {
        let path = workspace::root()?.join("engines/rocksdb.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        let file: toml::Table =
            text.parse().with_context(|| format!("failed to parse `{}`", path.display()))?;
        let list = |key: &str| -> anyhow::Result<Vec<String>> {
            let list =
                file.get("releases").and_then(|releases| releases.get(key)).and_then(|list| list.as_array());
            let list = list.with_context(|| format!("`{}` has no releases.{key}", path.display()))?;
            let names: Vec<String> =
                list.iter().filter_map(|release| release.as_str().map(str::to_owned)).collect();
            ensure!(!names.is_empty(), "`{}`: releases.{key} is empty", path.display());
            Ok(names)
        };
        Ok(Releases { ci: list("ci")?, tried: list("tried")? })
    }
}

pub fn cases(releases: &Releases) -> Vec<Case> {
    let tried = releases.tried.clone();
    vec![
        Case::new("engine fetch", fetch),
        Case::new("engine list", move |scratch| list(scratch, &tried)),
        Case::new("engine add", add),
        Case::new("engine not a library", not_a_library),
        Case::new("engine not RocksDB", not_rocksdb),
        Case::new("engine cut library", cut_library),
        Case::new("engine name taken", name_taken),
        Case::new("engine damaged cache", damaged_cache),
        Case::new("engine no mvn", no_mvn),
    ]
}

/// Fetching gives a build whose facts can be seen; a second time it is there.
fn fetch(scratch: &Scratch) -> anyhow::Result<Ending> {
    Call::new(scratch, ["engine", "fetch", RELEASE]).succeeds()?;
    let library = library_of(scratch, RELEASE)?;
    ensure!(library.is_file(), "info names `{}`, which is not there", library.display());
    let info = Call::new(scratch, ["engine", "info", RELEASE, "--json"]).succeeds()?.json()?;
    let checksums = expect::texts(&info, "sha256");
    let is_checksum = |text: &&str| text.len() == 64 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    ensure!(checksums.iter().any(is_checksum), "no SHA-256 in {info}");
    let again = Call::new(scratch, ["engine", "fetch", RELEASE]).succeeds()?;
    ensure!(again.took.as_secs() < 10, "a cached build took {:.0} s to fetch", again.took.as_secs_f64());
    Ok(Ending::Passed)
}

fn list(scratch: &Scratch, tried: &[String]) -> anyhow::Result<Ending> {
    let text = Call::new(scratch, ["engine", "list"]).succeeds()?.stdout;
    let json = Call::new(scratch, ["engine", "list", "--json"]).succeeds()?;
    json.json()?;
    for release in tried {
        ensure!(text.contains(release.as_str()), "`engine list` does not show {release}");
        ensure!(json.stdout.contains(release.as_str()), "`engine list --json` does not show {release}");
    }
    Ok(Ending::Passed)
}

/// One's own build, by directory, can be added, seen, and compared with a release.
fn add(scratch: &Scratch) -> anyhow::Result<Ending> {
    let library = library_of(scratch, RELEASE)?;
    let directory = scratch.path("build");
    fs::create_dir(&directory)?;
    fs::copy(&library, directory.join("librocksdb.so"))?;
    // A cache of its own: builds that are added must not stay in the shared one.
    let call = |arguments: &[&str]| Call::new(scratch, arguments).own_cache();
    call(&["engine", "add", "mine"]).and([&directory]).succeeds()?;
    let list = call(&["engine", "list"]).succeeds()?.stdout;
    ensure!(list.contains("mine"), "`engine list` does not show the added build: {list}");
    let report = Call::compare(scratch, ["rocksdb@mine", RELEASE], "15s").own_cache().succeeds()?.json()?;
    expect::comparison(&report, &Compared { base: "rocksdb@mine", candidate: RELEASE })?;
    Ok(Ending::Passed)
}

fn not_a_library(scratch: &Scratch) -> anyhow::Result<Ending> {
    let path = scratch.write("librocksdb.so", "this is a text\n")?;
    refused(scratch, "text", &path)?;
    refused(scratch, "nowhere", &scratch.path("missing.so"))?;
    let empty = scratch.path("empty");
    fs::create_dir(&empty)?;
    refused(scratch, "empty", &empty)
}

/// A real library that is not this engine: the C library that we run on.
fn not_rocksdb(scratch: &Scratch) -> anyhow::Result<Ending> {
    let maps = fs::read_to_string("/proc/self/maps").context("failed to read /proc/self/maps")?;
    let libc = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| {
        path.rsplit('/').next().is_some_and(|name| name.starts_with("libc.so") || name.starts_with("libc-"))
    });
    let Some(libc) = libc else {
        return Ok(Ending::Skipped {
            reason: "this program is linked statically: no libc.so to try".to_owned(),
        });
    };
    refused(scratch, "libc", Path::new(libc))
}

fn cut_library(scratch: &Scratch) -> anyhow::Result<Ending> {
    let whole = fs::read(library_of(scratch, RELEASE)?)?;
    let path = scratch.path("librocksdb.so");
    fs::write(&path, &whole[..whole.len() / 2])?;
    refused(scratch, "cut", &path)
}

/// `engine add` refuses the path, names it, and records nothing.
fn refused(scratch: &Scratch, name: &str, path: &Path) -> anyhow::Result<Ending> {
    let shown = path.display().to_string();
    Call::new(scratch, ["engine", "add", name]).and([path]).own_cache().fails(&[2], &[&shown])?;
    let list = Call::new(scratch, ["engine", "list"]).own_cache().succeeds()?.stdout;
    ensure!(!list.contains(&shown), "the refused library is in the list");
    Ok(Ending::Passed)
}

fn name_taken(scratch: &Scratch) -> anyhow::Result<Ending> {
    let library = library_of(scratch, RELEASE)?;
    Call::new(scratch, ["engine", "add", "8.5.4"]).and([&library]).own_cache().fails(&[2], &["8.5.4"])?;
    Ok(Ending::Passed)
}

/// A library in the cache that is no longer what was fetched is not measured; fetching again repairs it.
fn damaged_cache(scratch: &Scratch) -> anyhow::Result<Ending> {
    let call = |arguments: &[&str]| Call::new(scratch, arguments).own_cache();
    call(&["engine", "fetch", RELEASE]).succeeds()?;
    let info = call(&["engine", "info", RELEASE, "--json"]).succeeds()?.json()?;
    let library = PathBuf::from(*expect::texts(&info, "library").first().context("info names no library")?);
    let whole = fs::read(&library)?;
    fs::write(&library, &whole[..whole.len() / 2])?;
    call(&["engine", "info", RELEASE]).fails(&[3], &["SHA-256", "engine fetch"])?;
    // What measures cannot use it, says so, and fetches it again.
    Call::compare(scratch, [RELEASE, RELEASE], "5s")
        .own_cache()
        .succeeds()?
        .expect_stderr(&["SHA-256", "fetching"])?;
    ensure!(fs::read(&library)? == whole, "fetching again did not restore the library");
    Ok(Ending::Passed)
}

fn no_mvn(scratch: &Scratch) -> anyhow::Result<Ending> {
    let empty = scratch.path("bin");
    fs::create_dir(&empty)?;
    Call::new(scratch, ["engine", "fetch", RELEASE])
        .own_cache()
        .search_path(empty)
        .fails(&[2, 3], &["mvn"])?;
    Ok(Ending::Passed)
}

/// The library of a build of the shared cache, fetched if need be.
pub fn library_of(scratch: &Scratch, build: &str) -> anyhow::Result<PathBuf> {
    Call::new(scratch, ["engine", "fetch", build]).succeeds()?;
    let info = Call::new(scratch, ["engine", "info", build, "--json"]).succeeds()?.json()?;
    let library = expect::texts(&info, "library");
    Ok(PathBuf::from(*library.first().with_context(|| format!("no library in {info}"))?))
}
