//! What a reader does with the words and tables of a report: sort, filter, follow links, fold, print.

use super::Opened;
use super::webdriver::keys;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;

/// The overview by its first candidate: up, down, as it was.
pub(super) fn sorts(opened: &Opened<'_>) -> anyhow::Result<()> {
    const HEAD: &str = ".matrix thead th:nth-child(4)";
    const STEPS: &str =
        "return [...document.querySelectorAll('.matrix tbody th')].map((one) => one.textContent)";
    const RATIOS: &str = "return [...document.querySelectorAll('.matrix tbody tr')]\
        .map((row) => row.cells[3].dataset.value === undefined ? null : Number(row.cells[3].dataset.value))";
    let browser = opened.browser;
    let given = browser.script(STEPS)?;
    for (order, sign) in [("ascending", 1.0), ("descending", -1.0)] {
        browser.click(&format!("{HEAD} button"))?;
        browser.until(&format!("document.querySelector('{HEAD}').ariaSort === '{order}'"))?;
        let ratios = browser.script(RATIOS)?;
        let ratios = ratios.as_array().context("no ratios")?;
        let known: Vec<f64> = ratios.iter().map_while(Value::as_f64).map(|ratio| sign * ratio).collect();
        ensure!(known.is_sorted() && known.len() >= ratios.len() - 1, "{order}: {ratios:?}");
        ensure!(
            ratios.iter().skip(known.len()).all(Value::is_null),
            "a missing ratio is not last: {ratios:?}"
        );
    }
    opened.shot("sorted")?;
    browser.click(&format!("{HEAD} button"))?;
    browser.until(&format!("document.querySelector('{HEAD}').ariaSort === 'none'"))?;
    ensure!(browser.script(STEPS)? == given, "the third click does not restore the order");
    Ok(())
}

/// 900 KiB come before 3.5 MiB, and 1,034 before 9,000.
pub(super) fn sorts_values_with_units(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    opened.again("#step-0")?;
    for column in [2, 5, 6] {
        let head = format!("details[open] figure.table th:nth-child({column})");
        browser.click(&format!("{head} button"))?;
        browser.until(&format!("document.querySelector('{head}').ariaSort === 'ascending'"))?;
        let values = browser.script(&format!(
            "return [...document.querySelectorAll('details[open] figure.table tbody tr')]\
             .map((row) => dbdyno.valueOf(row.cells[{}].textContent))",
            column - 1
        ))?;
        let values: Vec<f64> = values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        ensure!(values.len() == 3 && values.is_sorted(), "column {column}: {values:?}");
    }
    browser.ensure("dbdyno.valueOf('900 KiB') === 921600 && dbdyno.valueOf('1,034') === 1034")?;
    browser.ensure("dbdyno.valueOf('9 min 40 s') === 580 && dbdyno.valueOf('*~ [0.99, 1.01]') === 1")?;
    browser.ensure("Number.isNaN(dbdyno.valueOf('-')) && dbdyno.valueOf('-4.1 %') === -4.1")
}

/// What the overview is filtered by.
pub(super) struct Filtered<'a> {
    /// A part of the name of some of its steps, not of all.
    pub text: &'a str,
    /// The group of some of them.
    pub group: &'a str,
    /// How many there are.
    pub steps: usize,
}

pub(super) fn filters(opened: &Opened<'_>, by: &Filtered<'_>) -> anyhow::Result<()> {
    const SHOWN: &str = "[...document.querySelectorAll('.matrix tbody tr:not([hidden])')]";
    let Filtered { text, group, steps } = by;
    let browser = opened.browser;
    browser.press(&["/"])?;
    browser.ensure("document.activeElement.matches('.matrix input.filter')")?;
    browser.write(text)?;
    browser.until(&format!(
        "{SHOWN}.length > 0 && {SHOWN}.length < {steps} && {SHOWN}.every((row) => row.cells[0].textContent.includes('{text}'))"
    ))?;
    browser.ensure(&format!(
        "document.querySelector('.matrix output.count').textContent === `${{{SHOWN}.length}} of {steps} steps`"
    ))?;
    opened.shot("filtered")?;
    browser.press(&[keys::ESCAPE])?;
    browser.until(&format!("{SHOWN}.length === {steps}"))?;
    browser.click(".matrix input.moved")?;
    browser.until(&format!("{SHOWN}.length < {steps} && {SHOWN}.every((row) => 'moved' in row.dataset)"))?;
    browser.click(".matrix input.moved")?;
    browser.script(&format!(
        "const group = document.querySelector('.matrix select.group');\
         group.value = '{group}'; group.dispatchEvent(new Event('input'))",
    ))?;
    browser.until(&format!(
        "{SHOWN}.length > 0 && {SHOWN}.length < {steps} && {SHOWN}.every((row) => row.dataset.group === '{group}')"
    ))
}

/// From the overview to its last step, by its link.
pub(super) fn leads_to_a_step(opened: &Opened<'_>) -> anyhow::Result<()> {
    const LINK: &str = ".matrix tbody tr:last-child th a";
    let browser = opened.browser;
    opened.again("")?;
    let fragment =
        browser.script(&format!("return document.querySelector('{LINK}').getAttribute('href')"))?;
    let step =
        fragment.as_str().and_then(|fragment| fragment.strip_prefix('#')).context("no link to a step")?;
    browser.click(LINK)?;
    let section = format!("document.getElementById('{step}')");
    browser.until(&format!("location.hash === '#{step}' && {section}.closest('details').open"))?;
    browser.until(&format!("Math.abs({section}.getBoundingClientRect().top) < innerHeight"))?;
    opened.shot("step")
}

/// The list of sections, by a part of the name of a few of them.
pub(super) fn filters_sections(opened: &Opened<'_>, part: &str) -> anyhow::Result<()> {
    let browser = opened.browser;
    browser.click("nav input.filter")?;
    browser.write(part)?;
    opened.shot("sections-filtered")?;
    browser.until(&format!(
        "(() => {{ const shown = [...document.querySelectorAll('nav li:not([hidden])')];\
         return shown.length > 0 && shown.length < 5 && shown.every((one) => one.textContent.includes('{part}')) }})()",
    ))
}

/// All sections at once, and folded again.
pub(super) fn unfolds(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    browser.click("nav button.unfold")?;
    browser.until("document.querySelectorAll('main details.part:not([open])').length === 0")?;
    // Whatever is now on the screen is drawn without a complaint.
    opened.shot("unfolded")?;
    browser.click("nav button.unfold")?;
    browser.until("document.querySelectorAll('main details.part[open]').length === 0")
}

/// A reader without a mouse: past the navigation, to a header, to a section.
pub(super) fn is_walked_by_keys(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    let reach = |what: &str| -> anyhow::Result<()> {
        for _ in 0..200 {
            browser.press(&[keys::TAB])?;
            if browser.script(&format!("return document.activeElement.matches('{what}')"))? == true {
                return Ok(());
            }
        }
        anyhow::bail!("200 tabs do not reach `{what}`")
    };
    opened.again("")?;
    reach("a.skip")?;
    browser.ensure("document.activeElement.getBoundingClientRect().left >= 0")?;
    opened.shot("skip-link")?;
    browser.press(&[keys::ENTER])?;
    browser.until("document.activeElement.matches('main')")?;
    reach(".matrix thead button")?;
    browser.press(&[keys::ENTER])?;
    browser.until("document.activeElement.closest('th').ariaSort === 'ascending'")?;
    browser.ensure("getComputedStyle(document.activeElement).outlineStyle !== 'none'")?;
    reach("main details.part > summary")?;
    browser.press(&[keys::ENTER])?;
    browser.until("document.activeElement.parentElement.open")?;
    reach("figure.timeline svg")?;
    opened.shot("focus")
}

pub(super) fn themes(opened: &Opened<'_>) -> anyhow::Result<()> {
    const PAPER: &str = "return getComputedStyle(document.documentElement).backgroundColor";
    let browser = opened.browser;
    opened.again("")?;
    let light = browser.script(PAPER)?;
    browser.prefer_dark(true)?;
    let dark = browser.script(PAPER)?;
    ensure!(light != dark, "the page is {light} in dark and light");
    opened.shot("dark")?;
    super::timelines::open_first(opened)?;
    opened.shot("dark-timeline")?;
    // The reader's choice goes before the system's.
    browser.click("button.theme")?;
    browser.ensure("document.documentElement.dataset.theme === 'dark'")?;
    browser.click("button.theme")?;
    ensure!(browser.script(PAPER)? == light, "a light page was asked for");
    browser.prefer_dark(false)?;
    browser.click("button.theme")?;
    ensure!(browser.script(PAPER)? == light, "the system's choice is light");
    Ok(())
}

/// On a telephone the page itself does not scroll sideways, only its tables.
pub(super) fn is_narrow(opened: &Opened<'_>) -> anyhow::Result<()> {
    opened.browser.resize(360, 780)?;
    opened.again("")?;
    opened.shot("narrow")?;
    opened
        .browser
        .script("for (const part of document.querySelectorAll('main details')) part.open = true")?;
    fits(opened, 360)?;
    super::timelines::open_first(opened)?;
    opened.shot("narrow-timeline")?;
    opened.browser.resize(1280, 900)
}

/// Nothing is wider than a window of this width; what is, is named.
pub(super) fn fits(opened: &Opened<'_>, width: u32) -> anyhow::Result<()> {
    let widest = opened.browser.script(&format!(
        "const wide = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > {width} + 1\
         && !one.closest('.scroll, .site-scroll, pre, svg, .skip, .heard'));\
         return wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 200))",
    ))?;
    opened
        .browser
        .ensure(&format!("document.documentElement.scrollWidth <= {width}"))
        .with_context(|| format!("wide: {widest}"))
}

/// Without a script everything is there to be read, and what would do nothing is not shown.
pub(super) fn needs_no_script(opened: &Opened<'_>) -> anyhow::Result<()> {
    let browser = opened.browser;
    let step = browser.script("return document.querySelector('.matrix tbody th a').getAttribute('href')")?;
    let step = step.as_str().context("no link to a step")?;
    browser.run_scripts(false)?;
    opened.again("")?;
    opened.shot("without-script")?;
    opened.again(step)?;
    opened.shot("without-script-step")?;
    browser.run_scripts(true)?;
    browser
        .ensure("typeof dbdyno === 'undefined' && document.querySelectorAll('th > button').length === 0")?;
    browser.ensure(&format!("document.querySelector('{step}').closest('details').open"))?;
    browser.ensure("document.querySelectorAll('figure.timeline svg.still path').length > 0")?;
    let steps = browser.script("return document.querySelectorAll('.matrix tbody tr').length")?;
    ensure!(steps.as_u64().is_some_and(|steps| steps > 0), "{steps} steps are shown");
    opened.again("")
}

pub(super) fn prints(opened: &Opened<'_>) -> anyhow::Result<()> {
    opened.again("")?;
    let pdf = opened.browser.print()?;
    ensure!(pdf.starts_with(b"%PDF-") && pdf.len() > 20_000, "{} bytes were printed", pdf.len());
    fs::write(opened.shots.join("printed.pdf"), pdf)?;
    // What was folded is folded again.
    opened.browser.until("document.querySelectorAll('main details.part[open]').length === 0")
}
