//! The pages of `dbdyno serve` over two real runs: found in the list, opened, side by side, over time, by the addresses
//! that a reader keeps.

use super::super::bisect::SLOWDOWN;
use super::super::engines::RELEASE;
use super::super::scratch::Scratch;
use super::super::serve::{Served, compared};
use super::super::tool::Call;
use super::super::{Case, Ending};
use super::webdriver::{Reach, keys};
use super::{Opened, Screen, no_browser, reading, timelines};
use anyhow::{Context, ensure};

pub fn cases() -> Vec<Case> {
    vec![Case::new("pages served", served)]
}

/// The name of the run whose candidate is slower.
const SLOWED: &str = "slowed <down>";

/// Ids of the runs in the store.
struct Runs {
    same: String,
    /// The candidate is slower.
    slowed: String,
}

fn served(scratch: &Scratch) -> anyhow::Result<Ending> {
    let Some(screen) = Screen::start(scratch, Reach::Loopback)? else { return Ok(no_browser()) };
    let same = compared(scratch, &[])?;
    let slowed = compared(scratch, &["--name", SLOWED, "--plant-slowdown", SLOWDOWN])?;
    let runs = Runs { same, slowed };
    // Beside the fingerprint of before the runs: a chart needs two.
    Call::new(scratch, ["doctor", "--bench"]).succeeds()?;
    let server = Served::start(scratch, &[])?;
    let opened = screen.open(format!("http://{}/", server.address))?;
    opened.shot("list")?;
    let walked = [
        list,
        report,
        host,
        history,
        side_by_side,
        permalinks,
        nothing_there,
        dark_and_narrow,
        without_script,
    ];
    for walk in walked {
        walk(&opened, &runs)?;
        opened.is_quiet()?;
    }
    server.end()?;
    Ok(Ending::Passed)
}

/// Ids in the list, in its order.
const LISTED: &str = "[...document.querySelectorAll('tbody th a')].map((one) => one.textContent)";

/// The page that is open is the one of this address, with its path and query.
fn is_at(opened: &Opened<'_>, path: &str) -> anyhow::Result<()> {
    opened.browser.until(&format!(
        "document.readyState === 'complete' && location.pathname + location.search === '{path}'"
    ))
}

fn lists(opened: &Opened<'_>, ids: &[&String]) -> anyhow::Result<()> {
    let ids = serde_json::to_string(ids)?;
    opened
        .browser
        .until(&format!("document.readyState === 'complete' && JSON.stringify({LISTED}) === '{ids}'"))
}

/// Chooses in a form as a reader does, and sends it.
fn choose(opened: &Opened<'_>, field: &str, value: &str) -> anyhow::Result<()> {
    opened.browser.script(&format!("document.querySelector('select[name={field}]').value = '{value}'"))?;
    opened.browser.click("main form button[type=submit]")
}

/// Searched, filtered, and all again.
fn list(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    lists(opened, &[slowed, same])?;
    browser.ensure("document.querySelector('a[aria-current=page]').textContent === 'Runs'")?;
    browser.click("input[name=q]")?;
    browser.write("SLOWED <")?;
    browser.press(&[keys::ENTER])?;
    lists(opened, &[slowed])?;
    browser.ensure("new URLSearchParams(location.search).get('q') === 'SLOWED <'")?;
    browser.ensure("document.querySelector('input[name=q]').value === 'SLOWED <'")?;
    opened.shot("list-searched")?;
    browser.click("form[role=search] a")?;
    lists(opened, &[slowed, same])?;
    choose(opened, "status", "failed")?;
    browser
        .until("document.querySelector('main').textContent.includes('Nothing in the store is like that')")?;
    choose(opened, "status", "done")?;
    lists(opened, &[slowed, same])?;
    opened.shot("list-filtered")?;
    choose(opened, "purpose", "campaign")?;
    browser.until("document.querySelector('main').textContent.includes('Nothing in the store is like that')")
}

/// Opened from the list: what was found, the step, its timeline; the list knows what was found afterwards.
fn report(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { slowed, .. } = runs;
    let browser = opened.browser;
    opened.again("")?;
    browser.click(&format!("tbody th a[href='/runs/{slowed}']"))?;
    is_at(opened, &format!("/runs/{slowed}"))?;
    opened.shot("report")?;
    browser.ensure("document.querySelector('.verdicts .slower').textContent.includes('slower')")?;
    browser.ensure("document.querySelector('.matrix tbody td.s4').textContent.includes('slower')")?;
    browser.click(".matrix thead th:nth-child(4) button")?;
    browser.until("document.querySelector('.matrix thead th:nth-child(4)').ariaSort === 'ascending'")?;
    browser.click(".matrix tbody th a")?;
    browser.until("document.getElementById('step-readrandom').closest('details').open")?;
    timelines::open_first(opened)?;
    opened.shot("report-step")?;
    // From the frame of the site to the whole text, and back.
    browser.ensure(&format!(
        "document.querySelector('.site-formats a[href$=\".json\"]').getAttribute('href') === '/runs/{slowed}/report.json'"
    ))?;
    browser.click(".site-formats a[href$='/raw']")?;
    is_at(opened, &format!("/runs/{slowed}/raw"))?;
    opened.shot("raw")?;
    browser.click(".site-nav a")?;
    browser.until(&format!(
        "[...document.querySelectorAll('tbody tr')].some((row) => row.textContent.includes('{slowed}') && row.textContent.includes('slower'))"
    ))
}

/// From a report to the host that it was measured on, how fast that was, and back to its runs.
fn host(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    opened.again(&format!("runs/{slowed}"))?;
    browser.click(".site-formats a[href^='/hosts/']")?;
    browser.until("document.readyState === 'complete' && location.pathname.startsWith('/hosts/')")?;
    opened.shot("host")?;
    browser.ensure("document.querySelector('a[aria-current=page]').textContent === 'Hosts'")?;
    browser.ensure("document.querySelectorAll('figure svg').length === 5")?;
    browser.ensure("document.querySelectorAll('tbody tr').length === 2")?;
    browser.ensure("document.querySelector('tbody').textContent.includes('±')")?;
    browser.click("main a[href='/hosts']")?;
    is_at(opened, "/hosts")?;
    opened.shot("hosts")?;
    browser.click("tbody a[href^='/?host=']")?;
    lists(opened, &[slowed, same])
}

/// From the list to the workload, from there to the step, from its rows to the run.
fn history(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    opened.again("")?;
    browser.click("tbody a[title='its history']")?;
    is_at(opened, "/history?workload=tiny")?;
    choose(opened, "step", "readrandom")?;
    browser.until("document.querySelector('h1').textContent === 'readrandom of tiny, over runs'")?;
    opened.shot("history")?;
    browser.ensure("document.querySelectorAll('figure svg').length > 0")?;
    browser.ensure("document.querySelectorAll('tbody tr').length === 4")?;
    for run in [same, slowed] {
        browser.ensure(&format!(
            "document.querySelectorAll(\"tbody a[href='/runs/{run}?step=readrandom']\").length === 2"
        ))?;
    }
    browser.ensure("document.querySelector('tbody').textContent.includes('injected slowdown')")?;
    browser.click(&format!("tbody a[href='/runs/{same}?step=readrandom']"))?;
    is_at(opened, &format!("/runs/{same}?step=readrandom"))?;
    browser.ensure("document.querySelector('main').textContent.includes('readrandom')")?;
    // The run's only step is no selection of it.
    browser.ensure("!document.querySelector('main').textContent.includes('Shown: ')")
}

/// Two picked in the list; one is not enough, and says so.
fn side_by_side(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    opened.again("")?;
    for run in [same, slowed] {
        browser.click(&format!("input[value='{run}']"))?;
    }
    browser.click("form[action='/compare'] button")?;
    browser.until("document.querySelector('h1').textContent === 'Two runs side by side'")?;
    opened.shot("side-by-side")?;
    let text = browser.script("return document.querySelector('main').innerText")?;
    let text = text.as_str().context("the page has no text")?;
    for part in [
        same,
        slowed,
        RELEASE,
        "readrandom",
        "It has no interval and no verdict",
        "slower",
        "(side 1)",
        "injected slowdown: a test",
    ] {
        ensure!(text.contains(part), "the page does not show `{part}`: {text}");
    }
    Ok(())
}

/// What an address showed, it shows again where nothing was opened before.
fn permalinks(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    let open = |path: &str| browser.open(&format!("{}{path}", opened.address));
    open("?q=slowed&status=done&purpose=compare")?;
    lists(opened, &[slowed])?;
    browser.ensure("['q', 'status', 'purpose'].map((name) => document.querySelector(`[name=${name}]`).value).join() === 'slowed,done,compare'")?;
    open(&format!("runs/{slowed}?step=readrandom#step-readrandom"))?;
    browser.until("document.getElementById('step-readrandom').closest('details').open")?;
    browser.until(
        "Math.abs(document.getElementById('step-readrandom').getBoundingClientRect().top) < innerHeight",
    )?;
    opened.shot("permalink")?;
    open("history?workload=tiny&step=readrandom&engine=rocksdb")?;
    browser.ensure("['workload', 'step', 'engine'].map((name) => document.querySelector(`[name=${name}]`).value).join() === 'tiny,readrandom,rocksdb'")?;
    open(&format!("compare?a={same}&b={slowed}"))?;
    browser.ensure("document.querySelector('h1').textContent === 'Two runs side by side'")?;
    // Less than an id leads to the address that stays.
    open("runs/last")?;
    is_at(opened, &format!("/runs/{slowed}"))
}

/// What is not there is told, with the way back. The browser itself notes each page that is not found.
fn nothing_there(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let browser = opened.browser;
    browser.open(&format!("{}runs/{}-not", opened.address, runs.same))?;
    opened.shot("no-such-run")?;
    browser.ensure("document.querySelector('h1').textContent === 'No such run'")?;
    let complaints = browser.complaints()?;
    ensure!(complaints.iter().all(|one| one.contains("404")), "the browser says: {}", complaints.join("; "));
    browser.click("main a[href='/']")?;
    is_at(opened, "/")
}

/// The host of the runs, as the list links it.
fn host_address(opened: &Opened<'_>) -> anyhow::Result<String> {
    opened.again("")?;
    let address = opened
        .browser
        .script("return document.querySelector(\"td a[href^='/hosts/']\").getAttribute('href')")?;
    Ok(address.as_str().context("the list links no host")?.trim_start_matches('/').to_owned())
}

/// Every page in the dark, and on a telephone, where only tables and charts scroll sideways.
fn dark_and_narrow(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    const PAPER: &str = "return getComputedStyle(document.documentElement).backgroundColor";
    let Runs { same, slowed } = runs;
    let browser = opened.browser;
    for (name, path) in [
        ("list", String::new()),
        ("report", format!("runs/{slowed}")),
        ("raw", format!("runs/{slowed}/raw")),
        ("history", "history?workload=tiny&step=readrandom".to_owned()),
        ("side-by-side", format!("compare?a={same}&b={slowed}")),
        ("hosts", "hosts".to_owned()),
        ("host", host_address(opened)?),
    ] {
        browser.open(&format!("{}{path}", opened.address))?;
        let light = browser.script(PAPER)?;
        browser.prefer_dark(true)?;
        ensure!(browser.script(PAPER)? != light, "{name} is {light} in dark and light");
        opened.shot(&format!("dark-{name}"))?;
        browser.prefer_dark(false)?;
        browser.resize(360, 780)?;
        reading::fits(opened, 360).with_context(|| name.to_owned())?;
        opened.shot(&format!("narrow-{name}"))?;
        browser.resize(1280, 900)?;
    }
    Ok(())
}

/// The list is narrowed down and a run is opened without a script, too.
fn without_script(opened: &Opened<'_>, runs: &Runs) -> anyhow::Result<()> {
    let Runs { slowed, .. } = runs;
    let browser = opened.browser;
    browser.run_scripts(false)?;
    opened.again("?q=slowed")?;
    browser.click(&format!("tbody th a[href='/runs/{slowed}']"))?;
    opened.shot("without-script-report")?;
    browser.run_scripts(true)?;
    is_at(opened, &format!("/runs/{slowed}"))?;
    browser.ensure("typeof dbdyno === 'undefined'")
}
