//! The page that `dbdyno report --format html` makes of a real run: it shows what the run's JSON says, and a reader can
//! do with it what made pages are tested for.

use super::super::engines::{RELEASE, Releases};
use super::super::scratch::Scratch;
use super::super::tool::Call;
use super::super::{Case, Ending, bisect, servers};
use super::reading::{self, Filtered};
use super::{Opened, timelines, with_file};
use anyhow::{Context, ensure};
use findings::judge::Evidence;
use findings::{ComparedRun, Comparison, Finding};
use report::document::Document;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use store::Store;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("pages real rocksdb", |scratch| {
            let real = Real::of(scratch, many_blocks(scratch)?)?;
            with_file(scratch, &real.page, |opened| rocksdb(&real, opened))
        }),
        Case::new("pages real sql", |scratch| {
            let real = Real::of(scratch, servers::call(scratch, servers::POSTGRES, "40s")?)?;
            with_file(scratch, &real.page, |opened| sql(&real, opened))
        })
        .nightly(),
        Case::new("pages real calibration", calibration),
        Case::new("pages real bisection", bisection).nightly(),
    ]
}

/// A release that differs from [`RELEASE`] by its version, at least.
const OTHER_RELEASE: &str = "rocksdb@8.7.3";

/// A comparison of two releases with enough blocks to zoom into.
fn many_blocks(scratch: &Scratch) -> anyhow::Result<Call<'_>> {
    let tiny = fs::read_to_string(&scratch.workload).context("failed to read the workload")?;
    let workload = scratch.write("longer.toml", &tiny.replace("cycles = 2", "cycles = 10"))?;
    let call = Call::new(scratch, ["compare", RELEASE, OTHER_RELEASE, "--budget", "30s", "--json"]);
    // What fills a database is one block of each launch.
    let steps = ["overwrite", "readrandom", "seekrandom"].into_iter().flat_map(|step| ["--step", step]);
    Ok(call.and(steps).and(["--workload"]).and([workload]))
}

/// A real comparison in three forms.
struct Real {
    /// As `compare` printed it.
    json: Value,
    /// As `report` wrote it into a file.
    page: PathBuf,
    /// As the store has it.
    document: Document,
}

impl Real {
    fn of(scratch: &Scratch, comparison: Call<'_>) -> anyhow::Result<Real> {
        let json = comparison.succeeds()?.json()?;
        let run = json["run"].as_str().context("the run has no id")?;
        let page = scratch.path("report.html");
        Call::new(scratch, ["report", run, "--format", "html", "-o"]).and([&page]).succeeds()?;
        let store = Store::open_to_browse(&scratch.data().join("dbdyno/dbdyno.sqlite"))?;
        let record = store.load_run(run)?;
        let (view, host) = (Comparison::of(&record, &Evidence::default()), store.host_samples(run)?);
        let document = report::document(&Finding::Comparison(Box::new(ComparedRun { view, record, host })));
        Ok(Real { page, document, json })
    }

    /// The ratio that decides each step; absent where there is none.
    fn ratios(&self) -> BTreeMap<&str, Option<f64>> {
        let rows = self.json["comparisons"].as_array().into_iter().flatten();
        let deciding = rows.filter(|row| row["decides"] == true);
        deciding.filter_map(|row| Some((row["step"].as_str()?, row["ratio"].as_f64()))).collect()
    }
}

fn rocksdb(real: &Real, opened: &Opened<'_>) -> anyhow::Result<()> {
    let timeline = timelines::first_of(&real.document)?;
    opened.shot("first-screen")?;
    shows_the_run(real, opened)?;
    reading::sorts(opened)?;
    reading::filters(opened, &Filtered { text: "random", group: "writes", steps: 3 })?;
    reading::leads_to_a_step(opened)?;
    reading::unfolds(opened)?;
    reading::is_walked_by_keys(opened)?;
    timelines::shows_every_point(opened, timeline)?;
    timelines::zooms(opened, timeline)?;
    timelines::toggles(opened, timeline)?;
    read_elsewhere(opened)
}

fn sql(real: &Real, opened: &Opened<'_>) -> anyhow::Result<()> {
    let timeline = timelines::first_of(&real.document)?;
    opened.shot("first-screen")?;
    shows_the_run(real, opened)?;
    reading::sorts(opened)?;
    reading::filters(opened, &Filtered { text: "point", group: "writes", steps: 5 })?;
    reading::leads_to_a_step(opened)?;
    reading::unfolds(opened)?;
    timelines::shows_every_point(opened, timeline)?;
    timelines::toggles(opened, timeline)?;
    read_elsewhere(opened)
}

/// In the dark, on a telephone, without a script, on paper.
fn read_elsewhere(opened: &Opened<'_>) -> anyhow::Result<()> {
    reading::themes(opened)?;
    reading::is_narrow(opened)?;
    reading::needs_no_script(opened)?;
    reading::prints(opened)
}

/// As it is written when it ends, and the same from the store.
fn calibration(scratch: &Scratch) -> anyhow::Result<Ending> {
    let page = scratch.path("calibration.html");
    // Noise is told of two launches or more, and one takes 5 s where the host is busy.
    Call::new(scratch, ["calibrate", RELEASE, "--verdicts", "4", "--budget", "45s", "--workload"])
        .and([&scratch.workload])
        .and(["--format", "html", "-o"])
        .and([&page])
        .succeeds()?;
    let again = Call::new(scratch, ["report", "last", "--format", "html"]).succeeds()?;
    ensure!(fs::read_to_string(&page)? == again.stdout, "`report` writes another page than `calibrate`");
    with_file(scratch, &page, |opened| {
        opened.shot("first-screen")?;
        opened.browser.ensure("document.querySelector('h1').textContent.endsWith('against itself')")?;
        opened.browser.ensure("document.querySelectorAll('#noise table tbody tr').length === 4")?;
        opened.browser.ensure("document.querySelectorAll('#noise svg').length === 1")?;
        opened.browser.ensure("document.querySelectorAll('#judged svg').length === 1")?;
        read_without_timelines(opened)
    })
}

/// The measured rates in the order of the versions, with the step that was planted.
fn bisection(scratch: &Scratch) -> anyhow::Result<Ending> {
    let (good, first_bad, bad) = (RELEASE, "rocksdb@10.6.2", "rocksdb@11.8.1");
    bisect::few_releases(scratch, &Releases::read()?.ci)?;
    let page = scratch.path("bisection.html");
    bisect::search(scratch, [good, bad])?
        .and(["--plant-slowdown", bisect::SLOWDOWN, "--plant-from", "10.6.2", "--budget", "3m"])
        .and(["--format", "html", "-o"])
        .and([&page])
        .succeeds()?;
    with_file(scratch, &page, |opened| {
        opened.shot("first-screen")?;
        opened.browser.ensure(&format!(
            "document.querySelector('.verdicts .slower').textContent.includes('{first_bad}')"
        ))?;
        opened
            .browser
            .ensure("document.querySelector('#versions svg').textContent.includes('confirmed change')")?;
        opened.browser.ensure("document.querySelectorAll('#versions table tbody tr').length === 4")?;
        read_without_timelines(opened)
    })
}

/// In the dark, on a telephone, on paper.
fn read_without_timelines(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    browser.prefer_dark(true)?;
    opened.shot("dark")?;
    browser.prefer_dark(false)?;
    browser.resize(360, 780)?;
    reading::fits(opened, 360)?;
    opened.shot("narrow")?;
    browser.resize(1280, 900)?;
    reading::prints(opened)
}

/// Every step of the run's JSON stands in the overview with its ratio, and what was found is told.
fn shows_the_run(real: &Real, opened: &Opened<'_>) -> anyhow::Result<()> {
    let shown = opened.browser.script(
        "return Object.fromEntries([...document.querySelectorAll('.matrix tbody tr')]\
         .map((row) => [row.cells[0].textContent, row.cells[3].dataset.value ?? null]))",
    )?;
    let shown = shown.as_object().context("no overview")?;
    let ratios = real.ratios();
    ensure!(shown.len() == ratios.len(), "{} steps are shown, {} were judged", shown.len(), ratios.len());
    for (step, ratio) in ratios {
        let found = shown.get(step).with_context(|| format!("{step} is not shown"))?;
        let found = found.as_str().map(str::parse::<f64>).transpose()?;
        ensure!(found == ratio, "{step} is shown with {found:?}, its ratio is {ratio:?}");
    }
    opened.browser.ensure("document.querySelectorAll('.verdicts li').length >= 1")?;
    opened.browser.ensure("document.querySelectorAll('.drawing svg').length > 0")
}
