//! Profile-guided optimisation: a build that records what runs, a workload on it, and what the compiler is told for the build that uses the record. Any
//! tree takes it that passes the flags of the compiler and of the linker on. Must not build anything itself.

use super::source::remove_tree;
use super::tree::files_below;
use super::{BuildError, Product, io_error};
use crate::process::tool::{self, Tool, ToolError};
use crate::server::account;
use model::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

/// How a build is trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pgo {
    /// For `/bin/sh`.
    pub training: String,
    pub format: ProfileFormat,
}

/// How the compiler records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileFormat {
    /// A file for each object, read as it is.
    Gcc,
    /// The same, of a compiler that can be told that the training is partial: from gcc 10 on.
    GccPartial,
    /// Files that a tool merges into one.
    Clang { merge: String },
}

/// Which of the two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Record,
    Use,
}

/// One build of the two, and where the record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) pgo: &'a Pgo,
    pub(super) phase: Phase,
    pub(super) profile: &'a Path,
}

/// A build that records, ready to be trained.
pub(super) struct Training<'a> {
    pub(super) product: &'a Product,
    /// Where it was put.
    pub(super) made: &'a Path,
    pub(super) profile: &'a Path,
    /// For the workload and its log.
    pub(super) workshop: &'a Path,
    pub(super) timeout: Nanos,
}

/// Code that the training did not run is compiled as it would be without a profile. Without this flag gcc optimises it for size, and a build would seem to
/// be slower in all that a benchmark asks for and the training did not.
pub(super) const PARTIAL_TRAINING: &str = "-fprofile-partial-training";
/// Of clang's profiles, merged.
const MERGED: &str = "merged.profdata";
/// Merging takes seconds; a timeout against hangs.
const MERGE_TIMEOUT: Nanos = Nanos::from_secs(600);

/// Characters of a path, beside letters and digits, that neither split a list of flags nor mean anything to a shell, make, a compiler or a search path: clang
/// replaces what follows a `%`, and `LD_LIBRARY_PATH` ends a directory at a `:`.
const PLAIN: &str = "/._-+@,=";

/// Whether flags can name a profile below the work directory. A link with a plain path is no way out: the build would record the link in its flags. Nor is a
/// relative path: processes of a build run in different directories.
///
/// # Errors
/// Its path would not stay one word.
pub(super) fn check_path(work_dir: &Path) -> Result<(), BuildError> {
    let is_plain = |character: char| character.is_alphanumeric() || PLAIN.contains(character);
    if work_dir.to_string_lossy().chars().all(is_plain) {
        return Ok(());
    }
    Err(BuildError::ProfilePath { path: work_dir.to_owned() })
}

impl Stage<'_> {
    /// Adds the flags to those that the commands of a recipe find in their environment.
    pub(super) fn add_to(self, environment: &mut BTreeMap<String, String>) {
        let profile = self.profile.display();
        let (compile, link) = match (&self.pgo.format, self.phase) {
            (ProfileFormat::Gcc | ProfileFormat::GccPartial, Phase::Record) => (
                // Threads count together without losing counts, where the CPU can.
                format!("-fprofile-generate={profile} -fprofile-update=prefer-atomic"),
                format!("-fprofile-generate={profile}"),
            ),
            (format @ (ProfileFormat::Gcc | ProfileFormat::GccPartial), Phase::Use) => {
                // Counts of threads may contradict each other, and code that no workload reaches has none: both are no mistake of the tree.
                let mut flags = format!(
                    "-fprofile-use={profile} -fprofile-correction -Wno-missing-profile -Wno-error=coverage-mismatch"
                );
                if *format == ProfileFormat::GccPartial {
                    flags.push(' ');
                    flags.push_str(PARTIAL_TRAINING);
                }
                (flags, String::new())
            }
            (ProfileFormat::Clang { .. }, Phase::Record) => {
                // Processes write into four files at most, whatever their number.
                let generate = format!("-fprofile-instr-generate={profile}/%4m.profraw");
                (format!("{generate} -fprofile-update=atomic"), generate)
            }
            (ProfileFormat::Clang { .. }, Phase::Use) => (
                format!("-fprofile-instr-use={profile}/{MERGED} -Wno-profile-instr-out-of-date"),
                String::new(),
            ),
        };
        for (variable, flags) in [("CFLAGS", &compile), ("CXXFLAGS", &compile), ("LDFLAGS", &link)] {
            let all = environment.entry(variable.to_owned()).or_default();
            if !all.is_empty() && !flags.is_empty() {
                all.push(' ');
            }
            all.push_str(flags);
        }
    }
}

impl Pgo {
    /// Runs the workload on a build that records, and makes its record readable for the compiler.
    ///
    /// # Errors
    /// The command fails or takes too long, or it left no record; or we are root, and this host has no user for servers.
    pub(super) fn train(&self, on: &Training<'_>, interrupted: &dyn Fn() -> bool) -> Result<(), BuildError> {
        // Programs that building runs record, too.
        remove_tree(on.profile)?;
        fs::create_dir(on.profile).map_err(io_error("create", on.profile))?;
        let directory = on.workshop.join("training");
        remove_tree(&directory)?;
        fs::create_dir(&directory).map_err(io_error("create", &directory))?;
        let log = on.workshop.join("training.log");
        let shown = |path: &Path| path.display().to_string();
        let mut environment = BTreeMap::from([("profile".to_owned(), shown(on.profile))]);
        match on.product {
            Product::Library(library) => {
                let library = on.made.join(library.file_name().unwrap_or(library.as_os_str()));
                environment.insert("library".to_owned(), shown(&library));
            }
            Product::Server => {
                environment.insert("installed".to_owned(), shown(on.made));
                // It was built for another place.
                let libraries = shown(&on.made.join("lib"));
                let others = env::var("LD_LIBRARY_PATH").ok().filter(|paths| !paths.is_empty());
                let all = others.map_or_else(|| libraries.clone(), |others| format!("{libraries}:{others}"));
                environment.insert("LD_LIBRARY_PATH".to_owned(), all);
                // Empty where servers run as who we are.
                let account = account::for_servers().map_err(|error| BuildError::Account(Box::new(error)))?;
                let (uid, gid) = account
                    .map(|account| (account.uid.to_string(), account.gid.to_string()))
                    .unwrap_or_default();
                environment.insert("server_uid".to_owned(), uid);
                environment.insert("server_gid".to_owned(), gid);
            }
        }
        let run = |script: String, directory: &Path, output: &Path, timeout: Nanos| {
            let arguments = ["-c".to_owned(), script];
            let tool = Tool {
                program: Path::new("/bin/sh"),
                arguments: &arguments,
                directory,
                output,
                timeout,
                without: &[],
                with: &environment,
            };
            tool::run(&tool, |_| Ok(()), &mut || interrupted()).map_err(|source| match source {
                ToolError::Interrupted => BuildError::Interrupted,
                source => BuildError::TrainingFailed { log: output.to_owned(), source },
            })
        };
        run(format!("set -e\n{}", self.training), &directory, &log, on.timeout)?;
        remove_tree(&directory)?;
        let (extension, merge) = match &self.format {
            ProfileFormat::Gcc | ProfileFormat::GccPartial => ("gcda", None),
            ProfileFormat::Clang { merge } => ("profraw", Some(merge)),
        };
        // Old gcc puts its files into directories below.
        let recorded = files_below(on.profile)?;
        if !recorded.iter().any(|file| file.extension().is_some_and(|found| found == extension)) {
            return Err(BuildError::NoProfile { log });
        }
        if let Some(merge) = merge {
            let output = on.workshop.join("merge.output");
            run(format!("{merge} merge -o {MERGED} *.{extension}"), on.profile, &output, MERGE_TIMEOUT)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_directory_whose_path_would_not_stay_one_word_is_refused() {
        for plain in ["/var/cache/dbdyno", "/home/jörg/.cache/db-dyno_2+x@1.0,a=b"] {
            check_path(Path::new(plain)).unwrap();
        }
        for taken_apart in
            ["/home/a b/w", "/w\t", "/w/$x", "/w/it's", "/w/100%", "/w:x", "/w;x", "/w#x", "/w\\x"]
        {
            let error = check_path(Path::new(taken_apart)).unwrap_err();
            let said = error.to_string();
            assert!(error.is_usage() && said.contains(taken_apart) && said.contains("--work-dir"), "{said}");
        }
    }

    #[test]
    fn both_builds_have_the_flags_of_their_compiler() {
        let clang = ProfileFormat::Clang { merge: "llvm-profdata-16".to_owned() };
        let flags = |format: &ProfileFormat, phase: Phase| {
            let pgo = Pgo { training: "true".to_owned(), format: format.clone() };
            let mut environment = BTreeMap::from([("CFLAGS".to_owned(), "-O2".to_owned())]);
            Stage { pgo: &pgo, phase, profile: Path::new("/p") }.add_to(&mut environment);
            [environment["CFLAGS"].clone(), environment["CXXFLAGS"].clone(), environment["LDFLAGS"].clone()]
        };
        let [c, plus_plus, link] = flags(&ProfileFormat::Gcc, Phase::Record);
        assert_eq!(c, "-O2 -fprofile-generate=/p -fprofile-update=prefer-atomic");
        assert_eq!(format!("-O2 {plus_plus}"), c);
        assert_eq!(link, "-fprofile-generate=/p");
        let [c, _, link] = flags(&ProfileFormat::Gcc, Phase::Use);
        assert!(c.starts_with("-O2 -fprofile-use=/p ") && link.is_empty(), "{c}");
        assert!(!c.contains(PARTIAL_TRAINING), "{c}");
        let [partial, plus_plus, _] = flags(&ProfileFormat::GccPartial, Phase::Use);
        assert_eq!(partial, format!("{c} {PARTIAL_TRAINING}"));
        assert!(plus_plus.ends_with(PARTIAL_TRAINING), "{plus_plus}");
        assert_eq!(
            flags(&ProfileFormat::GccPartial, Phase::Record),
            flags(&ProfileFormat::Gcc, Phase::Record)
        );
        let [_, _, link] = flags(&clang, Phase::Record);
        assert_eq!(link, "-fprofile-instr-generate=/p/%4m.profraw");
        let [c, _, _] = flags(&clang, Phase::Use);
        assert!(c.contains("-fprofile-instr-use=/p/merged.profdata"), "{c}");
    }
}
