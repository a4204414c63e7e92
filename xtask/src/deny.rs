//! `cargo xtask deny`: what cargo-deny says of the crates that we depend on, by `deny.toml`: advisories above all, which
//! `cargo xtask tidy` cannot know. It is run as it is; nothing is judged here.

use crate::{ci, workspace};
use anyhow::Context;
use std::process::ExitCode;

/// 0 if nothing is found, 1 if something is or it failed, 2 if cargo-deny is not installed.
pub fn run() -> ExitCode {
    match is_installed() {
        Ok(true) => {}
        Ok(false) => {
            eprintln!("error: cargo-deny is not installed: `cargo install --locked cargo-deny`");
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    match ci::cargo(&["deny", "--locked", "check"]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Cargo finds it below its own directory too, where the search path has not.
fn is_installed() -> anyhow::Result<bool> {
    let output = workspace::cargo().args(["deny", "--version"]).output();
    Ok(output.context("failed to start cargo deny")?.status.success())
}
