//! Results that other programs wrote: what an import is made of.

/// One import: the values of one or more files of one format.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportRecord {
    /// Like a run's id: sorts by time, unique.
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// The format's name on the command line: `db_bench-report`.
    pub format: String,
    /// Microseconds since the epoch.
    pub imported_at_us: i64,
    /// Version of dbdyno that read the files.
    pub tool_version: String,
    /// The files, in the order they were named.
    pub files: Vec<ImportedFile>,
    /// Their values, in the order they stand there.
    pub values: Vec<ImportedValue>,
}

/// A file that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Its path, as it was given.
    pub file: String,
    pub sha256: String,
    /// The bytes, as text; what is not UTF-8 is replaced.
    pub text: String,
}

/// One value in a file. No verdict comes of it: such files hold one number per case.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedValue {
    /// Index of the file within the import.
    pub file: usize,
    /// What was measured: a version, or the file's name where it does not say.
    pub subject: String,
    /// The test, as the file names it.
    pub step: String,
    /// The metric in our spelling: `ops_per_s`.
    pub metric: String,
    /// Its unit; empty where the metric has none.
    pub unit: String,
    /// The number, in that unit; absent where there is none.
    pub value: Option<f64>,
    /// What stands in the file, in the unit of its column in reports: `878GB`, `NA`, `failed`, a date.
    pub said: String,
    /// Where: `line 17`.
    pub place: String,
}
