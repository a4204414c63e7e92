//! Environment variables that a configuration gives to an engine's process: an allocator that is preloaded, tunables of the C library.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Variables by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Environment(BTreeMap<String, String>);

/// That of a process of which a configuration says nothing.
pub static NO_ENVIRONMENT: Environment = Environment(BTreeMap::new());

/// Set by dbdyno, the same on all sides: locale, time zone, where programs and libraries are looked for.
const OURS: [&str; 4] = ["LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ"];
/// Libraries that ld.so loads before those of the program (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";

impl TryFrom<BTreeMap<String, String>> for Environment {
    type Error = String;

    fn try_from(variables: BTreeMap<String, String>) -> Result<Environment, String> {
        for (name, value) in &variables {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if name.is_empty()
                || !name.chars().all(is_part)
                || name.starts_with(|first: char| first.is_ascii_digit())
            {
                return Err(format!("`{name}` is no name of an environment variable"));
            }
            if OURS.contains(&name.as_str()) {
                return Err(format!("the environment variable {name} is set by dbdyno itself"));
            }
            if name == PRELOAD
                && let Some(library) = libraries(value).find(|one| one.contains('/') && !one.starts_with('/'))
            {
                return Err(format!("{PRELOAD}: name `{library}` by an absolute path, or by its name alone"));
            }
            if value.contains('\0') {
                return Err(format!("the value of the environment variable {name} has a zero byte"));
            }
        }
        Ok(Environment(variables))
    }
}

impl Environment {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn get(&self, name: &str) -> Option<&String> {
        self.0.get(name)
    }

    /// These with others laid over them.
    #[must_use]
    pub fn overlaid(mut self, above: Environment) -> Environment {
        self.0.extend(above.0);
        self
    }

    /// The libraries that are preloaded, by path or by name.
    pub fn preloaded(&self) -> impl Iterator<Item = &str> {
        libraries(self.0.get(PRELOAD).map(String::as_str).unwrap_or_default())
    }
}

/// Those in a value of `LD_PRELOAD`.
fn libraries(value: &str) -> impl Iterator<Item = &str> {
    value.split([':', ' ']).filter(|library| !library.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Environment, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())
    }

    #[test]
    fn variables_are_laid_over_others_and_preloaded_libraries_are_listed() {
        let below = read("LD_PRELOAD = 'libjemalloc.so.2'\nMALLOC_CONF = 'thp:always'").unwrap();
        let both = below.overlaid(read("LD_PRELOAD = '/opt/a.so: libb.so.1'").unwrap());
        assert_eq!(both.preloaded().collect::<Vec<_>>(), ["/opt/a.so", "libb.so.1"]);
        assert_eq!(both.get("MALLOC_CONF").map(String::as_str), Some("thp:always"));
        assert_eq!(NO_ENVIRONMENT.preloaded().count(), 0);
    }

    #[test]
    fn names_that_cannot_be_and_variables_that_are_ours_are_refused() {
        for (text, part) in [
            ("'' = 'a'", "``"),
            ("'a=b' = 'a'", "`a=b`"),
            ("'2a' = 'a'", "`2a`"),
            ("PATH = '/bin'", "PATH"),
            ("LD_PRELOAD = 'libc.so.6 lib/a.so'", "`lib/a.so`"),
            ("a = \"x\\u0000\"", "zero byte"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
