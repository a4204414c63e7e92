//! One's own builds: found where the user said, checked, never copied, and noticed when they are rebuilt.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]

use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::subject::BuildRef;
use runner::engines::{BuildCache, CatalogFiles, EngineCatalog, EngineError};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Scene {
    scratch: TempDir,
    cache: BuildCache,
    catalog: EngineCatalog,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/elf").join(name)
}

impl Scene {
    fn new() -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("build")).unwrap();
        let mut cache = BuildCache::new(&scratch.path().join("work"));
        cache.arch = "x86_64".to_owned();
        let catalog = EngineCatalog::parse(CatalogFiles {
            engines: &[("embedded:rocksdb", include_str!("../../../engines/rocksdb.toml"))],
            configs: &[],
        })
        .unwrap();
        Scene { scratch, cache, catalog }
    }

    /// As `make shared_lib` leaves it: the library with its version, and links to it.
    fn with_make_output() -> Scene {
        let scene = Scene::new();
        scene.put("librocksdb.so.8.7.3", "exports_rocksdb_open.so");
        symlink("librocksdb.so.8.7.3", scene.build("librocksdb.so")).unwrap();
        symlink("librocksdb.so.8.7.3", scene.build("librocksdb.so.8")).unwrap();
        symlink("librocksdb.so.8.6.0", scene.build("librocksdb.so.8.6")).unwrap(); // leads nowhere
        scene.put("librocksdb_tools.so", "exports_other_open.so");
        scene
    }

    fn build(&self, name: &str) -> PathBuf {
        self.scratch.path().join("build").join(name)
    }

    fn put(&self, name: &str, library: &str) {
        fs::copy(fixture(library), self.build(name)).unwrap();
    }

    fn add(&self, name: &str, path: &Path) -> Result<EngineBuild, EngineError> {
        self.cache.add(&self.catalog, name, path)
    }

    fn resolve(&self, build: &str) -> (Result<Option<EngineBuild>, EngineError>, Vec<String>) {
        let mut notices = Vec::new();
        let build: BuildRef = build.parse().unwrap();
        let resolved =
            self.cache.resolve(&self.catalog, &build, &mut |notice| notices.push(notice.to_owned()));
        (resolved, notices)
    }
}

#[test]
fn a_build_directory_or_a_file_is_made_known_and_not_copied() {
    let scene = Scene::with_make_output();
    let directory = scene.build("");
    let library = fs::canonicalize(scene.build("librocksdb.so.8.7.3")).unwrap();
    for path in [&directory, &scene.build("librocksdb.so"), &library] {
        let added = scene.add("mine", path).unwrap();
        assert_eq!(added.reference.to_string(), "rocksdb@mine");
        assert_eq!(added.library, library);
        assert_eq!(added.source, BuildSource::Own { path: path.clone() });
        assert_eq!(added.size.0, 4864);
        assert_eq!(scene.resolve("rocksdb@mine").0.unwrap(), Some(added.clone()));
        let fetched: BuildRef = "rocksdb@mine".parse().unwrap();
        assert_eq!(scene.cache.fetch(&scene.catalog, &fetched, &mut |_| {}).unwrap(), added);
        assert_eq!(scene.cache.jar(&fetched).unwrap(), None);
    }
    assert_eq!(scene.add("rocksdb@mine-2", &library).unwrap().reference.version, "mine-2");
    let listed = scene.cache.list(&scene.catalog).unwrap().builds;
    let names: Vec<_> = listed.iter().map(|build| build.reference.version.as_str()).collect();
    assert_eq!(names, ["mine", "mine-2"]);
    assert!(!scene.scratch.path().join("work/engines/rocksdb/mine/library.so").exists());
}

#[test]
fn a_rebuilt_library_is_a_new_build_and_is_told_once() {
    let scene = Scene::with_make_output();
    let added = scene.add("mine", &scene.build("")).unwrap();
    let probe =
        BuildProbe { default_options: String::new(), facts: BTreeMap::new(), missing_symbols: Vec::new() };
    scene.cache.record_probe(&added, probe.clone()).unwrap();
    let again = scene.add("mine", &scene.build("")).unwrap();
    assert_eq!(again.probe, Some(probe), "the same binary keeps its probe");

    // The next version, as make would write it, with another content.
    let mut content = fs::read(fixture("exports_rocksdb_open.so")).unwrap();
    content.push(0);
    fs::write(scene.build("librocksdb.so.8.7.4"), content).unwrap();
    fs::remove_file(scene.build("librocksdb.so.8.7.3")).unwrap();
    fs::remove_file(scene.build("librocksdb.so")).unwrap();
    symlink("librocksdb.so.8.7.4", scene.build("librocksdb.so")).unwrap();

    let (rebuilt, notices) = scene.resolve("rocksdb@mine");
    let rebuilt = rebuilt.unwrap().unwrap();
    assert!(rebuilt.library.ends_with("librocksdb.so.8.7.4"));
    assert_ne!(rebuilt.sha256, added.sha256);
    assert_eq!(rebuilt.probe, None);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("was rebuilt (SHA-256 "), "{notices:?}");
    let (same, notices) = scene.resolve("rocksdb@mine");
    assert_eq!(same.unwrap(), Some(rebuilt));
    assert_eq!(notices, Vec::<String>::new());
}

#[test]
fn a_library_that_is_gone_or_no_more_of_the_engine_is_told() {
    let scene = Scene::new();
    scene.put("librocksdb.so", "exports_rocksdb_open.so");
    scene.add("by-file", &scene.build("librocksdb.so")).unwrap();
    scene.add("by-directory", &scene.build("")).unwrap();
    scene.put("librocksdb.so", "exports_other_open.so");
    let error = scene.resolve("rocksdb@by-file").0.unwrap_err().to_string();
    assert!(error.contains("does not export `rocksdb_open`"), "{error}");
    fs::remove_file(scene.build("librocksdb.so")).unwrap();
    for name in ["by-file", "by-directory"] {
        let error = scene.resolve(&format!("rocksdb@{name}")).0.unwrap_err().to_string();
        assert!(error.contains(&format!("the library of rocksdb@{name} is gone")), "{error}");
        assert!(error.contains(&format!("`dbdyno engine add rocksdb@{name} PATH`")), "{error}");
    }
}

#[test]
fn names_of_releases_and_names_that_are_none_are_refused() {
    let scene = Scene::with_make_output();
    let check = |name: &str, expected: &str| {
        let error = scene.add(name, &scene.build("")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("8.7.3", "rocksdb@8.7.3 is a published release; take another one, like `my-8.7.3`");
    check("rocksdb@8.7.3", "is a published release");
    check("a/b", "letters, digits, `.`, `-` and `_` only");
    check("", "letters, digits");
    check("..", "it begins with a dot");
    check("-o", "it begins with a dot or a dash");
    check("rockdb@mine", "did you mean `rocksdb`?");
    assert!(!scene.scratch.path().join("work").exists());
    scene.add("8.7.3-patched", &scene.build("")).unwrap();
    let error = scene.resolve("rocksdb@8.7.3-patchd").0.unwrap_err().to_string();
    assert!(error.contains("did you mean `8.7.3-patched`"), "{error}");
}

#[test]
fn a_path_that_holds_no_library_or_several_is_told_with_what_is_there() {
    let scene = Scene::new();
    let check = |path: &Path, expected: &str| {
        let error = scene.add("mine", path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&path.display().to_string()), "{error}");
    };
    check(&scene.build("nowhere"), "is not there");
    check(&scene.build(""), "holds no `librocksdb.so`, `librocksdb.so.*`, `librocksdbjni*.so`");
    scene.put("librocksdb.so", "exports_rocksdb_open.so");
    scene.put("librocksdbjni-linux64.so", "exports_rocksdb_open.so");
    check(&scene.build(""), "holds several libraries");
    check(&fixture("README.md"), "is not an ELF shared library");
    check(&fixture("other_cpu.so"), "is a library for aarch64, this machine is x86_64");
}

#[test]
fn an_own_build_under_a_name_that_became_a_release_is_not_taken_for_it() {
    let scene = Scene::with_make_output();
    scene.add("12.0.1", &scene.build("")).unwrap();
    let newer =
        include_str!("../../../engines/rocksdb.toml").replace("untried = [", "untried = [\"12.0.1\",");
    let files = CatalogFiles { engines: &[("newer", &newer)], configs: &[] };
    let scene = Scene { catalog: EngineCatalog::parse(files).unwrap(), ..scene };
    let error = scene.resolve("rocksdb@12.0.1").0.unwrap_err().to_string();
    assert!(error.contains("your own build") && error.contains("librocksdb.so.8.7.3"), "{error}");
}
