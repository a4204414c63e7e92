//! The list of runs, imports and bisections.

use super::super::answers::{Failure, Site};
use super::super::asked::Answer;
use super::report::found;
use crate::finding;
use ::report::site::links::FilterFields;
use ::report::site::message;
use ::report::site::runs::{self, RunRow, RunsView};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use model::listing::{Entry, EntryKind};
use model::record::RunStatus;
use std::time::{Duration, Instant};
use store::{Filter, Store};

/// How long a list may judge runs of older versions anew.
const MOST_JUDGING: Duration = Duration::from_millis(500);
/// Runs on a page.
const PER_PAGE: u32 = 50;

/// The page; how to begin where there is nothing at all.
pub fn answer(site: &Site, store: &Store, fields: FilterFields, page: u64) -> Result<Answer, Failure> {
    let (filter, problems) = filter(&fields);
    let offset = (page - 1).saturating_mul(u64::from(PER_PAGE));
    let found = store.entries(&filter, offset, PER_PAGE)?;
    if found.total == 0 && fields.is_empty() {
        return Ok(Answer::page(200, message::page(&site.beginning())));
    }
    let until = Instant::now() + MOST_JUDGING;
    let rows = found.entries.into_iter().map(|entry| row(site, store, entry, until));
    let rows = rows.collect::<Result<Vec<RunRow>, Failure>>()?;
    let view = RunsView {
        fields,
        choices: store.choices()?,
        rows,
        total: found.total,
        page,
        per_page: u64::from(PER_PAGE),
        problems,
    };
    Ok(Answer::page(200, runs::page(&view)))
}

/// What the fields mean, and what of them means nothing.
fn filter(fields: &FilterFields) -> (Filter, Vec<String>) {
    let mut problems = Vec::new();
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut one_of = |field: &str, text: &str, known: &[&str]| {
        if !text.is_empty() && !known.contains(&text) {
            problems.push(format!("{field} `{text}` is none of {}: it is not looked at.", known.join(", ")));
        }
    };
    one_of("Purpose", &fields.purpose, &EntryKind::ALL.map(EntryKind::name));
    one_of("Status", &fields.status, &RunStatus::ALL.map(RunStatus::name));
    let mut day = |field: &str, text: &str| -> Option<Date> {
        let day = text.parse().ok();
        if day.is_none() && !text.is_empty() {
            problems.push(format!("{field} `{text}` is no day like 2026-11-21: it is not looked at."));
        }
        day
    };
    let from = day("From", &fields.from);
    // The last day is part of what is shown.
    let after = day("To", &fields.to).and_then(|day| day.tomorrow().ok());
    let filter = Filter {
        text: given(&fields.q),
        engine: given(&fields.engine),
        workload: given(&fields.workload),
        kind: EntryKind::ALL.into_iter().find(|kind| kind.name() == fields.purpose),
        status: RunStatus::ALL.into_iter().find(|status| status.name() == fields.status),
        host: given(&fields.host),
        since_us: from.and_then(midnight_us),
        before_us: after.and_then(midnight_us),
    };
    (filter, problems)
}

/// The beginning of a day in UTC, in microseconds since the epoch.
fn midnight_us(day: Date) -> Option<i64> {
    day.to_zoned(TimeZone::UTC).ok().map(|midnight| midnight.timestamp().as_microsecond())
}

/// What was found is kept beside a run. One of an older version is judged anew, as long as there is time for it; the others
/// follow when the list is loaded again.
fn row(site: &Site, store: &Store, entry: Entry, until: Instant) -> Result<RunRow, Failure> {
    let is_due = entry.status != RunStatus::Unfinished && Instant::now() < until;
    let known = match entry.found.as_deref().and_then(finding::kept) {
        Some(known) => known,
        None if is_due => found(site, store, &entry.id)?.to_vec(),
        None => Vec::new(),
    };
    Ok(RunRow { entry, verdicts: known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_utc_and_the_last_one_is_part_of_it() {
        let fields = FilterFields {
            from: "2026-11-21".to_owned(),
            to: "2026-11-21".to_owned(),
            ..FilterFields::default()
        };
        let (filter, problems) = filter(&fields);
        assert_eq!(problems, Vec::<String>::new());
        let (Some(since), Some(before)) = (filter.since_us, filter.before_us) else { panic!("two days") };
        assert_eq!(jiff::Timestamp::from_microsecond(since).unwrap().to_string(), "2026-11-21T00:00:00Z");
        assert_eq!(before - since, 24 * 3_600_000_000);
    }

    #[test]
    fn what_means_nothing_is_told_and_narrows_nothing() {
        let fields = FilterFields {
            purpose: "dance".to_owned(),
            status: "DONE".to_owned(),
            to: "tomorrow".to_owned(),
            ..FilterFields::default()
        };
        let (filter, problems) = filter(&fields);
        assert_eq!(filter, Filter::default());
        assert_eq!(problems.len(), 3);
        assert!(problems[0].contains("`dance`") && problems[2].contains("`tomorrow`"), "{problems:?}");
    }
}
