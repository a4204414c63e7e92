//! Whether a process has the libraries that its configuration preloads: ld.so warns of one that it does not find, and starts the program without it.

use model::environment::Environment;
use std::fs;
use std::path::Path;

/// A library of `LD_PRELOAD` that the process does not have.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{library}` of LD_PRELOAD was not loaded: install its package, or name the file, which the user that servers run as must be able to read"
)]
pub struct NotPreloaded {
    pub library: String,
}

/// # Errors
/// The first library that a running process was to load and has not. If its maps cannot be read, nothing is checked.
pub fn check(environment: &Environment, pid: u32) -> Result<(), NotPreloaded> {
    if environment.preloaded().next().is_none() {
        return Ok(());
    }
    match fs::read_to_string(format!("/proc/{pid}/maps")) {
        Ok(maps) => check_maps(environment, &maps),
        Err(_) => Ok(()),
    }
}

/// A file is listed by its own name, whatever link it was found by: `libtcmalloc.so.4` is `libtcmalloc.so.4.5.10`.
fn check_maps(environment: &Environment, maps: &str) -> Result<(), NotPreloaded> {
    let files = || maps.lines().filter_map(|line| Some(Path::new(line.splitn(6, ' ').nth(5)?.trim_start())));
    let is_loaded = |library: &str| {
        if library.contains('/') {
            let resolved = fs::canonicalize(library);
            return resolved.is_ok_and(|resolved| files().any(|file| file == resolved));
        }
        let is_of_name = |file: &Path| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        files().any(is_of_name)
    };
    match environment.preloaded().find(|library| !is_loaded(library)) {
        Some(missing) => Err(NotPreloaded { library: missing.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn preloading(libraries: &str) -> Environment {
        Environment::try_from(BTreeMap::from([("LD_PRELOAD".to_owned(), libraries.to_owned())])).unwrap()
    }

    #[test]
    fn a_library_is_found_by_its_name_without_a_part_of_the_version_and_by_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let (file, link) = (scratch.path().join("liba.so.4.5.10"), scratch.path().join("liba.so"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let maps = format!(
            "7f26c81c3000-7f26c81ca000 r-xp 00000000 08:01 22                         {}\n7f26c81ca000-7f26c81cb000 rw-p 00000000 00:00 0\n",
            file.canonicalize().unwrap().display()
        );
        for library in ["liba.so.4".to_owned(), link.display().to_string()] {
            assert_eq!(check_maps(&preloading(&library), &maps), Ok(()), "{library}");
        }
        assert!(check_maps(&preloading("liba.so.4.5.1"), &maps).is_err(), "another version");
        let missing = NotPreloaded { library: "libb.so.1".to_owned() };
        assert_eq!(check_maps(&preloading("liba.so.4:libb.so.1"), &maps), Err(missing));
        assert!(check_maps(&preloading("/nowhere/liba.so.4"), &maps).is_err());
    }

    #[test]
    fn a_process_without_a_preloaded_library_is_found_out() {
        assert_eq!(check(&preloading(""), std::process::id()), Ok(()));
        assert!(check(&preloading("libno-such-library.so.1"), std::process::id()).is_err());
    }
}
