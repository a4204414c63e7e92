//! What the list of runs is narrowed down to.

/// The fields of the form, as they stand in the URL; empty where they narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterFields {
    pub q: String,
    /// `rocksdb`
    pub engine: String,
    /// `quick`; of an import its format.
    pub workload: String,
    /// `compare`, `calibrate`, `campaign`, `import`, `bisection`
    pub purpose: String,
    /// `done`, `failed`, `interrupted`, `unfinished`
    pub status: String,
    /// Name of the host.
    pub host: String,
    /// First day, `2026-11-21`.
    pub from: String,
    pub to: String,
}

impl FilterFields {
    /// Names and values, in the order of the form.
    pub fn pairs(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("q", &self.q),
            ("engine", &self.engine),
            ("workload", &self.workload),
            ("purpose", &self.purpose),
            ("status", &self.status),
            ("host", &self.host),
            ("from", &self.from),
            ("to", &self.to),
        ]
    }

    /// Whether nothing is narrowed down.
    pub fn is_empty(&self) -> bool {
        self.pairs().iter().all(|(_, value)| value.is_empty())
    }
}
