//! Fetching published builds: what is put into the cache, what is found there again, and every way in which
//! it can fail. Maven itself is not run here (the end-to-end tests do): a script copies a jar or fails in
//! its place.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]

use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::subject::BuildRef;
use runner::engines::{BuildCache, CatalogFiles, EngineCatalog, EngineError};
use runner::marked_dir::MARKER;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const LIBRARY: &str = "librocksdbjni-linux64.so";

/// A work directory, and a directory with what the script in Maven's place finds beside it.
struct Scene {
    work: TempDir,
    maven: TempDir,
    cache: BuildCache,
    catalog: EngineCatalog,
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

fn release() -> BuildRef {
    "rocksdb@8.5.4".parse().unwrap()
}

fn cache_at(root: &Path, mvn: PathBuf) -> BuildCache {
    let mut cache = BuildCache::new(root);
    cache.programs.mvn = mvn;
    cache.arch = "x86_64".to_owned(); // that of the fixtures, on any host
    cache
}

/// The engine file with these checksums in place of its own: the jars of tests are not what is published.
fn catalog(checksums: &str) -> EngineCatalog {
    let file = include_str!("../../../engines/rocksdb.toml");
    let text = format!("{}\n{checksums}", file.split("[sha256").next().unwrap());
    let files = CatalogFiles { engines: &[("embedded:rocksdb", &text)], configs: &[] };
    EngineCatalog::parse(files).unwrap()
}

impl Scene {
    fn new() -> Scene {
        let work = tempfile::tempdir().unwrap();
        let maven = tempfile::tempdir().unwrap();
        let mvn = maven.path().join("mvn");
        symlink(fixture("maven/mvn"), &mvn).unwrap();
        let cache = cache_at(work.path(), mvn);
        Scene { work, maven, cache, catalog: catalog("") }
    }

    /// The SHA-256 of the jar that Maven has.
    fn sha256_of_jar(&self, name: &str) -> String {
        let path = self.maven.path().join(name);
        let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()[..64].to_owned()
    }

    fn with_jar(name: &str, library_name: &str, library: &str) -> Scene {
        let scene = Scene::new();
        scene.put_jar(name, library_name, &fs::read(fixture(library)).unwrap());
        scene
    }

    fn put_jar(&self, name: &str, library_name: &str, library: &[u8]) {
        let mut jar = ZipWriter::new(File::create(self.maven.path().join(name)).unwrap());
        jar.start_file(library_name, SimpleFileOptions::default()).unwrap();
        jar.write_all(library).unwrap();
        jar.finish().unwrap();
    }

    fn fetch(&self) -> Result<EngineBuild, EngineError> {
        self.cache.fetch(&self.catalog, &release(), &mut |_| {})
    }

    fn resolve(&self) -> Result<Option<EngineBuild>, EngineError> {
        self.cache.resolve(&self.catalog, &release(), &mut |_| {})
    }

    /// What Maven was asked for, in order.
    fn runs(&self) -> Vec<String> {
        let runs = fs::read_to_string(self.maven.path().join("runs")).unwrap_or_default();
        runs.lines().map(|run| run.split_once(' ').unwrap().1.to_owned()).collect()
    }

    /// The fetch fails with this text, and leaves nothing of a build behind.
    #[track_caller]
    fn fails(&self, expected: &str) {
        let error = self.fetch().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(self.left_behind(), [".dbdyno", ".fetch-8.5.4.lock"]);
        assert!(self.resolve().unwrap().is_none());
    }

    fn left_behind(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work.path().join("engines/rocksdb")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_release_is_fetched_once_and_found_again_with_all_that_is_known_of_it() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    assert!(scene.resolve().unwrap().is_none());
    let mut told = Vec::new();
    let fetched =
        scene.cache.fetch(&scene.catalog, &release(), &mut |line| told.push(line.to_owned())).unwrap();

    assert_eq!(told, ["rocksdb@8.5.4: fetching org.rocksdb:rocksdbjni:8.5.4:jar:linux64"]);
    assert_eq!(
        fetched.source,
        BuildSource::Published { coordinates: "org.rocksdb:rocksdbjni:8.5.4:jar:linux64".to_owned() }
    );
    // As sha256sum prints it for the fixture.
    assert_eq!(fetched.sha256, "395fc2655c9fd2da3daad412f61500e92ec61a1046f9eb448e73dd77d5d029ca");
    assert_eq!(fetched.size.0, 4864);
    assert_eq!(fetched.compilers, ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"]);
    assert_eq!(fetched.probe, None);
    let directory = scene.work.path().join("engines/rocksdb/8.5.4");
    assert_eq!(fetched.library, directory.join("library.so"));
    assert!(directory.join(MARKER).is_file());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 3, "marker, record, library; no jar");
    let jar = scene.cache.jar(&release()).unwrap().unwrap();
    assert_eq!(jar.size.0, fs::metadata(scene.maven.path().join("jar.linux64")).unwrap().len());

    assert_eq!(scene.resolve().unwrap().unwrap(), fetched);
    assert_eq!(scene.fetch().unwrap(), fetched);
    assert_eq!(scene.runs().len(), 1);
    assert_eq!(scene.cache.list(&scene.catalog).unwrap().builds, [fetched]);
}

#[test]
fn the_plain_jar_is_taken_where_there_is_none_with_the_classifier_or_it_lacks_the_library() {
    let scene = Scene::with_jar("jar", LIBRARY, "elf/exports_rocksdb_open.so");
    let fetched = scene.fetch().unwrap();
    let plain = "org.rocksdb:rocksdbjni:8.5.4";
    assert_eq!(fetched.source, BuildSource::Published { coordinates: plain.to_owned() });
    assert_eq!(scene.runs(), ["org.rocksdb:rocksdbjni:8.5.4:jar:linux64", plain]);

    let scene = Scene::with_jar("jar", LIBRARY, "elf/exports_rocksdb_open.so");
    scene.put_jar("jar.linux64", "librocksdbjni-linux-ppc64le.so", b"x");
    assert_eq!(scene.fetch().unwrap().source, fetched.source);
}

#[test]
fn a_cache_that_was_moved_is_still_one() {
    let mut scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    scene.fetch().unwrap();
    let moved = scene.work.path().join("moved");
    fs::create_dir(&moved).unwrap();
    fs::rename(scene.work.path().join("engines"), moved.join("engines")).unwrap();
    scene.cache = cache_at(&moved, scene.cache.programs.mvn);
    assert!(scene.resolve().unwrap().unwrap().library.starts_with(moved));
}

#[test]
fn a_damaged_build_is_an_error_that_fetching_mends() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let fetched = scene.fetch().unwrap();
    fs::copy(fixture("elf/exports_other_open.so"), &fetched.library).unwrap();
    let error = scene.resolve().unwrap_err().to_string();
    assert!(error.contains("`dbdyno engine fetch rocksdb@8.5.4` fetches it again"), "{error}");
    assert_eq!(scene.fetch().unwrap(), fetched);

    fs::remove_file(&fetched.library).unwrap();
    assert!(scene.resolve().unwrap_err().to_string().contains("it is gone"));
    assert_eq!(scene.fetch().unwrap(), fetched);

    fs::write(fetched.library.with_file_name("build.json"), "{").unwrap();
    assert!(matches!(scene.resolve(), Err(EngineError::RecordDamaged { .. })));
    assert_eq!(scene.cache.list(&scene.catalog).unwrap().problems.len(), 1);
    assert_eq!(scene.fetch().unwrap(), fetched);
}

#[test]
fn a_probe_is_kept_beside_the_binary_that_it_is_of() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let fetched = scene.fetch().unwrap();
    let probe = BuildProbe {
        default_options: "[DBOptions]\n  ttl=0\n".to_owned(),
        facts: BTreeMap::from([("git".to_owned(), "f4441966592636253fd5ab0bb9ed44fc2697fc53".to_owned())]),
        missing_symbols: vec!["rocksdb_wait_for_compact".to_owned()],
    };
    scene.cache.record_probe(&fetched, probe.clone()).unwrap();
    assert_eq!(scene.resolve().unwrap().unwrap().probe, Some(probe.clone()));
    let another = EngineBuild { sha256: "0".repeat(64), ..fetched };
    assert!(matches!(scene.cache.record_probe(&another, probe), Err(EngineError::ProbeOfAnother { .. })));
}

#[test]
fn what_maven_says_is_told_with_the_next_step() {
    let says = |output: &str| {
        let scene = Scene::new();
        fs::write(scene.maven.path().join("says"), output).unwrap();
        scene
    };
    Scene::new().fails(
        "has none of org.rocksdb:rocksdbjni:8.5.4:jar:linux64, org.rocksdb:rocksdbjni:8.5.4; if a mirror",
    );
    let unreachable =
        says("[ERROR] Unable to resolve artifact. Could not transfer artifact x: Unknown host\n");
    unreachable.fails("Maven cannot reach its repository (Unable to resolve artifact.");
    assert_eq!(unreachable.runs().len(), 1, "no second jar is asked for over a dead network");
    says("Error: JAVA_HOME is not defined\n").fails("Maven failed (Error: JAVA_HOME is not defined)");
    says("").fails("Maven failed (without a word, exit status: 1)");
    says("[ERROR] copy: No space left on device\n").fails("is full; make room or choose another --work-dir");
    let mut none = Scene::new();
    none.cache.programs.mvn = PathBuf::from("no-such-maven");
    none.fails("there is no `no-such-maven` to run; install Maven");
    none.cache.programs.mvn = fixture("elf/README.md"); // not executable
    none.fails("failed to run `");
}

#[test]
fn what_is_in_the_jar_is_checked_before_it_is_kept() {
    let scene = Scene::new();
    fs::write(scene.maven.path().join("jar.linux64"), "<html>proxy says no</html>").unwrap();
    scene.fails("the jar of org.rocksdb:rocksdbjni:8.5.4:jar:linux64 is damaged");

    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let jar = scene.maven.path().join("jar.linux64");
    let whole = fs::read(&jar).unwrap();
    fs::write(&jar, &whole[..whole.len() / 2]).unwrap();
    scene.fails("is damaged");
    let mut flipped = whole.clone();
    flipped[200] ^= 0xff; // in the compressed library
    fs::write(&jar, flipped).unwrap();
    scene.fails("is damaged");

    Scene::with_jar("jar.linux64", "other.so", "elf/exports_rocksdb_open.so")
        .fails("has no `librocksdbjni-linux64.so`, only other.so");
    Scene::with_jar("jar.linux64", LIBRARY, "elf/other_cpu.so").fails("is a library for aarch64");
    Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_other_open.so")
        .fails("does not export `rocksdb_open`");
    Scene::with_jar("jar.linux64", LIBRARY, "elf/README.md").fails("is not an ELF shared library");
    let mut other_host = Scene::new();
    other_host.cache.arch = "sparc64".to_owned();
    other_host.fails("rocksdb is not published for sparc64");
}

#[test]
fn a_jar_that_is_not_the_listed_one_is_refused_before_it_is_opened() {
    let listed = |sha256: &str| catalog(&format!("[sha256.x86_64]\n\"8.5.4\" = \"{sha256}\"\n"));
    let mut scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let sha256 = scene.sha256_of_jar("jar.linux64");
    scene.catalog = listed(&sha256);
    // No jar: what is in it must not have been looked at.
    fs::rename(scene.maven.path().join("jar.linux64"), scene.maven.path().join("whole")).unwrap();
    fs::write(scene.maven.path().join("jar.linux64"), "another").unwrap();
    let other = scene.sha256_of_jar("jar.linux64");
    scene.fails(&format!(
        "org.rocksdb:rocksdbjni:8.5.4:jar:linux64 is not the rocksdb@8.5.4 that we tried: its SHA-256 is {other}, \
         and should be {sha256}; delete it from Maven's local repository"
    ));
    assert_eq!(scene.runs().len(), 1, "no other jar is taken in its place");

    fs::rename(scene.maven.path().join("whole"), scene.maven.path().join("jar.linux64")).unwrap();
    scene.fetch().unwrap();
    assert_eq!(scene.cache.jar(&release()).unwrap().unwrap().sha256, sha256);

    // What was fetched before its checksum was listed, and is not that, is fetched again.
    scene.catalog = listed(&"0".repeat(64));
    assert!(matches!(scene.resolve(), Err(EngineError::OtherArchive { .. })));
    assert!(matches!(scene.fetch(), Err(EngineError::OtherArchive { .. })));
    assert_eq!(scene.runs().len(), 3);

    // Listed for the other CPU only, or of another release only: fetched and noted.
    let mut untried = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    untried.catalog = catalog(&format!(
        "[sha256.aarch64]\n\"8.5.4\" = \"{0}\"\n[sha256.x86_64]\n\"8.7.3\" = \"{0}\"\n",
        "0".repeat(64)
    ));
    untried.fetch().unwrap();
    assert_eq!(untried.cache.jar(&release()).unwrap().unwrap().sha256, sha256);
}

#[test]
fn maven_is_asked_to_refuse_what_has_a_wrong_checksum_and_its_refusal_is_told() {
    let scene = Scene::new();
    let said = include_str!("../fixtures/maven/3.8.7/wrong-checksum.txt");
    fs::write(scene.maven.path().join("says"), said).unwrap();
    scene.fails(
        "Maven refused what its repository gave, for it does not match the checksum or the signature there",
    );
    let arguments = fs::read_to_string(scene.maven.path().join("arguments")).unwrap();
    assert!(arguments.split_whitespace().any(|argument| argument == "-C"), "{arguments}");
}

#[test]
fn what_another_user_has_put_into_the_cache_is_not_loaded() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    scene.fetch().unwrap();
    let place = scene.work.path().join("engines/rocksdb/8.5.4");
    if let Err(error) = chown(&place, Some(65534), None) {
        return eprintln!("skipped: only root can give a directory to another user: {error}");
    }
    let refused = [
        scene.resolve().unwrap_err(),
        scene.fetch().unwrap_err(),
        scene.cache.jar(&release()).unwrap_err(),
        scene.cache.packages(&release()).unwrap_err(),
    ];
    for error in refused.map(|error| error.to_string()) {
        let parts = [&*place.to_string_lossy(), "(uid 65534)", "`install -d -m 755 DIR`", "--work-dir"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    assert_eq!(scene.cache.list(&scene.catalog).unwrap().problems.len(), 1);
    chown(&place, Some(0), None).unwrap();
    scene.resolve().unwrap().unwrap();

    fs::set_permissions(scene.work.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for error in [scene.resolve().unwrap_err(), scene.cache.list(&scene.catalog).unwrap_err()] {
        assert!(error.to_string().contains("other users could write in"), "{error}");
    }
    fs::set_permissions(scene.work.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_is_fetched_can_be_written_by_its_owner_alone() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let library = scene.fetch().unwrap().library;
    for path in library.ancestors().take_while(|path| *path != scene.work.path()) {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o022, 0, "{}: {mode:o}", path.display());
    }
}

#[test]
fn a_maven_that_hangs_is_ended_at_the_bound() {
    let mut scene = Scene::new();
    fs::write(scene.maven.path().join("hangs"), "").unwrap();
    scene.cache.programs.timeout = Duration::from_millis(300);
    scene.fails("Maven was stopped after");
    let runs = fs::read_to_string(scene.maven.path().join("runs")).unwrap();
    let process = runs.split_once(' ').unwrap().0;
    assert!(!Path::new("/proc").join(process).exists(), "process {process} outlived the fetch");
}

#[test]
fn processes_that_fetch_the_same_build_at_once_share_one_fetch() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let fetched: Vec<EngineBuild> = std::thread::scope(|scope| {
        let fetchers: Vec<_> = (0..4).map(|_| scope.spawn(|| scene.fetch().unwrap())).collect();
        fetchers.into_iter().map(|fetcher| fetcher.join().unwrap()).collect()
    });
    assert!(fetched.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(scene.runs().len(), 1);
}

#[test]
fn what_a_killed_fetch_left_is_deleted_by_the_next_but_not_what_is_not_ours() {
    let scene = Scene::with_jar("jar.linux64", LIBRARY, "elf/exports_rocksdb_open.so");
    let engine = scene.work.path().join("engines/rocksdb");
    for left in [".fetch-8.5.4", ".fetch-6.0.2", ".fetch-7.0.4", ".fetch-7.3.1"] {
        runner::marked_dir::create_marked_dir_below(scene.work.path(), &["engines", "rocksdb", left])
            .unwrap();
        fs::write(engine.join(left).join("half.jar"), "x").unwrap();
    }
    fs::remove_file(engine.join(".fetch-7.0.4").join(MARKER)).unwrap();
    let held = File::create(engine.join(".fetch-7.3.1.lock")).unwrap();
    held.lock().unwrap();
    scene.fetch().unwrap();
    assert!(!engine.join(".fetch-8.5.4").exists());
    assert!(!engine.join(".fetch-6.0.2").exists());
    assert!(engine.join(".fetch-7.0.4/half.jar").is_file(), "no marker");
    assert!(engine.join(".fetch-7.3.1/half.jar").is_file(), "being fetched");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let mut scene = Scene::new();
    let file = scene.work.path().join("file");
    fs::write(&file, "x").unwrap();
    let below_a_file = file.join("cache");
    let good = std::mem::replace(&mut scene.cache, BuildCache::new(&below_a_file));
    let error = scene.fetch().unwrap_err().to_string();
    assert!(error.contains(&below_a_file.display().to_string()), "{error}");
    scene.cache = good;
    fs::create_dir(scene.work.path().join("engines")).unwrap();
    fs::write(scene.work.path().join("engines/theirs"), "x").unwrap();
    let error = scene.fetch().unwrap_err().to_string();
    assert!(error.contains("was not made by dbdyno"), "{error}");
}

#[test]
fn unknown_names_are_refused_before_anything_is_run() {
    let scene = Scene::new();
    let check = |build: &str, expected: &str| {
        let build: BuildRef = build.parse().unwrap();
        let error = scene.cache.fetch(&scene.catalog, &build, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("rockdb@8.5.4", "did you mean `rocksdb`?");
    check("rocksdb@8.5.5", "`8.5.4`");
    check("rocksdb@..", "rocksdb has no release `..`");
    check("rocksdb@99.0", "dbdyno engine add NAME PATH");
    assert!(scene.runs().is_empty());
    assert!(!scene.work.path().join("engines").exists());
}
