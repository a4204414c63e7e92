//! A host that is reached over ssh: commands there, files to and from it. Nothing is measured through it: what runs there is dbdyno itself,
//! which goes on if the connection is lost.

pub mod client_side;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod job;
mod message;
pub mod program;
pub mod server_side;
#[cfg(test)]
mod two_sides;

pub use message::{Judgement, Question};

use crate::process::child;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

/// The two ends of what is between clients and servers, as either host sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// Where servers listen.
    pub servers: IpAddr,
    /// Where clients come from: nobody else is let in.
    pub clients: IpAddr,
}

/// What sshd tells those that it starts: `198.18.1.1 51234 198.18.1.2 22`, the client's address and port and its own.
pub const SSH_CONNECTION: &str = "SSH_CONNECTION";

impl Between {
    /// Of the connection by which this program was started over ssh, by [`SSH_CONNECTION`]; none if the text is none, or an address is of
    /// one link alone, for which servers have no name.
    pub fn of_ssh(text: &str) -> Option<Between> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [clients, _, servers, _] = words.as_slice() else { return None };
        let address = |text: &str| text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        Some(Between { servers: address(servers)?, clients: address(clients)? })
    }

    /// Of the way from here to an address that the user names. Nothing is sent.
    ///
    /// # Errors
    /// It is no address or name, or there is no way to it.
    pub fn to(host: &str) -> io::Result<Between> {
        // Any port: which address is ours on the way there is the same for all.
        let servers = (host, 1).to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let any: IpAddr =
            if servers.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(servers)?;
        Ok(Between { servers: servers.ip(), clients: socket.local_addr()?.ip() })
    }
}

/// The command that is used in place of `ssh`, with its arguments, as `$GIT_SSH_COMMAND` is for git.
pub const SSH_VARIABLE: &str = "DBDYNO_SSH";

/// How ssh ends if the connection and not the command has failed.
const SSH_FAILED: i32 = 255;

/// Never asks for a password, gives up a host that does not answer in ten seconds, and one that has not for a minute.
const OPTIONS: [&str; 14] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
    // A connection that others share outlives ours and keeps our pipes open.
    "-o",
    "ControlMaster=no",
    "-o",
    "ControlPath=none",
    // A terminal would change what is sent.
    "-o",
    "RequestTTY=no",
];

/// What a login prints comes before this line; what is asked for comes after it.
const MARKER: &str = "dbdyno-begins";

/// Of what a command says on its standard error so much is quoted.
const MOST_SAID: usize = 2000;

/// What went wrong with another host.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("`{target}` is no host: write it like lab-1 or me@lab-1, as ssh takes it")]
    NoHost { target: String },
    #[error("failed to start `{program}`; install ssh, or name it in ${SSH_VARIABLE}")]
    Start { program: String, source: io::Error },
    #[error("host {target} cannot be reached: {said}")]
    Unreachable { target: String, said: String },
    #[error("`{doing}` failed on host {target} (exit status {status}): {said}")]
    Failed { target: String, doing: String, status: i32, said: String },
    #[error("failed to talk to host {target}")]
    Broken { target: String, source: io::Error },
    #[error("failed to write what host {target} sent into `{}`", path.display())]
    NotKept { target: String, path: PathBuf, source: io::Error },
    #[error(
        "host {target} is {found}, and this dbdyno is for Linux {}: build dbdyno there, and run the plan by it",
        std::env::consts::ARCH
    )]
    OtherMachine {
        target: String,
        /// `Linux aarch64`
        found: String,
    },
    #[error("the program that was copied to host {target} says that it is {found}")]
    OtherVersion { target: String, found: String },
    #[error("failed to read the program of this process")]
    OwnProgram { source: io::Error },
    #[error("host {target} has no store of the job")]
    NoStore { target: String },
    #[error(
        "the connection to host {target} was lost ({why}): dbdyno ends what it has started there as soon as it notices that{}",
        said_sentence(said)
    )]
    Lost { target: String, why: String, said: String },
    #[error("host {target}: {message}")]
    Refused {
        target: String,
        message: String,
        /// Whether what the user wrote makes no sense.
        is_usage: bool,
    },
    #[error(
        "`{address}` is not reached from here: name an address of host {target} by --server-address, or as `server_address` of the plan"
    )]
    NoAddress { target: String, address: String, source: io::Error },
}

fn said_sentence(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}

/// A host, by what ssh calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteHost {
    target: String,
}

impl RemoteError {
    /// Whether the connection failed: what was begun there may go on.
    pub fn is_of_connection(&self) -> bool {
        matches!(
            self,
            RemoteError::Unreachable { .. } | RemoteError::Broken { .. } | RemoteError::Lost { .. }
        )
    }
}

impl RemoteHost {
    /// # Errors
    /// A text that ssh would take for an option, or that is none.
    pub fn new(target: &str) -> Result<RemoteHost, RemoteError> {
        let is_name = |letter: char| letter.is_ascii_graphic() && !"'\"`$;|&<>\\".contains(letter);
        if target.is_empty() || target.starts_with('-') || !target.chars().all(is_name) {
            return Err(RemoteError::NoHost { target: target.to_owned() });
        }
        Ok(RemoteHost { target: target.to_owned() })
    }

    /// As the user wrote it.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The host or command that ssh goes through on its way there, by ssh's configuration; none if it goes straight, or if what is used in place of
    /// ssh does not say. Nothing is sent.
    pub fn through(&self) -> Option<String> {
        let (_, mut command) = ssh();
        let said = command.args(["-G", "--"]).arg(&self.target).output().ok()?;
        if said.status.success() { proxy(&String::from_utf8_lossy(&said.stdout)) } else { None }
    }

    /// Runs a command of the shell there, with this as its standard input. What it wrote to its standard output.
    ///
    /// # Errors
    /// [`RemoteError::Unreachable`] if there is no connection, [`RemoteError::Failed`] if the command fails.
    pub fn output(&self, doing: &str, script: &str, input: impl Read + Send) -> Result<Vec<u8>, RemoteError> {
        let mut output = Vec::new();
        self.run(doing, script, input, |stdout| {
            let mut stdout = BufReader::new(stdout);
            skip_to_marker(&mut stdout)?;
            stdout.read_to_end(&mut output).map(|_| ())
        })?;
        Ok(output)
    }

    /// Runs a command of the shell there and writes what it wrote to its standard output into a file here. The length of it, in bytes.
    ///
    /// # Errors
    /// As those of [`RemoteHost::output`], and [`RemoteError::NotKept`].
    pub(crate) fn output_into(&self, path: &Path, doing: &str, script: &str) -> Result<u64, RemoteError> {
        let not_kept =
            |source| RemoteError::NotKept { target: self.target.clone(), path: path.to_owned(), source };
        let mut file = File::create(path).map_err(not_kept)?;
        let (mut length, mut unwritten) = (0, None);
        let ran = self.run(doing, script, io::empty(), |stdout| {
            let mut stdout = BufReader::new(stdout);
            skip_to_marker(&mut stdout)?;
            loop {
                let bytes = match stdout.fill_buf() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    bytes => bytes?,
                };
                if bytes.is_empty() {
                    return Ok(());
                }
                if let Err(error) = file.write_all(bytes) {
                    unwritten = Some(error);
                    return Ok(());
                }
                let count = bytes.len();
                length += count as u64;
                stdout.consume(count);
            }
        });
        match unwritten {
            // The command there has failed too, because nobody read on.
            Some(error) => Err(not_kept(error)),
            None => ran.map(|()| length),
        }
    }

    /// The same as text, without input.
    pub(crate) fn text(&self, doing: &str, script: &str) -> Result<String, RemoteError> {
        let output = self.output(doing, script, io::empty())?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Whether a test of the shell holds there.
    fn has(&self, test: &str) -> Result<bool, RemoteError> {
        let said = self.text("look for a file", &format!("if test {test}; then echo yes; fi"))?;
        Ok(said.trim() == "yes")
    }

    /// Runs a command of the shell there and hands on each line that it writes to its standard output, until it ends.
    ///
    /// # Errors
    /// As those of [`RemoteHost::output`].
    pub fn follow(
        &self,
        doing: &str,
        script: &str,
        mut on_line: impl FnMut(&str),
    ) -> Result<(), RemoteError> {
        self.run(doing, script, io::empty(), |stdout| {
            let mut stdout = BufReader::new(stdout);
            skip_to_marker(&mut stdout)?;
            for line in stdout.split(b'\n') {
                on_line(&String::from_utf8_lossy(&line?));
            }
            Ok(())
        })
    }

    /// Runs a command there to its end. Input and standard error have threads of their own, so that no pipe fills up.
    fn run(
        &self,
        doing: &str,
        script: &str,
        mut input: impl Read + Send,
        read: impl FnOnce(ChildStdout) -> io::Result<()>,
    ) -> Result<(), RemoteError> {
        let mut child = self.spawn(script)?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let stdout = child.stdout.take();
        let broken = |source| RemoteError::Broken { target: self.target.clone(), source };
        let (read, said) = thread::scope(|scope| {
            scope.spawn(move || {
                // A command that ends early says why itself.
                if let Some(mut stdin) = stdin {
                    let _ = io::copy(&mut input, &mut stdin);
                }
            });
            let said = scope.spawn(move || {
                let mut text = Vec::new();
                if let Some(mut stderr) = stderr {
                    let _ = stderr.read_to_end(&mut text);
                }
                text
            });
            (stdout.map_or(Ok(()), read), said.join().unwrap_or_default())
        });
        let status = child.wait().map_err(broken)?;
        read.map_err(broken)?;
        self.ended(doing, status.code().unwrap_or(SSH_FAILED), &said)
    }

    /// Makes a directory of these files there, all of them or none; their names are relative to it. An empty one is replaced.
    ///
    /// # Errors
    /// As those of [`RemoteHost::output`].
    pub fn put(&self, directory: &str, files: &[(PathBuf, Vec<u8>)]) -> Result<(), RemoteError> {
        let archive =
            archived(files).map_err(|source| RemoteError::Broken { target: self.target.clone(), source })?;
        // What is there under its name is there in whole: a disk may be full, and a connection be lost.
        let script = format!(
            "umask 077; rm -rf {directory}.new; mkdir -p {directory}.new && tar -xf - -C {directory}.new && \
             mkdir -p {directory} && rmdir {directory} && mv {directory}.new {directory}"
        );
        self.output("put files", &script, archive.as_slice()).map(|_| ())
    }

    fn spawn(&self, script: &str) -> Result<Child, RemoteError> {
        let (program, mut command) = ssh();
        command
            .args(OPTIONS)
            .arg("--")
            .arg(&self.target)
            .arg(format!("exec sh -c {}", quoted(&format!("printf '\\n{MARKER}\\n'; {script}"))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C on our terminal is for us: what is heard of a host until it has stopped is still wanted.
            .process_group(0);
        child::die_with_controller(&mut command);
        command.spawn().map_err(|source| RemoteError::Start { program, source })
    }

    fn ended(&self, doing: &str, status: i32, said: &[u8]) -> Result<(), RemoteError> {
        let said = end_of(said);
        let target = self.target.clone();
        match status {
            0 => Ok(()),
            SSH_FAILED => Err(RemoteError::Unreachable { target, said }),
            status => Err(RemoteError::Failed { target, doing: doing.to_owned(), status, said }),
        }
    }
}

/// What is started as ssh, with its name and without arguments of ours.
fn ssh() -> (String, Command) {
    let ssh = std::env::var_os(SSH_VARIABLE).filter(|command| !command.is_empty());
    let ssh = ssh.unwrap_or_else(|| OsString::from("ssh"));
    let ssh = ssh.to_string_lossy();
    let mut words = ssh.split_whitespace();
    let program = words.next().unwrap_or("ssh");
    let mut command = child::command(Path::new(program));
    command.args(words);
    (program.to_owned(), command)
}

/// `gate`, of the lines of `ssh -G`: `proxyjump gate`, or `proxycommand nc -x gate %h %p`.
fn proxy(settings: &str) -> Option<String> {
    let of = |setting: &str| settings.lines().find_map(|line| line.strip_prefix(setting)?.strip_prefix(' '));
    let proxy = of("proxyjump").or_else(|| of("proxycommand"))?;
    (proxy != "none").then(|| proxy.to_owned())
}

/// The end of what was said.
fn end_of(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let said = said.trim();
    let begin = said.char_indices().rev().nth(MOST_SAID).map_or(0, |(at, _)| at);
    said[begin..].to_owned()
}

/// Reads up to what was printed after the marker; without one all of it.
fn skip_to_marker(output: &mut impl BufRead) -> io::Result<()> {
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        if line.strip_suffix(b"\n") == Some(MARKER.as_bytes()) {
            return Ok(());
        }
        line.clear();
    }
    Ok(())
}

fn archived(files: &[(PathBuf, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o700); // among them may be programs
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    archive.into_inner()
}

/// A text as one word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::output;
    use std::fs;

    #[test]
    fn a_host_is_never_an_option_or_a_command() {
        for target in ["", "-oProxyCommand=x", "a b", "a;b", "a$(b)", "a\n"] {
            assert!(matches!(RemoteHost::new(target), Err(RemoteError::NoHost { .. })), "{target:?}");
        }
        for target in ["lab-1", "me@lab-1.example", "ssh://me@[::1]:2222"] {
            assert_eq!(RemoteHost::new(target).unwrap().target(), target);
        }
    }

    #[test]
    fn the_way_to_the_servers_is_that_of_ssh_or_of_the_address_that_is_named() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = Between::of_ssh("198.18.1.1 51234 198.18.1.2 22").unwrap();
        assert_eq!((found.clients, found.servers), (address("198.18.1.1"), address("198.18.1.2")));
        let mapped = Between::of_ssh("::ffff:10.0.0.1 5 ::ffff:10.0.0.2 22").unwrap();
        assert_eq!(mapped.servers, address("10.0.0.2"));
        for none in ["", "UNKNOWN 65535 UNKNOWN 65535", "fe80::1%eth0 5 fe80::2%eth0 22", "1.2.3.4 5 6.7.8.9"]
        {
            assert_eq!(Between::of_ssh(none), None, "{none}");
        }
        let to_itself = Between::to("127.0.0.1").unwrap();
        assert_eq!((to_itself.servers, to_itself.clients), (address("127.0.0.1"), address("127.0.0.1")));
        assert!(Between::to("no such host").is_err());
    }

    #[test]
    fn what_ssh_goes_through_is_known_from_its_configuration() {
        let straight = "host lab-1\nuser me\nport 22\nproxyusefdpass no\n";
        assert_eq!(proxy(straight), None);
        assert_eq!(proxy(&format!("{straight}proxyjump none\n")), None);
        assert_eq!(proxy(&format!("{straight}proxyjump me@gate:2222\n")).as_deref(), Some("me@gate:2222"));
        let command = format!("{straight}proxycommand nc -x gate %h %p\n");
        assert_eq!(proxy(&command).as_deref(), Some("nc -x gate %h %p"));
    }

    #[test]
    fn what_a_login_prints_is_no_part_of_an_answer() {
        let after = |text: &str| {
            let mut output = text.as_bytes();
            skip_to_marker(&mut output).unwrap();
            String::from_utf8(output.to_vec()).unwrap()
        };
        assert_eq!(after("dbdyno-begins\n0\n"), "0\n");
        assert_eq!(after("Welcome\nnot dbdyno-begins\ndbdyno-begins\n\0binary\n"), "\0binary\n");
        assert_eq!(after("dbdyno-begins\n"), "");
        assert_eq!(after("Welcome\n"), "");
    }

    #[test]
    fn a_quoted_text_is_one_word_of_a_shell_whatever_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let said = directory.path().join("said");
        for text in ["plain", "it's", "a  b", "$HOME `x` \"y\"", "\\ \n'", ""] {
            let script = format!("printf %s {} >{}", quoted(text), quoted(&said.display().to_string()));
            let ended = std::process::Command::new("sh").arg("-c").arg(script).status().unwrap();
            assert!(ended.success());
            assert_eq!(fs::read_to_string(&said).unwrap(), text);
        }
        assert_eq!(output::last_words(&said), "");
    }

    #[test]
    fn the_end_of_what_was_said_is_quoted_and_255_is_no_answer_of_the_command() {
        let host = RemoteHost::new("lab-1").unwrap();
        assert!(host.ended("look", 0, b"a warning").is_ok());
        let long = format!("{}the end", "x".repeat(2 * MOST_SAID));
        match host.ended("look", 3, long.as_bytes()) {
            Err(RemoteError::Failed { status: 3, said, .. }) => {
                assert!(said.ends_with("the end") && said.len() <= MOST_SAID + 1);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(host.ended("look", 255, b"no route"), Err(RemoteError::Unreachable { .. })));
    }
}
