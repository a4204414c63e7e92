//! A server for the cases of external servers: of a build that another dbdyno keeps, over TCP and by its socket, with
//! users and passwords as a real one has them.

use super::scratch::Scratch;
use anyhow::Context;
use load::Connection;
use model::address::{Endpoint, ServerAddress};
use model::units::Bytes;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

/// With a blank and a quote, which end words elsewhere.
pub const PASSWORD: &str = "s3cr'et tOken";
pub const POSTGRES: &str = "postgres@16.3";
/// One that has both kinds of password of MySQL.
pub const MYSQL: &str = "mysql@8.0.15";
pub const MARIADB: &str = "mariadb@10.11.19";

/// What its configuration sizes caches by.
pub const MEMORY: Bytes = Bytes::from_mib(128);

/// Who may come to Postgres over TCP, and how: the socket stays open to everyone.
const HBA: &str = "local all all trust\n\
    host all scram 127.0.0.1/32 scram-sha-256\n\
    host all md 127.0.0.1/32 md5\n\
    host all clear 127.0.0.1/32 password\n\
    host all weak 127.0.0.1/32 scram-sha-256\n\
    host all trusted 127.0.0.1/32 trust\n\
    hostssl all tls 127.0.0.1/32 trust\n\
    hostssl all bound 127.0.0.1/32 scram-sha-256\n";

const USERS_OF_POSTGRES: [&str; 9] = [
    "SET password_encryption = 'scram-sha-256'",
    "CREATE USER scram PASSWORD 's3cr''et tOken'",
    "CREATE USER clear PASSWORD 's3cr''et tOken'",
    "CREATE USER weak PASSWORD 's3cr''et tOken'",
    "CREATE USER bound PASSWORD 's3cr''et tOken'",
    "SET password_encryption = 'md5'",
    "CREATE USER md PASSWORD 's3cr''et tOken'",
    "CREATE USER trusted; CREATE USER tls",
    "CREATE DATABASE other",
];
/// From 15 on nobody but its owner may make tables in `public`.
const RIGHTS_OF_POSTGRES: &str = "GRANT CREATE ON SCHEMA public TO scram, md, clear, trusted, tls, bound";

/// A server that runs until this is dropped.
pub struct Neighbour {
    child: Child,
    input: Option<ChildStdin>,
    address: ServerAddress,
    /// Its Unix socket, which asks nobody for a password.
    pub socket: PathBuf,
}

impl Neighbour {
    pub fn start(scratch: &Scratch, subject: &str) -> anyhow::Result<Neighbour> {
        let mut child = Command::new(&scratch.shared.binary)
            .args(["engine", "start", subject, "--tcp", "--json", "--memory", &MEMORY.0.to_string()])
            .env("XDG_CACHE_HOME", &scratch.shared.cache)
            .env("XDG_CONFIG_HOME", scratch.config())
            .env("XDG_DATA_HOME", scratch.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(scratch.path("neighbour.stderr"))?)
            .spawn()
            .context("failed to start dbdyno")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("no output of dbdyno")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("failed to read from dbdyno")?;
        let told = serde_json::from_str::<Value>(&line).and_then(|told| {
            let socket = told["socket"].as_str().unwrap_or_default().into();
            Ok((serde_json::from_value(told)?, socket))
        });
        if told.is_err() {
            drop(input);
            child.wait()?;
            let said = fs::read_to_string(scratch.path("neighbour.stderr"))?;
            anyhow::bail!("{subject} does not start: {said}");
        }
        let (address, socket) = told?;
        Ok(Neighbour { child, input, address, socket })
    }

    /// A Postgres whose users need passwords over TCP.
    pub fn guarded_postgres(scratch: &Scratch) -> anyhow::Result<Neighbour> {
        Neighbour::guarded_postgres_with(scratch, &[])
    }

    /// The same with more options.
    pub fn guarded_postgres_with(scratch: &Scratch, options: &[String]) -> anyhow::Result<Neighbour> {
        let hba = scratch.write("pg_hba.conf", HBA)?;
        let config = format!(
            "engine = \"postgres\"\n[[config]]\nname = \"guarded\"\ndescription = \"asks for passwords\"\n\
             [config.options]\nhba_file = \"{}\"\n{}\n",
            hba.display(),
            options.join("\n")
        );
        scratch.write_config("configs/postgres.toml", &config)?;
        let server = Neighbour::start(scratch, &format!("{POSTGRES}+guarded"))?;
        server.run(USERS_OF_POSTGRES)?;
        server.run([RIGHTS_OF_POSTGRES])?;
        Ok(server)
    }

    /// A MySQL or MariaDB with users of each kind of password that it has.
    pub fn guarded_mysql(scratch: &Scratch, subject: &str, plugins: &[&str]) -> anyhow::Result<Neighbour> {
        let server = Neighbour::start(scratch, subject)?;
        for plugin in plugins {
            // MariaDB has one kind, and no word for it.
            let with = if subject.starts_with(MARIADB) { String::new() } else { format!("WITH {plugin} ") };
            server.run([
                format!("CREATE USER {plugin}@'127.0.0.1' IDENTIFIED {with}BY 's3cr''et tOken'"),
                format!("CREATE USER {plugin}@'localhost' IDENTIFIED {with}BY 's3cr''et tOken'"),
                format!("GRANT ALL ON bench.* TO {plugin}@'127.0.0.1'"),
                format!("GRANT ALL ON bench.* TO {plugin}@'localhost'"),
            ])?;
        }
        Ok(server)
    }

    /// As its owner, by its socket.
    pub fn owner(&self, database: &str) -> anyhow::Result<Connection> {
        let address = ServerAddress {
            endpoint: Endpoint::Socket { path: self.socket.clone() },
            database: database.to_owned(),
            ..self.address.clone()
        };
        Connection::open(&address).context("failed to connect as the owner")
    }

    pub fn run<S: AsRef<str>>(&self, statements: impl IntoIterator<Item = S>) -> anyhow::Result<()> {
        let mut connection = self.owner("bench")?;
        for statement in statements {
            connection.run(statement.as_ref())?;
        }
        Ok(())
    }

    /// Names of the tables in the database.
    pub fn tables(&self) -> anyhow::Result<Vec<String>> {
        let mut connection = self.owner("bench")?;
        let schema = match self.address.dialect {
            model::workload::sql::Dialect::Postgres => "'public'",
            model::workload::sql::Dialect::Mysql => "DATABASE()",
            model::workload::sql::Dialect::Mongodb => anyhow::bail!("it has no tables"),
        };
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema} ORDER BY 1"
        );
        let rows = connection.read(&sql)?.rows;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    pub fn port(&self) -> anyhow::Result<u16> {
        match &self.address.endpoint {
            Endpoint::Tcp { port, .. } => Ok(*port),
            Endpoint::Socket { .. } => anyhow::bail!("it listens on a socket only"),
        }
    }

    /// `postgres://user@127.0.0.1:port/bench`.
    pub fn dsn(&self, user: &str) -> anyhow::Result<String> {
        Ok(format!("{}://{user}@127.0.0.1:{}/bench", self.address.dialect.name(), self.port()?))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
