//! Servers for real: made, started, stopped, killed, and what is said when they cannot be.
//!
//! The builds are named by environment variables: `DBDYNO_TEST_POSTGRES` and `DBDYNO_TEST_POSTGRES_OTHER` are prefixes
//! with `bin/postgres` of two major versions, `DBDYNO_TEST_MARIADB` one with `usr/sbin/mariadbd` (the unpacked packages).
//! What is not named is skipped with its reason. As root, all of it must be below a directory that anyone may enter.

#![expect(clippy::unwrap_used, reason = "what builds the scene of a test panics like its assertions")]
#![expect(clippy::print_stderr, reason = "times and messages, for whoever runs them with --nocapture")]

use model::build::{Initialise, ServerFiles};
use model::config::{self, Options};
use model::environment::NO_ENVIRONMENT;
use model::units::{Bytes, Nanos};
use model::workload::sql::Dialect;
use runner::clock::Stopwatch;
use runner::marked_dir::create_marked_dir;
use runner::process::tree;
use runner::server::{self, Network, Server, ServerCommand, ServerError};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const POSTGRES: &str = "DBDYNO_TEST_POSTGRES";
const OTHER_POSTGRES: &str = "DBDYNO_TEST_POSTGRES_OTHER";
const MARIADB: &str = "DBDYNO_TEST_MARIADB";
/// Which process a test starts itself again as: the directory of a server to start, freeze, and be killed with.
const CONTROLLER: &str = "DBDYNO_TEST_CONTROLLER";
/// What must happen soon happens within this.
const SOON: Nanos = Nanos::from_secs(20);

/// A build, with the options of `standard` in 256 MiB.
struct Engine {
    variable: &'static str,
    files: ServerFiles,
    program: PathBuf,
    options: Options,
}

/// The build that a variable names; where it names none, the test is over.
macro_rules! engine {
    ($variable:expr) => {
        match Engine::named($variable) {
            Some(engine) => engine,
            None => {
                eprintln!("skipped: {} is not set to the prefix of a build", $variable);
                return;
            }
        }
    };
}

impl Engine {
    fn named(variable: &'static str) -> Option<Engine> {
        let root = PathBuf::from(std::env::var_os(variable)?);
        Some(if variable == MARIADB { Engine::mariadb(root) } else { Engine::postgres(variable, root) })
    }

    fn postgres(variable: &'static str, root: PathBuf) -> Engine {
        let files = ServerFiles {
            dialect: Dialect::Postgres,
            initialise: Initialise::Initdb { program: root.join("bin/initdb") },
            share: root.join("share"),
            character_sets: None,
            plugins: None,
            libraries: Vec::new(),
            storage: None,
            arguments: Vec::new(),
            root: root.clone(),
        };
        let options = standard(include_str!("../../../configs/postgres.toml"), "15.7");
        Engine { variable, program: root.join("bin/postgres"), files, options }
    }

    fn mariadb(root: PathBuf) -> Engine {
        let share = root.join("usr/share/mysql");
        let scripts = ["system_tables", "performance_tables", "system_tables_data"];
        let files = ServerFiles {
            dialect: Dialect::Mysql,
            initialise: Initialise::Bootstrap {
                scripts: scripts.map(|name| share.join(format!("mysql_{name}.sql"))).to_vec(),
            },
            character_sets: Some(share.join("charsets")),
            plugins: Some(root.join("usr/lib/mysql/plugin")),
            libraries: Vec::new(),
            storage: Some("InnoDB".to_owned()),
            arguments: Vec::new(),
            share,
            root: root.join("usr"),
        };
        let options = standard(include_str!("../../../configs/mariadb.toml"), "10.11.19");
        Engine { variable: MARIADB, program: root.join("usr/sbin/mariadbd"), files, options }
    }

    fn command<'a>(&'a self, directory: &'a Path) -> ServerCommand<'a> {
        let (files, program, options) = (&self.files, self.program.as_path(), &self.options);
        let environment = &NO_ENVIRONMENT;
        ServerCommand { files, program, options, environment, directory, network: Network::Socket }
    }

    fn initialise(&self, directory: &Path) {
        let watch = Stopwatch::start();
        server::initialise(&self.command(directory), &|| false).unwrap();
        eprintln!("{}: initialise {:.3} s", self.variable, watch.elapsed().as_secs_f64());
    }

    fn start(&self, directory: &Path) -> Result<Server, ServerError> {
        let watch = Stopwatch::start();
        let started = Server::start(&self.command(directory), |_| Ok(()), &|| false);
        eprintln!("{}: start {:.3} s", self.variable, watch.elapsed().as_secs_f64());
        started
    }
}

fn standard(text: &str, version: &str) -> Options {
    let (_, configs) = config::parse(text, "embedded").unwrap();
    config::for_server(&configs[0], version, Bytes::from_mib(256))
}

/// A directory of ours that any user can reach.
fn scene() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let directory = scratch.path().join("server");
    create_marked_dir(&directory).unwrap();
    (scratch, directory)
}

/// The processes of a list that still live.
fn alive(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|pid| !tree::descendants(*pid).is_empty()).collect()
}

fn await_true(what: &str, mut condition: impl FnMut() -> bool) {
    let watch = Stopwatch::start();
    while !condition() {
        assert!(watch.elapsed() < SOON, "not within {} s: {what}", SOON.as_secs_f64());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Files of shared memory that Postgres has, ours and others'.
fn shared_memory() -> Vec<PathBuf> {
    let entries = fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("PostgreSQL.")).collect()
}

/// Those of one process.
fn shared_memory_of(pid: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    shared_memory().into_iter().filter(|path| maps.contains(&*path.to_string_lossy())).collect()
}

/// Made, started, stopped, started again on a copy of its data; a start on a directory in use says so.
fn live(engine: &Engine) {
    let (scratch, directory) = scene();
    engine.initialise(&directory);
    let again = server::initialise(&engine.command(&directory), &|| false).unwrap_err();
    assert!(matches!(again, ServerError::NotEmpty { .. }), "{again}");
    let mut server = engine.start(&directory).unwrap();
    server.check().unwrap();
    let pids = tree::descendants(server.pid());
    tree::freeze(server.pid()).unwrap();
    server.check().unwrap();
    let watch = Stopwatch::start();
    server.stop(&|| false).unwrap();
    eprintln!("{}: stop {:.3} s", engine.variable, watch.elapsed().as_secs_f64());
    assert_eq!(alive(&pids), Vec::<u32>::new());
    let copy = scratch.path().join("copy");
    create_marked_dir(&copy).unwrap();
    let copied = Command::new("cp").arg("-r").arg(directory.join(server::DATA)).arg(&copy).status().unwrap();
    assert!(copied.success());
    engine.start(&copy).unwrap().stop(&|| false).unwrap();
}

#[test]
fn postgres_lives() {
    live(&engine!(POSTGRES));
}

#[test]
fn mariadb_lives() {
    live(&engine!(MARIADB));
}

#[test]
fn myrocks_lives() {
    let mut engine = engine!(MARIADB);
    engine.files.arguments = vec!["--plugin-load-add=ha_rocksdb.so".to_owned()];
    engine.options = standard(include_str!("../../../configs/myrocks.toml"), "10.11.19");
    live(&engine);
}

/// A server that is asked for something impossible.
fn refused(mut engine: Engine, change: impl FnOnce(&mut Engine)) -> ServerError {
    let (_scratch, directory) = scene();
    engine.initialise(&directory);
    change(&mut engine);
    let error = engine.start(&directory).err().unwrap();
    eprintln!("{}: {error}", engine.variable);
    error
}

#[test]
fn an_option_that_the_release_does_not_know_is_named() {
    for variable in [POSTGRES, MARIADB] {
        let error = refused(engine!(variable), |engine| {
            engine.options.insert("no_such_option".to_owned(), "1".to_owned());
        });
        assert!(
            matches!(&error, ServerError::UnknownOption { option, tail, .. }
                if option == "no_such_option" && tail.contains("no_such_option")),
            "{error}"
        );
    }
}

#[test]
fn a_value_that_the_release_does_not_take_is_named_with_its_option() {
    for (variable, name) in [(POSTGRES, "synchronous_commit"), (MARIADB, "innodb_flush_method")] {
        let error = refused(engine!(variable), |engine| {
            engine.options.insert(name.to_owned(), "sideways".to_owned());
        });
        assert!(matches!(&error, ServerError::BadValue { option, .. } if option == name), "{error}");
    }
}

#[test]
fn a_plugin_that_is_missing_is_named() {
    let postgres = refused(engine!(POSTGRES), |engine| {
        engine.options.insert("shared_preload_libraries".to_owned(), "no_such_plugin".to_owned());
    });
    let mariadb = refused(engine!(MARIADB), |engine| {
        engine.files.arguments.push("--plugin-load-add=no_such_plugin.so".to_owned());
    });
    for error in [postgres, mariadb] {
        assert!(
            matches!(&error, ServerError::MissingPlugin { plugin, .. } if plugin.contains("no_such_plugin")),
            "{error}"
        );
    }
}

#[test]
fn a_data_directory_of_another_version_is_refused() {
    let (engine, other) = (engine!(POSTGRES), engine!(OTHER_POSTGRES));
    let error = refused(engine, |engine| engine.program = other.program);
    assert!(matches!(error, ServerError::OtherVersion { .. }), "{error}");
}

#[test]
fn a_bootstrap_without_one_of_its_scripts_is_refused() {
    let mut engine = engine!(MARIADB);
    let (_scratch, directory) = scene();
    let Initialise::Bootstrap { scripts } = &mut engine.files.initialise else { unreachable!() };
    let complete = std::mem::replace(scripts, vec![PathBuf::from("/nonexistent/tables.sql")]);
    let missing = server::initialise(&engine.command(&directory), &|| false).unwrap_err();
    assert!(matches!(missing, ServerError::MissingFile { .. }), "{missing}");
    engine.files.initialise = Initialise::Bootstrap { scripts: complete[1..2].to_vec() };
    let incomplete = server::initialise(&engine.command(&directory), &|| false).unwrap_err();
    eprintln!("{incomplete}");
    assert!(
        matches!(incomplete, ServerError::Incomplete { .. } | ServerError::Crashed { .. }),
        "{incomplete}"
    );
    engine.files.initialise = Initialise::Bootstrap { scripts: complete };
    engine.initialise(&directory);
}

#[test]
fn a_server_listens_on_the_port_that_it_is_given_and_one_in_use_is_named() {
    for variable in [POSTGRES, MARIADB] {
        let engine = engine!(variable);
        let (_scratch, directory) = scene();
        engine.initialise(&directory);
        let mut command =
            ServerCommand { network: Network::Loopback { port: None }, ..engine.command(&directory) };
        let server = Server::start(&command, |_| Ok(()), &|| false).unwrap();
        let model::address::Endpoint::Tcp { port, .. } = server.address().endpoint else { unreachable!() };
        command.network = Network::Loopback { port: Some(port) };
        let error = Server::start(&command, |_| Ok(()), &|| false).err().unwrap();
        assert!(matches!(error, ServerError::Port { port: named, .. } if named == port), "{error}");
        server.stop(&|| false).unwrap();
    }
}

#[test]
fn a_crash_mid_way_is_found_at_once_with_the_end_of_the_log() {
    for variable in [POSTGRES, MARIADB] {
        let engine = engine!(variable);
        let (_scratch, directory) = scene();
        engine.initialise(&directory);
        let mut server = engine.start(&directory).unwrap();
        let pids = tree::descendants(server.pid());
        // Of Postgres the checkpointer, its first child; MariaDB has but one process.
        tree::kill(*pids.get(1).unwrap_or(&pids[0]));
        await_true("the crash is found", || server.check().is_err());
        let error = server.check().unwrap_err();
        eprintln!("{variable}: {error}");
        assert!(matches!(&error, ServerError::Crashed { doing: "while running", .. }), "{error}");
        let error = server.stop(&|| false).unwrap_err();
        assert!(matches!(error, ServerError::Crashed { .. }), "{error}");
        await_true("nothing is left", || alive(&pids).is_empty());
        engine.start(&directory).unwrap().stop(&|| false).unwrap();
    }
}

#[test]
fn a_server_whose_first_process_is_killed_leaves_nothing_though_it_is_frozen() {
    for variable in [POSTGRES, MARIADB] {
        let engine = engine!(variable);
        let (_scratch, directory) = scene();
        engine.initialise(&directory);
        let server = engine.start(&directory).unwrap();
        let pids = tree::descendants(server.pid());
        let memory = shared_memory_of(server.pid());
        assert_eq!(memory.is_empty(), variable == MARIADB, "Postgres shares memory by files");
        tree::freeze(server.pid()).unwrap();
        let first = server.pid().to_string();
        assert!(Command::new("kill").args(["-KILL", &first]).status().unwrap().success());
        drop(server);
        await_true("nothing is left", || alive(&pids).is_empty());
        assert!(!shared_memory().iter().any(|path| memory.contains(path)), "{memory:?} is left");
    }
}

/// Does nothing unless the test below starts it: then it is a controller that will be killed.
#[test]
fn controller_to_be_killed() {
    let Some(directory) = std::env::var_os(CONTROLLER) else { return };
    let variable = if std::env::var_os(POSTGRES).is_some() { POSTGRES } else { MARIADB };
    let engine = Engine::named(variable).unwrap();
    let server = engine.start(Path::new(&directory)).unwrap();
    tree::freeze(server.pid()).unwrap();
    println!("\nserver {}", server.pid());
    loop {
        std::thread::park();
    }
}

#[test]
fn no_server_outlives_a_controller_that_is_killed() {
    for (variable, not) in [(POSTGRES, MARIADB), (MARIADB, POSTGRES)] {
        let engine = engine!(variable);
        let (_scratch, directory) = scene();
        engine.initialise(&directory);
        let mut controller = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "controller_to_be_killed", "--nocapture"])
            .env(CONTROLLER, &directory)
            .env_remove(not)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(controller.stdout.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("server ")?.parse().ok());
        let pids = tree::descendants(said.unwrap());
        assert!(!pids.is_empty());
        let memory: Vec<PathBuf> = pids.iter().flat_map(|pid| shared_memory_of(*pid)).collect();
        controller.kill().unwrap();
        controller.wait().unwrap();
        await_true("no process of the server is left", || alive(&pids).is_empty());
        let left = || shared_memory().iter().any(|path| memory.contains(path));
        await_true("no shared memory of the server is left", || !left());
    }
}
