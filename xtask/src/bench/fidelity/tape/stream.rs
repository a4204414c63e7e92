//! Connections by socket or over TCP, alike.

use anyhow::Context;
use model::address::Endpoint;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// One that clients reach as they would reach the server: over TCP, or by a socket of the same file name in this directory.
    pub fn beside(server: &Endpoint, directory: &Path) -> anyhow::Result<(Listener, Endpoint)> {
        match server {
            Endpoint::Socket { path } => {
                let directory = directory.join("recorder");
                fs::create_dir_all(&directory).context("failed to make a directory for a socket")?;
                let path = directory.join(path.file_name().context("a socket has a file name")?);
                let _ = fs::remove_file(&path);
                let listener = UnixListener::bind(&path)
                    .with_context(|| format!("failed to bind `{}`", path.display()))?;
                listener.set_nonblocking(true)?;
                Ok((Listener::Unix(listener), Endpoint::Socket { path }))
            }
            Endpoint::Tcp { .. } => {
                let host = "127.0.0.1";
                let listener = TcpListener::bind((host, 0)).context("failed to bind a port")?;
                listener.set_nonblocking(true)?;
                let port = listener.local_addr()?.port();
                Ok((Listener::Tcp(listener), Endpoint::Tcp { host: host.to_owned(), port }))
            }
        }
    }

    /// The next connection, if there is one.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match self {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        match accepted {
            Ok(stream) => stream.set_up().map(Some),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub fn connect(endpoint: &Endpoint) -> anyhow::Result<Stream> {
        let stream = match endpoint {
            Endpoint::Socket { path } => UnixStream::connect(path).map(Stream::Unix),
            Endpoint::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)).map(Stream::Tcp),
        };
        stream.and_then(Stream::set_up).with_context(|| format!("failed to connect to {endpoint:?}"))
    }

    /// Neither waits for more to send, as the clients do not.
    fn set_up(self) -> io::Result<Stream> {
        match &self {
            Stream::Unix(stream) => stream.set_nonblocking(false)?,
            Stream::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
            }
        }
        Ok(self)
    }

    pub fn time_out(&self, after: Duration) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(Some(after)),
            Stream::Tcp(stream) => stream.set_read_timeout(Some(after)),
        }
    }

    /// If the other side is gone, it needs no end.
    pub fn send_no_more(&self) {
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).read(buffer),
            Stream::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).write(bytes),
            Stream::Tcp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
