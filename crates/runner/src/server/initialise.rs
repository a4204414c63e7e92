//! Making a data directory: by initdb, by the server itself, by a copy, or by SQL scripts.

use super::account::{self, Account};
use super::error::ServerError;
use super::kind;
use super::launch::{self, Errand, Launch};
use super::log::Log;
use super::{DATABASE, Places, ServerCommand};
use model::build::Initialise;
use model::environment::NO_ENVIRONMENT;
use model::units::Nanos;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A data directory takes seconds to make, and minutes where the device is slow.
pub(super) const INITIALISE_TIMEOUT: Nanos = Nanos::from_secs(300);
const DOING: &str = "while making the data directory";
/// Tables without which MySQL and MariaDB do not start; files of theirs begin with the name.
const NEEDED_TABLES: &[&str] = &["db", "plugin"];

/// Makes the data directory in the command's directory, which carries our marker and has none yet.
pub fn initialise(command: &ServerCommand<'_>, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
    let places = Places::below(command.directory)?;
    let account = account::for_servers()?;
    command.check_files(account.as_ref())?;
    if places.data.exists() {
        return Err(ServerError::NotEmpty { path: places.data });
    }
    let made = Making { command, places: &places, account: account.as_ref(), interrupted }.make();
    if made.is_err() {
        // Half of a data directory must not be taken for one. The error of its making is the one to tell.
        let _ = fs::remove_dir_all(&places.data);
    }
    made
}

struct Making<'a> {
    command: &'a ServerCommand<'a>,
    places: &'a Places,
    account: Option<&'a Account>,
    interrupted: &'a dyn Fn() -> bool,
}

impl Making<'_> {
    fn make(&self) -> Result<(), ServerError> {
        let (files, places) = (self.command.files, self.places);
        if let Initialise::CopyOf { directory } = &files.initialise {
            needs("the data directory", directory)?;
            copy(directory, &places.data, self.interrupted)?;
        } else {
            places.make(&places.data, self.account)?;
        }
        places.make(&places.temporary, self.account)?;
        if let Some(account) = self.account {
            account.own(&places.data)?;
        }
        let kind = kind::of(files.dialect);
        let arguments = kind.arguments_of_initialise(files, self.command.options, places);
        match &files.initialise {
            Initialise::Initdb { program } => {
                needs("the program", program)?;
                self.run(program, &arguments, None)?;
                self.create_database()
            }
            Initialise::InitializeInsecure => {
                self.run(self.command.program, &arguments, None).and_then(|log| self.complete(&log))
            }
            Initialise::EmptyDirectory => Ok(()),
            Initialise::CopyOf { .. } if !kind.may_be_incomplete() => Ok(()),
            Initialise::CopyOf { .. } => self.complete(&Log::from_here(places.making.clone(), files.dialect)),
            Initialise::Bootstrap { scripts } => {
                let input = places.directory.join("bootstrap.sql");
                write_bootstrap(scripts, &input)?;
                places.make(&places.data.join("mysql"), self.account)?;
                let log = self.run(self.command.program, &arguments, Some(&input))?;
                self.complete(&log)?;
                fs::remove_file(&input).map_err(ServerError::file("remove", &input))
            }
        }
    }

    fn create_database(&self) -> Result<(), ServerError> {
        let input = self.places.directory.join("database.sql");
        let statement = format!("CREATE DATABASE {DATABASE}\n");
        fs::write(&input, statement).map_err(ServerError::file("write", &input))?;
        self.run(self.command.program, &single_user(self.places), Some(&input))?;
        fs::remove_file(&input).map_err(ServerError::file("remove", &input))
    }

    fn run(&self, program: &Path, arguments: &[OsString], input: Option<&Path>) -> Result<Log, ServerError> {
        let launch = Launch {
            files: self.command.files,
            program,
            arguments,
            environment: &NO_ENVIRONMENT,
            directory: &self.places.data,
            account: self.account,
            input,
            log: &self.places.making,
        };
        launch::run(&Errand { launch, doing: DOING, timeout: INITIALISE_TIMEOUT }, self.interrupted)
    }

    /// A bootstrap ends well whatever its scripts made; the server would die at its start.
    fn complete(&self, log: &Log) -> Result<(), ServerError> {
        let directory = self.places.data.join("mysql");
        let dictionary = self.places.data.join("mysql.ibd");
        if dictionary.exists() {
            return Ok(()); // from MySQL 8.0 on, all of these tables
        }
        let stems: Vec<OsString> = fs::read_dir(&directory)
            .map(|entries| {
                let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
                paths.filter_map(|path| Some(path.file_stem()?.to_owned())).collect()
            })
            .unwrap_or_default();
        match NEEDED_TABLES.iter().find(|table| !stems.iter().any(|stem| stem == *table)) {
            None => Ok(()),
            Some(table) => Err(ServerError::Incomplete {
                program: self.command.program.to_owned(),
                what: format!("the table `mysql.{table}`"),
                tail: log.tail(),
            }),
        }
    }
}

/// Of a Postgres that makes the database; without waiting for the device.
fn single_user(places: &Places) -> Vec<OsString> {
    ["--single".into(), "-F".into(), "-D".into(), places.data.clone().into_os_string(), "postgres".into()]
        .into()
}

fn needs(what: &'static str, path: &Path) -> Result<(), ServerError> {
    if path.exists() { Ok(()) } else { Err(ServerError::MissingFile { what, path: path.to_owned() }) }
}

/// One file of all scripts, that the server reads as its standard input.
fn write_bootstrap(scripts: &[PathBuf], to: &Path) -> Result<(), ServerError> {
    let write = ServerError::file("write", to);
    let mut file = fs::File::create(to).map_err(&write)?;
    file.write_all(b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n").map_err(&write)?;
    for script in scripts {
        needs("the SQL script", script)?;
        let text = fs::read(script).map_err(ServerError::file("read", script))?;
        file.write_all(&text).and_then(|()| file.write_all(b"\n")).map_err(&write)?;
    }
    Ok(())
}

/// A copy of a directory; what is neither file nor directory is left out.
fn copy(from: &Path, to: &Path, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
    let error = ServerError::file("copy", from);
    fs::create_dir(to).map_err(ServerError::file("make", to))?;
    for entry in fs::read_dir(from).map_err(&error)? {
        if interrupted() {
            return Err(ServerError::Interrupted);
        }
        let entry = entry.map_err(&error)?;
        let (kind, source) = (entry.file_type().map_err(&error)?, entry.path());
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&source, &target, interrupted)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(ServerError::file("copy", &source))?;
        }
    }
    Ok(())
}
