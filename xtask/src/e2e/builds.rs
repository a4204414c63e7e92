//! Cases of builds from source: the fake engine is built from a git repository, a directory and an archive, by recipes of the user's.

use super::fake_engine::{ENGINE, WORKLOAD};
use super::git_repository::GitRepository;
use super::scratch::Scratch;
use super::serve::Served;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("build commits", commits),
        Case::new("build archive", archive),
        Case::new("build bad input", bad_input),
        Case::new("build environment", environment),
        Case::new("build debug info", debug_info),
        Case::new("build ccache", ccache),
        Case::new("build pgo", pgo),
    ]
}

/// Those that judge what they measure.
pub fn judging() -> Vec<Case> {
    vec![Case::new("watch nights", nights)]
}

/// The second recipe has a makefile that does not pass the optimisation on.
const RECIPES: &str = r#"
engine = "rocksdb"

[[recipe]]
name = "script"
description = "one call of the compiler"
needs = "fake_engine.c"
build = '$CC -std=gnu11 -shared -fPIC $CFLAGS -DORDERS="\"$source/orders\"" -o librocksdb.so "$source/fake_engine.c"'
library = "librocksdb.so"

[[recipe]]
name = "deaf"
description = "ignores the optimisation"
needs = "fake_engine.c"
build = '$CC -std=gnu11 -shared -fPIC $CFLAGS -O1 -DORDERS="\"none\"" -o librocksdb.so "$source/fake_engine.c"'
library = "librocksdb.so"

# Compiles and links by two calls, as trees do.
[[recipe]]
name = "object"
description = "an object, then a library"
needs = "fake_engine.c"
build = '''
$CC -std=gnu11 -fPIC $CFLAGS -DORDERS="\"none\"" -c "$source/fake_engine.c" -o fake.o
$CC -shared fake.o $LDFLAGS -o librocksdb.so
'''
library = "librocksdb.so"

[variants]
frame-pointers = { frame-pointers = "yes" }
"#;

/// The fake engine after a change, which makes it another binary.
fn engine(change: &str) -> String {
    format!("{ENGINE}\nconst char fake_change[] = \"{change}\";\n")
}

/// The user's recipes, and a repository with two commits.
struct Sources<'a> {
    scratch: &'a Scratch,
    repository: GitRepository,
}

impl<'a> Sources<'a> {
    fn create(scratch: &'a Scratch) -> anyhow::Result<Sources<'a>> {
        scratch.write_config("recipes/fake.toml", RECIPES)?;
        let sources = Sources { scratch, repository: GitRepository::create(scratch.path("repository"))? };
        for change in ["first", "second"] {
            sources.commit(&engine(change), change)?;
        }
        Ok(sources)
    }

    fn commit(&self, text: &str, message: &str) -> anyhow::Result<()> {
        self.repository.commit("fake_engine.c", text, message).map(|_| ())
    }

    fn id(&self, reference: &str) -> anyhow::Result<String> {
        self.repository.id(reference)
    }

    fn call<const N: usize>(&self, arguments: [&str; N]) -> Call<'a> {
        Call::new(self.scratch, arguments).own_cache()
    }

    fn build(&self, reference: &str) -> Call<'a> {
        let build = self.call(["engine", "build", "rocksdb", "--json", "--ref", reference, "--git"]);
        build.and([&self.repository.path])
    }
}

/// A commit is built once for each recipe, the checkout stays as it is, and a comparison builds the commits that it names.
fn commits(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    fs::write(sources.repository.path.join("fake_engine.c"), "not committed")?;
    let id = sources.id("HEAD")?;
    let built = sources.build("HEAD").succeeds()?.json()?;
    let made = &built["build"]["made"];
    ensure!(made["id"] == *id && made["summary"] == "second", "it was made of {made}");
    ensure!(built["build"]["reference"] == format!("rocksdb@{}", &id[..12]), "its name: {built}");
    ensure!(made["compiler"].as_str().is_some_and(|one| one.contains("gcc")), "its compiler: {made}");
    ensure!(built["seconds"].as_f64().is_some(), "it took no time: {built}");
    ensure!(made["ignored"].as_array().is_some_and(Vec::is_empty), "flags were ignored: {made}");
    let again = sources.build("HEAD").succeeds()?.json()?;
    ensure!(again["seconds"].is_null() && again["build"]["sha256"] == built["build"]["sha256"], "{again}");
    let with_frames = sources.build("HEAD").and(["--recipe", "frame-pointers"]).succeeds()?.json()?;
    let name = with_frames["build"]["reference"].as_str().context("it has no name")?;
    ensure!(name == format!("rocksdb@{}-frame-pointers", &id[..12]), "the name of the variant: {name}");
    let deaf = sources.build("HEAD").and(["--recipe", "deaf", "--as", "deaf"]).run()?.expect_code(&[0])?;
    let deaf = deaf.expect_stderr(&["rocksdb@deaf", "-O2"])?.json()?;
    ensure!(deaf["build"]["made"]["ignored"] == serde_json::json!(["-O2"]), "what was ignored: {deaf}");
    let info = sources.call(["engine", "info", name]).succeeds()?.stdout;
    for words in ["script,frame-pointers by gcc", "lto no", &id] {
        ensure!(info.contains(words), "`{words}` is not said:\n{info}");
    }
    sources.call(["engine", "add", "rocksdb", "--git"]).and([&sources.repository.path]).succeeds()?;
    scratch.write("fake.toml", WORKLOAD)?;
    let plan = "name = \"commits\"\nworkloads = [\"fake.toml\"]\nseed = 7\nrounds = 1\ndesign = \"rounds\"\n\
                subjects = [\"rocksdb@git:HEAD~1\", \"rocksdb@git:HEAD\"]\n";
    let plan = scratch.write("plan.toml", plan)?;
    let report = sources.call(["run", "--json"]).and([plan]).succeeds()?.json()?;
    let subjects = report["subjects"].to_string();
    for reference in ["HEAD~1", "HEAD"] {
        let name = format!("rocksdb@{}", &sources.id(reference)?[..12]);
        ensure!(subjects.contains(&name), "{name} was not measured: {subjects}");
    }
    ensure!(
        fs::read_to_string(sources.repository.path.join("fake_engine.c"))? == "not committed",
        "it was touched"
    );
    ensure!(
        sources.repository.git(&["worktree", "list"])?.lines().count() == 1,
        "a worktree was left behind"
    );
    Ok(Ending::Passed)
}

/// An archive and the directory in it are both built, and known by what is in them.
fn archive(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    let archive = scratch.path("fake.tar.gz");
    let tar = Command::new("tar")
        .arg("-czf")
        .arg(&archive)
        .arg("repository")
        .current_dir(&scratch.directory)
        .status()
        .context("failed to start tar")?;
    ensure!(tar.success(), "tar failed: {tar}");
    let build = |path: &PathBuf, name: &str| -> anyhow::Result<Value> {
        let call = sources.call(["engine", "build", "rocksdb", "--json", "--as", name, "--source"]);
        call.and([path]).succeeds()?.json()
    };
    let of_archive = build(&archive, "archive")?;
    let of_directory = build(&sources.repository.path, "directory")?;
    for built in [&of_archive, &of_directory] {
        ensure!(built["build"]["made"]["id"].as_str().is_some_and(|id| id.len() == 64), "{built}");
    }
    ensure!(build(&archive, "again")?["seconds"].is_null(), "the same archive was built twice");
    sources.commit(&engine("third"), "third")?;
    let changed = build(&sources.repository.path, "changed")?;
    ensure!(changed["build"]["made"]["id"] != of_directory["build"]["made"]["id"], "a change was not seen");
    Ok(Ending::Passed)
}

fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    sources.build("no-such").fails(&[2], &["no commit `no-such`"])?;
    sources
        .build("HEAD")
        .and(["--recipe", "meson"])
        .fails(&[2], &["no recipe `meson`", "script, deaf, object, frame-pointers"])?;
    sources.build("HEAD").and(["--set", "speed=1"]).fails(&[2], &["no setting `speed`", "optimisation"])?;
    sources.call(["engine", "add", "rocksdb", "--git", "/"]).fails(&[2], &["`/`"])?;
    sources.build("HEAD").and(["--set", "lto"]).fails(&[2], &["NAME=VALUE"])?;
    sources.build("HEAD").and(["--set", "compiler=no-such-cc"]).fails(&[2], &["no compiler `no-such-cc`"])?;
    sources.build("HEAD").and(["--as", "8.7.3"]).fails(&[2], &["is a published release"])?;
    sources.call(["engine", "build", "rocksdb", "--source", "nowhere"]).fails(&[2], &["no `nowhere`"])?;
    sources.call(["engine", "build", "fio", "--source", "."]).fails(&[2], &["no recipe to build fio"])?;
    sources
        .call(["engine", "build", "rocksdb", "--source", scratch.config().to_str().unwrap_or(".")])
        .fails(&[2], &["no recipe of rocksdb fits", "`fake_engine.c`"])?;
    sources
        .call(["compare", "rocksdb@git:HEAD~1", "rocksdb@git:HEAD"])
        .fails(&[2], &["repository of rocksdb is not known", "engine add rocksdb --git"])?;
    sources.commit("int this is no C;", "broken")?;
    let failed = sources.build("HEAD").fails(&[3], &["the build failed", "error", "build.log"])?;
    let log = failed.stderr.split('`').find(|part| part.ends_with("build.log")).context("no log is named")?;
    ensure!(fs::read_to_string(log)?.contains("error"), "the log `{log}` has no error");
    sources.commit("", "empty")?;
    sources.build("HEAD").fails(&[2, 3], &["does not export `rocksdb_open`"])?;
    sources.build("HEAD~2").succeeds()?;
    Ok(Ending::Passed)
}

/// The debug info of a build is where it was asked for, and the build loads all the same.
fn debug_info(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    let build = |place: &str| -> anyhow::Result<(PathBuf, u64)> {
        let set = format!("debug-info={place}");
        let built = sources.build("HEAD").and(["--as", place, "--set", &set]).succeeds()?.json()?;
        let library = built["build"]["library"].as_str().context("the build has no library")?;
        Ok((PathBuf::from(library), fs::metadata(library)?.len()))
    };
    let ((whole, of_whole), (apart, of_apart), (_, of_none)) = (build("in")?, build("apart")?, build("no")?);
    ensure!(
        of_apart < of_whole && of_none < of_whole,
        "bytes: {of_whole}, {of_apart} apart, {of_none} without"
    );
    ensure!(of_apart < of_none + 1024, "{of_apart} bytes are left of {of_none} without debug info");
    let beside = |library: &PathBuf| library.with_file_name(".debug").join("librocksdb.so.debug");
    ensure!(beside(&apart).is_file() && !beside(&whole).exists(), "no `{}`", beside(&apart).display());
    let info = sources.call(["engine", "info", "rocksdb@apart"]).succeeds()?.stdout;
    ensure!(info.contains("debug-info apart"), "its debug info is not said:\n{info}");
    sources.build("HEAD").and(["--set", "debug-info=yes"]).fails(&[2], &["in, apart or no"])?;
    Ok(Ending::Passed)
}

/// A commit that was compiled in one directory is taken from the cache in another, and is the same.
fn ccache(scratch: &Scratch) -> anyhow::Result<Ending> {
    if Command::new("ccache").arg("--version").output().is_err() {
        return Ok(Ending::Skipped { reason: "ccache is not installed".to_owned() });
    }
    let sources = Sources::create(scratch)?;
    let build = |name: &str, set: &str| {
        let call = sources.build("HEAD").and(["--recipe", "object", "--set", "debug-info=no"]);
        call.and(["--as", name, "--set", set]).run()?.expect_code(&[0])
    };
    let first = build("first", "options=first")?.expect_stderr(&["ccache: 0 of 1"])?.json()?;
    let second = build("second", "options=second")?.expect_stderr(&["ccache: 1 of 1"])?.json()?;
    let log = fs::read_to_string(second["log"].as_str().context("no log is named")?)?;
    ensure!(log.contains("ccache: 1 of 1 compilations from the cache"), "the log:\n{log}");
    ensure!(second["build"]["sha256"] == first["build"]["sha256"], "it is another library: {second}");
    ensure!(second["build"]["made"]["ignored"] == serde_json::json!([]), "flags were ignored: {second}");
    let again = build("third", "ccache=no")?;
    ensure!(!again.stderr.contains("ccache:"), "ccache was used all the same:\n{}", again.stderr);
    ensure!(again.json()?["build"]["sha256"] == first["build"]["sha256"], "without ccache it is another");
    Ok(Ending::Passed)
}

/// A library is trained by a command of the user's, and what is made then measures like any other.
fn pgo(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    let build = |name: &str, training: &str| {
        let call = sources.build("HEAD").and(["--recipe", "object", "--as", name]);
        call.and(["--set", &format!("pgo={training}")])
    };
    let load = "LD_PRELOAD=\"$library\" /bin/true";
    let trained = build("trained", load).run()?.expect_code(&[0])?;
    let trained = trained.expect_stderr(&["training it", "building it again"])?.json()?;
    ensure!(trained["build"]["made"]["settings"]["pgo"] == load, "what it was trained on: {trained}");
    let plain = build("plain", "no").succeeds()?.json()?;
    ensure!(plain["build"]["sha256"] != trained["build"]["sha256"], "the profile changed nothing");
    ensure!(plain["build"]["made"]["settings"]["pgo"].is_null(), "a plain build says: {plain}");
    build("lazy", "true").fails(&[3], &["left no profile", "training.log"])?;
    build("failing", "echo no workload; false")
        .fails(&[3], &["the training of the build failed", "no workload"])?;
    let spaced = scratch.path("a work directory");
    build("spaced", load).cache(&spaced).fails(&[2], &["a work directory", "--work-dir"])?;
    ensure!(!spaced.join("dbdyno/builds").exists(), "it was refused after it had begun");
    build("own", "yes").fails(&[2], &["the recipe `object` has none", "--set pgo=COMMAND"])?;
    let workload = scratch.write("fake.toml", WORKLOAD)?;
    let compare = ["compare", "rocksdb@plain", "rocksdb@trained", "--budget", "15s", "--json", "--workload"];
    sources.call(compare).and([&workload]).run()?.expect_code(&[0, 2])?.json()?;
    Ok(Ending::Passed)
}

/// Writes down in which directory it is loaded.
const ALLOCATOR: &str = r#"
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
    char directory[4096];
    FILE *file = fopen("PATH", "a");
    if (file != NULL) {
        if (getcwd(directory, sizeof directory) != NULL) {
            fprintf(file, "%s\n", directory);
        }
        fclose(file);
    }
}
"#;

/// A library that is preloaded into the worker differs and is said to; one that the worker does not have is refused.
fn environment(scratch: &Scratch) -> anyhow::Result<Ending> {
    let sources = Sources::create(scratch)?;
    sources.build("HEAD").and(["--as", "fake"]).succeeds()?;
    let where_loaded = scratch.path("where-loaded");
    let source =
        scratch.write("allocator.c", &ALLOCATOR.replace("PATH", &where_loaded.display().to_string()))?;
    let library = scratch.path("liballocator.so");
    let compiler = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    ensure!(compiler.context("failed to start gcc")?.success(), "gcc failed");
    let config = |name: &str, variable: &str, value: &str| {
        format!(
            "[[config]]\nname = \"{name}\"\ndescription = \"d\"\nextends = \"standard\"\nenvironment = {{ {variable} = \"{value}\" }}\n"
        )
    };
    let write = |configs: &[String]| {
        scratch.write_config("configs/own.toml", &format!("engine = \"rocksdb\"\n{}", configs.concat()))
    };
    let missing = "liballocator-that-is-not-there.so.1";
    let path = library.display().to_string();
    write(&[config("other", "LD_PRELOAD", &path), config("missing", "LD_PRELOAD", missing)])?;
    let workload = scratch.write("fake.toml", WORKLOAD)?;
    let compare = |candidate: &str| {
        let call =
            sources.call(["compare", "rocksdb@fake", candidate, "--budget", "15s", "--json", "--workload"]);
        call.and([&workload])
    };
    let report = compare("rocksdb@fake+other").run()?.expect_code(&[0, 2])?.json()?;
    let run = report["run"].as_str().context("the report has no run")?;
    let directories = fs::read_to_string(&where_loaded)?;
    ensure!(
        directories.contains(run),
        "no worker of run {run} has the library, but those in:\n{directories}"
    );
    let differences = report["differs"].to_string();
    for words in ["environment variable LD_PRELOAD", &path] {
        ensure!(differences.contains(words), "`{words}` is not among what differs: {differences}");
    }
    compare("rocksdb@fake+missing").fails(&[3], &[missing, "was not loaded", "install its package"])?;
    let listed = sources.call(["engine", "recipes", "rocksdb"]).succeeds()?.stdout;
    for words in ["script, for sources with `fake_engine.c`", "frame-pointers=yes", "optimisation"] {
        ensure!(listed.contains(words), "`{words}` is not listed:\n{listed}");
    }
    let listed = sources.call(["engine", "recipes", "rocksdb", "--json"]).succeeds()?.json()?;
    ensure!(listed["recipes"][1]["name"] == "deaf", "the recipes: {listed}");
    sources.call(["engine", "recipes", "fio"]).fails(&[2], &["no recipe to build fio"])?;
    write(&[config("ours", "LC_ALL", "C")])?;
    compare("rocksdb@fake+ours").fails(&[2], &["is set by dbdyno itself", "LC_ALL"])?;
    Ok(Ending::Passed)
}

/// Nights of a watch on the repository: the commit that made the engine slow is told once; the next ones are not, until it is fast again.
fn nights(scratch: &Scratch) -> anyhow::Result<Ending> {
    const WRITE: &str = "void rocksdb_write(handle database, handle options, handle batch, char **error) {";
    const SLOW: &str = "for (volatile int turn = 0; turn < 20000; turn++) { }";
    ensure!(ENGINE.contains(WRITE), "the fake engine writes by another function");
    let sources = Sources::create(scratch)?;
    sources.build("HEAD").and(["--as", "base"]).succeeds()?;
    sources.call(["engine", "add", "rocksdb", "--git"]).and([&sources.repository.path]).succeeds()?;
    scratch.write("fake.toml", &WORKLOAD.replace("keys = 100\n", "keys = 20_000\n"))?;
    let plan = "name = \"nightly\"\nworkloads = [\"fake.toml\"]\nseed = 7\nrounds = 5\ndesign = \"rounds\"\n\
                subjects = [\"rocksdb@base\", \"rocksdb@git:HEAD\"]\n";
    let plan = scratch.write("nightly.toml", plan)?;
    let messages = scratch.path("messages");
    let night = |more: &[&str]| {
        let call = sources.call(["watch", "--json", "--message"]).and([&messages]).and([&plan]);
        call.and(more).run()
    };
    let told = || fs::read_to_string(&messages).unwrap_or_default().lines().count();
    night(&[])?.expect_code(&[0])?;
    ensure!(told() == 0, "a message of a night that changed nothing");
    let again = night(&[])?.expect_code(&[0])?.expect_stderr(&["nothing is new since run"])?;
    ensure!(again.stdout.is_empty(), "the same commit was measured again:\n{}", again.stdout);
    let slow = ENGINE.replace(WRITE, &format!("{WRITE}\n    {SLOW}"));
    sources.commit(&slow, "slow")?;
    let id = sources.id("HEAD")?;
    night(&[])?.expect_code(&[1])?.expect_stderr(&["is slower than rocksdb@base", &id[..12]])?;
    let steps = told();
    ensure!(steps > 0, "no message of the slow commit");
    let text = fs::read_to_string(&messages)?;
    let first: Value = serde_json::from_str(text.lines().next().context("the first line is missing")?)?;
    let change = &first["change"];
    ensure!(change["first_with"] == format!("rocksdb@{}", &id[..12]), "first with: {first}");
    ensure!(change["last_without"].is_string() && change["candidate"] == "rocksdb@git:HEAD", "{first}");
    // As if the night had been killed before it judged.
    let store = rusqlite::Connection::open(scratch.data().join("dbdyno/dbdyno.sqlite"))?;
    store.execute("DELETE FROM watched", [])?;
    let run = change["first_run"].as_str().context("the change has no run")?;
    ensure!(store.execute("DELETE FROM watch_runs WHERE run = ?", [run])? == 1, "run {run} was not judged");
    drop(store);
    let late = night(&[])?.expect_code(&[1])?;
    late.expect_stderr(&["nothing is new since run", "is slower than rocksdb@base", &id[..12]])?;
    ensure!(told() == 2 * steps, "the next night did not judge what the killed one had measured");
    sources.commit(&format!("{slow}\n// later\nint later = 1;\n"), "later")?;
    night(&[])?.expect_code(&[0])?;
    ensure!(told() == 2 * steps, "what is known was told again:\n{}", fs::read_to_string(&messages)?);
    let list = sources.call(["watch", "--list", "--json"]).succeeds()?.json()?;
    let changes = list["changes"].as_array().context("changes is no array")?;
    ensure!(changes.len() == steps && changes.iter().all(|one| one["state"] == "known"), "the list: {list}");
    sources.call(["watch", "--accept", "1"]).succeeds()?;
    sources.call(["watch", "--accept", "99"]).fails(&[2], &["no watch has found a change of number 99"])?;
    let text = sources.call(["watch", "--list", "--width", "200"]).succeeds()?.stdout;
    ensure!(text.contains("accepted") && text.contains("rocksdb@git:HEAD"), "the list:\n{text}");
    let served = Served::start(scratch, &[])?;
    served.shows("/watches", &["accepted", "rocksdb@git:HEAD", &id[..12], "href=\"/runs/"])?;
    served.end()?;
    sources.commit("int this is no C;", "broken")?;
    night(&[])?.expect_code(&[3])?.expect_stderr(&["cannot be built", "nothing to compare rocksdb@base"])?;
    sources.commit(&format!("{ENGINE}\nint mended = 1;\n"), "mended")?;
    let webhook = ["--webhook", "http://127.0.0.1:9/nobody-listens"];
    night(&webhook)?.expect_code(&[3])?.expect_stderr(&["failed to post the message", "watch --list"])?;
    let list = sources.call(["watch", "--list", "--json"]).succeeds()?.json()?;
    let gone = |one: &Value| one["state"] == "gone";
    ensure!(list["changes"].as_array().is_some_and(|all| all.iter().any(gone)), "nothing is gone: {list}");
    // They stood in the file before the address failed. The next night, in which nothing is new, sends them again, and the one after that does not.
    let once = told();
    night(&[])?.expect_code(&[0])?.expect_stderr(&["nothing is new since run", "no longer slower"])?;
    let twice = told();
    ensure!(twice > once, "what was not delivered was not sent again");
    night(&[])?.expect_code(&[0])?;
    ensure!(told() == twice, "what was delivered was sent again");
    Ok(Ending::Passed)
}
