//! What `dbdyno serve` makes of a request that hyper has read: who may ask, and what an address means. A line each: the target, the host,
//! and further headers.

#![no_main]
#![expect(dead_code, reason = "the files of the server have more than is called here")]

#[path = "../../crates/dbdyno/src/serving/access.rs"]
mod access;
#[path = "../../crates/dbdyno/src/serving/asked.rs"]
mod asked;
#[path = "../../crates/dbdyno/src/serving/router.rs"]
mod router;

use access::{Access, Admission, Token};
use asked::Asked;
use libfuzzer_sys::fuzz_target;
use router::{Query, route};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

static SECRET: LazyLock<Token> = LazyLock::new(|| Token::drawn().expect("a token is drawn"));

/// Stands in a target for the token, which no input can have.
const TOKEN: &str = "TOKEN";

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes).replace(TOKEN, SECRET.shown());
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default().to_owned();
    // hyper takes no others.
    let target: String = line().chars().filter(char::is_ascii_graphic).collect();
    let _ = route(&target);
    let asked = Asked {
        target,
        hosts: vec![line()],
        authorization: Some(line()),
        cookies: vec![line()],
        fetch_site: Some(line()),
        fetch_mode: Some(line()),
        ..Asked::default()
    };
    let listening = SocketAddr::from((Ipv4Addr::LOCALHOST, 7117));
    let _ = Access::new(listening, None).admit(&asked);
    let access =
        Access::new(listening, Some(SECRET.clone())).with_names(&["bench.example".to_owned()]).encrypted();
    if let Admission::Welcome { location, .. } = access.admit(&asked) {
        leads_here(&asked.target, &location);
    }
});

/// Whoever came with the token is sent on within this site, to the same place without it.
fn leads_here(target: &str, location: &str) {
    assert!(location.starts_with('/') && !location[1..].starts_with(['/', '\\']), "{location}");
    let query = |of: &str| Query::parse(of.split_once('?').map_or("", |(_, query)| query));
    let (before, after) = (query(target), query(location));
    assert!(before.pairs().filter(|(name, _)| *name != "token").eq(after.pairs()), "{target} {location}");
}
