//! MySQL and MariaDB.

use super::{Port, ServerKind, assignment};
use crate::server::log::{Cause, quoted};
use crate::server::ready::Progress;
use crate::server::{DATABASE, Places, ServerCommand};
use crate::unwritable::Unwritable;
use model::address::ServerAddress;
use model::build::{Initialise, ServerFiles};
use model::config::Options;
use std::ffi::OsString;
use std::net::IpAddr;

/// MySQL, and what is started like it.
pub struct Mysql;

/// Options that decide what a new data directory looks like: given when it is made, too.
const SHAPING: &[&str] = &[
    "character_set_server",
    "collation_server",
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

const OURS: &[&str] = &[
    "basedir",
    "bind_address",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "init_file",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "lc_messages_dir",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "rocksdb_datadir",
    "rocksdb_wal_dir",
    "skip_networking",
    "slow_query_log_file",
    "socket",
    "ssl",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "tmpdir",
    "user",
];

/// How arguments begin that load a plugin or belong to one.
const LOADING: &[&str] = &["--plugin-load", "--plugin_load", "--rocksdb"];

/// The version of the protocol that it greets with.
const PROTOCOL: u8 = 10;

impl ServerKind for Mysql {
    fn user(&self) -> &'static str {
        "root"
    }

    fn is_ours(&self, option: &str) -> bool {
        OURS.contains(&option.trim_start_matches("loose_"))
    }

    fn is_shaping(&self, option: &str) -> bool {
        SHAPING.contains(&option.replace('-', "_").as_str())
    }

    fn socket_name(&self, _port: u16) -> String {
        "mysql.sock".to_owned()
    }

    fn arguments(
        &self,
        command: &ServerCommand<'_>,
        places: &Places,
        Port { number, listens }: Port,
    ) -> Vec<OsString> {
        let mut arguments = of_every_start(command.files, places);
        arguments.push(assignment("--socket", places.sockets.join(self.socket_name(number))));
        arguments.push(assignment("--pid-file", places.sockets.join("pid")));
        arguments.push(assignment("--init-file", &places.first_statements));
        match listens {
            Some(address) => {
                arguments.push(format!("--bind-address={address}").into());
                arguments.push(format!("--port={number}").into());
            }
            None => arguments.push("--skip-networking".into()),
        }
        if command.network.client().is_some() {
            // A client is known by its address; to ask for the name of each would take time, and may get no answer.
            arguments.push("--skip-name-resolve".into());
        }
        // A second protocol of MySQL 8 with a socket of its own in a public place; others only warn.
        arguments.push("--loose-mysqlx=OFF".into());
        arguments.extend(command.files.arguments.iter().map(OsString::from));
        arguments.extend(command.options.iter().map(|(name, value)| option(name, value)));
        arguments
    }

    fn arguments_of_initialise(
        &self,
        files: &ServerFiles,
        options: &Options,
        places: &Places,
    ) -> Vec<OsString> {
        let mut arguments = of_every_start(files, places);
        let bootstrap = matches!(files.initialise, Initialise::Bootstrap { .. });
        arguments.push(if bootstrap { "--bootstrap" } else { "--initialize-insecure" }.into());
        // A storage engine is loaded when the server starts; to make the system's tables it would only take time.
        let plain = |argument: &&String| !LOADING.iter().any(|start| argument.starts_with(start));
        arguments.extend(files.arguments.iter().filter(plain).map(OsString::from));
        let shaping = options.iter().filter(|(name, _)| self.is_shaping(name));
        arguments.extend(shaping.map(|(name, value)| option(name, value)));
        arguments
    }

    /// What a client needs to find. The session that reads it has the release's own character set, so that of the configuration is
    /// named.
    fn first_statements(&self, command: &ServerCommand<'_>) -> Option<String> {
        let user = command.network.client().map(|client| user_of(client, &command.files.initialise));
        Some(format!("{}{}", database(command.options), user.unwrap_or_default()))
    }

    fn admits_one_client(&self, options: &Options) -> bool {
        !options.keys().any(|option| {
            let option = option.replace('-', "_");
            option.trim_start_matches("loose_") == "skip_grant_tables"
        })
    }

    fn may_be_incomplete(&self) -> bool {
        true
    }

    fn shares_memory(&self) -> bool {
        false
    }

    fn stop_signal(&self) -> libc::c_int {
        libc::SIGTERM
    }

    /// Which pages InnoDB had, for `innodb_buffer_pool_load_at_startup`.
    fn kept_caches(&self) -> &'static [&'static str] {
        &["ib_buffer_pool"]
    }

    fn first_message(&self, _address: &ServerAddress) -> Vec<u8> {
        Vec::new()
    }

    /// Three bytes of length, one of sequence, then the version of the protocol, or 255 and an error's number and text.
    fn progress(&self, received: &[u8]) -> Option<Progress> {
        let [a, b, c, _, body @ ..] = received else { return None };
        let body = body.get(..usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16)?;
        Some(match body {
            [PROTOCOL, ..] => Progress::Ready,
            [255, _, _, message @ ..] => Progress::Refused(String::from_utf8_lossy(message).into_owned()),
            _ => Progress::Refused("it does not speak the protocol of MySQL".to_owned()),
        })
    }

    fn last_message(&self) -> &'static [u8] {
        &[]
    }

    fn cause(&self, line: &str) -> Option<Cause> {
        // A warning of an option with the prefix `loose` reads the same.
        let (_, said) = line.split_once("[ERROR]")?;
        let unknown =
            quoted(said, "unknown variable '", '\'').or_else(|| quoted(said, "unknown option '", '\''));
        if let Some(option) = unknown {
            let name = option.split_once('=').map_or(option.as_str(), |(name, _)| name);
            return Some(Cause::UnknownOption(option_name(name)));
        }
        let bad = said
            .contains("Error while setting value")
            .then(|| quoted(said, "' to '", '\''))
            .flatten()
            .or_else(|| quoted(said, "used for variable '", '\''))
            .or_else(|| quoted(said, "ambiguous option '", '\''));
        if let Some(option) = bad {
            return Some(Cause::BadValue(option_name(&option)));
        }
        if let Some(plugin) = quoted(said, "Can't open shared library '", '\'') {
            return Some(Cause::MissingPlugin(plugin));
        }
        let other_version = [
            "Unsupported redo log format",
            "Cannot downgrade",
            "Cannot upgrade",
            "server downgrade",
            "server upgrade",
            "but the flags in file",
            "Upgrade after a crash is not supported",
        ];
        if other_version.iter().any(|words| said.contains(words)) {
            return Some(Cause::OtherVersion);
        }
        if Unwritable::of(said) == Some(Unwritable::Full) {
            return Some(Cause::DiskFull);
        }
        if said.contains("Bind on TCP/IP port") && said.contains("Address already in use") {
            return Some(Cause::PortTaken);
        }
        let denied = [
            "Permission denied",
            "errno: 13",
            "error: 13",
            "The error means mysqld does not have the access rights",
        ];
        denied.iter().any(|words| said.contains(words)).then_some(Cause::NotPermitted)
    }

    /// Of tables of MyISAM and Aria, sorts on disk and the binary log; InnoDB and MyRocks fail.
    fn waits_for_space(&self, line: &str) -> bool {
        line.contains("Waiting for someone to free space")
    }
}

/// As configurations spell it: MySQL takes dashes and underscores for the same, and says either.
fn option_name(said: &str) -> String {
    said.trim_start_matches('-').replace('-', "_")
}

/// What every start needs; `--no-defaults` must be the first.
fn of_every_start(files: &ServerFiles, places: &Places) -> Vec<OsString> {
    let mut arguments = vec![
        "--no-defaults".into(),
        assignment("--basedir", &files.root),
        assignment("--datadir", &places.data),
        assignment("--tmpdir", &places.temporary),
        assignment("--lc-messages-dir", &files.share),
    ];
    arguments.extend(files.character_sets.iter().map(|path| assignment("--character-sets-dir", path)));
    arguments.extend(files.plugins.iter().map(|path| assignment("--plugin-dir", path)));
    arguments
}

fn database(options: &Options) -> String {
    let part = |words: &str, name: &str| {
        options.get(name).map_or_else(String::new, |value| format!(" {words} {value}"))
    };
    let (characters, collation) =
        (part("CHARACTER SET", "character_set_server"), part("COLLATE", "collation_server"));
    format!("CREATE DATABASE IF NOT EXISTS {DATABASE}{characters}{collation};\n")
}

/// The same user as by the socket, for who comes from this address: one line for each statement, as a server reads them at its start.
fn user_of(client: IpAddr, initialise: &Initialise) -> String {
    let grant = format!("GRANT ALL PRIVILEGES ON *.* TO 'root'@'{client}' WITH GRANT OPTION;\n");
    match initialise {
        // Of MySQL 5.6, which makes the user itself, and does not know the other statement as it is here.
        Initialise::CopyOf { .. } => grant,
        Initialise::Initdb { .. }
        | Initialise::InitializeInsecure
        | Initialise::EmptyDirectory
        | Initialise::Bootstrap { .. } => format!("CREATE USER IF NOT EXISTS 'root'@'{client}';\n{grant}"),
    }
}

/// An option; one without a value is a flag: `skip_log_bin`.
fn option(name: &str, value: &str) -> OsString {
    if value.is_empty() { format!("--{name}").into() } else { format!("--{name}={value}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_is_ready_when_its_greeting_is_there() {
        let greeting = [5, 0, 0, 0, 10, b'8', b'.', b'0', 0];
        assert_eq!(Mysql.progress(&greeting), Some(Progress::Ready));
        for cut in 0..greeting.len() {
            assert_eq!(Mysql.progress(&greeting[..cut]), None, "{cut} bytes");
        }
        let full = [&[11, 0, 0, 0, 255, 16, 4][..], b"Too many"].concat();
        assert_eq!(Mysql.progress(&full), Some(Progress::Refused("Too many".to_owned())));
    }

    #[test]
    fn an_option_without_a_value_is_a_flag() {
        assert_eq!(option("skip_log_bin", ""), "--skip_log_bin");
        assert_eq!(option("innodb_page_size", "16384"), "--innodb_page_size=16384");
    }

    #[test]
    fn the_database_has_the_character_set_of_the_configuration() {
        let mut options = Options::new();
        assert_eq!(database(&options), "CREATE DATABASE IF NOT EXISTS bench;\n");
        options.insert("character_set_server".to_owned(), "latin1".to_owned());
        options.insert("collation_server".to_owned(), "latin1_bin".to_owned());
        let expected = "CREATE DATABASE IF NOT EXISTS bench CHARACTER SET latin1 COLLATE latin1_bin;\n";
        assert_eq!(database(&options), expected);
    }

    #[test]
    fn a_client_of_another_host_is_a_user_of_its_address_alone() {
        let client = "198.18.1.1".parse().unwrap();
        let text = user_of(client, &Initialise::InitializeInsecure);
        let grant = "GRANT ALL PRIVILEGES ON *.* TO 'root'@'198.18.1.1' WITH GRANT OPTION;\n";
        assert_eq!(text, format!("CREATE USER IF NOT EXISTS 'root'@'198.18.1.1';\n{grant}"));
        assert_eq!(user_of(client, &Initialise::CopyOf { directory: "/data".into() }), grant);
        let mut options = Options::new();
        assert!(Mysql.admits_one_client(&options));
        options.insert("skip-grant-tables".to_owned(), String::new());
        assert!(!Mysql.admits_one_client(&options));
    }
}
