//! Addresses of pages. Every view is a URL, the list of runs as it is narrowed down too; names are encoded, whatever they
//! hold.

use findings::selection::Selection;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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

/// A name as a part of a path or a query.
pub fn encoded(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

/// The report of a run or an import.
pub fn report(id: &str) -> String {
    format!("/runs/{}", encoded(id))
}

/// What was found on all hosts of a campaign.
pub fn campaign(id: &str) -> String {
    format!("/campaigns/{}", encoded(id))
}

/// The same in another format: `json`.
pub fn report_file(id: &str, ending: &str) -> String {
    format!("/runs/{}/report.{ending}", encoded(id))
}

/// The report of some steps or subjects only.
pub fn report_of(id: &str, selection: &Selection) -> String {
    let steps = selection.steps.iter().map(|step| ("step", step.as_str()));
    let subjects = selection.subjects.iter().map(|subject| ("subject", subject.as_str()));
    match query(&steps.chain(subjects).collect::<Vec<_>>()).as_str() {
        "" => report(id),
        query => format!("{}?{query}", report(id)),
    }
}

/// The list of raw output that a run keeps.
pub fn raw_list(id: &str) -> String {
    format!("/runs/{}/raw", encoded(id))
}

/// One raw output.
pub fn raw(id: &str, output: &model::record::RawOutputName) -> String {
    format!("/runs/{}/raw/{}/{}/{}", encoded(id), output.launch, output.side, encoded(&output.name))
}

/// A run in progress.
pub fn live(id: &str) -> String {
    format!("/live/{}", encoded(id))
}

/// The same for its script.
pub fn live_json(id: &str) -> String {
    format!("/live/{}.json", encoded(id))
}

/// Two runs side by side.
pub fn compare(a: &str, b: &str) -> String {
    format!("/compare?{}", query(&[("a", a), ("b", b)]))
}

/// A step over runs.
pub fn history(workload: &str, step: &str, engine: &str) -> String {
    format!("/history?{}", query(&[("workload", workload), ("step", step), ("engine", engine)]))
}

/// What watches have found.
pub const WATCHES: &str = "/watches";

/// The hosts that were measured on.
pub const HOSTS: &str = "/hosts";

/// A host over time.
pub fn host(name: &str) -> String {
    format!("{HOSTS}/{}", encoded(name))
}

/// A page of the list, from 1.
pub fn runs(fields: &FilterFields, page: u64) -> String {
    let number = if page > 1 { page.to_string() } else { String::new() };
    let mut pairs = fields.pairs();
    pairs.push(("page", &number));
    match query(&pairs).as_str() {
        "" => "/".to_owned(),
        query => format!("/?{query}"),
    }
}

/// Pairs as a query; those that are empty are left out.
fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}
