//! ccache, if the host has it: a compilation that was done before, in any of our directories, is taken from a cache of ours.
//!
//! The build system must not see it, or what is built would differ: Postgres has the name of its compiler in its binary, CMake knows a compiler by its
//! path, and `ccache gcc` is one word too many for some trees. So scripts with the names of the compilers come first in the search path. Must not decide
//! what is built: flags, paths and names reach the compiler as they would without it, but for the prefix of source files that ccache makes relative.

use super::settings::{RECORD, UseOfCcache};
use super::source::remove_file;
use super::{BuildError, io_error};
use crate::doctor::{all_on_path, found_on_path};
use crate::marked_dir::create_marked_dir;
use crate::remote::quoted;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "ccache";
/// What of a cache is ours; known to ccache 4.5 and newer.
const NAMESPACE: &str = "dbdyno";
/// In the workshop: scripts with the names of the compilers.
const COMPILERS: &str = "compilers";
/// In the workshop, for ccache alone, which looks for the one program in it in the search path and takes a space in its path for the end of its name.
const PREFIXES: &str = "ccache-prefixes";
/// Gives the compiler the flag back that ccache does not see.
const RECORDER: &str = "dbdyno-record";
/// In the workshop: what ccache wrote of each compilation of the last build.
const LOG: &str = "ccache.log";
/// ccache itself has no more to do if this is set, and neither have the scripts.
const DISABLE: &str = "CCACHE_DISABLE";

/// ccache at work in a build.
pub(super) struct Ccache {
    log: PathBuf,
}

/// Has the compilers that the environment of a build names called by ccache. None is used if the host has none, if it is not wanted, or if the compilers
/// are named by their paths, so that no search path finds the scripts. The cache is beside the workshop, for all that are there.
///
/// # Errors
/// Scripts that cannot be written, a cache directory that cannot be made or is not ours.
pub(super) fn prepare(
    workshop: &Path,
    wanted: UseOfCcache,
    environment: &mut BTreeMap<String, String>,
) -> Result<Option<Ccache>, BuildError> {
    match wanted {
        UseOfCcache::IfThere => {}
        UseOfCcache::No => {
            // A build directory that was configured with the scripts calls them still.
            environment.insert(DISABLE.to_owned(), "1".to_owned());
            return Ok(None);
        }
        UseOfCcache::AsTheCommandHasIt => return Ok(None),
    }
    let directory = workshop.join(COMPILERS);
    let shown = |path: &Path| path.display().to_string();
    let (Some(ccache), Some(builds), Ok(path)) =
        (found_on_path(PROGRAM), workshop.parent(), env::var("PATH"))
    else {
        return Ok(None);
    };
    let compilers = compilers(environment);
    // A search path has no way to write a colon.
    if compilers.is_empty() || shown(&directory).contains(':') {
        return Ok(None);
    }
    let prefixes = workshop.join(PREFIXES);
    for path in [&directory, &prefixes] {
        fs::create_dir_all(path).map_err(io_error("create", path))?;
    }
    for (name, compiler) in compilers {
        let caller =
            Caller { directory: &directory, compiler: &compiler, ccache: &ccache, prefixes: &prefixes };
        write(&directory.join(name), &caller.script())?;
    }
    write(&prefixes.join(RECORDER), &recorder())?;
    let cache = builds.join(PROGRAM);
    create_marked_dir(&cache)?;
    let log = workshop.join(LOG);
    remove_file(&log)?; // of an earlier build
    environment.extend(
        [
            ("PATH", format!("{}:{path}", directory.display())),
            ("CCACHE_DIR", shown(&cache)),
            // The configuration of the host may name a cache that others share: what they put there was not compiled with the flag that ccache does not see.
            ("CCACHE_NAMESPACE", NAMESPACE.to_owned()),
            // Checkouts of other builds have other paths: below this one they are taken relative to the directory that is compiled in,
            ("CCACHE_BASEDIR", shown(builds)),
            // which itself is only in the debug info.
            ("CCACHE_NOHASHDIR", "1".to_owned()),
            ("CCACHE_STATSLOG", shown(&log)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    Ok(Some(Ccache { log }))
}

impl Ccache {
    /// How much of the build that has ended came from the cache: `ccache: 812 of 830 compilations from the cache`. None if nothing was compiled, or if
    /// this ccache keeps no log.
    pub(super) fn told(&self) -> Option<String> {
        counted(&fs::read_to_string(&self.log).ok()?)
    }
}

/// Those of the environment that the search path finds, by name.
fn compilers(environment: &BTreeMap<String, String>) -> BTreeMap<String, PathBuf> {
    let named = ["CC", "CXX"].into_iter().filter_map(|variable| environment.get(variable));
    let found = |name: &String| {
        let mut all = all_on_path(name).into_iter().filter(|path| !is_ccache(path));
        let compiler = all.next().filter(|path| path.is_absolute() && !name.contains('/'))?;
        Some((name.clone(), compiler))
    };
    named.filter_map(found).collect()
}

/// A link with the name of a compiler, as distributions put them into `/usr/lib/ccache`. It looks for the compiler in the search path, where the first one
/// is the script that called it.
fn is_ccache(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real.file_name().is_some_and(|name| name == PROGRAM))
}

/// A script in the place of a compiler.
struct Caller<'a> {
    /// Of all such scripts.
    directory: &'a Path,
    compiler: &'a Path,
    ccache: &'a Path,
    /// Where ccache finds the recorder.
    prefixes: &'a Path,
}

impl Caller<'_> {
    /// ccache is asked about compilations alone: it would only pass links and questions on. Where it sees the flag that has the compiler write its flags
    /// down, it takes the whole command line for part of what is compiled, the paths of this clone too.
    ///
    /// What it calls has a search path without these scripts. The compiler may be a wrapper, of icecc or of the user's, that looks there for the next compiler
    /// of its name: it would find the script, which would call it again, without end.
    fn script(&self) -> String {
        let [directory, compiler, ccache, prefixes] =
            [self.directory, self.compiler, self.ccache, self.prefixes]
                .map(|path| quoted(&path.display().to_string()));
        format!(
            "#!/bin/sh\n\
             others=\n\
             rest=$PATH:\n\
             while [ -n \"$rest\" ]; do\n\
             \x20   one=${{rest%%:*}}\n\
             \x20   rest=${{rest#*:}}\n\
             \x20   [ \"$one\" = {directory} ] || others=$others:$one\n\
             done\n\
             PATH=${{others#:}}\n\
             compiles= records=\n\
             for argument do\n\
             \x20   case $argument in\n\
             \x20       -c) compiles=yes ;;\n\
             \x20       {RECORD}) records=yes ;;\n\
             \x20   esac\n\
             done\n\
             if [ -z \"$compiles\" ] || [ -z \"$records\" ] || [ -n \"${DISABLE}\" ] || [ ! -x {ccache} ]; then\n\
             \x20   exec {compiler} \"$@\"\n\
             fi\n\
             for argument do\n\
             \x20   shift\n\
             \x20   [ \"$argument\" = {RECORD} ] || set -- \"$@\" \"$argument\"\n\
             done\n\
             PATH={prefixes}:$PATH\n\
             CCACHE_PREFIX={RECORDER}\n\
             export PATH CCACHE_PREFIX\n\
             exec {ccache} {compiler} \"$@\"\n"
        )
    }
}

fn recorder() -> String {
    format!("#!/bin/sh\nexec \"$@\" {RECORD}\n")
}

/// One that is as it should be is not touched: a build that runs elsewhere may be about to start it.
fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    if !fs::read_to_string(path).is_ok_and(|found| found == text) {
        fs::write(path, text).map_err(io_error("write", path))?;
    }
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(io_error("set the rights of", path))
}

/// ```text
/// # ../checkout/src/a.c
/// direct_cache_hit
/// local_storage_hit
/// ```
/// as ccache 4.7.5 writes of each call. Other counters may come and go; calls that it could not cache have none of the two that are looked for.
fn counted(log: &str) -> Option<String> {
    let all = log.lines().filter(|line| line.starts_with('#')).count();
    let hits =
        log.lines().filter(|line| matches!(line.trim(), "direct_cache_hit" | "preprocessed_cache_hit"));
    (all > 0).then(|| format!("ccache: {} of {all} compilations from the cache", hits.count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Programs that print what they are called with.
    fn scene(directory: &Path) -> PathBuf {
        let path = |name: &str| directory.join(name);
        write(&path("ccache"), "#!/bin/sh\necho \"ccache[$CCACHE_PREFIX]\" \"$@\"\n").unwrap();
        write(&path("it's gcc"), "#!/bin/sh\necho gcc \"$@\"\n").unwrap();
        let caller = Caller {
            directory,
            compiler: &path("it's gcc"),
            ccache: &path("ccache"),
            prefixes: &path("prefixes"),
        };
        write(&path("caller"), &caller.script()).unwrap();
        path("caller")
    }

    #[test]
    fn compilations_alone_go_through_ccache_and_it_does_not_see_the_flag_that_records_flags() {
        let scratch = tempfile::tempdir().unwrap();
        let caller = scene(scratch.path());
        let called = |arguments: &[&str], disable: &str| {
            // By its shell: another test's child may still have the script open for writing.
            let output =
                Command::new("/bin/sh").arg(&caller).args(arguments).env(DISABLE, disable).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().replace(&scratch.path().display().to_string(), "")
        };
        let all = ["-O2", RECORD, "-DX=a b", "-c", "a.c"];
        assert_eq!(called(&all, ""), "ccache[dbdyno-record] /it's gcc -O2 -DX=a b -c a.c\n");
        assert_eq!(called(&all, "1"), format!("gcc -O2 {RECORD} -DX=a b -c a.c\n"));
        assert_eq!(called(&["-c", "a.c"], ""), "gcc -c a.c\n");
        assert_eq!(called(&["a.o", RECORD, "-o", "a"], ""), format!("gcc a.o {RECORD} -o a\n"));
        assert_eq!(called(&["--version"], ""), "gcc --version\n");
        fs::remove_file(scratch.path().join("ccache")).unwrap();
        assert_eq!(
            called(&all, ""),
            format!("gcc -O2 {RECORD} -DX=a b -c a.c\n"),
            "ccache was removed since"
        );
    }

    /// Calls the next compiler of its name in the search path, as wrappers do, and writes down how many of it are at work in one another.
    const WRAPPER: &str = r#"#!/bin/sh
DEPTH=$((${DEPTH:-0} + 1))
export DEPTH
echo $DEPTH >> "$CALLS"
[ $DEPTH -lt 4 ] || exit 70
rest=$PATH:
while [ -n "$rest" ]; do
    one=${rest%%:*}
    rest=${rest#*:}
    [ "$one/gcc" -ef "$0" ] || [ ! -x "$one/gcc" ] || exec "$one/gcc" "$@"
done
exit 127
"#;

    /// A script that is executed: `install` writes it, for a child of another test may still have what this process has just written open.
    fn installed(path: &Path, text: &str) {
        let source = path.with_extension("text");
        fs::write(&source, text).unwrap();
        let status = Command::new("install").args(["-m", "755"]).arg(&source).arg(path).status().unwrap();
        assert!(status.success(), "{}", path.display());
    }

    #[test]
    fn a_wrapper_that_looks_for_its_compiler_in_the_search_path_does_not_find_the_script_that_called_it() {
        let Some(gcc) = all_on_path("gcc").into_iter().find(|path| !is_ccache(path)) else {
            eprintln!("skipped: this host has no gcc");
            return;
        };
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        for directory in ["it's compilers", "two prefixes", "wrappers"] {
            fs::create_dir(path(directory)).unwrap();
        }
        let (wrapper, script) = (path("wrappers/gcc"), path("it's compilers/gcc"));
        installed(&wrapper, WRAPPER);
        installed(&path("two prefixes").join(RECORDER), &recorder());
        fs::write(path("a.c"), "int main(void) { return 0; }\n").unwrap();
        let of_gcc = gcc.parent().unwrap().to_owned();
        // The build may have put something before the scripts.
        let directories = [
            path("tools"),
            path("it's compilers"),
            path("wrappers"),
            of_gcc,
            "/usr/bin".into(),
            "/bin".into(),
        ];
        let search_path = env::join_paths(directories).unwrap();
        let compile = |ccache: &Path, is_disabled: bool| {
            let caller = Caller {
                directory: &path("it's compilers"),
                compiler: &wrapper,
                ccache,
                prefixes: &path("two prefixes"),
            };
            installed(&script, &caller.script());
            let mut command = Command::new(&script);
            command
                .args(["-O1", RECORD, "-c", "a.c", "-o", "a.o"])
                .current_dir(scratch.path())
                .env("PATH", &search_path)
                .env("CALLS", path("calls"))
                .env("CCACHE_DIR", path("cache"))
                .env_remove("DEPTH");
            if is_disabled {
                command.env(DISABLE, "1");
            } else {
                command.env_remove(DISABLE);
            }
            let output = command.output().unwrap();
            let calls = fs::read_to_string(path("calls")).unwrap_or_default();
            assert!(output.status.success(), "{output:?}: {calls}");
            assert!(!calls.is_empty() && calls.lines().all(|depth| depth == "1"), "{calls}");
            let object = fs::read(path("a.o")).unwrap();
            assert!(String::from_utf8_lossy(&object).contains("-O1"), "its flags are recorded");
            fs::remove_file(path("calls")).unwrap();
            fs::remove_file(path("a.o")).unwrap();
        };
        compile(&path("no-ccache"), false);
        if let Some(ccache) = found_on_path(PROGRAM) {
            compile(&ccache, false);
            compile(&ccache, true);
        }
    }

    #[test]
    fn what_it_counted_is_told_and_nothing_of_nothing() {
        let log = "# ../a.c\ncache_miss\ndirect_cache_miss\npreprocessed_cache_miss\n# ../b.c\ndirect_cache_hit\nlocal_storage_hit\n\
                   # ../c.c\npreprocessed_cache_hit\n# ../d.c\nunsupported_code_directive\n";
        assert_eq!(counted(log).as_deref(), Some("ccache: 2 of 4 compilations from the cache"));
        assert_eq!(counted(""), None);
        assert_eq!(counted("\n"), None);
    }

    #[test]
    fn a_link_to_ccache_is_no_compiler() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        fs::write(path("ccache"), "").unwrap();
        fs::write(path("gcc-12"), "").unwrap();
        std::os::unix::fs::symlink("ccache", path("gcc")).unwrap();
        std::os::unix::fs::symlink("gcc-12", path("cc")).unwrap();
        assert!(is_ccache(&path("gcc")));
        assert!(!is_ccache(&path("cc")) && !is_ccache(&path("not-there")));
    }

    #[test]
    fn a_build_that_does_not_want_it_or_names_no_compiler_is_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let workshop = scratch.path().join("key");
        let of = |wanted, compiler: &str| {
            let mut environment = BTreeMap::from([("CC".to_owned(), compiler.to_owned())]);
            assert!(prepare(&workshop, wanted, &mut environment).unwrap().is_none());
            assert!(!workshop.exists());
            environment.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of(UseOfCcache::No, "cc"), ["CC", DISABLE]);
        assert_eq!(of(UseOfCcache::AsTheCommandHasIt, "cc"), ["CC"]);
        assert_eq!(of(UseOfCcache::IfThere, "/bin/sh"), ["CC"], "by its path");
        assert_eq!(of(UseOfCcache::IfThere, "no-such-compiler"), ["CC"]);
    }
}
