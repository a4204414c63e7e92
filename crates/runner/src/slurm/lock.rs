//! The lock of a campaign, in the directory of its jobs: two that go on with it at the same time would each find none of the other's jobs in the
//! queue yet, and submit all of them twice.

use super::SlurmError;
use crate::process::file_lock::FileLock;
use rustix::fs::OFlags;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Held until it is dropped. It also keeps those on other hosts away: the file system is one that hosts share.
#[derive(Debug)]
pub struct CampaignLock {
    path: PathBuf,
    _lock: FileLock,
}

impl CampaignLock {
    /// The lock of a campaign; its file says who holds it.
    ///
    /// # Errors
    /// [`SlurmError::InUse`] if another process holds it, and a file system that has no locks.
    pub fn take(jobs_dir: &Path, campaign: &str) -> Result<CampaignLock, SlurmError> {
        let path = jobs_dir.join(format!("{campaign}.lock"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(SlurmError::of(&path))?;
        let mut text = file.try_clone().map_err(SlurmError::of(&path))?;
        let lock = match FileLock::attempt(file) {
            Ok(lock) => lock,
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let is_named = text.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if is_named { holder.trim().to_owned() } else { "another dbdyno".to_owned() };
                return Err(SlurmError::InUse { campaign: campaign.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(SlurmError::NoLock { path, source }),
        };
        let host = fs::read_to_string(HOST_NAME).unwrap_or_default();
        let holder = format!("process {} on {}\n", std::process::id(), host.trim());
        let named = text
            .set_len(0)
            .and_then(|()| text.rewind())
            .and_then(|()| text.write_all(holder.as_bytes()))
            // On NFS other hosts read what was sent to the server.
            .and_then(|()| text.sync_all());
        named.map_err(SlurmError::of(&path))?;
        Ok(CampaignLock { path, _lock: lock })
    }

    /// Removes the file of a campaign of which nothing is left: nobody will ask for its lock again. That of any other stays, since who waits to open
    /// it would lock a file that has no name any more.
    pub fn remove_file(&self) {
        // What stays is small, and in nobody's way.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_go_on_with_a_campaign_the_second_is_told_who_is_the_first() {
        let root = tempfile::tempdir().unwrap();
        let held = CampaignLock::take(root.path(), "c").unwrap();
        let error = CampaignLock::take(root.path(), "c").unwrap_err();
        let text = error.to_string();
        let holder = format!("campaign c is followed by process {} on ", std::process::id());
        assert!(matches!(error, SlurmError::InUse { .. }) && text.starts_with(&holder), "{text}");
        CampaignLock::take(root.path(), "d").unwrap();
        drop(held);
        CampaignLock::take(root.path(), "c").unwrap().remove_file();
        assert!(!root.path().join("c.lock").exists() && root.path().join("d.lock").exists());
    }

    #[test]
    fn a_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let other = root.path().join("other");
        fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, root.path().join("c.lock")).unwrap();
        assert!(matches!(CampaignLock::take(root.path(), "c"), Err(SlurmError::Directory { .. })));
        assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
    }
}
