//! Reaching a server that is not ours: its password, looked up each time that somebody connects and kept nowhere.

use crate::ownership::effective_user;
use crate::process::child::PASSWORD_VARIABLES;
use model::address::{Password, ServerAddress};
use model::elsewhere::ServerElsewhere;
use model::subject::BuildRef;
use model::units::Nanos;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// If the user wants to stop, our tables are dropped all the same, as they lie on somebody's disk, and this is how long that may
/// take. What is left is dropped by the next run on that database.
pub const DROP_AFTER_INTERRUPT: Nanos = Nanos::from_secs(5);

/// Permissions of anyone but the owner.
const OTHERS: u32 = 0o077;
/// A password file is one line; more is another file.
const MOST_BYTES: u64 = 4096;

/// Why a password could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("failed to read the password file `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "the password file `{}` is not yours alone (mode {mode:o}); `chmod 600` it, and let it belong to you", path.display()
    )]
    NotPrivate { path: PathBuf, mode: u32 },
    #[error("`{}` is no password file: one line of text", path.display())]
    NotAPassword { path: PathBuf },
    #[error("the environment variable {variable} is not UTF-8")]
    Variable { variable: String },
}

/// The environment variable of the password of the server of this name: `DBDYNO_PASSWORD_MY_SERVER` for `my-server`.
pub fn password_variable(reference: &BuildRef) -> String {
    let name = reference.version.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' });
    format!("{PASSWORD_VARIABLES}{}", name.collect::<String>().to_ascii_uppercase())
}

/// How it is reached, its password included: that of the environment, else that of its file, else none.
pub fn address(reference: &BuildRef, server: &ServerElsewhere) -> Result<ServerAddress, PasswordError> {
    let variable = password_variable(reference);
    let password = match (env::var_os(&variable), &server.password_file) {
        (Some(text), _) => {
            Some(Password::new(text.into_string().map_err(|_| PasswordError::Variable { variable })?))
        }
        (None, Some(path)) => Some(read_password(path)?),
        (None, None) => None,
    };
    Ok(ServerAddress {
        dialect: server.dialect,
        endpoint: server.endpoint.clone(),
        user: server.user.clone(),
        password,
        database: server.database.clone(),
        storage: server.storage.clone(),
        insecure_login: server.insecure_login,
        tls_ca: server.tls_ca.clone(),
    })
}

/// Where its password comes from, for whoever was refused.
pub fn password_origin(reference: &BuildRef, server: &ServerElsewhere) -> String {
    let variable = password_variable(reference);
    match (env::var_os(&variable), &server.password_file) {
        (Some(_), _) => format!("its password is that of {variable}"),
        (None, Some(path)) => {
            format!("its password is that of `{}`, as {variable} is not set", path.display())
        }
        (None, None) => {
            format!("it has no password: {variable} is not set, and it was added without --password-file")
        }
    }
}

/// The first line of a file that nobody else can read.
pub fn read_password(path: &Path) -> Result<Password, PasswordError> {
    let failed = |source| PasswordError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let not_a_password = || PasswordError::NotAPassword { path: path.to_owned() };
    if !metadata.is_file() {
        return Err(not_a_password());
    }
    // Of the file that was opened, not of one that is put in its place meanwhile.
    if metadata.mode() & OTHERS != 0 || ![0, effective_user()].contains(&metadata.uid()) {
        return Err(PasswordError::NotPrivate { path: path.to_owned(), mode: metadata.mode() & 0o7777 });
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => not_a_password(),
        _ => failed(error),
    })?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(password), None) if !password.is_empty() => Ok(Password::new(password.to_owned())),
        _ => Err(not_a_password()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_variable_goes_by_the_name() {
        let variable = |text: &str| password_variable(&text.parse().unwrap());
        assert_eq!(variable("postgres@prod"), "DBDYNO_PASSWORD_PROD");
        assert_eq!(variable("mysql@my-server.2"), "DBDYNO_PASSWORD_MY_SERVER_2");
    }

    #[test]
    fn a_password_is_one_line_of_a_file_that_is_ours_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let check = |text: &[u8], mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read_password(&path)
        };
        assert_eq!(check(b"s3 cret\n", 0o600).unwrap().reveal(), "s3 cret");
        assert_eq!(check(b"s", 0o400).unwrap().reveal(), "s");
        for mode in [0o640, 0o604, 0o660] {
            let error = check(b"s3cret\n", mode).unwrap_err();
            assert!(
                matches!(error, PasswordError::NotPrivate { mode: found, .. } if found == mode),
                "{error}"
            );
            assert!(!format!("{error:?}").contains("s3cret"));
        }
        for text in [b"".as_slice(), b"\n", b"two\nlines\n", b"\xff\xfe\n"] {
            let error = check(text, 0o600).unwrap_err();
            assert!(matches!(error, PasswordError::NotAPassword { .. }), "{text:?}: {error}");
        }
        let directory = read_password(directory.path()).unwrap_err();
        assert!(matches!(directory, PasswordError::NotAPassword { .. }), "{directory}");
        let missing = read_password(Path::new("/no/such/file")).unwrap_err();
        assert!(matches!(missing, PasswordError::File { .. }), "{missing}");
    }
}
