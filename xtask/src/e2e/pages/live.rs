//! The page of a run in progress: it grows by itself while another process measures, and becomes the run's report.

use super::super::engines::RELEASE;
use super::super::scratch::Scratch;
use super::super::serve::{END_TIMEOUT, Served};
use super::super::tool::{Call, Running};
use super::super::{Case, Ending};
use super::webdriver::Reach;
use super::{Opened, Screen, no_browser, reading};
use anyhow::ensure;
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![Case::new("pages live", live)]
}

/// The run is in the list by then.
const LISTED_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);
/// Texts of the page that must have been seen: it asks every two seconds.
const LEAST_CHANGES: usize = 3;

fn live(scratch: &Scratch) -> anyhow::Result<Ending> {
    let Some(screen) = Screen::start(scratch, Reach::Loopback)? else { return Ok(no_browser()) };
    // There is a store before the server starts.
    super::super::serve::compared(scratch, &[])?;
    let server = Served::start(scratch, &[])?;
    // A launch of the tiny workload is over before the page asks again.
    let arguments = ["compare", RELEASE, RELEASE, "--workload", "quick", "--budget", "30s"];
    let mut measuring = Call::new(scratch, arguments).start()?;
    let opened = screen.open(format!("http://{}/?status=unfinished", server.address))?;
    found_in_the_list(&opened, &mut measuring)?;
    grows(&opened, &mut measuring)?;
    measuring.finish(END_TIMEOUT)?.expect_code(&[0])?;
    becomes_the_report(&opened)?;
    opened.is_quiet()?;
    server.end()?;
    Ok(Ending::Passed)
}

fn found_in_the_list(opened: &Opened<'_>, measuring: &mut Running) -> anyhow::Result<()> {
    const LINKS: &str = "return document.querySelectorAll(\"tbody a[href^='/live/']\").length";
    let began = Instant::now();
    while opened.browser.script(LINKS)? != 1 {
        ensure!(measuring.is_running()?, "the run ended before it was seen: {}", measuring.stderr_so_far()?);
        ensure!(began.elapsed() < LISTED_TIMEOUT, "the run is in no list");
        std::thread::sleep(POLL);
        opened.again("")?;
    }
    opened.shot("list")?;
    opened.browser.click("tbody a[href^='/live/']")?;
    opened.browser.until("document.querySelector('[data-live]') !== null")
}

/// Its texts change, its trials do not become fewer, and it is never loaded again: what a script left in it stays.
fn grows(opened: &Opened<'_>, measuring: &mut Running) -> anyhow::Result<()> {
    const SHOWN: &str = "const field = (name) => document.querySelector(`[data-field=${name}]`)?.textContent;\
        const done = [...document.querySelectorAll('[data-rows=steps] tr')].map((row) => Number(row.cells[1].textContent));\
        return { left: window.left ?? false, progress: field('progress') ?? null, alive: field('alive') ?? '',\
         done: done.reduce((sum, one) => sum + one, 0) }";
    let browser = opened.browser;
    browser.script("window.left = true")?;
    let mut seen: Vec<String> = Vec::new();
    let (mut most_done, mut seen_alive) = (0, false);
    while measuring.is_running()? {
        let shown = browser.script(SHOWN)?;
        // The run has ended in between, and the page is the report.
        let Some(progress) = shown["progress"].as_str() else { break };
        ensure!(shown["left"] == true, "the page was loaded again");
        let done = shown["done"].as_u64().unwrap_or(0);
        ensure!(done >= most_done, "{done} trials after {most_done}");
        most_done = done;
        seen_alive |= shown["alive"].as_str().is_some_and(|alive| alive.starts_with("Alive"));
        if seen.last().is_none_or(|last| last != progress) {
            seen.push(progress.to_owned());
            if seen.len() == LEAST_CHANGES {
                looked_at(opened)?;
            }
        }
        std::thread::sleep(POLL);
    }
    ensure!(seen.len() >= LEAST_CHANGES, "the page said only {seen:?}");
    ensure!(most_done > 0 && seen_alive, "{most_done} trials done, alive: {seen_alive}");
    Ok(())
}

/// In its three looks; a telephone shows it without scrolling sideways.
fn looked_at(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    opened.shot("live")?;
    browser.prefer_dark(true)?;
    opened.shot("live-dark")?;
    browser.prefer_dark(false)?;
    browser.resize(360, 780)?;
    reading::fits(opened, 360)?;
    opened.shot("live-narrow")?;
    browser.resize(1280, 900)
}

fn becomes_the_report(opened: &Opened<'_>) -> anyhow::Result<()> {
    opened
        .browser
        .until("location.pathname.startsWith('/runs/') && document.querySelector('.matrix') !== null")?;
    opened.shot("ended")?;
    opened.browser.ensure("document.querySelectorAll('.verdicts li').length >= 1")
}
