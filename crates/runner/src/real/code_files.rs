//! The files whose code is measured are those that the plan was made for: their checksums are compared when a run begins or is gone
//! on with, and whether one was replaced or written to is looked at before each visit and each launch.

use super::library_copy::{self, LibraryError};
use crate::engines::{code, sha256};
use model::block::Side;
use model::plan::{Layout, Plan, Subject};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The checksum of the code of each side that does not load a library: programs of db_bench; of a server its program and what that
/// loads. A build's own checksum is of the program as it was published, of which a copy may run that names another loader.
pub fn checksums(
    subjects: &[Subject],
    db_bench: &BTreeMap<Side, PathBuf>,
) -> Result<BTreeMap<Side, String>, LibraryError> {
    let sides =
        subjects.iter().enumerate().map(|(side, subject)| (side, other_code(subject, db_bench.get(&side))));
    let with_code = sides.filter(|(_, files)| !files.is_empty());
    with_code.map(|(side, files)| Ok((side, sha256::of_files(&files)?))).collect()
}

/// Whether all code is that which the plan was made for.
pub fn check(plan: &Plan) -> Result<(), LibraryError> {
    let Plan { subjects, layout, .. } = plan;
    for (side, subject) in
        subjects.iter().enumerate().filter(|(_, subject)| subject.build.elsewhere().is_none())
    {
        if !layout.db_bench.contains_key(&side) && subject.build.server.is_none() {
            library_copy::is_as_planned(subject, &subject.build.library)?;
        }
        let other = other_code(subject, layout.db_bench.get(&side));
        // Plans of before 2026-11-24 have no such checksum.
        let Some(planned) = layout.code_sha256.get(&side) else { continue };
        let found = sha256::of_files(&other)?;
        if found != *planned {
            let files = other.first().cloned().unwrap_or_default();
            return Err(LibraryError::OthersChanged { files, build: subject.build.reference.to_string() });
        }
    }
    Ok(())
}

/// What a file was when the run began. One that was replaced is another inode, one that was written to has another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(file: &Path) -> Option<Stamp> {
        let found = fs::metadata(file).ok()?;
        Some(Stamp {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// A file that is not what it was when the run began.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` was replaced or written to since the run began: put the file back and resume the run, or begin a new one", .0.display())]
pub struct Replaced(PathBuf);

/// The code of all sides as it was when the run began.
#[derive(Debug, Default)]
pub struct CodeFiles {
    by_side: BTreeMap<Side, Vec<(PathBuf, Option<Stamp>)>>,
}

impl CodeFiles {
    /// As they are now.
    pub fn now(subjects: &[Subject], layout: &Layout) -> CodeFiles {
        let of_side = |(side, subject): (Side, &Subject)| {
            let db_bench = layout.db_bench.get(&side);
            let mut files = other_code(subject, db_bench);
            if db_bench.is_none() && subject.build.server.is_none() && subject.build.elsewhere().is_none() {
                files.push(subject.build.library.clone());
            }
            let stamped = files.into_iter().map(|file| {
                let stamp = Stamp::of(&file);
                (file, stamp)
            });
            (side, stamped.collect())
        };
        CodeFiles { by_side: subjects.iter().enumerate().map(of_side).collect() }
    }

    /// Those of a side.
    pub fn of(&self, side: Side) -> impl Iterator<Item = &Path> {
        self.stamped(side).map(|(file, _)| file.as_path())
    }

    /// Whether those of a side are still the same.
    pub fn check(&self, side: Side) -> Result<(), Replaced> {
        match self.stamped(side).find(|(file, stamp)| Stamp::of(file) != *stamp) {
            Some((file, _)) => Err(Replaced(file.clone())),
            None => Ok(()),
        }
    }

    fn stamped(&self, side: Side) -> impl Iterator<Item = &(PathBuf, Option<Stamp>)> {
        self.by_side.get(&side).into_iter().flatten()
    }
}

/// The files with code of a subject that loads no library, in a fixed order.
fn other_code(subject: &Subject, db_bench: Option<&PathBuf>) -> Vec<PathBuf> {
    match (db_bench, &subject.build.server) {
        (Some(program), _) => vec![program.clone()],
        (None, Some(server)) => code::of_server(&subject.build.library, server),
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::samples::WORKLOAD;
    use model::build::{Initialise, ServerFiles};
    use model::workload::sql::Dialect;
    use testing::{plan, subject};

    /// Two sides: one has a db_bench of its own, the other is a server.
    fn planned(directory: &Path) -> Plan {
        let mut plan = plan(WORKLOAD, &[]);
        let mut server = subject("postgres@16.3");
        for below in ["bin", "lib/plugins"] {
            fs::create_dir_all(directory.join(below)).unwrap();
        }
        for file in [
            "bin/postgres",
            "bin/initdb",
            "lib/libpq.so.5",
            "lib/plugins/plpgsql.so",
            "lib/notes",
            "db_bench",
        ] {
            fs::write(directory.join(file), file).unwrap();
        }
        server.build.library = directory.join("bin/postgres");
        server.build.sha256 = "of the program as it was published".to_owned();
        server.build.server = Some(ServerFiles {
            dialect: Dialect::Postgres,
            root: directory.to_owned(),
            initialise: Initialise::Initdb { program: directory.join("bin/initdb") },
            share: directory.join("share"),
            character_sets: None,
            plugins: None,
            libraries: Vec::new(),
            storage: None,
            arguments: Vec::new(),
        });
        plan.subjects = vec![subject("rocksdb@8.7.3"), server];
        plan.layout.db_bench = BTreeMap::from([(0, directory.join("db_bench"))]);
        plan.layout.code_sha256 = checksums(&plan.subjects, &plan.layout.db_bench).unwrap();
        plan
    }

    #[test]
    fn each_file_with_code_that_changed_since_the_plan_is_noticed_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let plan = planned(directory.path());
        check(&plan).unwrap();
        for file in ["db_bench", "bin/postgres", "bin/initdb", "lib/libpq.so.5", "lib/plugins/plpgsql.so"] {
            let path = directory.path().join(file);
            fs::write(&path, "another").unwrap();
            assert!(check(&plan).is_err(), "{file}");
            fs::write(&path, file).unwrap();
        }
        fs::write(directory.path().join("lib/notes"), "another").unwrap();
        check(&plan).unwrap();
        fs::remove_file(directory.path().join("lib/libpq.so.5")).unwrap();
        let error = check(&plan).unwrap_err().to_string();
        assert!(error.contains("postgres@16.3"), "{error}");
    }

    #[test]
    fn what_is_replaced_during_a_run_is_named_and_is_of_its_side_alone() {
        let directory = tempfile::tempdir().unwrap();
        let plan = planned(directory.path());
        let files = CodeFiles::now(&plan.subjects, &plan.layout);
        assert_eq!((files.check(0), files.check(1)), (Ok(()), Ok(())));
        let plugin = directory.path().join("lib/plugins/plpgsql.so");
        // The same bytes in another file.
        fs::copy(&plugin, directory.path().join("new")).unwrap();
        fs::rename(directory.path().join("new"), &plugin).unwrap();
        assert_eq!((files.check(0), files.check(1)), (Ok(()), Err(Replaced(plugin))));
        check(&plan).unwrap();
    }
}
