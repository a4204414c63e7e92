//! Cases of pages in a browser that can reach no host but this one: what a reader does with a report and with `dbdyno
//! serve`, and what a page must not do.
//!
//! Made reports, because only those have 42 steps of ten builds; files of real runs; the pages of a server. Screenshots
//! stay below `pages` in cargo's target directory, to be looked at.

mod live;
mod made;
mod reading;
mod real;
mod served;
mod timelines;
mod webdriver;

use super::scratch::Scratch;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use webdriver::{Browser, Reach};

pub use made::judging;

pub fn cases() -> Vec<Case> {
    let mut cases = made::cases();
    cases.extend(real::cases());
    cases.extend(served::cases());
    cases.extend(live::cases());
    cases
}

/// A page that is open in a browser.
struct Opened<'a> {
    browser: &'a Browser,
    /// `file:///..`, `http://127.0.0.1:..`
    address: String,
    /// Where its screenshots go.
    shots: &'a Path,
}

impl Opened<'_> {
    fn shot(&self, name: &str) -> anyhow::Result<()> {
        self.browser.screenshot(&self.shots.join(format!("{name}.png")))
    }

    /// Loads the page again, at `#fragment` or its beginning.
    fn again(&self, fragment: &str) -> anyhow::Result<()> {
        self.browser.open(&format!("{}{fragment}", self.address))
    }

    /// Neither the page nor the browser has complained.
    fn is_quiet(&self) -> anyhow::Result<()> {
        let complaints = self.browser.complaints()?;
        ensure!(complaints.is_empty(), "the browser says: {}", complaints.join("; "));
        Ok(())
    }
}

/// A browser for a case, and where the case's screenshots go.
struct Screen {
    browser: Browser,
    shots: PathBuf,
}

impl Screen {
    /// Absent where no browser is installed.
    fn start(scratch: &Scratch, reach: Reach) -> anyhow::Result<Option<Screen>> {
        let Some(browser) = Browser::start(reach)? else { return Ok(None) };
        let case = scratch.directory.file_name().context("the case has no directory")?;
        let shots = workspace::target_directory()?.join("pages").join(case);
        fs::create_dir_all(&shots).with_context(|| format!("failed to create `{}`", shots.display()))?;
        browser.resize(1280, 900)?;
        Ok(Some(Screen { browser, shots }))
    }

    /// Opens an address in it.
    fn open(&self, address: String) -> anyhow::Result<Opened<'_>> {
        self.browser.open(&address)?;
        Ok(Opened { browser: &self.browser, address, shots: &self.shots })
    }
}

/// How a case ends where there is no browser.
fn no_browser() -> Ending {
    Ending::Skipped { reason: "chromium or chromium-driver is not installed".to_owned() }
}

/// Does this with a file, in a browser that can reach no host.
fn with_file(
    scratch: &Scratch,
    page: &Path,
    check: impl FnOnce(&Opened<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Ending> {
    let Some(screen) = Screen::start(scratch, Reach::Nowhere)? else { return Ok(no_browser()) };
    let opened = screen.open(format!("file://{}", page.display()))?;
    check(&opened)?;
    opened.is_quiet()?;
    Ok(Ending::Passed)
}
