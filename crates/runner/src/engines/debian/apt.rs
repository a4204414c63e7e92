//! A configuration of apt of our own, below the cache: its sources are the host's mirror with the suites that are
//! asked for, its lists and archives are ours, and no package is installed as far as it knows.

use super::mirror::Mirror;
use crate::engines::client::{self, Reason};
use crate::engines::error::EngineError;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Where Debian's package `debian-archive-keyring`, which every Debian has, puts the keys of all suites.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Hooks of the host's configuration, which would work on the host's state (Docker's images empty its cache).
const HOOKS: [&str; 7] = [
    "APT::Update::Pre-Invoke",
    "APT::Update::Post-Invoke",
    "APT::Update::Post-Invoke-Success",
    "DPkg::Pre-Invoke",
    "DPkg::Post-Invoke",
    "DPkg::Pre-Install-Pkgs",
    "APT::Architectures",
];

/// How apt is called.
pub(super) struct PrivateApt {
    configuration: PathBuf,
}

impl PrivateApt {
    /// Writes the configuration for these suites below `state`.
    pub(super) fn new(
        state: &Path,
        mirror: &Mirror,
        suites: &[String],
        cpu: &str,
    ) -> Result<PrivateApt, EngineError> {
        for directory in ["lists/partial", "cache/archives/partial", "preferences.d"] {
            let directory = state.join(directory);
            fs::create_dir_all(&directory).map_err(EngineError::io("write", &directory))?;
        }
        let put = |name: &str, text: &str| {
            let path = state.join(name);
            fs::write(&path, text).map_err(EngineError::io("write", &path)).map(|()| path)
        };
        put("sources.list", &sources_text(mirror, suites, cpu))?;
        put("status", "")?;
        let configuration = put("apt.conf", &configuration_text(state, cpu))?;
        Ok(PrivateApt { configuration })
    }

    /// Makes a directory that takes archives.
    pub(super) fn ready_archives(&self, archives: &Path) -> Result<(), EngineError> {
        let partial = archives.join("partial");
        fs::create_dir_all(&partial).map_err(EngineError::io("write", &partial))
    }

    /// Reads the lists of packages; cheap where they have not changed.
    pub(super) fn update(&self) -> Vec<String> {
        self.arguments(&["-q", "update"])
    }

    /// Fetches packages with all that they depend on.
    pub(super) fn download_closed<'a>(
        &self,
        packages: impl Iterator<Item = &'a String>,
        archives: &Path,
    ) -> Vec<String> {
        let mut arguments = self.arguments(&["-q", "-y", "-d", "-o"]);
        arguments.push(format!("Dir::Cache::archives={}", archives.display()));
        arguments.push("install".to_owned());
        arguments.extend(packages.cloned());
        arguments
    }

    /// Fetches packages without what they depend on, into the directory in which this is run.
    pub(super) fn download_alone(&self, packages: &[String]) -> Vec<String> {
        let mut arguments = self.arguments(&["-q", "download"]);
        arguments.extend_from_slice(packages);
        arguments
    }

    fn arguments(&self, rest: &[&str]) -> Vec<String> {
        // Read after all of the host's configuration, of which a proxy stays.
        let configuration = ["-c".to_owned(), self.configuration.display().to_string()];
        configuration.into_iter().chain(rest.iter().map(|&argument| argument.to_owned())).collect()
    }
}

fn sources_text(mirror: &Mirror, suites: &[String], cpu: &str) -> String {
    suites.iter().fold(String::new(), |mut text, suite| {
        // A host with a desktop would have icons and descriptions fetched too.
        let options = format!("arch={cpu} signed-by={KEYRING} target=Packages");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "deb [{options}] {} {suite} main", mirror.uri(suite));
        text
    })
}

fn configuration_text(state: &Path, cpu: &str) -> String {
    let mut text = HOOKS.iter().fold(String::new(), |text, hook| text + "#clear " + hook + ";\n");
    let below = |name: &str| state.join(name).display().to_string();
    for (name, value) in [
        ("Dir::State", below("")),
        ("Dir::State::lists", below("lists")),
        ("Dir::State::status", below("status")),
        ("Dir::Cache", below("cache")),
        ("Dir::Cache::archives", below("cache/archives")),
        ("Dir::Etc::sourcelist", below("sources.list")),
        ("Dir::Etc::sourceparts", "-".to_owned()),
        ("Dir::Etc::preferences", below("preferences")),
        ("Dir::Etc::preferencesparts", below("preferences.d")),
        ("Dir::Log", below("log")),
        ("APT::Architecture", cpu.to_owned()),
        ("APT::Architectures::", cpu.to_owned()),
        // The user _apt cannot write here, and an ordinary user cannot become it.
        ("APT::Sandbox::User", "root".to_owned()),
        ("APT::Install-Recommends", "false".to_owned()),
        ("APT::Install-Suggests", "false".to_owned()),
        ("APT::Default-Release", String::new()),
        ("APT::Update::Error-Mode", "any".to_owned()),
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "2".to_owned()),
        // Each list has to be signed by a key of KEYRING and each package to have the checksum that its list says. So apt
        // does it by itself, unless the host's configuration takes one of these back.
        ("APT::Get::AllowUnauthenticated", "false".to_owned()),
        ("Acquire::AllowInsecureRepositories", "false".to_owned()),
        ("Acquire::AllowWeakRepositories", "false".to_owned()),
        ("Acquire::AllowDowngradeToInsecureRepositories", "false".to_owned()),
        // Security updates of a suite that is at its end are still signed, but no more dated.
        ("Acquire::Check-Valid-Until", "false".to_owned()),
    ] {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} \"{value}\";");
    }
    text
}

/// What apt says when it has no such package, and when it cannot be asked (whole outputs: `fixtures/debian/2.6.1`).
const NOT_THERE: [&str; 4] =
    ["was not found", "Unable to locate package", "has no installation candidate", "404  Not Found"];
const WRONG_CHECKSUM: [&str; 5] = [
    "Hash Sum mismatch",
    "signatures were invalid",
    "signatures couldn't be verified",
    "is not signed",
    "cannot be authenticated",
];
const UNREACHABLE: [&str; 7] = [
    "Temporary failure resolving",
    "Could not resolve",
    "Could not connect",
    "Unable to connect",
    "Connection failed",
    "Connection timed out",
    "Failed to fetch",
];

pub(super) fn reason(said: &str) -> Reason {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
    if says(&["No space left on device", "don't have enough free space"]) {
        Reason::DiskFull
    } else if says(&NOT_THERE) {
        Reason::NotThere
    } else if says(&WRONG_CHECKSUM) {
        Reason::WrongChecksum
    } else if says(&UNREACHABLE) {
        Reason::Unreachable
    } else {
        Reason::Other
    }
}

/// What tells most: the errors, else all that was said.
pub(super) fn message(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = |line: &str| {
        let text = ["E: ", "dpkg-deb: error: ", "Err:"].iter().find_map(|start| line.strip_prefix(start))?;
        Some(text.trim().to_owned())
    };
    let errors: Vec<String> = lines.iter().filter_map(|line| error(line)).collect();
    let text = if errors.is_empty() { lines.join(" ") } else { errors.join("; ") };
    (!text.is_empty()).then(|| client::shortened(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, expected: Reason, words: &str) {
        assert_eq!(reason(said), expected);
        assert_eq!(message(said).unwrap(), words);
    }

    #[test]
    fn a_missing_package_is_told_from_a_missing_network_and_a_cut_archive() {
        check(
            include_str!("../../../fixtures/debian/2.6.1/no-version.txt"),
            Reason::NotThere,
            "Version '1:10.11.17-0+deb12u1' for 'mariadb-server-core' was not found",
        );
        check(
            include_str!("../../../fixtures/debian/2.6.1/no-package.txt"),
            Reason::NotThere,
            "Unable to locate package nosuch",
        );
        let offline = include_str!("../../../fixtures/debian/2.6.1/no-network.txt");
        assert_eq!(reason(offline), Reason::Unreachable);
        let words = message(offline).unwrap();
        assert!(words.contains("Could not resolve 'mirror.example'; Failed to fetch"), "{words}");
        check(
            include_str!("../../../fixtures/debian/2.6.1/cut.txt"),
            Reason::Other,
            "tar subprocess returned error exit status 2",
        );
        assert_eq!(message(" \n"), None);
    }

    #[test]
    fn hooks_of_the_host_are_taken_away_and_its_state_is_not_ours() {
        let text = configuration_text(Path::new("/cache/apt"), "amd64");
        assert!(text.contains("#clear APT::Update::Post-Invoke;\n"));
        for name in ["Dir::State", "Dir::State::lists", "Dir::State::status", "Dir::Cache", "Dir::Log"] {
            assert!(text.contains(&format!("\n{name} \"/cache/apt/")), "{name}");
        }
    }

    #[test]
    fn what_debian_has_not_signed_or_has_another_checksum_is_refused_whatever_the_host_allows() {
        let text = configuration_text(Path::new("/cache/apt"), "amd64");
        for allowance in [
            "APT::Get::AllowUnauthenticated",
            "Acquire::AllowInsecureRepositories",
            "Acquire::AllowWeakRepositories",
            "Acquire::AllowDowngradeToInsecureRepositories",
        ] {
            assert!(text.contains(&format!("\n{allowance} \"false\";\n")), "{allowance}");
        }
        for said in [
            "E: Failed to fetch http://m.example/x.deb  Hash Sum mismatch\n",
            "E: The repository 'http://m.example/debian sid InRelease' is not signed.\n",
        ] {
            assert_eq!(reason(said), Reason::WrongChecksum, "{said}");
        }
    }
}
