//! A document as a blog post in Markdown, with the fixed parts of the Small Datum posts: tl;dr, builds, hardware,
//! benchmark with the command line, results with the base named, a paragraph for each finding.

use crate::document::{Document, Level, PostPart, Section, Sentence};
use crate::render::layout::printable;
use crate::render::markdown::{MARKDOWN, escaped, fenced, notice};
use crate::render::markup::together;

/// A chart that lies beside the post as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illustration {
    /// Its file, with its ending.
    pub file: String,
    pub caption: String,
}

/// More sentences than this are no summary.
const MOST_SHORT: usize = 8;

/// The post, with charts that lie beside it.
pub fn render(document: &Document, charts: &[Illustration]) -> String {
    let mut parts = vec![format!("# {}", escaped(&printable(&document.title)))];
    parts.extend(part("tl;dr", vec![short(&document.found)]));
    for (place, title) in [
        (PostPart::Builds, "Builds"),
        (PostPart::Hardware, "Hardware"),
        (PostPart::Benchmark, "Benchmark"),
        (PostPart::Results, "Results"),
        (PostPart::Findings, "Findings"),
        (PostPart::Differs, "What differs besides the code"),
    ] {
        let mut content = in_part(document, place, title);
        match place {
            PostPart::Benchmark => {
                let intro = document.intro.iter().map(|paragraph| escaped(paragraph));
                content.splice(0..0, intro);
                let command = document.command.as_ref();
                content.extend(command.map(|command| format!("Measured by:\n\n{}", fenced(command))));
            }
            PostPart::Results => content.extend(charts.iter().map(illustration)),
            PostPart::Builds | PostPart::Hardware | PostPart::Findings | PostPart::Differs => {}
        }
        parts.extend(part(title, content));
    }
    let warnings: Vec<String> = document.warnings.iter().map(notice).collect();
    parts.extend(part("What to know", vec![warnings.join("\n")]));
    together(parts)
}

/// What stands under a heading; nothing where that is nothing.
fn part(title: &str, mut content: Vec<String>) -> Vec<String> {
    content.retain(|part| !part.is_empty());
    if !content.is_empty() {
        content.insert(0, format!("## {title}"));
    }
    content
}

fn short(found: &[Sentence]) -> String {
    let mut items: Vec<String> =
        found.iter().take(MOST_SHORT).map(|sentence| MARKDOWN.item(&sentence.text)).collect();
    if let Some(more @ 1..) = found.len().checked_sub(MOST_SHORT) {
        items.push(MARKDOWN.item(&format!("and {more} more, below")));
    }
    items.join("\n")
}

/// The sections of a part. Documents that have none for any part show what they show everywhere under the results.
fn in_part(document: &Document, place: PostPart, title: &str) -> Vec<String> {
    let has_parts = document.sections.iter().any(|section| section.post.is_some());
    let is_here = |section: &&Section| match (has_parts, place) {
        (true, _) => section.post == Some(place),
        (false, PostPart::Results) => section.level == Level::Shown,
        (false, _) => false,
    };
    let mut parts = Vec::new();
    for section in document.sections.iter().filter(is_here) {
        let content = MARKDOWN.blocks(&section.blocks);
        if !content.is_empty() && section.title != title {
            parts.push(format!("### {}", escaped(&printable(&section.title))));
        }
        parts.extend(content);
    }
    parts
}

fn illustration(chart: &Illustration) -> String {
    let caption = escaped(&chart.caption);
    // Within its brackets a closing one would end it.
    let alternative = caption.replace(']', "\\]");
    format!("![{alternative}]({})\n\n{caption}", file_url(&chart.file))
}

/// A file name where Markdown wants an address.
fn file_url(file: &str) -> String {
    let mut url = String::new();
    for byte in file.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' => url.push(char::from(byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests;
