//! `cargo xtask checksums`: fetches the tried releases whose archive has no checksum in `engines/*.toml` yet, and writes what it
//! finds. What was listed is never changed: a release whose bytes differ from the list is not the one that was tried.

use crate::workspace;
use anyhow::{Context, ensure};
use clap::Args;
use model::build::BuildSource;
use model::subject::BuildRef;
use runner::engines::{BuildCache, CatalogFiles, EngineCatalog};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the chore is asked for.
#[derive(Args)]
pub struct Arguments {
    /// The engine, as `rocksdb`; all of them without it
    engine: Option<String>,
}

/// What stands above the checksums of a file that has had none.
const HEADING: &str = "# SHA-256 of the archive that each tried release comes in on this CPU; one that differs is refused.\n\
                       # `cargo xtask checksums` fetches those that are missing here and writes their lines.\n";

/// Fetches and writes, release by release; fails at the end if some could not be had.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let scratch = Scratch::new(&workspace::target_directory()?.join("checksums"))?;
    let mut failed = Vec::new();
    for file in engine_files()? {
        let engine = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if arguments.engine.as_ref().is_some_and(|wanted| *wanted != engine) {
            continue;
        }
        for build in catalog(&file)?.without_checksum(&engine, std::env::consts::ARCH)? {
            match scratch.checksum(&catalog(&file)?, &build) {
                Ok(sha256) => {
                    write(&file, &build, &sha256)?;
                    println!("{build} {sha256}");
                }
                Err(error) => {
                    println!("{build} cannot be had: {error:#}");
                    failed.push(build.to_string());
                }
            }
        }
    }
    fs::remove_dir_all(&scratch.root).context("failed to remove the scratch directory")?;
    ensure!(failed.is_empty(), "without a checksum are left: {}", failed.join(", "));
    Ok(())
}

/// The engine files, by name.
fn engine_files() -> anyhow::Result<Vec<PathBuf>> {
    let directory = workspace::root()?.join("engines");
    let entries =
        fs::read_dir(&directory).with_context(|| format!("failed to list `{}`", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

fn catalog(file: &Path) -> anyhow::Result<EngineCatalog> {
    let text = read(file)?;
    let origin = file.display().to_string();
    Ok(EngineCatalog::parse(CatalogFiles { engines: &[(&origin, &text)], configs: &[] })?)
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()))
}

/// Adds a line, in one step: what was fetched before stays if the chore is ended.
fn write(file: &Path, build: &BuildRef, sha256: &str) -> anyhow::Result<()> {
    let order: Vec<String> =
        catalog(file)?.releases(&build.engine)?.iter().map(|release| release.version.clone()).collect();
    let line = Line { arch: std::env::consts::ARCH, version: &build.version, sha256 };
    let text = with_line(&read(file)?, &line, &order);
    let fresh = file.with_extension("toml.new");
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, file))
        .with_context(|| format!("failed to write `{}`", file.display()))
}

/// A checksum to be listed.
struct Line<'a> {
    arch: &'a str,
    version: &'a str,
    sha256: &'a str,
}

/// The text of an engine file with one more checksum: in the table of its CPU, after the releases that come before it in `order`.
fn with_line(text: &str, line: &Line<'_>, order: &[String]) -> String {
    let written = format!("\"{}\" = \"{}\"", line.version, line.sha256);
    let table = format!("[sha256.{}]", line.arch);
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(start) = lines.iter().position(|line| line.trim() == table) else {
        return format!("{}\n\n{HEADING}{table}\n{written}\n", text.trim_end());
    };
    let position = |version: &str| order.iter().position(|known| known == version);
    let comes_before = |entry: &&&str| {
        let version = entry.strip_prefix('"').and_then(|rest| rest.split('"').next());
        version.is_some_and(|version| position(version) < position(line.version))
    };
    let before = lines[start + 1..].iter().take_while(comes_before).count();
    lines.insert(start + 1 + before, &written);
    lines.join("\n") + "\n"
}

/// A work directory of its own, with caches of Maven and npm of its own: what this host has kept from earlier fetches is not
/// what is published, and a release goes as soon as its checksum is known, so that the disk does not fill.
struct Scratch {
    root: PathBuf,
    cache: BuildCache,
}

impl Scratch {
    fn new(root: &Path) -> anyhow::Result<Scratch> {
        for directory in ["bin", "maven", "npm", "work"] {
            let directory = root.join(directory);
            fs::create_dir_all(&directory)
                .with_context(|| format!("failed to make `{}`", directory.display()))?;
        }
        let client = |name: &str, option: &str| -> anyhow::Result<PathBuf> {
            let path = root.join("bin").join(name);
            fs::write(
                &path,
                format!("#!/bin/sh\nexec {name} '{option}{}' \"$@\"\n", root.join(name_of(name)).display()),
            )?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            Ok(path)
        };
        let mut cache = BuildCache::new(&root.join("work"));
        cache.programs.mvn = client("mvn", "-Dmaven.repo.local=")?;
        cache.programs.npm = client("npm", "--cache=")?;
        Ok(Scratch { root: root.to_owned(), cache })
    }

    fn checksum(&self, catalog: &EngineCatalog, build: &BuildRef) -> anyhow::Result<String> {
        let fetched = self.cache.fetch(catalog, build, &mut |text| eprintln!("  {text}"))?;
        let archive = self.cache.jar(build)?.context("its record names no archive")?;
        let place = self.root.join("work/engines").join(&build.engine).join(&build.version);
        fs::remove_dir_all(&place).with_context(|| format!("failed to remove `{}`", place.display()))?;
        if let BuildSource::Published { coordinates } = &fetched.source {
            self.forget(coordinates)?;
        }
        Ok(archive.sha256)
    }

    /// Deletes the archive from the client's cache: `org.rocksdb:rocksdbjni:8.5.4:jar:linux64`, `npm:mysql-server@5.6.24`.
    fn forget(&self, coordinates: &str) -> anyhow::Result<()> {
        let kept = match coordinates.split_once(':') {
            Some(("npm", _)) | None => self.root.join("npm"),
            Some((group, _)) => self.root.join("maven").join(group.replace('.', "/")),
        };
        match fs::remove_dir_all(&kept) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to remove `{}`", kept.display()))
            }
            _ => Ok(()),
        }
    }
}

/// The directory of a client's cache.
fn name_of(client: &str) -> &str {
    if client == "mvn" { "maven" } else { client }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# Why.\nengine = \"x\"\n\n[releases]\n# Tried.\ntried = [\"1.2\", \"1.10\", \"2.0\"]\n";

    fn with(text: &str, version: &str, arch: &str) -> String {
        let order = ["1.2", "1.10", "2.0"].map(str::to_owned);
        with_line(text, &Line { arch, version, sha256: "00" }, &order)
    }

    #[test]
    fn the_first_checksum_brings_the_table_and_all_else_stays_as_it_is() {
        let text = with(FILE, "1.10", "x86_64");
        assert_eq!(text, format!("{FILE}\n{HEADING}[sha256.x86_64]\n\"1.10\" = \"00\"\n"));
    }

    #[test]
    fn lines_are_in_the_order_of_releases_and_in_the_table_of_their_cpu() {
        let mut text = FILE.to_owned();
        for (version, arch) in [
            ("1.10", "x86_64"),
            ("2.0", "aarch64"),
            ("2.0", "x86_64"),
            ("1.2", "x86_64"),
            ("1.10", "aarch64"),
        ] {
            text = with(&text, version, arch);
        }
        let expected = format!(
            "{FILE}\n{HEADING}[sha256.x86_64]\n\"1.2\" = \"00\"\n\"1.10\" = \"00\"\n\"2.0\" = \"00\"\n\n\
             {HEADING}[sha256.aarch64]\n\"1.10\" = \"00\"\n\"2.0\" = \"00\"\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn every_tried_release_that_comes_in_an_archive_has_its_checksum() {
        for file in engine_files().unwrap() {
            let engine = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let missing = catalog(&file).unwrap().without_checksum(&engine, "x86_64").unwrap();
            assert!(missing.is_empty(), "{missing:?}: `cargo xtask checksums {engine}` writes them");
        }
    }
}
