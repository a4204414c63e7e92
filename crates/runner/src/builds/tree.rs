//! The files of a tree. Must not change any.

use super::{BuildError, io_error};
use std::fs;
use std::path::{Path, PathBuf};

/// Regular files below a directory, in order; what links point to is found where it is, if that is below it.
///
/// # Errors
/// A directory that cannot be read.
pub(super) fn files_below(directory: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut files = Vec::new();
    add(directory, &mut files)?;
    files.sort();
    Ok(files)
}

fn add(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let read = io_error("read", directory);
    for entry in fs::read_dir(directory).map_err(&read)? {
        let entry = entry.map_err(&read)?;
        let kind = entry.file_type().map_err(&read)?;
        if kind.is_dir() {
            add(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_of_all_depths_are_found_and_links_are_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        fs::create_dir_all(path("b/inner")).unwrap();
        for file in ["c", "b/inner/x", "a"] {
            fs::write(path(file), "").unwrap();
        }
        symlink("..", path("b/inner/above")).unwrap();
        symlink("a", path("alias")).unwrap();
        assert_eq!(files_below(scratch.path()).unwrap(), ["a", "b/inner/x", "c"].map(path));
        let error = files_below(&path("gone")).unwrap_err();
        assert!(error.to_string().contains("gone"), "{error}");
    }
}
