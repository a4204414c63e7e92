//! How much of its device the files of a database take.

use model::units::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Of `st_blocks`, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;

/// What all that is below a directory takes, as `du` counts it: a file of several names once, a hole not at all. A file that the engine removes
/// meanwhile does not count. Absent where the directory cannot be read.
pub fn allocated(directory: &Path) -> Option<Bytes> {
    let mut blocks = fs::metadata(directory).ok()?.blocks();
    let mut seen = BTreeSet::new();
    let mut pending: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).ok().into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.nlink() > 1 && metadata.is_file() && !seen.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            blocks += metadata.blocks();
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Some(Bytes(blocks * BLOCK_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::symlink;

    #[test]
    fn all_files_below_count_once_and_holes_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("base/1")).unwrap();
        let empty = allocated(directory.path()).unwrap();
        fs::write(path("base/1/table"), vec![1; 1 << 20]).unwrap();
        let one = allocated(directory.path()).unwrap();
        let grown = one.0 - empty.0;
        assert!((1 << 20..(1 << 20) + 65_536).contains(&grown), "{grown}");
        fs::hard_link(path("base/1/table"), path("base/another name")).unwrap();
        symlink("..", path("base/up")).unwrap();
        File::create(path("hole")).unwrap().set_len(1 << 30).unwrap();
        let more = allocated(directory.path()).unwrap().0 - one.0;
        assert!(more < 65_536, "{more}");
        assert_eq!(allocated(&path("none")), None);
    }
}
