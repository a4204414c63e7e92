//! The host of the servers of a run, where that is another one than the host of their clients, and how a user writes it:
//! `ssh://me@lab-1`.

use crate::host::Host;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How the address of such a host begins.
const SCHEME: &str = "ssh://";

/// Where the servers of a run are. The host that the run has is theirs; that of their clients is in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHost {
    /// As ssh takes it: `lab-1`, `me@lab-1`, `ssh://me@lab-1:2222`.
    pub target: String,
    /// Where clients reach its servers, as the user named it; where ssh reaches it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The host of the clients.
    pub clients: Host,
    /// What a message to it and back took when the plan was made, median.
    pub round_trip: Nanos,
}

impl ServerHost {
    /// As a user writes it: `ssh://me@lab-1`.
    pub fn as_written(&self) -> String {
        if self.target.starts_with(SCHEME) { self.target.clone() } else { format!("{SCHEME}{}", self.target) }
    }
}

/// A text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no host of servers: write it like ssh://lab-1 or ssh://me@lab-1, as ssh knows it")]
pub struct ServerHostError {
    pub text: String,
}

/// What ssh is to be given for `ssh://[user@]host[:port]`: the address as it is if it names a port, else without its beginning, as names of
/// ssh's own configuration are written.
///
/// # Errors
/// It begins otherwise, names no host, or has something after it.
pub fn target(text: &str) -> Result<&str, ServerHostError> {
    let wrong = || ServerHostError { text: text.to_owned() };
    let rest = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._[]:%".contains(letter);
    if host.is_empty()
        || host.starts_with(['-', ':'])
        || rest.starts_with(['-', '@'])
        || !host.chars().all(is_name)
    {
        return Err(wrong());
    }
    Ok(if host.contains(':') { text.strip_suffix('/').unwrap_or(text) } else { rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_ssh_takes_and_nothing_else_is_one() {
        let check = |text: &str, expected: &str| assert_eq!(target(text), Ok(expected), "{text}");
        check("ssh://lab-1", "lab-1");
        check("ssh://me@lab-1.example/", "me@lab-1.example");
        check("ssh://me@lab-1:2222", "ssh://me@lab-1:2222");
        check("ssh://[::1]", "ssh://[::1]");
        for text in [
            "",
            "lab-1",
            "ssh://",
            "ssh://me@",
            "ssh://@lab-1",
            "ssh://-oProxyCommand=x",
            "ssh://a/b",
            "ssh://a b",
        ] {
            let error = target(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}` is no host")) && error.contains("ssh://me@lab-1"),
                "{error}"
            );
        }
    }
}
