//! A byte copy of the library of one side, at another path, for `calibrate --copy`: in a calibration both sides are one
//! build, but in a comparison they are two files, with pages of their own in the page cache and a path of their own. The
//! copy shows what that alone does to a rate.

use model::plan::Plan;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The directory of the copy within that of the run, which removes it with all else.
const DIRECTORY: &str = "copy";

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
#[error("failed to copy `{}` to `{}`", .from.display(), .to.display())]
pub struct LibraryCopyError {
    from: PathBuf,
    to: PathBuf,
    source: io::Error,
}

/// The plan with the library of the copied side in this directory, where it is copied to; as it is where no side is.
pub fn in_place(plan: &Plan, directory: &Path) -> Result<Plan, LibraryCopyError> {
    let mut plan = plan.clone();
    let Some(subject) = plan.layout.copied.and_then(|side| plan.subjects.get_mut(side)) else {
        return Ok(plan);
    };
    let from = &subject.build.library;
    let to = directory.join(DIRECTORY).join(from.file_name().unwrap_or(OsStr::new("library")));
    copy(from, &to).map_err(|source| LibraryCopyError { from: from.clone(), to: to.clone(), source })?;
    subject.build.library = to;
    Ok(plan)
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
    use std::os::unix::fs::MetadataExt;
    use testing::{plan, subject};

    fn planned(library: &Path, copied: Option<usize>) -> Plan {
        let mut plan = Plan {
            subjects: vec![subject("rocksdb@8.7.3"), subject("rocksdb@8.7.3")],
            ..plan(WORKLOAD, &[])
        };
        plan.subjects.iter_mut().for_each(|subject| subject.build.library = library.to_owned());
        plan.layout.copied = copied;
        plan
    }

    #[test]
    fn the_copied_side_has_a_file_of_its_own_with_the_same_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let library = scratch.path().join("library.so");
        fs::write(&library, [7_u8; 5000]).unwrap();
        for copied in [0, 1] {
            let run = tempfile::tempdir().unwrap();
            let placed = in_place(&planned(&library, Some(copied)), run.path()).unwrap();
            let copy = &placed.subjects[copied].build.library;
            assert_eq!(placed.subjects[1 - copied].build.library, library);
            assert!(copy.starts_with(run.path()) && copy.ends_with("library.so"), "{}", copy.display());
            assert_eq!(fs::read(copy).unwrap(), fs::read(&library).unwrap());
            assert_ne!(fs::metadata(copy).unwrap().ino(), fs::metadata(&library).unwrap().ino());
        }
    }

    #[test]
    fn without_a_copied_side_nothing_is_made_and_a_library_that_is_gone_is_named() {
        let run = tempfile::tempdir().unwrap();
        let gone = run.path().join("gone.so");
        let plan = planned(&gone, None);
        assert_eq!(in_place(&plan, run.path()).unwrap(), plan);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
        let error = in_place(&planned(&gone, Some(1)), run.path()).unwrap_err().to_string();
        assert!(error.contains("gone.so") && error.contains("copy/gone.so"), "{error}");
    }
}
