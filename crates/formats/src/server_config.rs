//! Configuration files of servers: `my.cnf` of MySQL and MariaDB, `postgresql.conf` of Postgres, `mongod.conf` of MongoDB.

use crate::ParseError;
use crate::lines::{Line, numbered};

/// An option of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOption {
    /// With `_` for `-`, as servers of SQL take either.
    pub name: String,
    /// Empty of a flag.
    pub value: String,
    /// The releases that it is for, as a group of `my.cnf` names them (`8.0` of `[mysqld-8.0]`); all if absent.
    pub series: Option<String>,
}

const MY_CNF: &str = "my.cnf";
const POSTGRESQL_CONF: &str = "postgresql.conf";
const MONGOD_CONF: &str = "mongod.conf";

/// Groups that a server reads; a release of theirs may follow after a `-`.
const SERVER_GROUPS: [&str; 4] = ["mysqld", "server", "mariadb", "mariadbd"];

/// The options of the server's groups of a `my.cnf`, in the order of the file; a later one counts.
///
/// # Errors
/// A line that is neither a group, an option nor a comment; one that reads another file.
pub fn my_cnf(text: &str) -> Result<Vec<ServerOption>, ParseError> {
    let mut options = Vec::new();
    let mut group: Option<Option<String>> = None;
    for Line { number, text: line, .. } in numbered(text) {
        let error = |problem: String| ParseError { what: MY_CNF, line: number, problem };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            return Err(error(format!("`{line}` reads other files: put their lines here")));
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split(']').next().filter(|name| name.len() < rest.len());
            let name = name.ok_or_else(|| error(format!("`{line}` is no group: the `]` is missing")))?;
            group = group_of_server(name.trim());
            continue;
        }
        let Some(series) = &group else { continue };
        let (name, value) = line.split_once('=').unwrap_or((without_comment(line), ""));
        let name = name.trim().replace('-', "_");
        if name.is_empty()
            || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter))
        {
            return Err(error(format!("`{line}` is no option")));
        }
        options.push(ServerOption {
            name,
            value: unquoted(without_comment(value.trim())),
            series: series.clone(),
        });
    }
    Ok(options)
}

/// The releases of a group of the server; absent of a group of other programs.
fn group_of_server(name: &str) -> Option<Option<String>> {
    let (group, series) = name.split_once('-').map_or((name, None), |(group, series)| (group, Some(series)));
    let is_release = |series: &str| series.starts_with(|first: char| first.is_ascii_digit());
    match series {
        None if SERVER_GROUPS.contains(&group) => Some(None),
        Some(series) if SERVER_GROUPS.contains(&group) && is_release(series) => Some(Some(series.to_owned())),
        Some(_) | None => None,
    }
}

/// A `#` ends a value where it stands after white space and outside of quotes.
fn without_comment(value: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (place, letter) in value.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter == '#' && before.is_whitespace() => return value[..place].trim_end(),
            None => {}
        }
        before = letter;
    }
    value
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

/// The settings of a `postgresql.conf`, in the order of the file; a later one counts.
///
/// # Errors
/// A line without a value, a quote that does not end; one that reads another file.
pub fn postgresql_conf(text: &str) -> Result<Vec<ServerOption>, ParseError> {
    let mut options = Vec::new();
    for Line { number, text: line, .. } in numbered(text) {
        let error = |problem: String| ParseError { what: POSTGRESQL_CONF, line: number, problem };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            return Err(error(format!("`{line}` is no setting")));
        }
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        if ["include", "include_dir", "include_if_exists"].contains(&name) {
            return Err(error(format!("`{name}` reads other files: put their lines here")));
        }
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => {
                quoted_value(quoted).ok_or_else(|| error(format!("the quote of `{name}` does not end")))?
            }
            None => rest.split('#').next().unwrap_or_default().trim().to_owned(),
        };
        if value.is_empty() && !rest.starts_with('\'') {
            return Err(error(format!("`{name}` has no value")));
        }
        options.push(ServerOption { name: name.to_ascii_lowercase(), value, series: None });
    }
    Ok(options)
}

/// What stands up to the quote that ends it; one that is doubled, or after a backslash, is part of it.
fn quoted_value(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' if letters.next_if_eq(&'\'').is_some() => value.push('\''),
            '\'' => return Some(value),
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    None
}

/// The options of a `mongod.conf`, with dots between the levels, in the order of the file; a later one counts. Of YAML it knows what such files are
/// written in: levels by spaces, a name and a value a line, comments, quotes.
///
/// # Errors
/// A line that is none of these: a list, a value of several lines, levels in braces.
pub fn mongod_conf(text: &str) -> Result<Vec<ServerOption>, ParseError> {
    let mut options = Vec::new();
    // Each level with the spaces before its names.
    let mut levels: Vec<(usize, String)> = Vec::new();
    for Line { number, text: line, .. } in numbered(text) {
        let error = |problem: String| ParseError { what: MONGOD_CONF, line: number, problem };
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') || content == "---" || content == "..." {
            continue;
        }
        let spaces = line.len() - line.trim_start().len();
        if line[..spaces].contains('\t') {
            return Err(error("a tab stands before it, where YAML has spaces".to_owned()));
        }
        while levels.last().is_some_and(|(of_level, _)| spaces <= *of_level) {
            levels.pop();
        }
        let (name, value) = content
            .split_once(':')
            .filter(|(_, value)| value.is_empty() || value.starts_with(' '))
            .ok_or_else(|| error(format!("`{content}` is no name with a value: write `name: value`")))?;
        let (name, value) = (unquoted(name.trim()), without_comment(value).trim());
        if value.starts_with(['[', '{', '|', '>', '&', '*']) || name.starts_with("- ") {
            return Err(error(format!("`{content}` is a list, or more than a line: write one value a line")));
        }
        let path: Vec<&str> = levels.iter().map(|(_, level)| level.as_str()).chain([name.as_str()]).collect();
        if value.is_empty() {
            levels.push((spaces, name));
        } else {
            options.push(ServerOption { name: path.join("."), value: unquoted(value), series: None });
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    fn plain(options: &[ServerOption]) -> Vec<(&str, &str)> {
        options.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect()
    }

    #[test]
    fn the_groups_of_the_server_are_read() {
        let text = "# for the lab\n[client]\nport=3306\n[mysqld]\nskip-log-bin\n\
            innodb_buffer_pool_size = 23G   # of 32\ninnodb-flush-method=O_DIRECT\n\
            rocksdb_default_cf_options=write_buffer_size=32m;compression=kLZ4Compression\n\
            init_connect = 'SET x = 1 # no comment'\n; old\n[mysqld_safe]\nmalloc-lib=/x.so\n\
            [mysqld-8.0]\ninnodb_idle_flush_pct=1\n[mariadb-10.5]\naria = 1\n[mysqld-x]\nlost=1\n";
        let options = my_cnf(text).unwrap();
        assert_eq!(
            plain(&options),
            [
                ("skip_log_bin", ""),
                ("innodb_buffer_pool_size", "23G"),
                ("innodb_flush_method", "O_DIRECT"),
                ("rocksdb_default_cf_options", "write_buffer_size=32m;compression=kLZ4Compression"),
                ("init_connect", "SET x = 1 # no comment"),
                ("innodb_idle_flush_pct", "1"),
                ("aria", "1"),
            ]
        );
        let series: Vec<Option<&str>> = options.iter().map(|option| option.series.as_deref()).collect();
        assert_eq!(series[4..], [None, Some("8.0"), Some("10.5")]);
    }

    #[test]
    fn settings_of_postgres_are_read() {
        let text = "# comment\nshared_buffers = 23GB\nwal_level='replica'    # to log\nhuge_pages = \toff\t\t# on\n\
            checkpoint_timeout=1800s\nautovacuum on\nsearch_path = '\"$user\", it''s'\nlog_line_prefix = ''\n";
        let expected = [
            ("shared_buffers", "23GB"),
            ("wal_level", "replica"),
            ("huge_pages", "off"),
            ("checkpoint_timeout", "1800s"),
            ("autovacuum", "on"),
            ("search_path", "\"$user\", it's"),
            ("log_line_prefix", ""),
        ];
        assert_eq!(plain(&postgresql_conf(text).unwrap()), expected);
    }

    #[test]
    fn what_is_no_configuration_is_refused_with_its_line() {
        let check = refused(MY_CNF, my_cnf);
        check(
            "[mysqld]\n!include /etc/x.cnf\n",
            "2: `!include /etc/x.cnf` reads other files: put their lines here",
        );
        check("[mysqld\nport=1\n", "1: `[mysqld` is no group: the `]` is missing");
        check("[mysqld]\na b = 1\n", "2: `a b = 1` is no option");
        let check = refused(POSTGRESQL_CONF, postgresql_conf);
        check("a = 1\ninclude 'x.conf'\n", "2: `include` reads other files: put their lines here");
        check("wal_level = 'rep\n", "1: the quote of `wal_level` does not end");
        check("wal_level =\n", "1: `wal_level` has no value");
        check("[mysqld]\n", "1: `[mysqld]` is no setting");
    }

    #[test]
    fn a_file_that_was_cut_short_is_no_panic() {
        let texts =
            ["[mysqld]\ninit_connect='SET x = 1' # c\n[mysqld-8.0]\nx", "wal_level = 'a''b' # c\nport 1"];
        for text in texts {
            for end in 0..=text.len() {
                let _ = my_cnf(&text[..end]);
                let _ = postgresql_conf(&text[..end]);
            }
        }
    }

    #[test]
    fn levels_of_a_mongod_conf_are_joined() {
        let text = "# one\nstorage:\n  dbPath: /data # here\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 4\n\
                    setParameter:\n  \"a\": 'x # y'\nnet:\n  port: 1\n";
        let options = mongod_conf(text).unwrap();
        let told: Vec<(&str, &str)> =
            options.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect();
        assert_eq!(
            told,
            [
                ("storage.dbPath", "/data"),
                ("storage.wiredTiger.engineConfig.cacheSizeGB", "4"),
                ("setParameter.a", "x # y"),
                ("net.port", "1"),
            ]
        );
        for (wrong, line) in
            [("a:\n\tb: 1", 2), ("a: [1]", 1), ("- a", 1), ("a:\n  b", 2), ("a: |\n  text", 1)]
        {
            assert_eq!(mongod_conf(wrong).unwrap_err().line, line, "{wrong}");
        }
    }
}
