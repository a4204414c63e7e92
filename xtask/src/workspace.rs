//! Where the workspace and its build products are. Nothing else: no chore lives here.

use anyhow::{Context, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// The workspace's root: the parent of this crate's directory.
pub fn root() -> anyhow::Result<PathBuf> {
    let crate_directory = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set; run this as `cargo xtask`")?;
    let mut root = PathBuf::from(crate_directory);
    root.pop();
    Ok(root)
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds dbdyno as users do and says where it is.
pub fn release_build() -> anyhow::Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--package", "dbdyno"])
        .current_dir(root()?)
        .status()
        .context("failed to start cargo build")?;
    ensure!(status.success(), "cargo build --release --package dbdyno failed ({status})");
    Ok(target_directory()?.join("release/dbdyno"))
}

/// Where cargo puts what it builds.
pub fn target_directory() -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root()?)
        .output()
        .context("failed to start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("failed to parse the output of cargo metadata")?;
    let directory =
        metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(directory))
}
