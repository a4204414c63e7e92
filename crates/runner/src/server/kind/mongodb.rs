//! MongoDB.

use super::{Port, ServerKind};
use crate::server::log::{Cause, quoted};
use crate::server::ready::Progress;
use crate::server::{Places, ServerCommand, USER};
use model::address::ServerAddress;
use model::build::ServerFiles;
use model::config::Options;
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// MongoDB, and what is started like it. Its options are those of a configuration file, with dots between the levels:
/// `storage.wiredTiger.engineConfig.cacheSizeGB`, `setParameter.ttlMonitorEnabled`.
pub struct Mongodb;

const OURS: &[&str] = &[
    "net.bindIp",
    "net.bindIpAll",
    "net.port",
    "net.ssl",
    "net.tls",
    "net.unixDomainSocket",
    "processManagement.fork",
    "processManagement.pidFilePath",
    "replication",
    "security",
    "sharding",
    "storage.dbPath",
    "systemLog",
];

/// What is not changed without a new data directory.
const SHAPING: &[&str] = &["storage.engine", "storage.directoryPerDB"];

const OP_MSG: i32 = 2013;
/// Length, number, number of the request, kind; then flags and the kind of the first section.
const BEFORE_BODY: usize = 21;
/// `{isMaster: 1, $db: "admin"}`, as every release knows it.
const IS_MASTER: &[u8] = b"\x10isMaster\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x00";

impl ServerKind for Mongodb {
    fn user(&self) -> &'static str {
        USER
    }

    /// Also all below what is ours.
    fn is_ours(&self, option: &str) -> bool {
        OURS.iter().any(|ours| {
            option.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    fn is_shaping(&self, option: &str) -> bool {
        SHAPING.contains(&option)
    }

    fn socket_name(&self, port: u16) -> String {
        format!("mongodb-{port}.sock")
    }

    /// The command line counts more than the file.
    fn arguments(
        &self,
        command: &ServerCommand<'_>,
        places: &Places,
        Port { number, listens }: Port,
    ) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut set = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        set("--config", places.first_statements.clone().into());
        set("--dbpath", places.data.clone().into());
        set("--port", number.to_string().into());
        if let Some(address) = listens {
            set("--bind_ip", address.to_string().into());
            set("--unixSocketPrefix", places.sockets.clone().into());
        } else {
            set("--bind_ip", places.sockets.join(self.socket_name(number)).into());
            // Else it makes another one in a public place, by the port alone.
            arguments.push("--nounixsocket".into());
        }
        arguments.extend(command.files.arguments.iter().map(OsString::from));
        arguments
    }

    fn arguments_of_initialise(
        &self,
        _files: &ServerFiles,
        _options: &Options,
        _places: &Places,
    ) -> Vec<OsString> {
        Vec::new()
    }

    /// Its configuration file. JSON is YAML.
    fn first_statements(&self, command: &ServerCommand<'_>) -> Option<String> {
        Some(configuration(command.options))
    }

    /// Its login would have to be one with a password, which our client does not speak.
    fn admits_one_client(&self, _options: &Options) -> bool {
        false
    }

    fn may_be_incomplete(&self) -> bool {
        false
    }

    fn shares_memory(&self) -> bool {
        false
    }

    fn stop_signal(&self) -> libc::c_int {
        libc::SIGTERM
    }

    fn kept_caches(&self) -> &'static [&'static str] {
        &[]
    }

    fn first_message(&self, _address: &ServerAddress) -> Vec<u8> {
        let body = [&length(IS_MASTER.len() + 4)[..], IS_MASTER].concat();
        let number = 1_i32.to_le_bytes();
        let head = [&length(BEFORE_BODY + body.len())[..], &number, &[0; 4], &OP_MSG.to_le_bytes(), &[0; 5]];
        [&head.concat()[..], &body].concat()
    }

    /// It accepts before it can work, and then answers nothing.
    fn progress(&self, received: &[u8]) -> Option<Progress> {
        let length = u32::from_le_bytes(received.get(..4)?.try_into().ok()?) as usize;
        let kind = i32::from_le_bytes(received.get(12..16)?.try_into().ok()?);
        if kind != OP_MSG || length < BEFORE_BODY {
            return Some(Progress::Refused("it does not speak the protocol of MongoDB".to_owned()));
        }
        let answer = received.get(BEFORE_BODY..length)?;
        // Only a server in a replica set can be no primary; ours is in none.
        let is_ok =
            has(answer, b"\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f") || has(answer, b"\x10ok\x00\x01");
        Some(if is_ok {
            Progress::Ready
        } else {
            Progress::Refused("it refuses to say whether it is ready".to_owned())
        })
    }

    fn last_message(&self) -> &'static [u8] {
        &[]
    }

    /// Of its command line and file it tells on standard error; of the rest in JSON, a line each, from 4.4 on.
    fn cause(&self, line: &str) -> Option<Cause> {
        let line = &line.replace("\\\"", "\"");
        let rest = |words: &str| Some(line.split_once(words)?.1.trim().to_owned());
        let unknown = rest("Unrecognized option: ")
            .or_else(|| quoted(line, "unrecognised option '--", '\''))
            .or_else(|| quoted(line, "Unknown --setParameter '", '\''))
            .or_else(|| quoted(line, "Illegal --setParameter parameter: \"", '"'));
        if let Some(option) = unknown {
            return Some(Cause::UnknownOption(option));
        }
        let bad = quoted(line, "Bad value for parameter \"", '"').or_else(|| {
            let (before, _) = line.split_once(" must be greater than or equal to ")?;
            before.rsplit([' ', '"']).next().map(str::to_owned)
        });
        if let Some(option) = bad {
            return Some(Cause::BadValue(option));
        }
        if line.contains("Address already in use") {
            return Some(Cause::PortTaken);
        }
        let other_version =
            ["Wrong mongod version", "Invalid featureCompatibilityVersion", "incompatible with version"];
        if other_version.iter().any(|words| line.contains(words)) {
            return Some(Cause::OtherVersion);
        }
        let is_fatal = line.contains("\"s\":\"F\"") || line.contains("\"s\":\"E\"");
        (is_fatal && line.contains("Permission denied")).then_some(Cause::NotPermitted)
    }
}

/// Options with dots between their levels, as a file.
fn configuration(options: &Options) -> String {
    let mut root = Map::new();
    for (name, value) in options {
        let mut levels: Vec<&str> = name.split('.').collect();
        let last = levels.pop().unwrap_or_default();
        let mut at = &mut root;
        for level in levels {
            let below = at.entry(level).or_insert_with(|| json!({}));
            if !below.is_object() {
                *below = json!({});
            }
            let Value::Object(map) = below else { unreachable!("it was just made one") };
            at = map;
        }
        at.insert(last.to_owned(), json!(value));
    }
    format!("{:#}\n", Value::Object(root))
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::address::Endpoint;
    use model::workload::sql::Dialect;

    #[test]
    fn options_become_a_file_with_levels() {
        let options = [
            ("storage.wiredTiger.engineConfig.cacheSizeGB", "0.25"),
            ("setParameter.a", "1"),
            ("storage.engine", "x"),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let text = configuration(&options);
        let expected = json!({
            "storage": { "engine": "x", "wiredTiger": { "engineConfig": { "cacheSizeGB": "0.25" } } },
            "setParameter": { "a": "1" },
        });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn what_its_log_tells_of_a_start_that_failed() {
        let unknown = |option: &str| Some(Cause::UnknownOption(option.to_owned()));
        let bad = |option: &str| Some(Cause::BadValue(option.to_owned()));
        let size = "storage.wiredTiger.engineConfig.cacheSizeGB";
        for (line, cause) in [
            ("Unrecognized option: storage.journal.enabled", unknown("storage.journal.enabled")),
            ("Error parsing command line: unrecognised option '--wrong'", unknown("wrong")),
            (r#"Illegal --setParameter parameter: "wrong""#, unknown("wrong")),
            ("BadValue: Unknown --setParameter 'wrong'", unknown("wrong")),
            (r#"{"s":"E","msg":"x","attr":{"error":"Bad value for parameter \"a\": none"}}"#, bad("a")),
            (&format!("{size} must be greater than or equal to 0.25"), bad(size)),
            (r#"{"s":"E","msg":"bind","attr":{"error":"Address already in use"}}"#, Some(Cause::PortTaken)),
            (r#"{"s":"I","msg":"Waiting for connections"}"#, None),
        ] {
            assert_eq!(Mongodb.cause(line), cause, "{line}");
        }
    }

    #[test]
    fn what_is_below_ours_is_ours() {
        for ours in ["systemLog.destination", "net.port", "security.authorization"] {
            assert!(Mongodb.is_ours(ours), "{ours}");
        }
        for theirs in ["net.portability", "setParameter.x", "storage.engine"] {
            assert!(!Mongodb.is_ours(theirs), "{theirs}");
        }
    }

    #[test]
    fn it_is_ready_when_it_has_answered_and_not_before() {
        let endpoint = Endpoint::Socket { path: "s".into() };
        let question = Mongodb.first_message(&ServerAddress::new(Dialect::Mongodb, endpoint, "u", "d"));
        assert_eq!(question.len(), usize::from(question[0]));
        let document = b"\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00";
        let body = [&length(document.len() + 4)[..], document].concat();
        let answer =
            [&length(BEFORE_BODY + body.len())[..], &[0; 8], &OP_MSG.to_le_bytes(), &[0; 5], &body].concat();
        assert_eq!(Mongodb.progress(&answer), Some(Progress::Ready));
        for cut in 0..answer.len() {
            assert_eq!(Mongodb.progress(&answer[..cut]), None, "{cut} bytes");
        }
        assert!(matches!(Mongodb.progress(b"HTTP/1.1 200 OK\r\n"), Some(Progress::Refused(_))));
    }
}
