//! A guard beside a server that has no PID namespace of its own, as where an ordinary user starts it: when the
//! controller is killed, its first process dies with it, and the guard ends its helpers, those that are frozen too.
//!
//! It is a shell that waits for the end of its input, which only the controller holds open, and takes no time till then.

use super::account::Account;
use super::error::ServerError;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SHELL: &str = "/bin/sh";
/// Ends the processes of a program whose working directory is the server's data: it has no other name for those
/// whose parent is gone.
const SCRIPT: &str = r#"
while read -r line; do :; done
for process in /proc/[0-9]*; do
    if [ "$process/cwd" -ef "$1" ] && [ "$process/exe" -ef "$2" ]; then kill -KILL "${process#/proc/}"; fi
done
"#;

/// A guard; sent home when dropped.
pub(super) struct Guard {
    child: Child,
}

impl Guard {
    /// Sets a guard over the processes of a program in a directory, as the user that they run as.
    pub fn over(program: &Path, directory: &Path, account: Option<&Account>) -> Result<Guard, ServerError> {
        let mut command = Command::new(SHELL);
        command
            .args(["-c", SCRIPT, "dbdyno-guard"])
            .args([directory, program])
            .env_clear()
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
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
