//! What an address means. Pure: text in, a route out.

use findings::selection::Selection;
use model::record::RawOutputName;
use percent_encoding::percent_decode_str;
use report::render::Format;
use report::site::links::FilterFields;
use report::site::links::encoded;

/// A page or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The list, at a page from 1 on.
    Runs {
        fields: FilterFields,
        page: u64,
    },
    Report {
        run: String,
        selection: Selection,
    },
    ReportFile {
        run: String,
        format: &'static Format,
    },
    RawList {
        run: String,
    },
    Raw {
        run: String,
        output: RawOutputName,
    },
    History {
        workload: String,
        step: String,
        engine: String,
    },
    Compare {
        a: String,
        b: String,
    },
    /// Runs picked in the list.
    Picked(Vec<String>),
    /// All hosts.
    Hosts,
    /// One host over time.
    Host {
        name: String,
    },
    /// A campaign on several hosts.
    Campaign {
        id: String,
    },
    /// What watches have found.
    Watches,
    Live {
        run: String,
    },
    LiveJson {
        run: String,
    },
    /// What browsers ask for by themselves.
    Icon,
    Nowhere,
}

/// The pairs of a query, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// As forms write it: `+` is a space. What is not UTF-8 is replaced.
    pub fn parse(text: &str) -> Query {
        let decoded = |part: &str| decoded(&part.replace('+', " "));
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name), decoded(value))
                })
                .collect(),
        )
    }

    /// The first value of a name; empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.pairs().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// All values of a name that are not empty.
    pub fn all(&self, name: &str) -> Vec<String> {
        let of_name = self.pairs().filter(|(known, value)| *known == name && !value.is_empty());
        of_name.map(|(_, value)| value.to_owned()).collect()
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Pairs as a query again.
pub fn encoded_pairs(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// What path and query mean.
pub fn route(target: &str) -> Route {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = Query::parse(query);
    // Split before it is decoded: a name may hold slashes.
    let parts: Vec<String> = path.trim_start_matches('/').split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [""] => Route::Runs { fields: fields(&query), page: page(query.get("page")) },
        ["favicon.ico"] => Route::Icon,
        ["history"] => Route::History {
            workload: query.get("workload").to_owned(),
            step: query.get("step").to_owned(),
            engine: query.get("engine").to_owned(),
        },
        ["compare"] => match (query.get("a"), query.get("b")) {
            ("", "") => Route::Picked(query.all("run")),
            (a, b) => Route::Compare { a: a.to_owned(), b: b.to_owned() },
        },
        ["hosts"] | ["hosts", ""] => Route::Hosts,
        ["hosts", name] => Route::Host { name: (*name).to_owned() },
        ["campaigns", id] if !id.is_empty() => Route::Campaign { id: (*id).to_owned() },
        ["watches"] | ["watches", ""] => Route::Watches,
        ["live", run] if !run.is_empty() => match run.strip_suffix(".json") {
            Some(run) => Route::LiveJson { run: run.to_owned() },
            None => Route::Live { run: (*run).to_owned() },
        },
        ["runs", run] if !run.is_empty() => Route::Report {
            run: (*run).to_owned(),
            selection: Selection { steps: query.all("step"), subjects: query.all("subject") },
        },
        ["runs", run, "raw"] | ["runs", run, "raw", ""] => Route::RawList { run: (*run).to_owned() },
        ["runs", run, "raw", launch, side, name @ ..] if !name.is_empty() => {
            match (launch.parse(), side.parse()) {
                (Ok(launch), Ok(side)) => Route::Raw {
                    run: (*run).to_owned(),
                    output: RawOutputName { launch, side, name: name.join("/") },
                },
                (_, _) => Route::Nowhere,
            }
        }
        ["runs", run, file] => match file.strip_prefix("report.").and_then(Format::with_ending) {
            Some(format) => Route::ReportFile { run: (*run).to_owned(), format },
            None => Route::Nowhere,
        },
        _ => Route::Nowhere,
    }
}

fn fields(query: &Query) -> FilterFields {
    let text = |name: &str| query.get(name).trim().to_owned();
    FilterFields {
        q: text("q"),
        engine: text("engine"),
        workload: query.get("workload").to_owned(),
        purpose: text("purpose"),
        status: text("status"),
        host: query.get("host").to_owned(),
        from: text("from"),
        to: text("to"),
    }
}

/// From 1; what is no number is the first page.
fn page(text: &str) -> u64 {
    text.parse().unwrap_or(1).max(1)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::site::links;

    const NASTY: &str = "a/b <i>&\"'+%25 \u{fc}\n?#=";

    #[test]
    fn addresses_lead_to_their_pages() {
        let check = |target: &str, expected: Route| assert_eq!(route(target), expected, "{target}");
        let list = |page| Route::Runs { fields: FilterFields::default(), page };
        check("/", list(1));
        check("/?page=3", list(3));
        check("/?page=-1", list(1));
        check("/?page=x&unknown=1", list(1));
        check(
            "/?q=a+b%2Bc",
            Route::Runs {
                fields: FilterFields { q: "a b+c".to_owned(), ..FilterFields::default() },
                page: 1,
            },
        );
        let selection = Selection { steps: vec!["x".to_owned(), "y".to_owned()], subjects: Vec::new() };
        check("/runs/r1?step=x&step=y&subject=", Route::Report { run: "r1".to_owned(), selection });
        check(
            "/runs/r1/report.md",
            Route::ReportFile { run: "r1".to_owned(), format: Format::named("markdown").unwrap() },
        );
        check("/compare?run=r1&run=r2", Route::Picked(vec!["r1".to_owned(), "r2".to_owned()]));
        check("/compare?a=r1", Route::Compare { a: "r1".to_owned(), b: String::new() });
        check("/live/r1.json", Route::LiveJson { run: "r1".to_owned() });
        check("/hosts", Route::Hosts);
        check(links::WATCHES, Route::Watches);
        check("/hosts/bench-1", Route::Host { name: "bench-1".to_owned() });
        let output = RawOutputName { launch: 1, side: 0, name: "read/LOG".to_owned() };
        check("/runs/r1/raw/1/0/read/LOG", Route::Raw { run: "r1".to_owned(), output });
        for target in [
            "/runs",
            "/runs/",
            "/runs/r1/",
            "/runs/r1/report.exe",
            "/etc/passwd",
            "/runs/r1/raw/x/0/LOG",
            "/live",
            "/hosts/bench-1/x",
        ] {
            check(target, Route::Nowhere);
        }
    }

    #[test]
    fn what_is_linked_is_what_is_meant_whatever_the_name() {
        let run = NASTY.to_owned();
        assert_eq!(route(&links::live(NASTY)), Route::Live { run: run.clone() });
        assert_eq!(route(&links::host(NASTY)), Route::Host { name: run.clone() });
        assert_eq!(route(&links::raw_list(NASTY)), Route::RawList { run: run.clone() });
        let output = RawOutputName { launch: 2, side: 1, name: NASTY.to_owned() };
        assert_eq!(route(&links::raw(NASTY, &output)), Route::Raw { run: run.clone(), output });
        assert_eq!(route(&links::compare(NASTY, "b")), Route::Compare { a: run.clone(), b: "b".to_owned() });
        let history = Route::History { workload: run.clone(), step: run.clone(), engine: String::new() };
        assert_eq!(route(&links::history(NASTY, NASTY, "")), history);
        let fields = FilterFields { workload: run.clone(), host: run, ..FilterFields::default() };
        assert_eq!(route(&links::runs(&fields, 2)), Route::Runs { fields, page: 2 });
    }
}
