//! Commits listed and built with the real git, in repositories made for it, and archives.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]

use runner::builds::{
    BUILD_TIMEOUT, BuildError, Builder, Compiler, Ends, Ready, Recipes, Source, Version, between,
};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

struct Scene {
    scratch: TempDir,
}

impl Scene {
    /// An empty repository.
    fn new() -> Scene {
        let scene = Scene { scratch: tempfile::tempdir().unwrap() };
        for directory in ["theirs", "work", "run"] {
            fs::create_dir(scene.path(directory)).unwrap();
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene
    }

    /// Four commits on main, of which the third is a merge of a side branch, and tags `good` and `bad` at the ends.
    fn with_history() -> Scene {
        let scene = Scene::new();
        scene.commit("one");
        scene.git(&["tag", "good"]);
        scene.commit("two");
        scene.git(&["checkout", "--quiet", "-b", "side"]);
        scene.commit("aside");
        scene.git(&["checkout", "--quiet", "main"]);
        scene.git(&["merge", "--quiet", "--no-ff", "-m", "three", "side"]);
        scene.commit("four");
        scene.git(&["tag", "bad"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b.example"])
            .args(arguments)
            .current_dir(self.path("theirs"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self, content: &str) {
        fs::write(self.path("theirs/source"), content).unwrap();
        self.git(&["add", "source"]);
        self.git(&["commit", "--quiet", "-m", content]);
    }

    fn between(&self, good: &str, bad: &str) -> Result<Vec<Version>, BuildError> {
        between(&self.path("theirs"), Ends { good, bad }, &self.path("run"), &|| false)
    }

    fn builder(&self, command: &str) -> Builder {
        let ready = Ready::command(command, "out/lib.so".as_ref()).unwrap();
        let source = Source::repository(&self.path("theirs")).unwrap();
        Builder::new(&self.path("work"), source, ready, BUILD_TIMEOUT).unwrap()
    }
}

const COPY: &str = "mkdir -p out && cp source out/lib.so && echo x >> ../builds";

fn build(builder: &Builder, version: &Version) -> Result<PathBuf, BuildError> {
    builder.build(version, &mut |_| {}, &|| false).map(|built| built.path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn commits_are_listed_oldest_first_along_first_parents() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    let summaries: Vec<&str> = commits.iter().map(|commit| commit.summary.as_str()).collect();
    assert_eq!(summaries, ["one", "two", "three", "four"]);
    assert_eq!(commits[3].id, scene.git(&["rev-parse", "bad"]).trim());
    assert_eq!(commits[3].short().len(), 12);
}

#[test]
fn ends_that_cannot_be_are_named() {
    let scene = Scene::with_history();
    let check = |good: &str, bad: &str, part: &str| {
        let error = scene.between(good, bad).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(part), "{error}");
    };
    check("bad", "good", "`bad` is no ancestor of `good`");
    check("good", "good", "no ancestor");
    check("god", "bad", "no commit `god`");
    check("--all", "bad", "no commit `--all`");
    let nowhere = between(&scene.path("run"), Ends { good: "a", bad: "b" }, &scene.path("run"), &|| false);
    assert!(matches!(nowhere, Err(BuildError::Git { .. })), "{nowhere:?}");
}

#[test]
fn each_commit_is_built_once_and_the_users_checkout_stays_as_it_is() {
    let scene = Scene::with_history();
    fs::write(scene.path("theirs/source"), "not committed").unwrap();
    let before = (
        scene.git(&["status", "--porcelain"]),
        scene.git(&["worktree", "list"]),
        read_dir(&scene.path("theirs/.git")),
    );
    let commits = scene.between("good", "bad").unwrap();
    let builder = scene.builder(COPY);
    for _ in 0..2 {
        for (commit, content) in commits.iter().zip(["one", "two", "aside", "four"]) {
            assert_eq!(read(&build(&builder, commit).unwrap()), content);
        }
    }
    assert_eq!(read(&builder.directory().join("builds")).lines().count(), 4);
    assert!(scene.builder(COPY).built(&commits[0]).is_some(), "kept for the next run");
    assert!(scene.builder("another command").built(&commits[0]).is_none());
    let after = (
        scene.git(&["status", "--porcelain"]),
        scene.git(&["worktree", "list"]),
        read_dir(&scene.path("theirs/.git")),
    );
    assert_eq!(before, after);
    assert_eq!(read(&scene.path("theirs/source")), "not committed");
}

fn read_dir(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_build_that_fails_or_makes_no_library_says_so_and_spoils_no_other() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    let failing = scene.builder(
        "echo undefined reference >&2; test $(cat source) != two && mkdir -p out && cp source out/lib.so",
    );
    build(&failing, &commits[0]).unwrap();
    let error = build(&failing, &commits[1]).unwrap_err().to_string();
    assert!(error.contains("status 1") && error.contains("undefined reference"), "{error}");
    assert_eq!(read(&build(&failing, &commits[3]).unwrap()), "four");
    // What an earlier commit left is not taken for this one's.
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    let lazy = scene
        .builder("test -e out/lib.so || test $(cat source) = two || { mkdir -p out; cp source out/lib.so; }");
    build(&lazy, &commits[0]).unwrap();
    let error = build(&lazy, &commits[1]).unwrap_err();
    assert!(matches!(error, BuildError::NothingMade { .. }), "{error}");
}

#[test]
fn a_library_outside_of_the_checkout_is_refused() {
    for library in ["/usr/lib/a.so", "../a.so", ""] {
        let ready = Ready::command("true", library.as_ref());
        assert!(matches!(ready, Err(BuildError::BadLibraryPath { .. })), "{library}");
    }
}

#[test]
fn a_build_that_the_user_stops_ends() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    // Stopped once the build runs, which has said so.
    let builder = scene.builder("touch ../begun; exec tail -f /dev/null");
    let begun = builder.directory().join("begun");
    let asked = Cell::new(0);
    let interrupted = || {
        asked.set(asked.get() + 1);
        begun.exists()
    };
    let stopped = builder.build(&commits[0], &mut |_| {}, &interrupted);
    assert!(matches!(stopped, Err(BuildError::Interrupted)), "{stopped:?}");
    assert!(asked.get() > 0);
}

/// A server that is a file. Sources that are broken never build; picky ones do not build beside what an earlier build has left.
const SERVER: &str = r#"
    engine = "toy"
    [[recipe]]
    name = "script"
    description = "d"
    needs = "version"
    configure = 'echo configured >> "$source/../configured"; cp "$source/version" configured'
    build = '''
    test ! -e "$source/broken"
    test ! -e "$source/picky" || test ! -e made
    echo "$CFLAGS" > flags
    cat "$source/version" > made
    '''
    install = 'mkdir -p "$stage$prefix/bin" && cp made flags "$stage$prefix/bin"'
    version = { file = "version", lines = ["VERSION="] }
    [variants]
    lto = { lto = "yes" }
"#;

impl Scene {
    fn server(&self, variants: &[&str]) -> Builder {
        self.server_of(SERVER, variants)
    }

    fn server_of(&self, recipes: &str, variants: &[&str]) -> Builder {
        self.server_with(recipes, variants, &[])
    }

    fn server_with(&self, recipes: &str, variants: &[&str], set: &[(&str, &str)]) -> Builder {
        let source = Source::repository(&self.path("theirs")).unwrap();
        let names: Vec<String> = variants.iter().map(|name| (*name).to_owned()).collect();
        let set: Vec<(String, String)> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let gcc = |name: &str| {
            let takes_partial_training =
                Compiler::found(name).is_some_and(|found| found.takes_partial_training);
            Some(Compiler { name: name.to_owned(), version: "gcc 1".to_owned(), takes_partial_training })
        };
        let ready =
            Recipes::parse(recipes, "test").unwrap().choose(&names, &set, &|_| Ok(true), &gcc).unwrap();
        Builder::new(&self.path("work"), source, ready, BUILD_TIMEOUT).unwrap()
    }

    fn commit_version(&self, number: u32) -> Version {
        fs::write(self.path("theirs/version"), format!("VERSION={number}\n")).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", &number.to_string()]);
        let source = Source::repository(&self.path("theirs")).unwrap();
        source.version("HEAD", &self.path("run"), &|| false).unwrap()
    }
}

#[test]
fn a_server_is_installed_for_each_commit_and_configured_once() {
    let scene = Scene::new();
    let (first, second) = (scene.commit_version(1), scene.commit_version(2));
    let builder = scene.server(&[]);
    for (version, number) in [(&first, "1"), (&second, "2"), (&first, "1")] {
        let built = builder.build(version, &mut |_| {}, &|| false).unwrap();
        assert_eq!(read(&built.path.join("bin/made")), format!("VERSION={number}\n"));
        assert_eq!(built.version.as_deref(), Some(number));
        assert!(built.log.exists());
    }
    assert_eq!(read(&builder.directory().join("configured")).lines().count(), 1);
    let lto = scene.server(&["lto"]);
    assert_ne!(lto.directory(), builder.directory(), "flags are another build");
    let built = lto.build(&first, &mut |_| {}, &|| false).unwrap();
    assert!(read(&built.path.join("bin/flags")).contains("-flto"));
}

#[test]
fn a_build_that_fails_on_what_earlier_ones_left_is_made_again_from_nothing() {
    let scene = Scene::new();
    let first = scene.commit_version(1);
    fs::write(scene.path("theirs/picky"), "").unwrap();
    let picky = scene.commit_version(2);
    // Fails, the second time too, for it is the sources' fault.
    fs::write(scene.path("theirs/broken"), "").unwrap();
    let broken = scene.commit_version(3);
    let builder = scene.server(&[]);
    let mut told = Vec::new();
    let mut build =
        |version: &Version| builder.build(version, &mut |text| told.push(text.to_owned()), &|| false);
    build(&first).unwrap();
    assert_eq!(read(&build(&picky).unwrap().path.join("bin/made")), "VERSION=2\n");
    let error = build(&broken).unwrap_err();
    assert!(matches!(error, BuildError::BuildFailed { .. }), "{error}");
    assert!(error.to_string().contains("build.log"), "{error}");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(read(&builder.directory().join("configured")).lines().count(), 3);
    assert!(builder.built(&broken).is_none() && builder.built(&first).is_some());
}

#[test]
fn what_a_killed_git_left_keeps_nobody_from_building() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    let builder = scene.builder(COPY);
    let half = builder.directory().join("checkout.new");
    fs::create_dir(&half).unwrap();
    build(&builder, &commits[0]).unwrap();
    assert!(!half.exists());
    fs::write(builder.directory().join("checkout/.git/index.lock"), "").unwrap();
    assert_eq!(read(&build(&builder, &commits[1]).unwrap()), "two");
}

#[test]
fn of_the_users_commands_the_last_one_decides_and_of_a_recipes_each() {
    let scene = Scene::new();
    let version = scene.commit_version(1);
    let builder = scene.builder("false; mkdir -p out; cp version out/lib.so");
    assert_eq!(read(&build(&builder, &version).unwrap()), "VERSION=1\n");
    // The shell goes on after a list of which not the last part failed: at the end of a command that is a failure all the same.
    let failing = SERVER.replace("/version\" > made", "/version\" > made; false && true");
    assert_ne!(failing, SERVER);
    let error = build(&scene.server_of(&failing, &[]), &version).unwrap_err();
    assert!(matches!(error, BuildError::BuildFailed { .. }), "{error}");
}

#[test]
fn a_second_process_waits_and_takes_what_the_first_has_built() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    // Goes on when the other one waits, which has said so, or after ten seconds.
    let slow = format!("i=0; until test -e ../waits -o $i -ge 500; do i=$((i+1)); sleep 0.02; done; {COPY}");
    let both = [scene.builder(&slow), scene.builder(&slow)];
    let told = std::thread::scope(|scope| {
        let threads = both.each_ref().map(|builder| {
            let commit = &commits[0];
            scope.spawn(move || {
                let mut told = 0_u32;
                let mut tell = |_: &str| {
                    told += 1;
                    fs::write(builder.directory().join("waits"), "").unwrap();
                };
                builder.build(commit, &mut tell, &|| false).unwrap();
                told
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(told.iter().sum::<u32>(), 1, "one of them waits and says so");
    assert_eq!(read(&both[0].directory().join("builds")).lines().count(), 1);
}

/// A program of one object, which is installed, too. Without debug info, so that the flags stand where the compiler was told to record them.
const COMPILED: &str = r#"
    engine = "toy"
    [[recipe]]
    name = "script"
    description = "d"
    needs = "a.c"
    build = '$CC $CFLAGS -c "$source/a.c" -o a.o && $CC a.o -o program'
    install = 'mkdir -p "$stage$prefix/bin" && cp a.o program "$stage$prefix/bin"'
    [variants]
    plain = { debug-info = "no" }
    apart = { debug-info = "apart" }
"#;

impl Scene {
    /// One commit with a program.
    fn with_program() -> (Scene, Version) {
        let scene = Scene::new();
        fs::write(scene.path("theirs/a.c"), "int main(void) { return 0; }\n").unwrap();
        let version = scene.commit_version(1);
        (scene, version)
    }
}

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn ccache_gives_what_another_build_has_compiled_and_changes_neither_it_nor_its_name() {
    if !is_here("ccache") || !is_here("gcc") {
        return; // the end-to-end case says so
    }
    let (scene, version) = Scene::with_program();
    let build = |set: &[(&str, &str)]| {
        let builder = scene.server_with(COMPILED, &["plain"], set);
        let mut told = Vec::new();
        let built = builder.build(&version, &mut |text| told.push(text.to_owned()), &|| false).unwrap();
        let log = read(&built.log);
        assert_eq!(log.lines().next_back().map(str::to_owned), told.last().cloned());
        (builder.directory().to_owned(), fs::read(built.path.join("bin/a.o")).unwrap(), told)
    };
    let (directory, first, told) = build(&[]);
    assert_eq!(told, ["ccache: 0 of 1 compilations from the cache"]);
    assert!(String::from_utf8_lossy(&first).contains("-O2"), "the compiler recorded its flags");
    let (elsewhere, second, told) = build(&[("options", "--other")]);
    assert_eq!(told, ["ccache: 1 of 1 compilations from the cache"]);
    assert_ne!(elsewhere, directory);
    assert_eq!(second, first);
    fs::remove_dir_all(directory.join("kept")).unwrap();
    let (same, without, told) = build(&[("ccache", "no")]);
    assert!(told.is_empty(), "{told:?}");
    assert_eq!((same, without), (directory, first), "with and without it is one build");
}

#[test]
fn debug_info_is_kept_beside_the_files_of_a_build() {
    if !is_here("gcc") || !is_here("objcopy") {
        return;
    }
    let (scene, version) = Scene::with_program();
    let build = |variants: &[&str]| {
        let builder = scene.server_of(COMPILED, variants);
        builder.build(&version, &mut |_| {}, &|| false).unwrap().path
    };
    let (whole, apart, none) = (build(&[]), build(&["apart"]), build(&["plain"]));
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let [whole, apart, none] = [whole, apart, none].map(|path| path.join("bin/program"));
    assert!(size(&whole) > size(&none));
    assert!(size(&apart) < size(&whole));
    assert!(apart.with_file_name(".debug").join("program.debug").is_file());
    assert!(!whole.with_file_name(".debug").exists() && !none.with_file_name(".debug").exists());
    assert!(Command::new(&apart).status().unwrap().success());
}

/// What is installed ends by itself, so that it writes what it has recorded.
const TRAINED: &str = r#"
    engine = "toy"
    [[recipe]]
    name = "script"
    description = "d"
    needs = "a.c"
    build = 'echo built >> "$source/../built"; $CC $CFLAGS -c "$source/a.c" -o a.o && $CC a.o $LDFLAGS -o program'
    install = 'mkdir -p "$stage$prefix/bin" && cp a.o program "$stage$prefix/bin"'
    training = '''
    "$installed/bin/program"
    test -d "$profile"
    # A server that root starts runs as another user.
    if [ "$(id -u)" = 0 ]; then test "$server_uid" -gt 0; test "$server_gid" -gt 0; else test -z "$server_uid$server_gid"; fi
    echo trained >> "$installed/../trained"
    '''
    [[recipe]]
    name = "deaf"
    description = "does not pass flags on"
    needs = "a.c"
    build = '$CC -c "$source/a.c" -o a.o && $CC a.o -o program'
    install = 'mkdir -p "$stage$prefix/bin" && cp a.o program "$stage$prefix/bin"'
    training = '"$installed/bin/program"'
"#;

#[test]
fn a_build_is_trained_and_built_again_with_its_profile() {
    if !is_here("gcc") {
        return;
    }
    let (scene, version) = Scene::with_program();
    let builder = |set: &[(&str, &str)]| scene.server_with(TRAINED, &[], set);
    let plain = builder(&[]);
    build(&plain, &version).unwrap();
    let trained = builder(&[("pgo", "yes")]);
    assert_ne!(trained.directory(), plain.directory());
    let path = build(&trained, &version).unwrap();
    let lines = |name: &str| read(&trained.directory().join(name)).lines().count();
    assert_eq!((lines("built"), lines("trained")), (2, 1));
    let object = String::from_utf8_lossy(&fs::read(path.join("bin/a.o")).unwrap()).into_owned();
    assert!(object.contains("-fprofile-use="), "what is kept is the second build");
    let partial = Compiler::found("gcc").is_some_and(|gcc| gcc.takes_partial_training);
    assert_eq!(object.contains("-fprofile-partial-training"), partial, "as far as this gcc has it");
    let program = fs::read(path.join("bin/program")).unwrap();
    assert!(!String::from_utf8_lossy(&program).contains(".gcda"), "it records no more");
    let failed = |set: &[(&str, &str)], part: &str| {
        let error = build(&builder(set), &version).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("training.log"), "{error}");
    };
    failed(&[("pgo", "false")], "the training of the build failed");
    failed(&[("pgo", "true")], "left no profile");
    let deaf = scene.server_with(TRAINED, &["deaf"], &[("pgo", "yes")]);
    let error = build(&deaf, &version).unwrap_err();
    assert!(matches!(error, BuildError::NoProfile { .. }), "{error}");
}
