//! The life of a server, with shell scripts in place of engines, and greetings from the test.

use super::*;
use crate::clock::Stopwatch;
use crate::marked_dir::create_marked_dir;
use model::build::Initialise;
use model::environment::Environment;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixListener;

/// A script that serves as MySQL, with a data directory that is there already.
struct Scene {
    _scratch: tempfile::TempDir,
    directory: PathBuf,
    program: PathBuf,
    files: ServerFiles,
    options: Options,
    environment: Environment,
    network: Network,
}

impl Scene {
    fn new(script: &str) -> Scene {
        Scene::below("server", script)
    }

    fn below(name: &str, script: &str) -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let directory = scratch.path().join(name);
        create_marked_dir(&directory).unwrap();
        fs::create_dir(directory.join(DATA)).unwrap();
        let program = scratch.path().join("server.sh");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let files = ServerFiles {
            dialect: Dialect::Mysql,
            root: scratch.path().to_owned(),
            initialise: Initialise::InitializeInsecure,
            share: scratch.path().to_owned(),
            character_sets: None,
            plugins: None,
            libraries: Vec::new(),
            storage: None,
            arguments: Vec::new(),
        };
        let (options, environment, network) = (Options::new(), Environment::default(), Network::Socket);
        Scene { _scratch: scratch, directory, program, files, options, environment, network }
    }

    fn command(&self) -> ServerCommand<'_> {
        ServerCommand {
            environment: &self.environment,
            files: &self.files,
            program: &self.program,
            options: &self.options,
            directory: &self.directory,
            network: self.network,
        }
    }

    /// While another test forks, its child holds the script open for writing for a moment.
    fn start(&self, interrupted: &dyn Fn() -> bool) -> Result<Server, ServerError> {
        loop {
            match Server::start(&self.command(), |_| Ok(()), interrupted) {
                Err(ServerError::Start { source, .. })
                    if source.kind() == io::ErrorKind::ExecutableFileBusy =>
                {
                    std::thread::yield_now();
                }
                started => return started,
            }
        }
    }

    /// Starts it, and greets in its place as soon as it says that it can be stopped: before that its start may still
    /// remove what lies in the place of the socket, and a signal may still be ignored.
    fn start_greeted(&self) -> Server {
        self.greeted().unwrap()
    }

    fn greeted(&self) -> Result<Server, ServerError> {
        let socket = self.directory.join("s/mysql.sock");
        let log = self.directory.join("log");
        let greeter = std::thread::spawn(move || {
            let watch = Stopwatch::start();
            while !fs::read_to_string(&log).is_ok_and(|log| log.contains(CAN_BE_STOPPED)) {
                assert!(watch.elapsed() < Nanos::from_secs(60), "the script does not run");
                std::thread::yield_now();
            }
            let listener = UnixListener::bind(&socket).unwrap();
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(&[2, 0, 0, 0, 10, 0]).unwrap();
        });
        let server = self.start(&|| false);
        greeter.join().unwrap();
        server
    }
}

const WAITS: &str = "trap 'kill $!; exit 0' TERM; tail -f /dev/null & echo can be stopped; wait";
const CAN_BE_STOPPED: &str = "can be stopped";

#[test]
fn what_a_server_would_fill_its_caches_from_is_removed_and_nothing_else() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join(DATA);
    fs::create_dir(&data).unwrap();
    for name in ["ib_buffer_pool", "autoprewarm.blocks", "ibdata1"] {
        fs::write(data.join(name), "pages").unwrap();
    }
    let left = || {
        let mut names: Vec<String> = fs::read_dir(&data)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    forget_caches(scratch.path(), Dialect::Mysql).unwrap();
    assert_eq!(left(), ["autoprewarm.blocks", "ibdata1"]);
    forget_caches(scratch.path(), Dialect::Postgres).unwrap();
    forget_caches(scratch.path(), Dialect::Postgres).unwrap();
    assert_eq!(left(), ["ibdata1"]);
}

#[test]
fn a_server_has_the_environment_of_its_configuration_and_must_have_what_that_preloads() {
    let set = |scene: Scene, name: &str, value: &str| {
        let variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Scene { environment: Environment::try_from(variables).unwrap(), ..scene }
    };
    let ended = set(Scene::new("echo X is $X; exit 3"), "X", "1").start(&|| false).err().unwrap();
    assert!(ended.to_string().contains("X is 1"), "{ended}");
    let missing = set(Scene::new(WAITS), "LD_PRELOAD", "libno-such.so.1").greeted().err().unwrap();
    assert!(matches!(missing, ServerError::NotPreloaded(_)), "{missing}");
}

#[test]
fn a_server_that_ends_at_its_start_is_an_error_with_the_end_of_its_log() {
    let crash = Scene::new("echo out of luck; echo and of time >&2; exit 3").start(&|| false).err().unwrap();
    let expected = "exited with status 3 while starting; the end of its log:\nout of luck\nand of time";
    assert!(crash.to_string().ends_with(expected), "{crash}");
    let unknown = Scene::new("echo \"0 [ERROR] server: unknown variable 'no_such=1'\" >&2; exit 7");
    let unknown = unknown.start(&|| false).err().unwrap();
    assert!(
        matches!(&unknown, ServerError::UnknownOption { option, .. } if option == "no_such"),
        "{unknown}"
    );
}

#[test]
fn a_server_whose_port_was_taken_meanwhile_is_started_with_another_unless_it_was_given() {
    let taken = "0 [ERROR] Can't start server: Bind on TCP/IP port: Address already in use";
    let script = format!("if [ -e tried ]; then {WAITS}; fi; touch tried; echo \"{taken}\"; exit 1");
    let any = Scene { network: Network::Loopback { port: None }, ..Scene::new(&script) };
    let server = any.start_greeted();
    assert!(matches!(server.address().endpoint, Endpoint::Tcp { .. }));
    server.stop(&|| false).unwrap();
    let port = Some(free_port(0).unwrap());
    let given = Scene { network: Network::Loopback { port }, ..Scene::new(&script) };
    let error = given.start(&|| false).err().unwrap();
    assert!(matches!(error, ServerError::PortTaken { .. }), "{error}");
}

#[test]
fn a_server_that_never_greets_is_waited_for_until_an_interrupt_and_killed() {
    let scene = Scene::new("exec tail -f /dev/null");
    let looks = Cell::new(0);
    let interrupted = || looks.replace(looks.get() + 1) > 3;
    let pid = Cell::new(0);
    let started = loop {
        let told = |told| {
            pid.set(told);
            Ok(())
        };
        match Server::start(&scene.command(), told, &interrupted) {
            Err(ServerError::Start { source, .. }) if source.kind() == io::ErrorKind::ExecutableFileBusy => {}
            started => break started,
        }
    };
    assert!(matches!(started, Err(ServerError::Interrupted)));
    assert!(pid.get() > 1);
    assert_eq!(tree::descendants(pid.get()), Vec::<u32>::new());
}

#[test]
fn a_server_that_greets_runs_until_it_is_stopped_though_it_is_frozen() {
    let scene = Scene::new(WAITS);
    let mut server = scene.start_greeted();
    server.check().unwrap();
    let expected =
        Endpoint::Socket { path: fs::canonicalize(&scene.directory).unwrap().join("s/mysql.sock") };
    assert_eq!((&server.address().endpoint, server.address().database.as_str()), (&expected, "bench"));
    let pids = tree::descendants(server.pid());
    tree::freeze(server.pid()).unwrap();
    server.check().unwrap();
    server.stop(&|| false).unwrap();
    assert!(pids.iter().all(|pid| tree::descendants(*pid).is_empty()));
}

/// A server that takes minutes to write what is dirty.
const STOPS_NEVER: &str = "trap '' TERM; tail -f /dev/null & echo can be stopped; while :; do wait; done";

#[test]
fn a_server_that_does_not_stop_is_killed_as_soon_as_the_user_interrupts() {
    let scene = Scene::new(STOPS_NEVER);
    let server = scene.start_greeted();
    let pids = tree::descendants(server.pid());
    let looks = Cell::new(0);
    let stopped = server.stop(&|| looks.replace(looks.get() + 1) > 3);
    assert!(matches!(stopped, Err(ServerError::Interrupted)), "{stopped:?}");
    assert!(!pids.is_empty() && pids.iter().all(|pid| tree::descendants(*pid).is_empty()));
}

#[test]
fn making_a_data_directory_ends_with_an_interrupt_and_leaves_nothing() {
    let scene = Scene::new("echo $$ > pid; exec tail -f /dev/null");
    fs::remove_dir(scene.directory.join(DATA)).unwrap();
    let looks = Cell::new(0);
    let made = loop {
        match initialise(&scene.command(), &|| looks.replace(looks.get() + 1) > 3) {
            Err(ServerError::Start { source, .. }) if source.kind() == io::ErrorKind::ExecutableFileBusy => {}
            made => break made,
        }
    };
    assert!(matches!(made, Err(ServerError::Interrupted)), "{made:?}");
    assert!(!scene.directory.join(DATA).exists());
    // A data directory that comes with the release is copied, which takes its time too.
    let from = scene.directory.join("from");
    fs::create_dir_all(from.join("mysql")).unwrap();
    fs::write(from.join("mysql/db.frm"), "").unwrap();
    let files = ServerFiles { initialise: Initialise::CopyOf { directory: from }, ..scene.files.clone() };
    let made = initialise(&ServerCommand { files: &files, ..scene.command() }, &|| true);
    assert!(matches!(made, Err(ServerError::Interrupted)), "{made:?}");
    assert!(!scene.directory.join(DATA).exists());
}

#[test]
fn a_server_that_dies_is_found_and_one_that_is_dropped_is_killed() {
    let scene = Scene::new(&format!("echo about to listen; {WAITS}"));
    let mut server = scene.start_greeted();
    let pid = server.pid();
    tree::kill(pid);
    let error = server.check_after_failure().unwrap_err().to_string();
    assert!(
        error.contains("was killed by signal 9 while running; the end of its log:\nabout to listen"),
        "{error}"
    );
    let server = Scene::new(WAITS);
    let server = server.start_greeted();
    let pids = tree::descendants(server.pid());
    tree::freeze(server.pid()).unwrap();
    drop(server);
    assert!(!pids.is_empty() && pids.iter().all(|pid| tree::descendants(*pid).is_empty()));
}

#[test]
fn what_is_missing_before_the_start_is_named() {
    let scene = Scene::new("exit 1");
    fs::remove_dir(scene.directory.join(DATA)).unwrap();
    let no_data = scene.start(&|| false).err().unwrap();
    assert!(matches!(&no_data, ServerError::NoData { path } if path.ends_with(DATA)), "{no_data}");
    fs::remove_file(scene.directory.join(MARKER)).unwrap();
    let not_ours = scene.start(&|| false).err().unwrap();
    assert!(matches!(not_ours, ServerError::NotOurs { .. }), "{not_ours}");
    let too_long = Scene::below(&"long".repeat(25), "exit 1").start(&|| false).err().unwrap();
    assert!(too_long.to_string().contains("shorter path"), "{too_long}");
    fs::remove_file(&scene.program).unwrap();
    create_marked_dir(&scene.directory.join("again")).unwrap();
    let again = scene.directory.join("again");
    let gone = ServerCommand { directory: &again, ..scene.command() };
    let gone = Server::start(&gone, |_| Ok(()), &|| false).err().unwrap();
    assert!(matches!(&gone, ServerError::MissingFile { what: "the program", .. }), "{gone}");
}

#[test]
fn making_a_data_directory_leaves_nothing_where_it_fails() {
    let scene =
        Scene::new("echo \"0 [ERROR] [MY-1] [Server] unknown variable 'innodb_page_size=1'.\"; exit 1");
    let refused = initialise(&scene.command(), &|| false).unwrap_err();
    assert!(matches!(refused, ServerError::NotEmpty { .. }), "{refused}");
    fs::remove_dir(scene.directory.join(DATA)).unwrap();
    let failed = loop {
        match initialise(&scene.command(), &|| false).unwrap_err() {
            ServerError::Start { source, .. } if source.kind() == io::ErrorKind::ExecutableFileBusy => {}
            failed => break failed,
        }
    };
    assert!(
        matches!(&failed, ServerError::UnknownOption { option, .. } if option == "innodb_page_size"),
        "{failed}"
    );
    assert!(!scene.directory.join(DATA).exists());
}
