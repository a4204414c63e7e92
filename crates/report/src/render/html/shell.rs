//! The frame of every page: its policy, style and script. Nothing in it is fetched, and nothing else may run.

use crate::charts::svg::{Scheme, style_sheet};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// Where a page may send requests to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connect {
    Nowhere,
    /// A page of `serve`: to the server that it came from.
    SameOrigin,
}

/// A page, as a file of its own: it may not send a request anywhere, and says so itself.
pub fn page(title: &str, body: Markup) -> String {
    let policy = content_security_policy(Connect::Nowhere);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                // Without it a browser asks the server for one.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE.as_str())) }
            }
            body {
                button.theme type="button" { "Theme: auto" }
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The policy of a page: only the style and the script that are in it, known by their hashes.
pub fn content_security_policy(connect: Connect) -> String {
    let own = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'",
        *STYLE_HASH, *SCRIPT_HASH
    );
    match connect {
        Connect::Nowhere => format!("{own}; form-action 'none'"),
        Connect::SameOrigin => format!("{own}; form-action 'self'; connect-src 'self'"),
    }
}

/// Tables with more columns than these have the rest laid out as text.
pub(super) const MOST_STYLED_COLUMNS: usize = 40;

/// Numbers, timelines that use them, and the page that uses both.
const SCRIPT: &str = concat!(
    include_str!("../../../assets/figures.js"),
    include_str!("../../../assets/timeline.js"),
    include_str!("../../../assets/report.js")
);

/// The colours of charts for light and dark pages, and the kinds of columns: a class on each cell instead of one on
/// its table would be a third of the file.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let mut style = include_str!("../../../assets/report.css").to_owned();
    const DRAWN: &str = ":is(.chart,.timeline)";
    style.push_str(&style_sheet(DRAWN, Scheme::Light));
    for (medium, root) in [
        ("screen and (prefers-color-scheme: dark)", ":root:not([data-theme=light])"),
        ("screen", ":root[data-theme=dark]"),
    ] {
        let rules = style_sheet(&format!("{root} {DRAWN}"), Scheme::Dark);
        style.push_str(&format!("@media {medium} {{\n{rules}}}\n"));
    }
    for column in 1..=MOST_STYLED_COLUMNS {
        style.push_str(&format!(".n{column} tr>:nth-child({column}){{text-align:right}}\n"));
        style
            .push_str(&format!(".p{column} tr>:nth-child({column}){{white-space:normal;min-width:14rem}}\n"));
    }
    style
});

static STYLE_HASH: LazyLock<String> = LazyLock::new(|| hash(&STYLE));
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(SCRIPT));

/// A text by its hash, as policies name it.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
        let from = page.find(start).unwrap() + start.len();
        &page[from..from + page[from..].find(end).unwrap()]
    }

    #[test]
    fn the_policy_allows_what_is_in_the_page_and_no_more() {
        let page = page("t", html! { p { "x" } });
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
        // What a browser hashes is what stands between the tags.
        let hashes = [("style-src", between(&page, "<style>", "</style>"))];
        let script = between(&page, "<script>", "</script>");
        for (directive, content) in hashes.into_iter().chain([("script-src", script)]) {
            assert!(policy.contains(&format!("{directive} '{}'", hash(content))), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("connect-src"), "{policy}");
        assert_eq!(page.matches("<script").count(), 1);
    }

    #[test]
    fn a_served_page_may_ask_its_server() {
        let policy = content_security_policy(Connect::SameOrigin);
        assert!(policy.contains("connect-src 'self'") && policy.contains("form-action 'self'"), "{policy}");
        assert!(!content_security_policy(Connect::Nowhere).contains("'self'"));
    }

    #[test]
    fn style_and_script_stay_in_their_elements_and_name_no_host() {
        for text in [STYLE.as_str(), SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"), "an end tag would end the element");
            let hosts = text.matches("http").count() - text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(hosts, 0, "nothing is fetched");
            assert!(!text.contains("url(") && !text.contains("@import"));
        }
    }

    #[test]
    fn a_title_is_escaped() {
        assert!(page("<i>&", html! {}).contains("<title>&lt;i&gt;&amp;</title>"));
    }
}
