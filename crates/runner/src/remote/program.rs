//! This program on another host: whether it can run there, and how it comes there.

use super::{RemoteError, RemoteHost};
use crate::process::worker::OWN_PROGRAM;
use sha2::{Digest, Sha256};
use std::fs;

/// Where programs are there, as a shell there writes it.
const BIN: &str = "\"$HOME\"/.cache/dbdyno/bin";

/// This program, as it is brought to other hosts.
pub struct OwnProgram {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: String,
}

/// A host that can run this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostThere {
    /// As it calls itself.
    pub name: String,
    /// Seconds since the epoch, by its clock.
    pub clock_s: i64,
    /// Of the home directory, as stat(1) names it: `ext2/ext3`, `nfs`.
    pub file_system: String,
}

impl OwnProgram {
    /// # Errors
    /// [`RemoteError::OwnProgram`] if it cannot be read.
    pub fn read() -> Result<OwnProgram, RemoteError> {
        let bytes = fs::read(OWN_PROGRAM).map_err(|source| RemoteError::OwnProgram { source })?;
        let digest = Sha256::digest(&bytes);
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(OwnProgram { bytes, sha256 })
    }

    /// Looks whether this program can run there, and brings it if it is missing: one login if it is there.
    ///
    /// # Errors
    /// A host that cannot be reached, another architecture, a program that does not start there.
    pub fn bring(&self, host: &RemoteHost) -> Result<HostThere, RemoteError> {
        let script = "for tool in tar setsid grep tail sha256sum; do \
                      command -v $tool >/dev/null || { echo \"$tool is not installed\" >&2; exit 9; }; done; \
                      tail --version 2>/dev/null | grep -q GNU || { echo \"tail is not that of GNU\" >&2; exit 9; }; \
                      uname -s; uname -m; uname -n; date +%s; stat -f -c %T \"$HOME\"";
        // Hosts of several architectures may share a home: what is there may be no program of theirs.
        let is_alike =
            format!("test \"$(uname -s) $(uname -m)\" = 'Linux {}' || exit 0", std::env::consts::ARCH);
        let script = format!("{script}; {is_alike}; {}", self.version_there());
        let found = host.text("look at the host", &script)?;
        let mut lines = found.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (system, machine, name) = (next(), next(), next());
        let target = || host.target().to_owned();
        if (system.as_str(), machine.as_str()) != ("Linux", std::env::consts::ARCH) {
            return Err(RemoteError::OtherMachine { target: target(), found: format!("{system} {machine}") });
        }
        let (clock_s, file_system) = (next().parse().unwrap_or(0), next());
        let mut version = next();
        if version.is_empty() {
            let (program, directory) = (self.path_there(), self.directory_there());
            // A connection that is lost ends the copy too early, which looks like its end. Hosts may share a home: one that runs a
            // program already must not have it replaced.
            let script = format!(
                "umask 077; mkdir -p {directory} && new=$(mktemp {program}.XXXXXX) || exit 1; trap 'rm -f \"$new\"' EXIT; \
                 cat >\"$new\" && echo \"{sha256}  $new\" | sha256sum --check --status && chmod 700 \"$new\" || exit 1; \
                 ln \"$new\" {program} 2>/dev/null || test -x {program}",
                sha256 = self.sha256
            );
            host.output("copy dbdyno", &script, self.bytes.as_slice())?;
            // The directories may have been there before.
            version = host.text("start dbdyno", &self.version_there())?;
        }
        if !version.trim().ends_with(concat!("dbdyno ", env!("CARGO_PKG_VERSION"))) {
            return Err(RemoteError::OtherVersion { target: target(), found: version.trim().to_owned() });
        }
        Ok(HostThere { name, clock_s, file_system })
    }

    /// Where it is, as a shell there writes it.
    pub(super) fn path_there(&self) -> String {
        format!("{}/dbdyno", self.directory_there())
    }

    /// A script that prints its version if it is there, and fails if another user could have put it there. The copy is made with the umask
    /// 077. In `drwxrwxrwx` the sixth letter is what the group may write, the ninth what others may.
    fn version_there(&self) -> String {
        let (program, directory) = (self.path_there(), self.directory_there());
        format!(
            "test -x {program} || exit 0; \
             for path in {BIN} {directory} {program}; do \
             test -O \"$path\" && case \"$(stat -L -c %A \"$path\")\" in ?????-??-*) ;; *) false;; esac || \
             {{ echo \"$path belongs to another user, or others can write there, so that it is not run (on NFS with root_squash the files \
             of root belong to the user nobody): when no run uses it, delete {BIN} on that host: the next command copies dbdyno again\" >&2; \
             exit 9; }}; done; {program} --version"
        )
    }

    fn directory_there(&self) -> String {
        format!("{BIN}/{:.16}", self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_program_that_others_could_have_put_there_is_not_run() {
        let home = tempfile::tempdir().unwrap();
        let own = OwnProgram { bytes: Vec::new(), sha256: "ab".repeat(32) };
        let look = || {
            let script = own.version_there();
            let ended = Command::new("sh").args(["-c", &script]).env("HOME", home.path()).output().unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (ended.status.code(), text(ended.stdout), text(ended.stderr))
        };
        assert_eq!(look(), (Some(0), String::new(), String::new()));
        let bin = home.path().join(".cache/dbdyno/bin");
        let directory = bin.join(&own.sha256[..16]);
        let program = directory.join("dbdyno");
        fs::create_dir_all(&directory).unwrap();
        fs::write(&program, "#!/bin/sh\necho \"dbdyno $1\"\n").unwrap();
        let set_mode =
            |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for path in [&bin, &directory, &program] {
            set_mode(path, 0o700);
        }
        assert_eq!(look(), (Some(0), "dbdyno --version\n".to_owned(), String::new()));
        for (path, mode) in [(&bin, 0o720), (&directory, 0o702), (&program, 0o777)] {
            set_mode(path, mode);
            let (code, said, why) = look();
            assert_eq!((code, said.as_str()), (Some(9), ""), "{}", path.display());
            assert!(why.starts_with(&format!("{} belongs to another user", path.display())), "{why}");
            set_mode(path, 0o700);
        }
    }
}
