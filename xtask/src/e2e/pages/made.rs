//! Made reports in a browser: the largest that the budget of a page is for, one whose every second fits, one whose every
//! text tries to be something else.

use super::super::Case;
use super::reading::{self, Filtered};
use super::webdriver::Browser;
use super::{Opened, timelines, with_file};
use crate::bench::ratios::median;
use crate::made_reports;
use anyhow::{Context, ensure};
use report::document::Document;
use serde_json::json;
use std::fs;
use std::path::Path;

/// The case that fails if a page loads too slowly: no other case may run at the same time.
pub fn judging() -> Vec<Case> {
    vec![case("pages large", || made_reports::campaign(made_reports::LARGE), large)]
}

pub fn cases() -> Vec<Case> {
    vec![
        case("pages small", || made_reports::campaign(made_reports::SMALL), small),
        case("pages hostile", made_reports::hostile, hostile),
    ]
}

/// What is done with the page of a document: with the file, in the browser.
type Check = fn(&Document, &Path, &Opened<'_>) -> anyhow::Result<()>;

fn case(name: &str, make: fn() -> anyhow::Result<Document>, check: Check) -> Case {
    Case::new(name, move |scratch| {
        let document = make()?;
        let page = scratch.write("report.html", &report::render::html::render(&document))?;
        with_file(scratch, &page, |opened| check(&document, &page, opened))
    })
}

/// Bytes of the page of 42 steps and ten builds with an hour of seconds (issue 6).
const MOST_BYTES: u64 = 2_000_000;
/// Milliseconds until a browser has it on the screen (issue 6).
const MOST_MS: f64 = 2000.0;
/// How often it is loaded for that: the median counts. The first time a browser that has just started is still busy with itself.
const LOADS: usize = 3;
/// A group of its steps, and a part of their names.
const FILTERED: Filtered<'_> = Filtered { text: "range-covered", group: "writes", steps: 42 };

fn large(_: &Document, page: &Path, opened: &Opened<'_>) -> anyhow::Result<()> {
    let bytes = fs::metadata(page)?.len();
    ensure!(bytes < MOST_BYTES, "the page has {bytes} bytes");
    let mut loads = Vec::new();
    for _ in 0..LOADS {
        opened.again("")?;
        loads.push(load_ms(opened.browser)?);
    }
    let middle = median(loads.iter().copied()).context("no loads")?;
    ensure!(middle < MOST_MS, "the page was there after {middle:.0} ms (the median of {loads:.0?})");
    opened.shot("first-screen")?;
    reading::sorts(opened)?;
    reading::filters(opened, &FILTERED)?;
    reading::leads_to_a_step(opened)?;
    reading::filters_sections(opened, "points-covered")?;
    reading::unfolds(opened)?;
    timelines::merged(opened)?;
    reading::themes(opened)?;
    reading::is_narrow(opened)?;
    reading::needs_no_script(opened)?;
    reading::prints(opened)
}

/// Milliseconds from the beginning of a load to its end.
fn load_ms(browser: &Browser) -> anyhow::Result<f64> {
    let loaded = browser.script("return performance.getEntriesByType('navigation')[0].loadEventEnd")?;
    loaded.as_f64().context("the browser does not say how long it took")
}

fn small(document: &Document, _: &Path, opened: &Opened<'_>) -> anyhow::Result<()> {
    let timeline = timelines::first_of(document)?;
    opened.shot("first-screen")?;
    figures(opened.browser)?;
    reading::is_walked_by_keys(opened)?;
    reading::sorts_values_with_units(opened)?;
    timelines::shows_every_point(opened, timeline)?;
    timelines::zooms(opened, timeline)?;
    timelines::toggles(opened, timeline)?;
    reading::is_narrow(opened)?;
    reading::needs_no_script(opened)?;
    reading::prints(opened)
}

/// Values and texts that the tables are tested with too.
const FIGURES: &str = include_str!("../../../../crates/report/fixtures/figures.tsv");

/// The script writes numbers as the tables do.
fn figures(browser: &Browser) -> anyhow::Result<()> {
    let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
    let (values, texts): (Vec<&str>, Vec<&str>) = lines.filter_map(|line| line.split_once('\t')).unzip();
    ensure!(values.len() > 30, "only {} values to compare", values.len());
    let found = browser.script_with(
        "return arguments[0].map((value) => dbdyno.quantity(Number(value)))",
        &json!([values]),
    )?;
    ensure!(found == json!(texts), "the script writes {found}, the tables {}", json!(texts));
    Ok(())
}

/// Nothing in a name runs, becomes an element or makes the page wider than the window.
fn hostile(_: &Document, _: &Path, opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    opened.shot("first-screen")?;
    browser.ensure("document.title !== 'taken' && document.title.includes('taken')")?;
    browser.ensure("document.querySelectorAll('img, iframe, object').length === 0")?;
    browser.ensure("[...document.scripts].filter((script) => !script.type).length === 1")?;
    browser.ensure("document.querySelectorAll('[style]').length === 0")?;
    timelines::open_first(opened)?;
    opened.shot("timeline")?;
    reading::is_narrow(opened)?;
    reading::needs_no_script(opened)
}
