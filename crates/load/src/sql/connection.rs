//! One connection to a server of any dialect: what transactions, loads and questions do with it. What is in
//! the way of a query, encoding and sending, allocates nothing.

use super::channel::Channel;
use super::error::{SqlError, WireError, shown};
use super::{mongodb, mysql, postgres};
use model::address::ServerAddress;
use model::workload::sql::Dialect;
use std::time::Duration;

/// A server that does not answer a login within this is not there. Not tuned: a login takes milliseconds.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// What a statement returned or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Rows that it returned; where it returns none, that it changed (of MySQL: that it found).
    pub rows: u64,
}

/// Everything that a statement returned, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    pub names: Vec<String>,
    /// Values; absent where they are NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// The first value of the first row.
    pub fn first(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// The first two values of each row that has both.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| match row.as_slice() {
            [Some(name), Some(value), ..] => Some((name.as_str(), value.as_str())),
            _ => None,
        })
    }
}

/// [`Rows`] are of at most so many bytes: a server could send them without end. Status texts of InnoDB reach 1 MiB.
const LONGEST_ANSWER: usize = 64 << 20;

/// How much of an answer is kept already.
#[derive(Debug, Default)]
pub struct Kept(usize);

impl Kept {
    /// Takes note of a row, or of the description of a column, of so many bytes. Errors: the answer becomes too long.
    pub fn more(&mut self, bytes: usize) -> Result<(), WireError> {
        self.0 += bytes + size_of::<Vec<Option<String>>>();
        if self.0 > LONGEST_ANSWER {
            return Err(WireError::Malformed("the rows of an answer are longer than 64 MiB"));
        }
        Ok(())
    }
}

/// What a parameter is given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    Number,
    Text,
}

/// A statement that the server has prepared on this connection.
#[derive(Debug, Clone)]
pub enum Prepared {
    Postgres(postgres::Prepared),
    /// On MySQL or MariaDB.
    Mysql(mysql::Prepared),
}

impl Prepared {
    /// Begins an execution at the end of a buffer.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) {
        match self {
            Prepared::Postgres(prepared) => prepared.begin(out),
            Prepared::Mysql(prepared) => prepared.begin(out),
        }
    }

    /// The value of parameter `index`, from 0.
    #[inline]
    pub fn number(&self, out: &mut Vec<u8>, index: usize, value: i64) {
        match self {
            Prepared::Postgres(prepared) => prepared.number(out, value),
            Prepared::Mysql(prepared) => prepared.number(out, index, value),
        }
    }

    /// A value that is text.
    #[inline]
    pub fn text(&self, out: &mut Vec<u8>, value: &[u8]) {
        match self {
            Prepared::Postgres(prepared) => prepared.text(out, value),
            Prepared::Mysql(prepared) => prepared.text(out, value),
        }
    }

    /// Ends the execution that began at `start` of the buffer.
    #[inline]
    pub fn end(&self, out: &mut Vec<u8>, start: usize) {
        match self {
            Prepared::Postgres(prepared) => prepared.end(out, start),
            Prepared::Mysql(prepared) => prepared.end(out, start),
        }
    }

    /// It was executed once, so that the server knows the types of its parameters.
    #[inline]
    pub fn was_executed(&mut self) {
        match self {
            Prepared::Postgres(_) => {}
            Prepared::Mysql(prepared) => prepared.was_executed(),
        }
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub struct Connection {
    protocol: Protocol,
    endpoint: String,
}

#[derive(Debug)]
enum Protocol {
    Postgres(postgres::Postgres),
    Mysql(mysql::Mysql),
    Mongodb(mongodb::Mongodb),
}

impl Connection {
    /// Connects and logs in.
    pub fn open(address: &ServerAddress) -> Result<Connection, SqlError> {
        let channel = Channel::connect(&address.endpoint);
        let refused = |source| SqlError::Connect { endpoint: address.endpoint.to_string(), source };
        Connection::over(channel.map_err(refused)?, address)
    }

    /// Logs in.
    pub(super) fn over(mut channel: Channel, address: &ServerAddress) -> Result<Connection, SqlError> {
        let endpoint = address.endpoint.to_string();
        let refused = |source| SqlError::Connect { endpoint: endpoint.clone(), source };
        channel.set_timeout(Some(LOGIN_TIMEOUT)).map_err(refused)?;
        let protocol = match address.dialect {
            Dialect::Postgres => postgres::Postgres::connect(channel, address).map(Protocol::Postgres),
            Dialect::Mysql => mysql::Mysql::connect(channel, address).map(Protocol::Mysql),
            Dialect::Mongodb => mongodb::Mongodb::connect(channel, address).map(Protocol::Mongodb),
        };
        let protocol = protocol.map_err(|failure| SqlError::of_login(address, failure))?;
        let mut connection = Connection { protocol, endpoint };
        connection.set_timeout(None)?;
        Ok(connection)
    }

    /// What the server speaks.
    pub fn dialect(&self) -> Dialect {
        match &self.protocol {
            Protocol::Postgres(_) => Dialect::Postgres,
            Protocol::Mysql(_) => Dialect::Mysql,
            Protocol::Mongodb(_) => Dialect::Mongodb,
        }
    }

    /// The process that listened for this connection, where it is on this host.
    pub fn peer(&mut self) -> Option<i32> {
        self.channel().peer()
    }

    fn channel(&mut self) -> &mut Channel {
        match &mut self.protocol {
            Protocol::Postgres(postgres) => postgres.channel(),
            Protocol::Mysql(mysql) => mysql.channel(),
            Protocol::Mongodb(mongodb) => mongodb.channel(),
        }
    }

    /// How long an answer may take; without end where absent. An answer that does not come in time costs the
    /// connection.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), SqlError> {
        let set = self.channel().set_timeout(timeout);
        set.map_err(|source| SqlError::Connect { endpoint: self.endpoint.clone(), source })
    }

    /// Sends what was encoded before, one execution or one text, and reads the whole answer.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<Answer, WireError> {
        match &mut self.protocol {
            Protocol::Postgres(postgres) => postgres.send(message),
            Protocol::Mysql(mysql) => mysql.send(message),
            Protocol::Mongodb(mongodb) => mongodb.send(message),
        }
    }

    /// Begins a statement that is sent as text, at the end of a buffer.
    #[inline]
    pub fn begin_text(&self, out: &mut Vec<u8>) {
        match &self.protocol {
            Protocol::Postgres(_) => postgres::begin_text(out),
            Protocol::Mysql(_) => mysql::begin_text(out),
            Protocol::Mongodb(_) => mongodb::begin(out),
        }
    }

    /// Goes on with a row of an INSERT that is sent as text: the first one, or another.
    #[inline]
    pub fn begin_row(&self, is_first: bool, out: &mut Vec<u8>) {
        match &self.protocol {
            Protocol::Postgres(_) | Protocol::Mysql(_) => {
                out.extend_from_slice(if is_first { b" " } else { b", " });
            }
            Protocol::Mongodb(_) if is_first => mongodb::begin_documents(out, mongodb::OF_INSERT),
            Protocol::Mongodb(_) => {}
        }
    }

    /// Whether statements can be prepared; else their text is sent each time.
    pub fn prepares(&self) -> bool {
        !matches!(self.protocol, Protocol::Mongodb(_))
    }

    /// Ends the text that began at `start` of the buffer.
    #[inline]
    pub fn end_text(&self, out: &mut Vec<u8>, start: usize) {
        match &self.protocol {
            Protocol::Postgres(_) => postgres::end_text(out, start),
            Protocol::Mysql(_) => mysql::end_text(out, start),
            Protocol::Mongodb(_) => mongodb::end(out, start),
        }
    }

    /// A text as [`Self::send`] takes it; of MongoDB the JSON of a command.
    pub fn encoded(&self, sql: &str) -> Result<Vec<u8>, SqlError> {
        if let Protocol::Mongodb(mongodb) = &self.protocol {
            return mongodb.encoded(sql);
        }
        let mut message = Vec::with_capacity(sql.len() + 8);
        self.begin_text(&mut message);
        message.extend_from_slice(sql.as_bytes());
        self.end_text(&mut message, 0);
        Ok(message)
    }

    /// Runs a statement; what it returns is only counted.
    pub fn run(&mut self, sql: &str) -> Result<Answer, SqlError> {
        let message = self.encoded(sql)?;
        self.send(&message).map_err(|source| self.failed(sql, source))
    }

    /// Runs a statement and gives what it returns.
    pub fn read(&mut self, sql: &str) -> Result<Rows, SqlError> {
        let message = self.encoded(sql)?;
        let rows = match &mut self.protocol {
            Protocol::Postgres(postgres) => postgres.read(&message),
            Protocol::Mysql(mysql) => mysql.read(&message),
            Protocol::Mongodb(mongodb) => mongodb.read(&message),
        };
        rows.map_err(|source| self.failed(sql, source))
    }

    /// Prepares a statement with placeholders of the dialect, one for each type.
    pub fn prepare(&mut self, sql: &str, types: &[ParameterType]) -> Result<Prepared, SqlError> {
        let prepared = match &mut self.protocol {
            Protocol::Postgres(postgres) => postgres.prepare(sql, types).map(Prepared::Postgres),
            Protocol::Mysql(mysql) => mysql.prepare(sql, types).map(Prepared::Mysql),
            Protocol::Mongodb(_) => unreachable!("no command is prepared"),
        };
        prepared.map_err(|source| self.failed(sql, source))
    }

    /// All that MongoDB answers to a command of JSON, as names with dots between them and values.
    pub fn answer(&mut self, command: &str) -> Result<Vec<(String, String)>, SqlError> {
        let Protocol::Mongodb(mongodb) = &mut self.protocol else {
            unreachable!("only MongoDB answers with a document");
        };
        let answer = mongodb.answer(command)?;
        answer.map_err(|source| self.failed(command, source))
    }

    /// Asks MongoDB a question that is about its database; `shown` stands for it in errors.
    pub(super) fn read_answer<T>(
        &mut self,
        shown: &str,
        question: impl FnOnce(&str) -> Vec<u8>,
        read: impl FnOnce(mongodb::bson::Document<'_>) -> Result<T, WireError>,
    ) -> Result<T, SqlError> {
        let Protocol::Mongodb(mongodb) = &mut self.protocol else {
            unreachable!("only MongoDB answers with a document");
        };
        let answer = mongodb.read_answer(question, read);
        answer.map_err(|source| self.failed(shown, source))
    }

    /// The error of a statement.
    #[cold]
    pub fn failed(&self, statement: &str, source: WireError) -> SqlError {
        SqlError::Statement { statement: shown(statement), endpoint: self.endpoint.clone(), source }
    }
}
