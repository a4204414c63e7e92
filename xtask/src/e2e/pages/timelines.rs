//! What a reader does with a timeline: zoom by mouse and keys, point at a second, take lines away.

use super::Opened;
use super::webdriver::{Spot, keys};
use anyhow::{Context, ensure};
use report::document::{Block, Document, Timeline};

const PLOT: &str = "figure.timeline[data-drawn] .stage > svg";
const PATHS: &str = "document.querySelector('figure.timeline').querySelectorAll('.stage path').length";

/// Unfolds the first timeline, and waits until it is drawn.
pub(super) fn open_first(opened: &Opened<'_>) -> anyhow::Result<()> {
    opened.browser.script(
        "const figure = document.querySelector('figure.timeline');\
         figure.closest('details').open = true; figure.scrollIntoView({ block: 'center' })",
    )?;
    opened.browser.until("'drawn' in document.querySelector('figure.timeline').dataset")
}

/// The first timeline of a document.
pub(super) fn first_of(document: &Document) -> anyhow::Result<&Timeline> {
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let found = blocks.find_map(|block| match block {
        Block::Timeline(timeline) => Some(timeline),
        Block::Paragraph(_)
        | Block::Items(_)
        | Block::Table(_)
        | Block::Matrix(_)
        | Block::Figure(_)
        | Block::Verbatim(_) => None,
    });
    found.context("the report has no timeline")
}

/// The points that are shown: the first, and the one after the last.
fn shown(opened: &Opened<'_>) -> anyhow::Result<(u64, u64)> {
    let shown = opened.browser.script("return document.querySelector('figure.timeline').dataset.shown")?;
    let (from, to) = shown.as_str().and_then(|shown| shown.split_once(' ')).context("nothing is shown")?;
    Ok((from.parse()?, to.parse()?))
}

fn is_all(opened: &Opened<'_>, timeline: &Timeline) -> anyhow::Result<()> {
    let count = timeline.lines.iter().map(|line| line.values[0].len() as u64).max().unwrap_or(0);
    let found = shown(opened)?;
    ensure!(found == (0, count), "{found:?} is shown of {count} points");
    Ok(())
}

/// Where all seconds do not fit, the page says so and names the way to them.
pub(super) fn merged(opened: &Opened<'_>) -> anyhow::Result<()> {
    open_first(opened)?;
    opened.shot("timeline")?;
    let stride =
        opened.browser.script("return Number(document.querySelector('figure.timeline').dataset.stride)")?;
    ensure!(
        stride.as_u64().is_some_and(|stride| stride > 1),
        "an hour of ten builds in 42 steps has stride {stride}"
    );
    let caption = format!("Each point covers {stride} seconds");
    opened.browser.ensure(&format!(
        "document.querySelector('figure.timeline figcaption').textContent.includes('{caption}')"
    ))
}

/// Pointing at a second or a block shows the values that were measured, of all lines.
pub(super) fn shows_every_point(opened: &Opened<'_>, timeline: &Timeline) -> anyhow::Result<()> {
    let browser = opened.browser;
    open_first(opened)?;
    for share in [0.2, 0.5, 0.8] {
        browser.hover(browser.spot(PLOT, share)?)?;
        browser.until("document.querySelector('figure.timeline output.at').textContent !== ''")?;
        let at = browser.script("return document.querySelector('figure.timeline output.at').textContent")?;
        let point = at
            .as_str()
            .and_then(|at| at.strip_prefix(timeline.x)?.trim_start().parse::<usize>().ok())
            .with_context(|| format!("the cursor stands at {at}"))?;
        let values = browser.script(
            "return [...document.querySelector('figure.timeline').querySelectorAll('.lines output')].map((one) => one.textContent)",
        )?;
        let values: Vec<String> = values.as_array().into_iter().flatten().map(as_digits).collect();
        let measured: Vec<String> = timeline
            .lines
            .iter()
            .map(|line| line.values[0][point].map_or_else(|| "-".to_owned(), |value| value.to_string()))
            .collect();
        ensure!(values == measured, "{} {point} shows {values:?}, measured was {measured:?}", timeline.x);
    }
    opened.shot("hover")
}

fn as_digits(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().replace(',', "")
}

pub(super) fn zooms(opened: &Opened<'_>, timeline: &Timeline) -> anyhow::Result<()> {
    let browser = opened.browser;
    open_first(opened)?;
    is_all(opened, timeline)?;
    let (_, count) = shown(opened)?;
    let at = |share: f64| browser.spot(PLOT, share);

    browser.drag(at(0.3)?, at(0.6)?)?;
    let (from, to) = shown(opened)?;
    ensure!(
        from > count / 10 && to < count * 8 / 10 && from < to,
        "dragging shows {from} to {to} of {count}"
    );
    opened.shot("zoomed")?;
    browser.double_click(at(0.5)?)?;
    is_all(opened, timeline).context("after a double click")?;

    browser.press(&["+", "+"])?;
    let (from, to) = shown(opened)?;
    ensure!(to - from < count / 2, "two plus keys show {from} to {to}");
    browser.press(&[keys::RIGHT])?;
    let moved = shown(opened)?;
    ensure!(moved.0 > from && moved.1 > to, "an arrow shows {moved:?} after {from} to {to}");
    browser.press(&[keys::LEFT, "-"])?;
    let (wider_from, wider_to) = shown(opened)?;
    ensure!(wider_to - wider_from > to - from, "minus shows {wider_from} to {wider_to}");
    browser.press_with_shift(keys::RIGHT)?;
    browser.ensure(&format!(
        "document.querySelector('figure.timeline output.at').textContent.startsWith('{} ')",
        timeline.x
    ))?;
    browser.press(&["0"])?;
    is_all(opened, timeline).context("after the key 0")?;

    browser.wheel(at(0.5)?, -120)?;
    let (from, to) = shown(opened)?;
    ensure!(to - from < count, "the wheel shows {from} to {to}");
    browser.click("figure.timeline button.all")?;
    is_all(opened, timeline).context("after the button")?;
    // A page scrolls where the chart was not asked for.
    let before = browser.script("return scrollY")?;
    let Spot { x, y } = at(0.5)?;
    browser.wheel(Spot { x, y }, 120)?;
    browser.until(&format!("scrollY !== {before}"))?;
    is_all(opened, timeline).context("after a wheel without a click before")
}

pub(super) fn toggles(opened: &Opened<'_>, timeline: &Timeline) -> anyhow::Result<()> {
    let browser = opened.browser;
    open_first(opened)?;
    let lines = timeline.lines.len();
    browser.ensure(&format!("{PATHS} === {lines}"))?;
    browser.click("figure.timeline .lines li:nth-child(1) input")?;
    browser.until(&format!("{PATHS} === {}", lines - 1))?;
    browser.click("figure.timeline .lines li:nth-child(1) label")?;
    browser.until(&format!("{PATHS} === {lines}"))?;
    for shown in [1, lines] {
        browser.shift_click("figure.timeline .lines li:nth-child(2) input")?;
        browser.until(&format!("{PATHS} === {shown}"))?;
        browser.until(&format!(
            "document.querySelector('figure.timeline').querySelectorAll('.lines input:checked').length === {shown}"
        ))?;
    }
    for scale in ["fit", "log", "zero"] {
        for metric in 0..timeline.metrics.len() {
            browser.script(&format!(
                "const [scale, metric] = ['scale', 'metric'].map((one) => document.querySelector(`figure.timeline .${{one}}`));\
                 scale.value = '{scale}'; metric.selectedIndex = {metric}; metric.dispatchEvent(new Event('input'))"
            ))?;
            let ticks = "document.querySelectorAll('figure.timeline .stage .rule').length";
            browser.ensure(&format!("{PATHS} === {lines} && {ticks} >= 2"))?;
            browser.ensure(
                "![...document.querySelectorAll('figure.timeline .stage path')].some((path) => /NaN|Infinity/.test(path.getAttribute('d')))",
            )?;
        }
        opened.shot(&format!("scale-{scale}"))?;
    }
    Ok(())
}
