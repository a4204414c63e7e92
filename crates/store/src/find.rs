//! What a word means: the id of a run, an import or a bisection by its id, its beginning or its name.
//!
//! The newest is what was stored last: a clock that is set back changes times, not keys.

use crate::error::Error;
use crate::file::Store;
use model::names;
use rusqlite::OptionalExtension;

/// Ids with the names that users gave, newest first.
struct Listed(Vec<(String, Option<String>)>);

impl Listed {
    /// The ids that are meant. A full id wins over a name, and a name over a beginning: what is written in full is meant.
    fn meant(&self, wanted: &str) -> Vec<&str> {
        let ids = |means: &dyn Fn(&str, Option<&str>) -> bool| -> Vec<&str> {
            let meant = self.0.iter().filter(|(id, name)| means(id, name.as_deref()));
            meant.map(|(id, _)| id.as_str()).collect()
        };
        let found = [
            ids(&|id, _| id == wanted),
            ids(&|_, name| name == Some(wanted)),
            ids(&|id, _| !wanted.is_empty() && id.starts_with(wanted)),
        ];
        found.into_iter().find(|ids| !ids.is_empty()).unwrap_or_default()
    }

    /// The newest that does not belong to another, as tests and chains of an explanation do: their names begin with its id.
    fn last(&self) -> Option<&str> {
        let is_of_another = |name: &str| {
            name.split_once('/').is_some_and(|(owner, _)| self.0.iter().any(|(id, _)| id == owner))
        };
        let own = |(_, name): &&(String, Option<String>)| !name.as_deref().is_some_and(is_of_another);
        self.0.iter().find(own).map(|(id, _)| id.as_str())
    }

    fn only(&self, wanted: &str) -> Option<String> {
        match self.meant(wanted).as_slice() {
            [one] => Some((*one).to_owned()),
            _ => None,
        }
    }
}

impl Store {
    fn listed(&self, doing: &str, sql: &str) -> Result<Listed, Error> {
        self.sql(doing, |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let listed = statement.query_map([], |row| Ok((row.get("id")?, row.get("name")?)))?;
            Ok(Listed(listed.collect::<rusqlite::Result<_>>()?))
        })
    }

    /// The id of the run that `wanted` means: `last` (of those that do not belong to another), an id, a name, or the beginning of one id.
    pub fn find_run(&self, wanted: &str) -> Result<String, Error> {
        let runs = self.listed("look for a run", "SELECT id, name FROM runs ORDER BY run_key DESC")?;
        let path = || self.path().to_path_buf();
        let Some((newest, _)) = runs.0.first() else { return Err(Error::NoRuns { path: path() }) };
        if wanted == "last" {
            return Ok(runs.last().unwrap_or(newest).to_owned());
        }
        match runs.meant(wanted).as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => {
                let known =
                    runs.0.iter().flat_map(|(id, name)| name.as_deref().into_iter().chain([id.as_str()]));
                Err(Error::NoSuchRun {
                    path: path(),
                    wanted: wanted.to_owned(),
                    hint: names::hint(wanted, known),
                    newest: newest.clone(),
                })
            }
            several => Err(Error::AmbiguousRun {
                path: path(),
                wanted: wanted.to_owned(),
                candidates: several.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// The id of the import that has this id or name, or whose id alone begins with it; absent where there is none, or
    /// where several begin with it. A name means the newest import that has it.
    pub fn find_import(&self, wanted: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT id, iif(import_key = max(import_key) OVER (PARTITION BY name), name, NULL) AS name
                   FROM imports";
        Ok(self.listed("look for an import", sql)?.only(wanted))
    }

    /// The id of the bisection that has this id, or whose id alone begins with it; absent where there is none, or where
    /// several begin with it.
    pub fn find_bisection(&self, wanted: &str) -> Result<Option<String>, Error> {
        let bisections = self.listed("look for a bisection", "SELECT id, NULL AS name FROM bisections")?;
        Ok(bisections.only(wanted))
    }

    /// The ids of finished runs whose names begin with this, the oldest first.
    pub fn runs_named(&self, beginning: &str) -> Result<Vec<String>, Error> {
        self.sql("look for runs by their names", |connection| {
            let sql = "SELECT id FROM runs WHERE substr(name, 1, length(?1)) = ?1 AND outcome = 'done'
                       ORDER BY run_key";
            connection.prepare_cached(sql)?.query_map([beginning], |row| row.get(0))?.collect()
        })
    }

    /// The id of the newest run of this name that was finished on this host.
    pub fn last_named(&self, name: &str, host: &str) -> Result<Option<String>, Error> {
        self.sql("look for a run by its name", |connection| {
            connection
                .query_row(
                    "SELECT runs.id FROM runs JOIN hosts USING (host_key)
                     WHERE runs.name = ? AND outcome = 'done' AND hosts.name = ?
                     ORDER BY run_key DESC LIMIT 1",
                    [name, host],
                    |row| row.get(0),
                )
                .optional()
        })
    }
}
