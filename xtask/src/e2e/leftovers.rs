//! Databases and half-fetched builds that were left behind, and the markers above them. Knows RocksDB's file
//! names and the marker's, but not how dbdyno lays out its work directory.

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that marks a directory as dbdyno's own.
pub const MARKER: &str = ".dbdyno";

/// Files that only a database has: of RocksDB, Postgres and MySQL.
const DATABASES: [&str; 3] = ["CURRENT", "PG_VERSION", "ibdata1"];

/// Directories below `root` that hold a database, sorted files, or a jar.
pub fn databases(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // Not there, or removed while we looked.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("failed to list `{}`", directory.display()));
            }
        };
        let mut is_database = false;
        // MySQL 5.6 comes with a data directory to copy; of others an empty one is kept.
        let is_kept = directory
            .strip_prefix(root)
            .is_ok_and(|path| path.iter().any(|one| one == "engines" || one == "initialised"));
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            is_database |= name.ends_with(".sst") || name.ends_with(".jar");
            is_database |= DATABASES.contains(&&*name) && !is_kept;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
        if is_database {
            found.push(directory);
        }
    }
    found.sort();
    Ok(found)
}

/// The marked directories from `directory` upwards, innermost first. The work directory itself, which is known
/// by the builds in it, and the directories right in it belong to no single run and are left out.
pub fn marked_above(directory: &Path) -> Vec<PathBuf> {
    let is_work_directory = |path: &Path| path.join("engines").exists();
    directory
        .ancestors()
        .take_while(|above| !above.parent().is_none_or(is_work_directory))
        .filter(|above| above.join(MARKER).is_file())
        .map(Path::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_and_their_markers_are_found() {
        let root = std::env::temp_dir().join(format!("xtask-leftovers-{}", std::process::id()));
        let database = root.join("data/run/left");
        fs::create_dir_all(&database).unwrap();
        fs::create_dir_all(root.join("engines")).unwrap();
        fs::write(root.join(MARKER), "").unwrap();
        fs::write(root.join("data").join(MARKER), "").unwrap();
        fs::write(root.join("data/run").join(MARKER), "").unwrap();
        fs::write(root.join("results.txt"), "").unwrap();
        assert_eq!(databases(&root).unwrap(), Vec::<PathBuf>::new());
        fs::write(database.join("000012.sst"), "").unwrap();
        let found = (databases(&root).unwrap(), marked_above(&database));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, (vec![database], vec![root.join("data/run")]));
        assert_eq!(databases(&root).unwrap(), Vec::<PathBuf>::new());
    }
}
