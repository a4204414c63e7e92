//! Empty data directories that are kept from one launch and run to the next. MySQL takes seconds to make one; a copy takes less than a second.
//!
//! An entry is `initialised/NAME` in the work directory, with the lock file `NAME.lock` beside it. It has the directory `data`, and
//! `made-of.json` says which build and options made that. This file is written last: an entry without it, or of another build, is removed
//! and made again.

use super::error::ServerError;
use super::initialise::{self, INITIALISE_TIMEOUT};
use super::{DATA, ServerCommand, account, kind};
use crate::engines::{disk, sha256};
use crate::marked_dir;
use crate::process::file_lock::{FileLock, NotLocked};
use model::build::{Initialise, ServerFiles};
use serde::Serialize;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What an entry was made of, in the entry.
const MADE_OF: &str = "made-of.json";
/// The least recently used beyond these are removed: each takes 40 to 200 MB.
const MOST_KEPT: usize = 24;

/// All that an empty data directory depends on.
#[derive(Serialize)]
struct MadeOf<'a> {
    program_sha256: &'a str,
    files: &'a ServerFiles,
    options: Vec<(&'a str, &'a str)>,
}

/// Makes the data directory in the command's directory as [`initialise::initialise`] does, as a copy of the entry in `kept`. The first
/// server of a build with these options makes the entry.
pub(super) fn initialise(
    kept: &Path,
    program_sha256: &str,
    command: &ServerCommand<'_>,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), ServerError> {
    if let Initialise::CopyOf { .. } | Initialise::EmptyDirectory = command.files.initialise {
        return initialise::initialise(command, interrupted); // that is a copy already, or nothing to copy
    }
    let kind = kind::of(command.files.dialect);
    let shaping = command.options.iter().filter(|(name, _)| kind.is_shaping(name));
    let made_of = MadeOf {
        program_sha256,
        files: command.files,
        options: shaping.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
    };
    marked_dir::create_marked_dir(kept)?;
    let entry = Entry::of(kept, &made_of);
    let _lock = entry.lock(interrupted)?;
    if !entry.is_complete() {
        entry.make(command, interrupted)?;
        remove_least_used(kept);
    }
    entry.copy_to(command, interrupted)
}

struct Entry {
    directory: PathBuf,
    made_of: String,
}

impl Entry {
    fn of(kept: &Path, made_of: &MadeOf<'_>) -> Entry {
        let made_of = serde_json::to_string_pretty(made_of).unwrap_or_default();
        let directory = kept.join(&sha256::of_bytes(made_of.as_bytes())[..16]);
        Entry { directory, made_of }
    }

    /// Held while the entry is made or copied, by this run or another one. Its time is that of the entry's last use.
    fn lock(&self, interrupted: &dyn Fn() -> bool) -> Result<FileLock, ServerError> {
        let path = lock_path(&self.directory);
        let error = ServerError::file("lock", &path);
        let file = File::create(&path).map_err(&error)?;
        FileLock::acquire(file, INITIALISE_TIMEOUT, interrupted, &mut || ()).map_err(|why| match why {
            NotLocked::Failed(failure) => error(failure),
            NotLocked::Interrupted => ServerError::Interrupted,
            NotLocked::TimedOut => error(ErrorKind::TimedOut.into()),
        })
    }

    fn is_complete(&self) -> bool {
        fs::read_to_string(self.directory.join(MADE_OF)).is_ok_and(|text| text == self.made_of)
    }

    fn make(&self, command: &ServerCommand<'_>, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
        marked_dir::remove_marked_dir(&self.directory)?;
        marked_dir::create_marked_dir(&self.directory)?;
        initialise::initialise(&ServerCommand { directory: &self.directory, ..*command }, interrupted)?;
        account::take_back(&self.directory.join(DATA))?;
        let path = self.directory.join(MADE_OF);
        // Not before its data is on the device: an entry outlives a crash of the host.
        let written = disk::sync_file_system(&self.directory).and_then(|()| fs::write(&path, &self.made_of));
        written.map_err(ServerError::file("write", &path))
    }

    /// As a build's own data directory is copied.
    fn copy_to(
        &self,
        command: &ServerCommand<'_>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ServerError> {
        let initialise = Initialise::CopyOf { directory: self.directory.join(DATA) };
        let files = ServerFiles { initialise, ..command.files.clone() };
        initialise::initialise(&ServerCommand { files: &files, ..*command }, interrupted)
    }
}

fn lock_path(entry: &Path) -> PathBuf {
    entry.with_extension("lock")
}

/// Removes those that were not used for longest, beyond as many as are kept. One that is in use stays, and so does what cannot be removed:
/// the next run tries again.
fn remove_least_used(kept: &Path) {
    let Ok(entries) = fs::read_dir(kept) else { return };
    let mut used: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            path.is_dir().then_some(())?;
            Some((fs::metadata(lock_path(&path)).ok()?.modified().ok()?, path))
        })
        .collect();
    used.sort();
    let surplus = used.len().saturating_sub(MOST_KEPT);
    for (_, entry) in &used[..surplus] {
        let Ok(file) = File::open(lock_path(entry)) else { continue };
        if let Ok(_lock) = FileLock::attempt(file) {
            let _ = marked_dir::remove_marked_dir(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Network;
    use model::config::Options;
    use model::environment::NO_ENVIRONMENT;
    use model::workload::sql::Dialect;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    /// A script that makes a data directory as MySQL does, and counts how often.
    struct Scene {
        scratch: tempfile::TempDir,
        program: PathBuf,
        files: ServerFiles,
    }

    impl Scene {
        fn new() -> Scene {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path().to_owned();
            // The script runs as another user if the test is root.
            fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
            let program = root.join("mysqld.sh");
            let script = "#!/bin/sh\nfor argument; do case $argument in --datadir=*) data=${argument#*=};; esac; done\n\
                          echo made >> ${0%/*}/count\ntest -e ${0%/*}/fails && exit 1\necho tables > $data/mysql.ibd\n";
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let files = ServerFiles {
                dialect: Dialect::Mysql,
                root: root.clone(),
                initialise: Initialise::InitializeInsecure,
                share: root,
                character_sets: None,
                plugins: None,
                libraries: Vec::new(),
                storage: None,
                arguments: Vec::new(),
            };
            Scene { scratch, program, files }
        }

        fn kept(&self) -> PathBuf {
            self.scratch.path().join("initialised")
        }

        /// Makes the data directory of a server; its file of tables.
        fn make(&self, name: &str, sha256: &str, options: &Options) -> Result<PathBuf, ServerError> {
            let directory = self.scratch.path().join(name);
            marked_dir::create_marked_dir(&directory).unwrap();
            let command = ServerCommand {
                environment: &NO_ENVIRONMENT,
                files: &self.files,
                program: &self.program,
                options,
                directory: &directory,
                network: Network::Socket,
            };
            initialise(&self.kept(), sha256, &command, &|| false)?;
            Ok(directory.join(DATA).join("mysql.ibd"))
        }

        fn times_made(&self) -> usize {
            fs::read_to_string(self.scratch.path().join("count")).unwrap_or_default().lines().count()
        }

        fn entries(&self) -> Vec<PathBuf> {
            let paths = fs::read_dir(self.kept()).unwrap().map(|entry| entry.unwrap().path());
            paths.filter(|path| path.is_dir()).collect()
        }
    }

    #[test]
    fn a_directory_is_made_once_for_a_build_and_its_options_and_each_server_has_a_copy_of_its_own() {
        let scene = Scene::new();
        let none = Options::new();
        let first = scene.make("first", "a1", &none).unwrap();
        fs::write(&first, "rows").unwrap();
        let second = scene.make("second", "a1", &none).unwrap();
        assert_eq!((scene.times_made(), fs::read_to_string(second).unwrap().as_str()), (1, "tables\n"));
        // An option that shapes no file changes nothing, one that does makes another directory, and so does another build.
        let with = |name: &str| Options::from([(name.to_owned(), "4096".to_owned())]);
        scene.make("third", "a1", &with("sort_buffer_size")).unwrap();
        assert_eq!(scene.times_made(), 1);
        let last_use = |entry: &Path| fs::metadata(lock_path(entry)).unwrap().modified().unwrap();
        let entry = scene.entries().remove(0);
        File::open(lock_path(&entry)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        scene.make("again", "a1", &none).unwrap();
        assert!(last_use(&entry) > SystemTime::UNIX_EPOCH);
        scene.make("fourth", "a1", &with("innodb_page_size")).unwrap();
        scene.make("fifth", "b2", &none).unwrap();
        assert_eq!((scene.times_made(), scene.entries().len()), (3, 3));
    }

    #[test]
    fn what_was_cut_short_or_made_of_something_else_is_made_again() {
        let scene = Scene::new();
        let none = Options::new();
        fs::write(scene.scratch.path().join("fails"), "").unwrap();
        assert!(matches!(scene.make("first", "a1", &none), Err(ServerError::Crashed { .. })));
        fs::remove_file(scene.scratch.path().join("fails")).unwrap();
        scene.make("second", "a1", &none).unwrap();
        let entry = scene.entries().remove(0);
        for (number, text) in [(3, None), (4, Some("{\"program_sha256\": \"b2\"}"))] {
            match text {
                None => fs::remove_file(entry.join(MADE_OF)).unwrap(),
                Some(text) => fs::write(entry.join(MADE_OF), text).unwrap(),
            }
            scene.make(&number.to_string(), "a1", &none).unwrap();
            assert_eq!(scene.times_made(), number);
        }
        assert!(matches!(scene.make("4", "a1", &none), Err(ServerError::NotEmpty { .. })));
    }

    #[test]
    fn the_least_recently_used_go_and_one_in_use_stays() {
        let scene = Scene::new();
        fs::create_dir(scene.kept()).unwrap();
        for number in 0..MOST_KEPT + 2 {
            let entry = scene.kept().join(format!("{number:02}"));
            marked_dir::create_marked_dir(&entry).unwrap();
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            File::create(lock_path(&entry)).unwrap().set_modified(used).unwrap();
        }
        let _in_use = FileLock::attempt(File::open(lock_path(&scene.kept().join("00"))).unwrap()).unwrap();
        remove_least_used(&scene.kept());
        assert_eq!(scene.entries().len(), MOST_KEPT + 1);
        assert!(scene.kept().join("00").exists() && !scene.kept().join("01").exists());
    }
}
