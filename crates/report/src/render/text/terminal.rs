//! What a text is laid out for.

use crate::document::Tone;
use crate::render::layout::wrapped;

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; fewer than 80 are taken as 80.
    pub width: usize,
    /// Whether escape sequences for colour may be in it. They never carry a meaning of their own.
    pub colour: bool,
    /// Whether sections that are folded elsewhere are in it too.
    pub detail: bool,
}

/// Below this a table cannot hold two rates and an interval.
pub(crate) const LEAST_WIDTH: usize = 80;

/// What lines are made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

impl From<TextOptions> for Terminal {
    fn from(options: TextOptions) -> Terminal {
        Terminal { width: options.width.max(LEAST_WIDTH), colour: options.colour }
    }
}

impl Terminal {
    /// Wrapped, later lines indented.
    pub(super) fn paragraph(self, text: &str) -> String {
        wrapped(text, self.width, 2)
    }

    /// Paragraphs without a line between them.
    pub(super) fn paragraphs(self, texts: &[String]) -> String {
        texts.iter().map(|text| self.paragraph(text)).collect::<Vec<_>>().join("\n")
    }

    /// Every line of a text in its colour.
    pub(crate) fn toned(self, text: &str, tone: Tone) -> String {
        let sequence = match tone {
            Tone::Plain => "",
            Tone::Good => "\x1b[32m",
            Tone::Bad => "\x1b[31m",
            Tone::Strong => "\x1b[1m",
        };
        if !self.colour || sequence.is_empty() {
            return text.to_owned();
        }
        text.split('\n').map(|line| format!("{sequence}{line}\x1b[0m")).collect::<Vec<_>>().join("\n")
    }
}
