//! The connections that are open: at most so many, and the oldest makes room for a new one, so that clients which keep theirs
//! open without using it keep nobody out.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All of them.
pub struct Connections {
    most: usize,
    open: Mutex<Open>,
    closed: Condvar,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// In the order in which they were accepted.
    sockets: BTreeMap<u64, Socket>,
}

struct Socket {
    stream: Arc<TcpStream>,
    has_asked: bool,
}

/// One of them, closed when dropped.
pub struct Connection<'a> {
    all: &'a Connections,
    number: u64,
    stream: Arc<TcpStream>,
}

impl Connections {
    /// None yet, and never more than `most`.
    pub fn new(most: usize) -> Connections {
        Connections { most, open: Mutex::default(), closed: Condvar::new() }
    }

    /// A new one; if there are as many as there may be, one is ended.
    pub fn add(&self, stream: TcpStream) -> Connection<'_> {
        let stream = Arc::new(stream);
        let mut open = self.lock();
        if open.sockets.len() >= self.most {
            open.end_one();
        }
        let number = open.next;
        open.next += 1;
        open.sockets.insert(number, Socket { stream: Arc::clone(&stream), has_asked: false });
        Connection { all: self, number, stream }
    }

    /// Gives back file descriptors: ends the older half of those that have not asked. Who has just come is about to ask; `accept`
    /// fails for want of a descriptor also when no other client waits.
    pub fn make_room(&self) {
        let mut open = self.lock();
        let idle = open.sockets.values().filter(|socket| !socket.has_asked).count();
        for _ in 0..(idle / 2).max(1) {
            open.end_one();
        }
    }

    /// Ends those whose request has not come yet, and waits for the answers of the others for `timeout`; then ends all.
    pub fn finish(&self, timeout: Duration) {
        let mut open = self.lock();
        for socket in open.sockets.values().filter(|socket| !socket.has_asked) {
            socket.end();
        }
        let waited = self.closed.wait_timeout_while(open, timeout, |open| !open.sockets.is_empty());
        open = waited.unwrap_or_else(PoisonError::into_inner).0;
        open.sockets.values().for_each(Socket::end);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The oldest that has not asked; if all have, the oldest: who asked last waits for an answer still.
    fn end_one(&mut self) {
        let has_not_asked = self.sockets.iter().find(|(_, socket)| !socket.has_asked);
        let number = has_not_asked.or(self.sockets.first_key_value()).map(|(number, _)| *number);
        if let Some(socket) = number.and_then(|number| self.sockets.remove(&number)) {
            socket.end();
        }
    }
}

impl Socket {
    /// Its thread is woken: reading and writing fail from now on.
    fn end(&self) {
        // An error says that the client was faster.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Connection<'_> {
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Its request has come.
    pub fn has_asked(&self) {
        if let Some(socket) = self.all.lock().sockets.get_mut(&self.number) {
            socket.has_asked = true;
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.all.lock().sockets.remove(&self.number);
        self.all.closed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// The connections, and the ends of their clients.
    fn opened<'a>(all: &'a Connections, count: usize) -> (Vec<Connection<'a>>, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connections = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            connections.push(all.add(listener.accept().unwrap().0));
        }
        (connections, clients)
    }

    fn check(all: &Connections, connections: &[Connection<'_>], open: &[bool]) {
        let found: Vec<bool> =
            connections.iter().map(|of| all.lock().sockets.contains_key(&of.number)).collect();
        assert_eq!(found, open);
    }

    #[test]
    fn the_oldest_that_has_not_asked_makes_room_and_then_the_oldest() {
        let all = Connections::new(3);
        let (connections, clients) = opened(&all, 3);
        connections[0].has_asked();
        let (more, _clients) = opened(&all, 1);
        check(&all, &connections, &[true, false, true]);
        assert_eq!((&clients[1]).read(&mut [0]).unwrap(), 0, "its client is told");
        connections[2].has_asked();
        more[0].has_asked();
        let (_last, _clients) = opened(&all, 1);
        check(&all, &connections, &[false, false, true]);
        drop((connections, more));
        assert_eq!(all.lock().sockets.len(), 1);
    }

    #[test]
    fn who_has_just_come_stays_when_descriptors_run_out() {
        let all = Connections::new(9);
        let (connections, _clients) = opened(&all, 6);
        connections[1].has_asked();
        all.make_room();
        check(&all, &connections, &[false, true, false, true, true, true]);
        all.make_room();
        all.make_room();
        check(&all, &connections, &[false, true, false, false, false, true]);
        connections[5].has_asked();
        all.make_room();
        check(&all, &connections, &[false, false, false, false, false, true]);
    }
}
