//! A copy of the library of each side, which the run makes: how a file came to be on the host (unpacked from an archive,
//! written by a linker, copied by hand) shows in the rates of what is loaded from it, by up to 1 % (decision record 031).

use crate::engines::{EngineError, elf, sha256};
use model::block::Side;
use model::plan::{Layout, Plan, Subject};
use rustix::fs::StatVfsMountFlags;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Within the directory of the run, which removes it with all else.
const DIRECTORY: &str = "libraries";

/// Why libraries are loaded where they are.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    #[error("`{}` finds other libraries in its own directory ($ORIGIN)", .0.display())]
    BesideItself(PathBuf),
    #[error("the file system of the work directory `{}` runs no code (noexec)", .0.display())]
    NoExec(PathBuf),
}

/// Why a library is not measured.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("failed to copy `{}` to `{}`", .from.display(), .to.display())]
    Copy { from: PathBuf, to: PathBuf, source: io::Error },
    #[error(transparent)]
    Read(#[from] EngineError),
    #[error(
        "`{}` is no longer the file that was planned as {build}: its SHA-256 is {found}, and was {planned}; put that file \
         back, or measure the new one in a run of its own", .library.display()
    )]
    Changed { library: PathBuf, build: String, planned: String, found: String },
    #[error(
        "the files with code, `{}` and others, are no longer those that were planned as {build}; put them back, or measure the new ones in \
         a run of its own", .files.display()
    )]
    OthersChanged { files: PathBuf, build: String },
}

/// What keeps the sides from loading copies in this directory, which need not exist yet: all do, or none.
pub fn obstacle(subjects: &[Subject], work_dir: &Path) -> Option<Obstacle> {
    let mut libraries =
        subjects.iter().filter(|subject| is_loaded(subject)).map(|subject| &subject.build.library).peekable();
    libraries.peek()?;
    if let Some(library) = libraries.find(|library| elf::looks_beside_itself(library)) {
        return Some(Obstacle::BesideItself(library.clone()));
    }
    runs_no_code(work_dir).then(|| Obstacle::NoExec(work_dir.to_owned()))
}

/// The plan with the library of each side in this directory, if it asks for copies.
///
/// # Errors
/// A library that cannot be copied, and one that has changed since the plan was made.
pub fn in_place(plan: &Plan, directory: &Path) -> Result<Plan, LibraryError> {
    let mut plan = plan.clone();
    let Plan { subjects, layout, .. } = &mut plan;
    for (side, subject) in subjects.iter_mut().enumerate() {
        if !layout.library_copies || !is_loaded_by(layout, side, subject) {
            continue;
        }
        let from = &subject.build.library;
        let name = from.file_name().unwrap_or(OsStr::new("library"));
        let to = directory.join(DIRECTORY).join(side.to_string()).join(name);
        copy(from, &to).map_err(|source| LibraryError::Copy {
            from: from.clone(),
            to: to.clone(),
            source,
        })?;
        is_as_planned(subject, &to)?;
        subject.build.library = to;
    }
    Ok(plan)
}

/// Whether this file has the bytes of the subject's library, of which it may be a copy.
pub(super) fn is_as_planned(subject: &Subject, file: &Path) -> Result<(), LibraryError> {
    let build = &subject.build;
    let (found, _) = sha256::of_file(file)?;
    if build.checksum().is_none_or(|planned| planned == found) {
        return Ok(());
    }
    Err(LibraryError::Changed {
        library: build.library.clone(),
        build: build.reference.to_string(),
        planned: build.sha256.clone(),
        found,
    })
}

/// Whether this side loads a library: servers do not, and db_bench programs have their own.
fn is_loaded_by(layout: &Layout, side: Side, subject: &Subject) -> bool {
    is_loaded(subject) && !layout.db_bench.contains_key(&side)
}

fn is_loaded(subject: &Subject) -> bool {
    subject.build.server.is_none() && subject.build.elsewhere().is_none()
}

fn runs_no_code(directory: &Path) -> bool {
    let existing = directory.ancestors().find(|directory| directory.exists());
    let mounted = existing.and_then(|directory| rustix::fs::statvfs(directory).ok());
    mounted.is_some_and(|mounted| mounted.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// What is still to be written out would be written while something is measured.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::samples::WORKLOAD;
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt;
    use testing::{plan, subject};

    fn planned(library: &Path) -> Plan {
        let mut plan = Plan {
            subjects: vec![subject("rocksdb@8.7.3"), subject("rocksdb@8.7.3")],
            ..plan(WORKLOAD, &[])
        };
        for subject in &mut plan.subjects {
            subject.build.library = library.to_owned();
            subject.build.sha256 = sha256::of_file(library).map(|(digits, _)| digits).unwrap_or_default();
        }
        plan.layout.library_copies = true;
        plan
    }

    #[test]
    fn each_side_has_a_file_of_its_own_with_the_same_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let library = scratch.path().join("library.so");
        fs::write(&library, [7_u8; 5000]).unwrap();
        let run = tempfile::tempdir().unwrap();
        let placed = in_place(&planned(&library), run.path()).unwrap();
        let mut files = vec![fs::metadata(&library).unwrap().ino()];
        for subject in &placed.subjects {
            let copy = &subject.build.library;
            assert!(copy.starts_with(run.path()) && copy.ends_with("library.so"), "{}", copy.display());
            assert_eq!(fs::read(copy).unwrap(), fs::read(&library).unwrap());
            files.push(fs::metadata(copy).unwrap().ino());
        }
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn a_library_that_was_rebuilt_since_it_was_planned_is_refused_and_both_checksums_are_told() {
        let scratch = tempfile::tempdir().unwrap();
        let library = scratch.path().join("library.so");
        fs::write(&library, "one").unwrap();
        let plan = planned(&library);
        is_as_planned(&plan.subjects[0], &library).unwrap();
        fs::write(&library, "two").unwrap();
        let run = tempfile::tempdir().unwrap();
        let refused = [
            is_as_planned(&plan.subjects[0], &library).unwrap_err(),
            in_place(&plan, run.path()).unwrap_err(),
        ];
        for error in refused.map(|error| error.to_string()) {
            let found = sha256::of_file(&library).unwrap().0;
            let parts = [&plan.subjects[0].build.sha256, &found, "library.so", "rocksdb@8.7.3"];
            assert!(parts.iter().all(|part| error.contains(*part)), "{error}");
        }
    }

    #[test]
    fn a_run_without_copies_and_a_side_without_a_library_make_none_and_a_library_that_is_gone_is_named() {
        let run = tempfile::tempdir().unwrap();
        let gone = run.path().join("gone.so");
        let mut older = planned(&gone);
        older.layout.library_copies = false;
        assert_eq!(in_place(&older, run.path()).unwrap(), older);
        let mut programs = planned(&gone);
        programs.layout.db_bench = BTreeMap::from([(0, gone.clone()), (1, gone.clone())]);
        assert_eq!(in_place(&programs, run.path()).unwrap(), programs);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
        let error = in_place(&planned(&gone), run.path()).unwrap_err().to_string();
        assert!(error.contains("gone.so") && error.contains("libraries/0/gone.so"), "{error}");
    }

    #[test]
    fn a_directory_that_does_not_exist_yet_is_judged_by_the_file_system_that_it_will_be_on() {
        let subjects = planned(Path::new("/nowhere/library.so")).subjects;
        let work_dir = tempfile::tempdir().unwrap();
        assert!(obstacle(&subjects, &work_dir.path().join("not/yet")).is_none());
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let (place, options) = (Path::new(fields[1]), fields[3]);
            let found = obstacle(&subjects, &place.join("not/yet"));
            // A mount can be hidden by a later one.
            let is_seen =
                mounts.lines().filter(|other| other.split(' ').nth(1) == Some(fields[1])).count() == 1;
            if is_seen && place.is_dir() {
                assert_eq!(found.is_some(), options.split(',').any(|option| option == "noexec"), "{line}");
            }
        }
        assert!(obstacle(&[], Path::new("/proc/nowhere")).is_none());
    }
}
