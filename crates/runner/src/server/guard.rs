//! A guard beside a server: when the controller is killed, the server's first process dies with it, and the guard does
//! what remains. It ends helpers of Postgres that are frozen, where no PID namespace ends them, and removes the files of
//! its shared memory.
//!
//! It is a shell that waits for the end of its input, which only the controller holds open, and takes no time till then.

use super::account::Account;
use super::error::ServerError;
use crate::process::child;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

const SHELL: &str = "/bin/sh";
/// Ends the processes of a program whose working directory is the server's data, for those whose parent is gone have no
/// other name, and removes the files whose names it has read.
const SCRIPT: &str = r#"
files=
while read -r file; do files="$files $file"; done
for process in /proc/[0-9]*; do
    if [ "$process/cwd" -ef "$1" ] && [ "$process/exe" -ef "$2" ]; then kill -KILL "${process#/proc/}"; fi
done
[ -z "$files" ] || rm -f $files
"#;

/// A guard; sent home when dropped.
pub(super) struct Guard {
    child: Child,
}

impl Guard {
    /// Sets a guard over the processes of a program in a directory, as the user that they run as.
    pub fn over(program: &Path, directory: &Path, account: Option<&Account>) -> Result<Guard, ServerError> {
        let mut command = child::command(SHELL);
        command
            .args(["-c", SCRIPT, "dbdyno-guard"])
            .args([directory, program])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(account) = account {
            command.uid(account.uid).gid(account.gid);
        }
        let child = command.spawn();
        Ok(Guard { child: child.map_err(|source| ServerError::Start { program: SHELL.into(), source })? })
    }

    /// Has it remove these files, too; none has a space in its name.
    pub fn remember<'a>(&mut self, files: impl Iterator<Item = &'a Path>) {
        let Some(input) = &mut self.child.stdin else { return };
        for file in files {
            // Without a guard that listens, a file is left behind if we are killed; no reason to end a run.
            let _ = writeln!(input, "{}", file.display());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
