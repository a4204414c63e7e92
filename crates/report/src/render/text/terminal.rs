//! What lines of text are made for: a width, and whether there are colours.

use crate::render::layout::wrapped;
use crate::signs::Tone;

/// What lines are made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) width: usize,
    pub(crate) colour: bool,
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
            Tone::Faint => "\x1b[2m",
        };
        if !self.colour || sequence.is_empty() {
            return text.to_owned();
        }
        text.split('\n').map(|line| format!("{sequence}{line}\x1b[0m")).collect::<Vec<_>>().join("\n")
    }
}
