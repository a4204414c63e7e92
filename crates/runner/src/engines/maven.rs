//! Runs Maven to copy one artifact out of its repository, and makes sense of what it says when it fails.
//!
//! Maven's output of a failure is three facts in a wall of advice;
//! its first line, release 3.8.7 (whole outputs: `fixtures/maven/3.8.7`):
//!
//! ```text
//! [ERROR] Failed to execute goal ... Unable to find artifact. Could not find artifact org.rocksdb:...
//! [ERROR] Failed to execute goal ... Unable to resolve artifact. Could not transfer artifact org.rocksdb:...
//! [ERROR] No plugin found for prefix 'dependency' in the current project and in the plugin groups ...
//! ```

use super::client::{self, Failure, Reason, Runner};
use super::error::EngineError;
use super::file::{MavenArtifact, MavenSource};
use model::subject::BuildRef;
use std::path::{Path, PathBuf};

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Artifact {
    group: String,
    name: String,
    version: String,
    classifier: Option<String>,
}

/// What Maven did.
#[derive(Debug)]
pub(super) enum Copied {
    /// The artifact is here.
    Jar(PathBuf),
    /// The repository has no such artifact.
    NotThere,
}

impl Artifact {
    /// The artifacts that may hold a release's library, in the order in which to try them.
    pub(super) fn candidates(source: &MavenSource, version: &str, classifiers: &[String]) -> Vec<Artifact> {
        let classifiers = classifiers.iter().cloned().map(Some).chain([None]);
        classifiers
            .map(|classifier| Artifact {
                group: source.group.clone(),
                name: source.artifact.clone(),
                version: version.to_owned(),
                classifier,
            })
            .collect()
    }

    /// A release of a server.
    pub(super) fn plain(artifact: &MavenArtifact, version: &str) -> Artifact {
        Artifact {
            group: artifact.group.clone(),
            name: artifact.artifact.clone(),
            version: version.to_owned(),
            classifier: None,
        }
    }

    /// `group:artifact:version[:packaging:classifier]`
    pub(super) fn coordinates(&self) -> String {
        let plain = format!("{}:{}:{}", self.group, self.name, self.version);
        match &self.classifier {
            Some(classifier) => format!("{plain}:jar:{classifier}"),
            None => plain,
        }
    }

    fn file_name(&self) -> String {
        match &self.classifier {
            Some(classifier) => format!("{}-{}-{classifier}.jar", self.name, self.version),
            None => format!("{}-{}.jar", self.name, self.version),
        }
    }
}

/// Copies an artifact into `directory`, where Maven's output goes too.
pub(super) fn copy(
    maven: &Runner<'_>,
    build: &BuildRef,
    artifact: &Artifact,
    directory: &Path,
) -> Result<Copied, EngineError> {
    let arguments = [
        "-q".to_owned(),
        "-B".to_owned(),
        // Maven 3 only warns of a wrong checksum, and keeps what came.
        "-C".to_owned(),
        "-Dstyle.color=never".to_owned(),
        "dependency:copy".to_owned(),
        format!("-Dartifact={}", artifact.coordinates()),
        format!("-DoutputDirectory={}", directory.display()),
        "-Dmdep.useBaseVersion=true".to_owned(),
    ];
    let ended = maven.run(build, &arguments, directory)?;
    let jar = directory.join(artifact.file_name());
    if ended.status.success() && jar.is_file() {
        return Ok(Copied::Jar(jar));
    }
    let message = message(&ended.said).unwrap_or_else(|| match ended.status.success() {
        true => format!("it left no {}", artifact.file_name()),
        false => client::or_silent(None, ended.status),
    });
    let reason = reason(&ended.said, artifact);
    if reason == Reason::NotThere {
        return Ok(Copied::NotThere);
    }
    // Without what is of our directories only.
    let arguments = ["-B".to_owned(), "-C".to_owned(), arguments[4].clone(), arguments[5].clone()];
    Err(maven.failed(build, Failure { reason, message, arguments: &arguments, directory }))
}

/// What Maven says when the network or the repository fails. A plugin that cannot be found counts: Maven
/// itself is installed without it and has to fetch it first.
const UNREACHABLE: [&str; 9] = [
    "Could not transfer",
    "transfer failed",
    "No plugin found for prefix",
    "could not be resolved",
    "in offline mode",
    "Unknown host",
    "Connection refused",
    "Connection reset",
    "timed out",
];

fn reason(said: &str, artifact: &Artifact) -> Reason {
    let ours = format!("{}:{}:", artifact.group, artifact.name);
    let not_there = |line: &str| {
        line.contains(&ours)
            && (line.contains("Could not find artifact") || line.contains("was not found in"))
    };
    if said.contains("No space left on device") {
        Reason::DiskFull
    } else if said.contains("Checksum validation failed") {
        Reason::WrongChecksum
    } else if said.lines().any(not_there) {
        Reason::NotThere
    } else if UNREACHABLE.iter().any(|phrase| said.contains(phrase)) {
        Reason::Unreachable
    } else {
        Reason::Other
    }
}

/// What tells most: the first `[ERROR]` line (those after it are advice), without the goal that failed; where
/// there is none, all that was said.
fn message(said: &str) -> Option<String> {
    let lines: Vec<String> = said.lines().map(without_escapes).filter(|line| !line.is_empty()).collect();
    let errors = lines.iter().filter_map(|line| line.strip_prefix("[ERROR]")).map(str::trim);
    let text = match errors.clone().find(|text| !text.is_empty()) {
        Some(error) => error.to_owned(),
        None if lines.is_empty() => return None,
        None => lines.join(" "),
    };
    let text = text.split(" -> [Help").next().unwrap_or(&text);
    let text = text.split_once(" on project standalone-pom: ").map_or(text, |(_, rest)| rest);
    Some(client::shortened(text))
}

/// A line without colours: Maven writes their escapes even where it is told not to.
fn without_escapes(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let parameters =
            escape.trim_start_matches(|character: char| character.is_ascii_digit() || character == ';');
        rest = parameters.strip_prefix('m').unwrap_or(parameters);
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact() -> Artifact {
        Artifact {
            group: "org.rocksdb".to_owned(),
            name: "rocksdbjni".to_owned(),
            version: "11.8.1".to_owned(),
            classifier: Some("linux64".to_owned()),
        }
    }

    #[track_caller]
    fn check(said: &str, expected: Reason, start: &str) {
        assert_eq!(reason(said, &artifact()), expected);
        let message = message(said).unwrap();
        assert!(message.starts_with(start) && !message.contains(['\u{1b}', '\n']), "{message}");
    }

    #[test]
    fn a_missing_artifact_is_told_from_a_missing_network() {
        check(
            include_str!("../../fixtures/maven/3.8.7/no-artifact.txt"),
            Reason::NotThere,
            "Unable to find artifact. Could not find artifact org.rocksdb:rocksdbjni:jar:linux64:11.8.1 in",
        );
        check(
            include_str!("../../fixtures/maven/3.8.7/no-artifact-cached.txt"),
            Reason::NotThere,
            "Unable to find artifact. org.rocksdb:rocksdbjni:jar:linux64:11.8.1 was not found in",
        );
        check(
            include_str!("../../fixtures/maven/3.8.7/offline.txt"),
            Reason::Unreachable,
            "Unable to find artifact. Cannot access central (https://repo.example/maven2) in offline mode",
        );
        check(
            include_str!("../../fixtures/maven/3.8.7/no-network.txt"),
            Reason::Unreachable,
            "Unable to resolve artifact. Could not transfer artifact org.rocksdb:rocksdbjni:jar:linux64",
        );
        check(
            include_str!("../../fixtures/maven/3.8.7/wrong-checksum.txt"),
            Reason::WrongChecksum,
            "Unable to resolve artifact. Could not transfer artifact org.rocksdb:rocksdbjni:jar:linux64:8.5.4",
        );
        check(
            include_str!("../../fixtures/maven/3.8.7/no-plugin.txt"),
            Reason::Unreachable,
            "No plugin found for prefix 'dependency' in the current project",
        );
    }

    #[test]
    fn other_failures_are_told_in_mavens_words() {
        check(
            include_str!("../../fixtures/maven/3.8.7/no-java.txt"),
            Reason::Other,
            "The JAVA_HOME environment variable is not defined correctly, this environment variable",
        );
        check(
            "[ERROR] Could not find artifact org.apache.maven.plugins:maven-dependency-plugin:jar:2.8",
            Reason::Other,
            "Could not find artifact org.apache",
        );
        check("[ERROR] write: No space left on device\n", Reason::DiskFull, "write: No space left");
        assert_eq!(message("\n\u{1b}[0m\n"), None);
        assert!(message(&"x".repeat(5000)).unwrap().ends_with("x..."));
    }

    #[test]
    fn the_plain_jar_comes_last() {
        let source: MavenSource =
            toml::from_str("group = 'org.rocksdb'\nartifact = 'rocksdbjni'\n[arch]\n").unwrap();
        let candidates = Artifact::candidates(&source, "11.8.1", &["linux64".to_owned()]);
        let shown: Vec<_> =
            candidates.iter().map(|artifact| (artifact.coordinates(), artifact.file_name())).collect();
        let expected = [
            ("org.rocksdb:rocksdbjni:11.8.1:jar:linux64", "rocksdbjni-11.8.1-linux64.jar"),
            ("org.rocksdb:rocksdbjni:11.8.1", "rocksdbjni-11.8.1.jar"),
        ];
        assert_eq!(shown, expected.map(|(coordinates, file)| (coordinates.to_owned(), file.to_owned())));
    }
}
