//! Who may ask: only by the address that is listened on or a name that was given, so that no name of a stranger leads here (DNS
//! rebinding), no page of another site, and where that is not the loopback only with the token.

use super::asked::Asked;
use super::router::{Query, encoded_pairs};
use anyhow::{Context, anyhow};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Bytes of a token that we draw.
const DRAWN_BYTES: usize = 16;
/// A token of a file has at least as many characters: less can be guessed.
const LEAST_CHARACTERS: usize = 16;
/// The parameter that carries the token or the code once, before it becomes a cookie.
const PARAMETER: &str = "token";

/// A secret that opens the door.
#[derive(Clone)]
pub struct Token(String);

/// Who may ask what is listened on at one address.
pub struct Access {
    listening: SocketAddr,
    /// Names of this host, besides the address.
    names: Vec<String>,
    is_encrypted: bool,
    token: Option<Token>,
    /// Takes the place of the token in the first request that has it, and of no other: what is printed on a terminal or in a
    /// journal opens nothing afterwards.
    code: Mutex<Option<Token>>,
}

/// Whether somebody may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    Granted,
    /// By another address than the one that is listened on.
    Misdirected,
    /// From a page of another site, as a part of it.
    Embedded,
    NeedsToken,
    /// With the token in the address: a cookie takes its place.
    Welcome {
        cookie: String,
        location: String,
    },
}

impl Token {
    /// One that the operating system's randomness makes.
    pub fn drawn() -> anyhow::Result<Token> {
        let mut bytes = [0_u8; DRAWN_BYTES];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut bytes))
            .context("failed to draw a token from `/dev/urandom`; give one by --token-file")?;
        Ok(Token(hexadecimal(&bytes)))
    }

    /// The first line of a file.
    pub fn of_file(path: &Path) -> anyhow::Result<Token> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read the token file `{}`", path.display()))?;
        let token = text.lines().next().unwrap_or_default().trim();
        // What stands in headers and cookies as it is.
        let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        if token.len() < LEAST_CHARACTERS || !is_plain {
            return Err(anyhow!(
                "the first line of the token file `{}` must be {LEAST_CHARACTERS} or more letters, digits or `-._~+/=`; \
                 `openssl rand -hex 16` makes one",
                path.display()
            ));
        }
        Ok(Token(token.to_owned()))
    }

    /// As it is shown to the user, once.
    pub fn shown(&self) -> &str {
        &self.0
    }

    /// Compares hashes to their last byte: the time that it takes tells nothing of the token.
    fn is(&self, given: &str) -> bool {
        same(&Sha256::digest(self.0.as_bytes()), &Sha256::digest(given.as_bytes()))
    }

    /// What the cookie holds instead of the token.
    fn cookie_value(&self) -> String {
        hexadecimal(&Sha256::digest(format!("cookie of dbdyno serve: {}", self.0).as_bytes()))
    }

    fn is_cookie(&self, given: &str) -> bool {
        same(&Sha256::digest(self.cookie_value().as_bytes()), &Sha256::digest(given.as_bytes()))
    }
}

fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |sum, (left, right)| sum | (left ^ right)) == 0
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Access {
    pub fn new(listening: SocketAddr, token: Option<Token>) -> Access {
        Access { listening, names: Vec::new(), is_encrypted: false, token, code: Mutex::new(None) }
    }

    /// Whoever asks may call the host by these names too.
    pub fn with_names(self, names: &[String]) -> Access {
        Access { names: names.to_vec(), ..self }
    }

    /// What is asked comes by TLS.
    pub fn encrypted(self) -> Access {
        Access { is_encrypted: true, ..self }
    }

    /// With a code for one browser.
    pub fn with_code(self, code: Token) -> Access {
        Access { code: Mutex::new(Some(code)), ..self }
    }

    /// Decides, from the headers and the address alone.
    pub fn admit(&self, asked: &Asked) -> Admission {
        if !self.is_own_address(&asked.hosts) {
            return Admission::Misdirected;
        }
        if is_embedded(asked) {
            return Admission::Embedded;
        }
        let Some(token) = &self.token else { return Admission::Granted };
        if self.has_cookie(asked, token) || bearer(asked).is_some_and(|given| token.is(given)) {
            return Admission::Granted;
        }
        let (path, query) = asked.target.split_once('?').unwrap_or((asked.target.as_str(), ""));
        let query = Query::parse(query);
        let given = query.get(PARAMETER);
        if token.is(given) || self.takes_code(given) {
            let left: Vec<(&str, &str)> = query.pairs().filter(|(name, _)| *name != PARAMETER).collect();
            return Admission::Welcome {
                cookie: format!(
                    "{}={}; Path=/; HttpOnly; SameSite=Strict{}",
                    self.cookie_name(),
                    token.cookie_value(),
                    if self.is_encrypted { "; Secure" } else { "" }
                ),
                location: local(path, &encoded_pairs(&left)),
            };
        }
        Admission::NeedsToken
    }

    /// Whether it is the code, which is used up by that.
    fn takes_code(&self, given: &str) -> bool {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let is_code = code.as_ref().is_some_and(|code| code.is(given));
        if is_code {
            *code = None;
        }
        is_code
    }

    /// Cookies know no ports: two servers of one host must not take each other's.
    fn cookie_name(&self) -> String {
        format!("dbdyno-{}", self.listening.port())
    }

    fn has_cookie(&self, asked: &Asked, token: &Token) -> bool {
        let name = self.cookie_name();
        let pairs = asked.cookies.iter().flat_map(|header| header.split(';'));
        let mut own =
            pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(known, _)| *known == name);
        own.any(|(_, value)| token.is_cookie(value))
    }

    /// One `Host` header with our own address, `localhost` where that leads here, or a name that was given.
    fn is_own_address(&self, hosts: &[String]) -> bool {
        let [host] = hosts else { return false };
        let own = self.listening;
        match Named::parse(host, if self.is_encrypted { HTTPS } else { HTTP }) {
            Some(Named::Address(address)) => {
                address.port() == own.port()
                    && (address.ip() == own.ip()
                        || own.ip().is_unspecified()
                        || address.ip().is_loopback() && own.ip().is_loopback())
            }
            Some(Named::Name { name, port }) => {
                let leads_here = own.ip().is_loopback() || own.ip().is_unspecified();
                let is_local = leads_here && name.eq_ignore_ascii_case("localhost");
                port == own.port()
                    && (is_local || self.names.iter().any(|own| own.eq_ignore_ascii_case(name)))
            }
            None => false,
        }
    }
}

/// A path of this site: `//elsewhere/` would be another one's.
fn local(path: &str, query: &str) -> String {
    let path = format!("/{}", path.trim_start_matches(['/', '\\']));
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

fn bearer(asked: &Asked) -> Option<&str> {
    let (scheme, given) = asked.authorization.as_deref()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
}

/// A page of another site that has our pages in itself, as images or frames: they cannot be read there, but making them takes
/// CPU on a host that may be measuring. A link from there is none. Browsers say so; other clients say nothing.
fn is_embedded(asked: &Asked) -> bool {
    asked.fetch_site.as_deref() == Some("cross-site") && asked.fetch_mode.as_deref() != Some("navigate")
}

/// The ports that are not written.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

/// What stands in a `Host` header.
enum Named<'a> {
    Address(SocketAddr),
    Name { name: &'a str, port: u16 },
}

impl Named<'_> {
    fn parse(host: &str, default_port: u16) -> Option<Named<'_>> {
        if let Ok(address) = host.parse::<SocketAddr>() {
            return Some(Named::Address(address));
        }
        if let Ok(ip) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Some(Named::Address(SocketAddr::new(ip, default_port)));
        }
        match host.split_once(':') {
            Some((name, port)) => Some(Named::Name { name, port: port.parse().ok()? }),
            None => Some(Named::Name { name: host, port: default_port }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123";

    fn access(listening: &str, token: Option<&str>) -> Access {
        Access::new(listening.parse().unwrap(), token.map(|token| Token(token.to_owned())))
    }

    fn asked(host: &str, target: &str) -> Asked {
        Asked { target: target.to_owned(), hosts: vec![host.to_owned()], ..Asked::default() }
    }

    #[test]
    fn only_the_address_that_is_listened_on_is_answered() {
        let check = |listening: &str, host: &str, expected: Admission| {
            assert_eq!(access(listening, None).admit(&asked(host, "/")), expected, "{listening} {host}");
        };
        for host in ["127.0.0.1:7117", "localhost:7117", "LOCALHOST:7117", "[::1]:7117"] {
            check("127.0.0.1:7117", host, Admission::Granted);
        }
        for host in [
            "127.0.0.1:80",
            "127.0.0.1",
            "evil.example:7117",
            "localhost.evil.example:7117",
            "",
            "10.0.0.5:7117",
            "[::1",
        ] {
            check("127.0.0.1:7117", host, Admission::Misdirected);
        }
        check("127.0.0.1:80", "localhost", Admission::Granted);
        check("[::1]:7117", "[::1]:7117", Admission::Granted);
        check("0.0.0.0:7117", "10.0.0.5:7117", Admission::Granted);
        check("0.0.0.0:7117", "bench.example:7117", Admission::Misdirected);
        check("10.0.0.5:7117", "localhost:7117", Admission::Misdirected);
        let mut twice = asked("localhost:7117", "/");
        twice.hosts.push("localhost:7117".to_owned());
        assert_eq!(access("127.0.0.1:7117", None).admit(&twice), Admission::Misdirected);
    }

    #[test]
    fn a_name_that_was_given_is_answered_and_https_has_its_own_port() {
        let check = |host: &str, expected: Admission| {
            let access = access("10.0.0.5:443", None).with_names(&["bench.example".to_owned()]).encrypted();
            assert_eq!(access.admit(&asked(host, "/")), expected, "{host}");
        };
        for host in ["bench.example", "Bench.Example:443", "10.0.0.5", "10.0.0.5:443"] {
            check(host, Admission::Granted);
        }
        for host in [
            "bench.example:80",
            "bench.example.evil.example",
            "evil.example",
            "bench.example:x",
            "10.0.0.5:80",
        ] {
            check(host, Admission::Misdirected);
        }
    }

    #[test]
    fn a_page_of_another_site_may_link_here_and_have_nothing_of_ours_in_itself() {
        let check = |site: Option<&str>, mode: Option<&str>, expected: Admission| {
            let asked = Asked {
                fetch_site: site.map(str::to_owned),
                fetch_mode: mode.map(str::to_owned),
                ..asked("127.0.0.1:7117", "/")
            };
            assert_eq!(access("127.0.0.1:7117", None).admit(&asked), expected, "{site:?} {mode:?}");
        };
        check(None, None, Admission::Granted);
        check(Some("same-origin"), Some("cors"), Admission::Granted);
        check(Some("none"), Some("navigate"), Admission::Granted);
        check(Some("cross-site"), Some("navigate"), Admission::Granted);
        check(Some("cross-site"), Some("no-cors"), Admission::Embedded);
        check(Some("cross-site"), None, Admission::Embedded);
    }

    #[test]
    fn the_code_opens_once() {
        let code = Token("fedcba98765432100123".to_owned());
        let access = access("10.0.0.5:7117", Some(SECRET)).with_code(code.clone()).encrypted();
        let with_code = asked("10.0.0.5:7117", &format!("/?token={}", code.shown()));
        let bearer =
            Asked { authorization: Some(format!("Bearer {}", code.shown())), ..asked("10.0.0.5:7117", "/") };
        assert_eq!(access.admit(&bearer), Admission::NeedsToken, "it is no token");
        let Admission::Welcome { cookie, location } = access.admit(&with_code) else {
            panic!("it is not taken")
        };
        assert_eq!(location, "/");
        assert!(cookie.ends_with("; SameSite=Strict; Secure"), "{cookie}");
        assert_eq!(access.admit(&with_code), Admission::NeedsToken);
        let pair = cookie.split(';').next().unwrap().to_owned();
        let with_cookie = Asked { cookies: vec![pair], ..asked("10.0.0.5:7117", "/") };
        assert_eq!(access.admit(&with_cookie), Admission::Granted);
    }

    #[test]
    fn the_token_opens_as_a_bearer_and_as_the_cookie_that_it_is_traded_for() {
        let access = access("10.0.0.5:7117", Some(SECRET));
        let plain = asked("10.0.0.5:7117", "/runs/a?step=x");
        assert_eq!(access.admit(&plain), Admission::NeedsToken);
        for (given, expected) in [
            (format!("Bearer {SECRET}"), Admission::Granted),
            (format!("bearer  {SECRET}"), Admission::Granted),
            (format!("Bearer {SECRET}0"), Admission::NeedsToken),
            (format!("Basic {SECRET}"), Admission::NeedsToken),
            ("Bearer ".to_owned(), Admission::NeedsToken),
        ] {
            let asked = Asked { authorization: Some(given.clone()), ..plain.clone() };
            assert_eq!(access.admit(&asked), expected, "{given}");
        }
        let with_token = asked("10.0.0.5:7117", &format!("/runs/a?token={SECRET}&step=x%26y"));
        let Admission::Welcome { cookie, location } = access.admit(&with_token) else {
            panic!("the token in the address is not taken")
        };
        assert_eq!(location, "/runs/a?step=x%26y");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains(SECRET), "{cookie}");
        let pair = cookie.split(';').next().unwrap().to_owned();
        let with_cookie = Asked { cookies: vec![format!("other=1; {pair}")], ..plain.clone() };
        assert_eq!(access.admit(&with_cookie), Admission::Granted);
        // The token itself is no cookie, and the cookie no token.
        let forged = Asked { cookies: vec![format!("dbdyno-7117={SECRET}")], ..plain.clone() };
        assert_eq!(access.admit(&forged), Admission::NeedsToken);
        let wrong = asked("10.0.0.5:7117", "/?token=guess");
        assert_eq!(access.admit(&wrong), Admission::NeedsToken);
        // By another name not even the token helps.
        let rebound =
            Asked { authorization: Some(format!("Bearer {SECRET}")), ..asked("evil.example:7117", "/") };
        assert_eq!(access.admit(&rebound), Admission::Misdirected);
    }

    #[test]
    fn a_redirect_leads_nowhere_else() {
        let access = access("10.0.0.5:7117", Some(SECRET));
        for target in ["//evil.example/", "/\\evil.example/", "///evil.example/"] {
            let asked = asked("10.0.0.5:7117", &format!("{target}?token={SECRET}"));
            let Admission::Welcome { location, .. } = access.admit(&asked) else { panic!("{target}") };
            assert_eq!(location, "/evil.example/");
        }
    }

    #[test]
    fn tokens_are_long_and_drawn_ones_differ() {
        let (one, other) = (Token::drawn().unwrap(), Token::drawn().unwrap());
        assert_eq!(one.shown().len(), 2 * DRAWN_BYTES);
        assert_ne!(one.shown(), other.shown());
        assert!(one.is(one.shown()) && !one.is(other.shown()) && !one.is(""));
    }
}
