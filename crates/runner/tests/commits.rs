//! Commits listed and built with the real git, in repositories made for it.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]

use runner::commits::{Builder, Commit, CommitError, Ends, Recipe, between};
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

    fn between(&self, good: &str, bad: &str) -> Result<Vec<Commit>, CommitError> {
        between(&self.path("theirs"), Ends { good, bad }, &self.path("run"), &|| false)
    }

    fn builder(&self, command: &str) -> Builder {
        let recipe = Recipe { command: command.to_owned(), library: "out/lib.so".into() };
        Builder::new(&self.path("work"), &self.path("run"), &self.path("theirs"), recipe).unwrap()
    }
}

const COPY: &str = "mkdir -p out && cp source out/lib.so && echo x >> ../builds";

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
    assert!(matches!(nowhere, Err(CommitError::Git { .. })), "{nowhere:?}");
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
    let mut builder = scene.builder(COPY);
    for _ in 0..2 {
        for (commit, content) in commits.iter().zip(["one", "two", "aside", "four"]) {
            assert_eq!(read(&builder.build(commit, &|| false).unwrap()), content);
        }
    }
    assert_eq!(read(&scene.path("run/builds")).lines().count(), 4);
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
    let mut failing = scene.builder(
        "echo undefined reference >&2; test $(cat source) != two && mkdir -p out && cp source out/lib.so",
    );
    failing.build(&commits[0], &|| false).unwrap();
    let error = failing.build(&commits[1], &|| false).unwrap_err().to_string();
    assert!(error.contains("status 1") && error.contains("undefined reference"), "{error}");
    assert_eq!(read(&failing.build(&commits[3], &|| false).unwrap()), "four");
    // What an earlier commit left is not taken for this one's.
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    let mut lazy = scene
        .builder("test -e out/lib.so || test $(cat source) = two || { mkdir -p out; cp source out/lib.so; }");
    lazy.build(&commits[0], &|| false).unwrap();
    let error = lazy.build(&commits[1], &|| false).unwrap_err();
    assert!(matches!(error, CommitError::NoLibrary { .. }), "{error}");
}

#[test]
fn a_library_outside_of_the_checkout_is_refused() {
    let scene = Scene::new();
    for library in ["/usr/lib/a.so", "../a.so", ""] {
        let recipe = Recipe { command: "true".to_owned(), library: library.into() };
        let built = Builder::new(&scene.path("work"), &scene.path("run"), &scene.path("theirs"), recipe);
        assert!(matches!(built, Err(CommitError::BadLibraryPath { .. })), "{library}");
    }
}

#[test]
fn a_build_that_the_user_stops_ends() {
    let scene = Scene::with_history();
    let commits = scene.between("good", "bad").unwrap();
    // Stopped once the build runs, which has said so.
    let begun = scene.path("run/begun");
    let asked = Cell::new(0);
    let interrupted = || {
        asked.set(asked.get() + 1);
        begun.exists()
    };
    let stopped = scene.builder("touch ../begun; exec tail -f /dev/null").build(&commits[0], &interrupted);
    assert!(matches!(stopped, Err(CommitError::Interrupted)), "{stopped:?}");
    assert!(asked.get() > 0);
}
