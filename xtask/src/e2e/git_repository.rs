//! A git repository of a case's own.

use anyhow::{Context, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// It goes with the directory that it was made in.
pub struct GitRepository {
    pub path: PathBuf,
}

impl GitRepository {
    /// An empty one; the directory above it is there.
    pub fn create(path: PathBuf) -> anyhow::Result<GitRepository> {
        fs::create_dir(&path).with_context(|| format!("failed to create `{}`", path.display()))?;
        let repository = GitRepository { path };
        repository.git(&["init", "--quiet"])?;
        Ok(repository)
    }

    /// Commits a file with this text, which may be what it has already; the commit's id.
    pub fn commit(&self, file: &str, text: &str, message: &str) -> anyhow::Result<String> {
        fs::write(self.path.join(file), text)?;
        self.git(&["add", file])?;
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message])?;
        self.id("HEAD")
    }

    pub fn id(&self, reference: &str) -> anyhow::Result<String> {
        self.git(&["rev-parse", reference]).map(|id| id.trim().to_owned())
    }

    /// What git prints.
    pub fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=e2e", "-c", "user.email=e2e@dbdyno.example"])
            .args(arguments)
            .current_dir(&self.path)
            .output()
            .context("failed to start git")?;
        ensure!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).context("git printed no text")
    }
}
