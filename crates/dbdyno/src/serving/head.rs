//! The head of a request: read within a limit of bytes and by a deadline, then parsed. A request that carries a body is
//! refused, so nothing of a body is ever read, kept or waited for.

use super::asked::{Answer, Asked, Kind, Method};
use std::io::{ErrorKind, Read};

/// Longer than the longest address that is answered, with the headers of a browser.
const MOST_HEAD_BYTES: usize = 96 << 10;
/// What is read at once.
const READ_BYTES: usize = 4 << 10;
const END: &[u8] = b"\r\n\r\n";

/// Why a request is not answered with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The client has closed the connection, or has sent nothing in time.
    Gone,
    /// The head did not end in time.
    Late,
    /// The address is too long.
    LongTarget,
    /// The headers are too long.
    LongHeaders,
    /// This is not HTTP, or ambiguous.
    Malformed(&'static str),
    /// HTTP of another version.
    OtherVersion,
    /// The request carries a body.
    Body,
}

impl Refusal {
    /// What the client is answered; `None` if it does not listen.
    pub fn answer(self) -> Option<Answer> {
        let (status, text) = match self {
            Refusal::Gone => return None,
            Refusal::Late => (408, "the request did not arrive in time"),
            Refusal::LongTarget => (414, "the address is too long"),
            Refusal::LongHeaders => (431, "the headers are too long"),
            Refusal::Malformed(problem) => (400, problem),
            Refusal::OtherVersion => (505, "only HTTP/1.0 and HTTP/1.1 are answered"),
            Refusal::Body => (413, "nothing is changed here: a request must have no body"),
        };
        Some(Answer::new(status, Kind::TEXT, format!("{text}\n")))
    }
}

/// Reads one request. What follows its head stays unread, or is left out.
pub fn read(from: &mut impl Read) -> Result<Asked, Refusal> {
    let mut head = Vec::new();
    let mut piece = [0; READ_BYTES];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Err(Refusal::Gone),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if is_late(error.kind()) && !head.is_empty() => return Err(Refusal::Late),
            Err(_) => return Err(Refusal::Gone),
        };
        let seen = head.len().saturating_sub(END.len() - 1);
        head.extend_from_slice(&piece[..read]);
        let end = head[seen..].windows(END.len()).position(|window| window == END);
        if let Some(end) = end {
            head.truncate(seen + end);
            return parse(&head);
        }
        if head.len() > MOST_HEAD_BYTES {
            return Err(if head.contains(&b'\n') { Refusal::LongHeaders } else { Refusal::LongTarget });
        }
    }
}

/// A timeout of a socket is the one or the other, depending on the system.
fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// Parses what stands before the empty line.
fn parse(head: &[u8]) -> Result<Asked, Refusal> {
    let head = std::str::from_utf8(head).ok().filter(|head| head.is_ascii());
    let head = head.ok_or(Refusal::Malformed("a request is ASCII; other characters are written %XX"))?;
    let mut lines = head.split("\r\n");
    let (method, target) = request_line(lines.next().unwrap_or_default())?;
    let mut asked = Asked { method, target: target.to_owned(), ..Asked::default() };
    for line in lines {
        let (name, value) = header(line)?;
        match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" => return Err(Refusal::Body),
            "content-length" if value != "0" => return Err(Refusal::Body),
            "host" => asked.hosts.push(value.to_owned()),
            "cookie" => asked.cookies.push(value.to_owned()),
            "authorization" => {
                asked.authorization.get_or_insert_with(|| value.to_owned());
            }
            _ => {}
        }
    }
    Ok(asked)
}

/// `GET /runs/last HTTP/1.1`
fn request_line(line: &str) -> Result<(Method, &str), Refusal> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else {
        return Err(Refusal::Malformed("the first line of a request is `METHOD TARGET HTTP/1.1`"));
    };
    if method.is_empty() || target.is_empty() || line.chars().any(|character| character.is_ascii_control()) {
        return Err(Refusal::Malformed("the first line of the request has no method or no target"));
    }
    match version {
        "HTTP/1.1" | "HTTP/1.0" => {}
        _ if version.starts_with("HTTP/") => return Err(Refusal::OtherVersion),
        _ => return Err(Refusal::Malformed("the first line of the request has no version of HTTP")),
    }
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        _ => Method::Other,
    };
    Ok((method, target))
}

/// `Host: 127.0.0.1:7117`
fn header(line: &str) -> Result<(&str, &str), Refusal> {
    let (name, value) = line.split_once(':').ok_or(Refusal::Malformed("a header has no colon"))?;
    let is_token =
        |character: char| character.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(character);
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(Refusal::Malformed("a header has no name"));
    }
    let value = value.trim_matches([' ', '\t']);
    if value.chars().any(|character| character.is_ascii_control() && character != '\t') {
        return Err(Refusal::Malformed("a header has a control character"));
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Cursor};

    /// Gives its bytes one by one, then what a socket says at its deadline.
    struct Slowly(Cursor<Vec<u8>>);

    impl Read for Slowly {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(&mut buffer[..1])? {
                0 => Err(ErrorKind::WouldBlock.into()),
                read => Ok(read),
            }
        }
    }

    /// All at once and byte by byte.
    fn check(request: &str, expected: &Result<(Method, &str), Refusal>) {
        let bytes = request.as_bytes().to_vec();
        for asked in [read(&mut Cursor::new(bytes.clone())), read(&mut Slowly(Cursor::new(bytes)))] {
            let found = asked.map(|asked| (asked.method, asked.target));
            let expected = expected.map(|(method, target)| (method, target.to_owned()));
            assert_eq!(found, expected, "{request:.300}");
        }
    }

    #[test]
    fn a_head_is_read_in_whatever_pieces_it_comes() {
        check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", &Ok((Method::Get, "/")));
        check("HEAD /runs/last?a=b HTTP/1.0\r\n\r\n", &Ok((Method::Head, "/runs/last?a=b")));
        check("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", &Ok((Method::Other, "/")));
        check("GET /a HTTP/1.1\r\nX: \r\n\r\nGET /b HTTP/1.1\r\n\r\n", &Ok((Method::Get, "/a")));
        let long = format!("GET /?q={} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
        check(&long, &Ok((Method::Get, long.split(' ').nth(1).unwrap())));
    }

    #[test]
    fn what_access_looks_at_is_kept() {
        let request = "GET / HTTP/1.1\r\nHOST:  a:1 \r\nhost: b\r\nCookie: x=1\r\ncookie: y=2\r\nAuthorization: Bearer t\r\n\r\n";
        let asked = read(&mut Cursor::new(request)).unwrap();
        assert_eq!(asked.hosts, ["a:1", "b"]);
        assert_eq!(asked.cookies, ["x=1", "y=2"]);
        assert_eq!(asked.authorization.as_deref(), Some("Bearer t"));
    }

    #[test]
    fn a_request_with_a_body_is_refused_by_its_head() {
        for header in [
            "Content-Length: 1",
            "content-length: 5000",
            "Content-Length: 100000000000000",
            "Content-Length: 18446744073709551000",
            "Content-Length: 99999999999999999999999999",
            "Content-Length: 0\r\nContent-Length: 7",
            "Content-Length: +0",
            "Content-Length: ",
            "Transfer-Encoding: chunked",
            "transfer-encoding: identity",
        ] {
            for method in ["GET", "POST"] {
                check(&format!("{method} / HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n"), &Err(Refusal::Body));
            }
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        let malformed = |request: &str| {
            let refusal = read(&mut Cursor::new(request.as_bytes())).unwrap_err();
            assert!(matches!(refusal, Refusal::Malformed(_)), "{request:?}: {refusal:?}");
            assert_eq!(refusal.answer().unwrap().status, 400);
        };
        malformed("\r\n\r\n");
        malformed("GET /\r\n\r\n");
        malformed("GET  / HTTP/1.1\r\n\r\n");
        malformed("GET / FTP/1.1\r\n\r\n");
        malformed("GET /\u{e9} HTTP/1.1\r\n\r\n");
        malformed("GET /\0 HTTP/1.1\r\n\r\n");
        malformed("GET / HTTP/1.1\r\nHost\r\n\r\n");
        malformed("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
        malformed("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n");
        malformed("GET / HTTP/1.1\r\nHost: a\nContent-Length: 9\r\n\r\n");
        check("GET / HTTP/2.0\r\nContent-Length: 100000000000000\r\n\r\n", &Err(Refusal::OtherVersion));
    }

    #[test]
    fn a_head_without_end_is_refused_at_its_limit() {
        let mut line = io::repeat(b'x').take(1 << 30);
        assert_eq!(read(&mut line).unwrap_err(), Refusal::LongTarget);
        assert!((1 << 30) - line.limit() < 2 * MOST_HEAD_BYTES as u64);
        let mut headers = Cursor::new("GET / HTTP/1.1\r\n").chain(io::repeat(b'x'));
        assert_eq!(read(&mut headers).unwrap_err(), Refusal::LongHeaders);
    }

    #[test]
    fn a_client_that_has_begun_is_told_that_it_is_late() {
        assert_eq!(read(&mut Slowly(Cursor::new(b"GET / HT".to_vec()))).unwrap_err(), Refusal::Late);
        assert_eq!(read(&mut Slowly(Cursor::new(Vec::new()))).unwrap_err(), Refusal::Gone);
        assert_eq!(read(&mut Cursor::new("GET / HT")).unwrap_err(), Refusal::Gone);
        assert!(Refusal::Gone.answer().is_none());
    }
}
