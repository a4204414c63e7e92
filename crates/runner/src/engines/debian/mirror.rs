//! Which mirror of Debian the host uses: read from its apt sources, in both of their forms.
//!
//! ```text
//! deb [arch=amd64] http://mirror.example/debian bookworm main
//!
//! Types: deb
//! URIs: http://mirror.example/debian
//! Suites: bookworm bookworm-updates
//! Components: main
//! ```

use crate::engines::error::EngineError;
use std::fs;
use std::io;
use std::path::Path;

/// Suites of Debian. A source counts as Debian's own by the name of its suite: third parties and what descends from
/// Debian have other ones (`bookworm-pgdg`, `jammy`).
const SUITES: [&str; 13] = [
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
    "sid",
    "unstable",
    "testing",
    "stable",
    "oldstable",
    "oldoldstable",
    "experimental",
];

/// Where packages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirror {
    /// Of the main archive.
    main: String,
    security: String,
}

/// One address with its suites and components.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
}

impl Mirror {
    /// The mirror that the sources in a configuration of apt (`/etc/apt`) name; none where none is Debian's.
    pub(super) fn of_host(directory: &Path) -> Result<Option<Mirror>, EngineError> {
        let mut sources = one_line_sources(&read(&directory.join("sources.list"))?);
        let parts = directory.join("sources.list.d");
        let mut paths = Vec::new();
        match fs::read_dir(&parts) {
            Ok(entries) => {
                for entry in entries {
                    paths.push(entry.map_err(EngineError::io("read", &parts))?.path());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(EngineError::io("read", &parts)(error)),
        }
        paths.sort();
        for path in paths {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("list") => sources.extend(one_line_sources(&read(&path)?)),
                Some("sources") => sources.extend(stanza_sources(&read(&path)?)),
                _ => {}
            }
        }
        Ok(Mirror::of(&sources))
    }

    /// The address that has a suite.
    pub(super) fn uri(&self, suite: &str) -> &str {
        if is_security(suite) { &self.security } else { &self.main }
    }

    fn of(sources: &[Source]) -> Option<Mirror> {
        let uri = |wanted: &dyn Fn(&str) -> bool| {
            let is_wanted = |source: &&Source| {
                source.components.iter().any(|component| component == "main")
                    && source.suites.iter().any(|suite| wanted(suite))
            };
            sources.iter().find(is_wanted).and_then(|source| source.uris.first()).cloned()
        };
        let main = uri(&|suite| SUITES.contains(&suite))?;
        let security = uri(&|suite| is_security(suite)).unwrap_or_else(|| {
            // As Debian's own servers and most mirrors lay them out.
            format!("{}-security", main.trim_end_matches('/'))
        });
        Some(Mirror { main, security })
    }
}

/// `bookworm-security`; up to buster `buster/updates`.
fn is_security(suite: &str) -> bool {
    let name = suite.strip_suffix("-security").or_else(|| suite.strip_suffix("/updates"));
    name.is_some_and(|name| SUITES.contains(&name))
}

fn read(path: &Path) -> Result<String, EngineError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(EngineError::io("read", path)(error)),
    }
}

fn one_line_sources(text: &str) -> Vec<Source> {
    let parse = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let rest = line.strip_prefix("deb")?.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace().map(str::to_owned);
        let (uri, suite) = (words.next()?, words.next()?);
        // `deb-src` has its dash here.
        uri.contains(':').then(|| Source {
            uris: vec![uri],
            suites: vec![suite],
            components: words.collect(),
        })
    };
    text.lines().filter_map(parse).collect()
}

fn stanza_sources(text: &str) -> Vec<Source> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).filter_map(stanza_source).collect()
}

fn stanza_source(stanza: &[&str]) -> Option<Source> {
    let words = |name: &str| -> Vec<String> {
        let mut value = Vec::new();
        let mut inside = false;
        for line in stanza {
            // A line that begins with a blank goes on with the field before it.
            if !line.starts_with([' ', '\t']) {
                inside = line.split_once(':').is_some_and(|(field, _)| field.eq_ignore_ascii_case(name));
            }
            if inside {
                let text = if line.starts_with([' ', '\t']) { line } else { &line[name.len() + 1..] };
                value.extend(text.split_whitespace().map(str::to_owned));
            }
        }
        value
    };
    let disabled = words("Enabled").iter().any(|value| matches!(value.as_str(), "no" | "false"));
    if disabled || !words("Types").iter().any(|kind| kind == "deb") {
        return None;
    }
    Some(Source { uris: words("URIs"), suites: words("Suites"), components: words("Components") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<(&str, &str)>) {
        let host = tempfile::tempdir().unwrap();
        fs::create_dir(host.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(host.path().join(name), text).unwrap();
        }
        let found = Mirror::of_host(host.path()).unwrap();
        let shown = found.as_ref().map(|mirror| (mirror.uri("sid"), mirror.uri("trixie-security")));
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_mirror_is_found_in_either_form_of_sources() {
        let stanzas = "# comment\nTypes: deb deb-src\nURIs: http://m.example/debian\nSuites: bookworm\n \
                       bookworm-updates\nComponents: main\n# in between\nSigned-By: /usr/share/x.gpg\n\n\
                       Types: deb\nURIs: http://s.example/sec\nSuites: bookworm-security\nComponents: main\n";
        let found = Some(("http://m.example/debian", "http://s.example/sec"));
        check(&[("sources.list.d/debian.sources", stanzas)], found);
        let lines = "deb-src http://no.example/ bookworm main\n\
                     deb [ arch=amd64 signed-by=/x.gpg ] http://m.example/debian bookworm main # mine\n\
                     deb http://s.example/sec bookworm-security main\n";
        check(&[("sources.list", lines)], found);
        check(&[("sources.list.d/a.list", lines)], found);
        check(
            &[("sources.list", "deb http://m.example/debian/ sid main contrib\n")],
            Some(("http://m.example/debian/", "http://m.example/debian-security")),
        );
    }

    #[test]
    fn sources_of_others_are_not_taken_for_debians() {
        check(&[], None);
        check(&[("sources.list", "deb http://u.example/ubuntu jammy main\n")], None);
        check(&[("sources.list.d/pgdg.list", "deb http://p.example bookworm-pgdg main\n")], None);
        check(&[("sources.list.d/x.list.disabled", "deb http://m.example/debian sid main\n")], None);
        let off = "Enabled: no\nTypes: deb\nURIs: http://m.example\nSuites: sid\nComponents: main\n";
        check(&[("sources.list.d/x.sources", off)], None);
        check(&[("sources.list", "# deb http://m.example/debian sid main\ndeb broken\n")], None);
    }
}
