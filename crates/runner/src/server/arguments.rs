//! The command lines of servers: what a dialect needs to run privately, then the configuration.

use super::{DATABASE, Places, ServerCommand, USER};
use model::build::{Initialise, ServerFiles};
use model::config::Options;
use model::wire::Endpoint;
use model::workload::sql::Dialect;
use std::ffi::OsString;
use std::path::Path;

/// Options of MySQL and MariaDB that decide what a new data directory looks like: given when it is made, too.
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

/// What dbdyno decides itself: where a server listens, where its files and its log are, and whether it starts again after a crash.
pub fn is_ours(dialect: Dialect, option: &str) -> bool {
    const POSTGRES: &[&str] = &[
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "log_destination",
        "log_directory",
        "log_filename",
        "logging_collector",
        "port",
        "restart_after_crash",
        "ssl",
        "ssl_ca_file",
        "ssl_cert_file",
        "ssl_key_file",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    ];
    const MYSQL: &[&str] = &[
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
    match dialect {
        Dialect::Postgres => POSTGRES.contains(&option),
        Dialect::Mysql => MYSQL.contains(&option.trim_start_matches("loose_")),
    }
}

/// How arguments begin that load a plugin or belong to one.
const LOADING: &[&str] = &["--plugin-load", "--plugin_load", "--rocksdb"];

/// The name of the socket in its directory. Postgres does not let it be chosen: it goes by the port.
pub(super) fn socket_name(dialect: Dialect, port: u16) -> String {
    match dialect {
        Dialect::Postgres => format!(".s.PGSQL.{port}"),
        Dialect::Mysql => "mysql.sock".to_owned(),
    }
}

/// Of the server itself.
pub(super) fn of_server(
    command: &ServerCommand<'_>,
    places: &Places,
    endpoint: &Endpoint,
    port: u16,
) -> Vec<OsString> {
    let listens = matches!(endpoint, Endpoint::Tcp { .. });
    match command.files.dialect {
        Dialect::Postgres => {
            let mut arguments = vec!["-D".into(), places.data.clone().into_os_string()];
            let mut set =
                |name: &str, value: OsString| arguments.extend(["-c".into(), assignment(name, value)]);
            set("listen_addresses", if listens { "127.0.0.1" } else { "" }.into());
            set("port", port.to_string().into());
            set("unix_socket_directories", quoted(&places.sockets));
            // A crash of one process must end the server, or a step would go on against one that has recovered.
            set("restart_after_crash", "off".into());
            set("logging_collector", "off".into());
            for (name, value) in command.options {
                set(name, value.into());
            }
            arguments.extend(command.files.arguments.iter().map(OsString::from));
            arguments
        }
        Dialect::Mysql => {
            let mut arguments = of_mysql(command.files, places);
            arguments.push(assignment("--socket", places.socket(Dialect::Mysql, port)));
            arguments.push(assignment("--pid-file", places.sockets.join("pid")));
            arguments.push(assignment("--init-file", &places.first_statements));
            if listens {
                arguments.push("--bind-address=127.0.0.1".into());
                arguments.push(format!("--port={port}").into());
            } else {
                arguments.push("--skip-networking".into());
            }
            // A second protocol of MySQL 8 with a socket of its own in a public place; others only warn.
            arguments.push("--loose-mysqlx=OFF".into());
            arguments.extend(command.files.arguments.iter().map(OsString::from));
            arguments.extend(command.options.iter().map(|(name, value)| option(name, value)));
            arguments
        }
    }
}

/// Of the program that makes a data directory, or reads SQL into one that nothing serves.
pub(super) fn of_initialise(files: &ServerFiles, options: &Options, places: &Places) -> Vec<OsString> {
    match &files.initialise {
        Initialise::Initdb { .. } => {
            let mut arguments = vec!["-D".into(), places.data.clone().into_os_string()];
            arguments
                .extend(["-U", USER, "-A", "trust", "-N", "-E", "UTF8", "--no-locale"].map(OsString::from));
            arguments
        }
        Initialise::InitializeInsecure | Initialise::CopyOf { .. } | Initialise::Bootstrap { .. } => {
            let mut arguments = of_mysql(files, places);
            let bootstrap = matches!(files.initialise, Initialise::Bootstrap { .. });
            arguments.push(if bootstrap { "--bootstrap" } else { "--initialize-insecure" }.into());
            // A storage engine is loaded when the server starts; to make the system's tables it would only take time.
            let plain = |argument: &&String| !LOADING.iter().any(|start| argument.starts_with(start));
            arguments.extend(files.arguments.iter().filter(plain).map(OsString::from));
            arguments.extend(shaping(files, options).map(|(name, value)| option(name, value)));
            arguments
        }
    }
}

/// Those of the options that decide what a new data directory looks like.
pub(super) fn shaping<'a>(
    files: &ServerFiles,
    options: &'a Options,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_mysql = files.dialect == Dialect::Mysql;
    options
        .iter()
        .filter(move |(name, _)| is_mysql && SHAPING.contains(&name.replace('-', "_").as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Of a Postgres that makes the database, in single-user mode; without waiting for the device.
pub(super) fn of_single_user(places: &Places) -> Vec<OsString> {
    ["--single".into(), "-F".into(), "-D".into(), places.data.clone().into_os_string(), "postgres".into()]
        .into()
}

/// What a client needs to find: read by MySQL and MariaDB at each start, before they accept connections. The session
/// that reads it has the release's own character set, so that of the configuration is named.
pub(super) fn first_statements(options: &Options) -> String {
    let part = |words: &str, name: &str| {
        options.get(name).map_or_else(String::new, |value| format!(" {words} {value}"))
    };
    let (characters, collation) =
        (part("CHARACTER SET", "character_set_server"), part("COLLATE", "collation_server"));
    format!("CREATE DATABASE IF NOT EXISTS {DATABASE}{characters}{collation};\n")
}

/// What every start of MySQL and MariaDB needs; `--no-defaults` must be the first.
fn of_mysql(files: &ServerFiles, places: &Places) -> Vec<OsString> {
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

/// An option of MySQL; one without a value is a flag: `skip_log_bin`.
fn option(name: &str, value: &str) -> OsString {
    if value.is_empty() { format!("--{name}").into() } else { format!("--{name}={value}").into() }
}

fn assignment(name: &str, value: impl Into<OsString>) -> OsString {
    let mut text = OsString::from(format!("{name}="));
    text.push(value.into());
    text
}

/// One directory in Postgres' list of them, where a comma would end it.
fn quoted(path: &Path) -> OsString {
    let mut text = OsString::from("\"");
    text.push(path);
    text.push("\"");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_without_a_value_is_a_flag() {
        assert_eq!(option("skip_log_bin", ""), "--skip_log_bin");
        assert_eq!(option("innodb_page_size", "16384"), "--innodb_page_size=16384");
    }

    #[test]
    fn the_database_has_the_character_set_of_the_configuration() {
        let mut options = Options::new();
        assert_eq!(first_statements(&options), "CREATE DATABASE IF NOT EXISTS bench;\n");
        options.insert("character_set_server".to_owned(), "latin1".to_owned());
        options.insert("collation_server".to_owned(), "latin1_bin".to_owned());
        let expected = "CREATE DATABASE IF NOT EXISTS bench CHARACTER SET latin1 COLLATE latin1_bin;\n";
        assert_eq!(first_statements(&options), expected);
    }
}
