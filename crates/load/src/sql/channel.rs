//! A blocking connection with one buffer for what was received: bytes are looked at where they lie, and what nobody
//! wants is passed over. It knows no protocol.

use super::tls;
use model::address::Endpoint;
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Bytes of a buffer at first: more than the answers of nearly all statements, so that one read takes each.
const BUFFER_BYTES: usize = 32 << 10;
/// A message that has to lie in the buffer as a whole is at most this long; more is a mistake of the protocol. Status
/// texts of InnoDB reach 1 MiB.
pub const LONGEST_MESSAGE: usize = 64 << 20;

/// An address that does not answer within this is passed over: the kernel's own timeout is minutes. Not tuned.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// If nothing has come for so long, the other host is asked whether it is still there, and again, so many times: a cut is
/// noticed within a minute. Not tuned. It is no limit of a statement: the other host's kernel answers, however long the server
/// is silent.
const PROBE_AFTER: Duration = Duration::from_secs(30);
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// The same if something was sent that the other host has not taken in. Its kernel takes in some hundred kilobytes for a server
/// that reads nothing; only a longer message to one that has read nothing for a minute is mistaken for a cut.
const UNRECEIVED_TIMEOUT_MS: u32 = 60_000;

/// A socket.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<tls::Encrypted>),
}

/// A connection.
#[derive(Debug)]
pub struct Channel {
    stream: Stream,
    buffer: Vec<u8>,
    /// What is not looked at yet lies from here ..
    start: usize,
    end: usize,
    /// Whether an answer may take as long as it takes.
    waits_without_end: bool,
}

impl Channel {
    /// Connects. TCP connections send at once what they are given, and end when the network is cut.
    pub fn connect(endpoint: &Endpoint) -> io::Result<Channel> {
        let stream = match endpoint {
            Endpoint::Socket { path } => Stream::Unix(UnixStream::connect(path)?),
            Endpoint::Tcp { host, port } => {
                let stream = connect_tcp(host, *port)?;
                stream.set_nodelay(true)?;
                // On this host nothing is cut, and a server that is stopped for a while takes nothing in.
                if !is_this_host(stream.peer_addr()?.ip()) {
                    notice_cuts(&stream)?;
                }
                Stream::Tcp(stream)
            }
        };
        Ok(Channel::over(stream))
    }

    /// One whose other end is held by a fuzz target.
    #[cfg(fuzzing)]
    pub fn of_pair(stream: UnixStream) -> Channel {
        Channel::over(Stream::Unix(stream))
    }

    fn over(stream: Stream) -> Channel {
        Channel { stream, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, waits_without_end: true }
    }

    /// Goes on encrypted. Nothing that came before may be left: it came from whoever could write to the network.
    pub fn encrypt(&mut self, host: &str, authorities: &Path) -> io::Result<()> {
        let Stream::Tcp(stream) = &self.stream else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "TLS is for TCP connections"));
        };
        if self.start != self.end {
            let early = "the server sent more than its answer before TLS began";
            return Err(io::Error::new(io::ErrorKind::InvalidData, early));
        }
        let encrypted = tls::encrypted(stream.try_clone()?, host, authorities)?;
        self.stream = Stream::Tls(Box::new(encrypted));
        Ok(())
    }

    /// What binds a login to an encrypted connection.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        match &self.stream {
            Stream::Tls(stream) => tls::end_point(stream),
            Stream::Unix(_) | Stream::Tcp(_) => None,
        }
    }

    /// Whether nobody between both ends can read it.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Whether it is a Unix socket.
    pub fn is_local_socket(&self) -> bool {
        matches!(self.stream, Stream::Unix(_))
    }

    /// Whether what is sent cannot leave the machine.
    pub fn stays_on_host(&self) -> bool {
        match &self.stream {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| is_this_host(peer.ip())),
            Stream::Tls(stream) => stream.sock.peer_addr().is_ok_and(|peer| is_this_host(peer.ip())),
        }
    }

    /// The process at the other end, where it is on this host: of a Unix socket the one that listened.
    pub fn peer(&self) -> Option<i32> {
        let Stream::Unix(stream) = &self.stream else { return None };
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).ok()?;
        // SAFETY: the place is as large as `length` says and outlives the call, which writes no more than that.
        let answer = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &mut length,
            )
        };
        (answer == 0 && peer.pid > 0).then_some(peer.pid)
    }

    /// How long an answer may take; without end where absent.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.waits_without_end = timeout.is_none();
        match &self.stream {
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Tls(stream) => stream.sock.set_read_timeout(timeout),
        }
    }

    /// Sends all of a message.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Unix(stream) => stream.write_all(message),
            Stream::Tcp(stream) => stream.write_all(message),
            Stream::Tls(stream) => {
                stream.write_all(message)?;
                stream.flush()
            }
        }
    }

    /// Waits until at least `count` bytes that were not passed over lie in the buffer.
    #[inline]
    pub fn need(&mut self, count: usize) -> io::Result<()> {
        if self.end - self.start >= count { Ok(()) } else { self.receive(count) }
    }

    /// What was received and not passed over.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes over bytes that lie in the buffer.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end, "only what was received is passed over");
    }

    /// Passes over bytes, waiting for those that are not there yet.
    #[inline]
    pub fn skip(&mut self, count: usize) -> io::Result<()> {
        let mut left = count;
        loop {
            let here = left.min(self.end - self.start);
            self.start += here;
            left -= here;
            if left == 0 {
                return Ok(());
            }
            self.receive(1)?;
        }
    }

    fn receive(&mut self, count: usize) -> io::Result<()> {
        if count > LONGEST_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than 64 MiB"));
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.buffer.len() - self.start < count {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < count {
            if self.end == self.buffer.len() {
                // By what has come, not by what was announced: an announcement costs its sender nothing.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let free = &mut self.buffer[self.end..];
            let received = match &mut self.stream {
                Stream::Unix(stream) => {
                    if self.waits_without_end {
                        wait_readable(stream);
                    }
                    stream.read(free)
                }
                Stream::Tcp(stream) => stream.read(free),
                Stream::Tls(stream) => stream.read(free),
            };
            match received {
                Ok(0) => {
                    let closed = "the server closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
                }
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Tries the addresses of a host in turn; the last error is the one to tell.
fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether it is the loopback, be it written as IPv4 or as IPv6.
fn is_this_host(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn notice_cuts(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, PROBE_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, PROBE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    sockopt::set_tcp_user_timeout(stream, UNRECEIVED_TIMEOUT_MS)?;
    Ok(())
}

/// Waits until there is something to read. A thread that is blocked in a read of a Unix socket is woken twice for each
/// answer: once for nothing, when the peer has taken the question and the socket can be written again. A poll is woken
/// only for what it waits for. It costs a system call and saves a switch of threads: with 8 clients of MariaDB it was
/// 1.7 switches a query without. An error is left to the read that follows.
fn wait_readable(stream: &UnixStream) {
    let mut waited = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry, which outlives the call.
    unsafe { libc::poll(&mut waited, 1, -1) };
}

#[cfg(test)]
mod tests {
    use super::super::scripted::Peer;
    use super::*;

    #[test]
    fn bytes_that_come_in_pieces_lie_together_and_are_passed_over() {
        let long: Vec<u8> = (0..200_000_u32).map(|byte| (byte % 251) as u8).collect();
        let peer = Peer::sending(vec![b"ab".to_vec(), b"c".to_vec(), long.clone()]);
        let mut channel = Channel::connect(&peer.endpoint()).unwrap();
        channel.need(3).unwrap();
        assert_eq!(&channel.unread()[..3], b"abc");
        channel.advance(2);
        channel.skip(100_001).unwrap();
        channel.need(100_000).unwrap();
        assert_eq!(&channel.unread()[..100_000], &long[100_000..]);
        channel.skip(100_000).unwrap();
        let error = channel.need(1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn only_the_loopback_is_this_host() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.9.8.7", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("0.0.0.0", false),
            ("::ffff:10.0.0.1", false),
            ("fe80::1", false),
        ] {
            assert_eq!(is_this_host(address.parse().unwrap()), expected, "{address}");
        }
        let peer = Peer::answering_by_tcp(Vec::new(), Vec::new());
        let channel = Channel::connect(&peer.endpoint()).unwrap();
        assert!(channel.stays_on_host() && !channel.is_local_socket());
    }

    #[test]
    fn a_cut_network_is_noticed_within_about_a_minute() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        notice_cuts(&stream).unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        let silence = sockopt::tcp_keepidle(&stream).unwrap();
        let interval = sockopt::tcp_keepintvl(&stream).unwrap();
        let probes = sockopt::tcp_keepcnt(&stream).unwrap();
        assert_eq!(silence + interval * probes, Duration::from_secs(60));
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 60_000);
    }

    #[test]
    fn a_length_beyond_reason_is_refused_before_it_is_waited_for() {
        let peer = Peer::sending(vec![b"abc".to_vec()]);
        let mut channel = Channel::connect(&peer.endpoint()).unwrap();
        assert_eq!(channel.need(usize::MAX).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
