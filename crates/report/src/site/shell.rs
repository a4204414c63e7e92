//! The frame of every page: navigation, our own style and script, and the policy that lets the browser run nothing else.

use super::{cells, links};
use crate::render::html::shell;
use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/site.css");
const SCRIPT: &str = include_str!("../../assets/live.js");

/// Where a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    Runs,
    /// A step over runs.
    History,
    /// The hosts, or one of them over time.
    Hosts,
    /// What watches have found.
    Watches,
    Elsewhere,
}

/// A page of the site.
pub fn page(title: &str, here: Here, body: Markup) -> String {
    let framed = html! {
        (navigation(here))
        main.site { (body) }
    };
    finished(&shell::page(&format!("{title} · dbdyno"), framed))
}

/// A report that stands by itself as a page of the site; `endings` are those of the files that it can be had as, with
/// their names. `host` is where it was measured, if it is of a run.
pub fn framed_report(report: &str, id: &str, endings: &[(&str, &str)], host: Option<&str>) -> String {
    let links = html! {
        (navigation(Here::Elsewhere))
        p.site.site-formats {
            "This report as "
            @for (index, (ending, shown)) in endings.iter().enumerate() {
                @if index > 0 { ", " }
                a href=(links::report_file(id, ending)) { (shown) }
            }
            " · "
            a href=(links::raw_list(id)) { "raw output" }
            @if let Some(host) = host { " · host " a href=(links::host(host)) { (cells::name(host)) } }
        }
    };
    finished(&after_body_tag(report, &links.into_string()))
}

/// What was found on the hosts of a campaign as a page of the site, with the way to the report of each run that is not on it: its id and its
/// host.
pub fn framed_campaign(report: &str, runs: &[(String, String)]) -> String {
    let head = html! {
        (navigation(Here::Hosts))
        @if !runs.is_empty() {
            p.site.site-formats {
                "Each host by itself: "
                @for (index, (run, host)) in runs.iter().enumerate() {
                    @if index > 0 { ", " }
                    a href=(links::report(run)) { (cells::name(host)) }
                }
            }
        }
    };
    finished(&after_body_tag(report, &head.into_string()))
}

/// The content security policy of every page, for the response's header: that of reports, and our style and script.
pub fn policy() -> String {
    let own = |policy: &str, directive: &str, text: &str| {
        policy.replacen(&format!("{directive} "), &format!("{directive} '{}' ", shell::hash(text)), 1)
    };
    let policy = shell::content_security_policy(shell::Connect::SameOrigin);
    own(&own(&policy, "style-src", STYLE), "script-src", SCRIPT)
}

/// The policy of what is no page: nothing may run or be loaded.
pub const POLICY_OF_FILES: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

fn navigation(here: Here) -> Markup {
    let current = |it: Here| (it == here).then_some("page");
    html! {
        nav.site.site-nav aria-label="dbdyno" {
            a href="/" aria-current=[current(Here::Runs)] { "Runs" }
            " "
            a href="/history" aria-current=[current(Here::History)] { "History" }
            " "
            a href=(links::HOSTS) aria-current=[current(Here::Hosts)] { "Hosts" }
            " "
            a href=(links::WATCHES) aria-current=[current(Here::Watches)] { "Watches" }
        }
    }
}

/// With our style and script, and the policy of the header in place of the one that the page brings.
fn finished(page: &str) -> String {
    let own = html! {
        style { (PreEscaped(STYLE)) }
        script { (PreEscaped(SCRIPT)) }
    };
    let mut page = page.to_owned();
    for connect in [shell::Connect::Nowhere, shell::Connect::SameOrigin] {
        page = page.replacen(&shell::content_security_policy(connect), &policy(), 1);
    }
    // At the end: behind the policy, which must come first, and where the script finds the page.
    match page.rfind("</body>") {
        Some(at) => format!("{}{}{}", &page[..at], own.into_string(), &page[at..]),
        None => page + &own.into_string(),
    }
}

fn after_body_tag(page: &str, inserted: &str) -> String {
    let end = page.find("<body").and_then(|at| page[at..].find('>').map(|length| at + length + 1));
    match end {
        Some(end) => format!("{}{inserted}{}", &page[..end], &page[end..]),
        None => page.to_owned(),
    }
}
