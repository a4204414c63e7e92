//! A message to an address of the user's, by the program curl: no library of HTTP and TLS comes with dbdyno.

use super::child;
use std::io::{self, Write};
use std::process::Stdio;

/// Why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("failed to start `curl`: install it, or have messages written to a file")]
    Start(#[source] io::Error),
    #[error("failed to wait for curl")]
    Wait(#[source] io::Error),
    #[error("failed to give curl the message")]
    Write(#[source] io::Error),
    #[error("curl {how}: {said}")]
    Failed {
        /// `exited with status 22`
        how: String,
        /// What it wrote on its standard error.
        said: String,
    },
}

/// Curl gives up after so many seconds. An address that answers at all does so sooner; not measured.
const TIMEOUT_SECONDS: &str = "30";

/// Posts an object of JSON; takes 30 seconds at most.
///
/// # Errors
/// There is no curl, the address cannot be reached, or it answers with a status from 400 on.
pub fn post(url: &str, json: &str) -> Result<(), WebhookError> {
    let mut curl = child::command("curl")
        .args(["--silent", "--show-error", "--fail", "--max-time", TIMEOUT_SECONDS])
        .args(["--header", "Content-Type: application/json", "--data-binary", "@-", "--url", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(WebhookError::Start)?;
    // Its input ends here. If it did not read all of that, it says why below.
    let written = curl.stdin.take().map_or(Ok(()), |mut input| input.write_all(json.as_bytes()));
    let ended = curl.wait_with_output().map_err(WebhookError::Wait)?;
    if ended.status.success() {
        return written.map_err(WebhookError::Write);
    }
    let how = child::how_it_ended(ended.status);
    let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    Err(WebhookError::Failed { how, said })
}
