//! Text as it is drawn: the embedded font, how wide its letters are, names cut to fit.
//!
//! Layout needs widths before anything is drawn, and the same ones on every machine; so they come from the font that
//! files embed and images are drawn with. The font has neither kerning nor ligatures: widths are sums of advances.

use super::scene::Spot;
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_width::UnicodeWidthChar;

/// DejaVu Sans, Latin letters and the signs that charts use: `assets/font/README.md` says how it was made.
pub(super) const FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSans-latin.ttf");

/// Its name.
pub(super) const FAMILY: &str = "DejaVu Sans";

/// Stands where something was left out.
const ELLIPSIS: char = '…';

/// What a letter that the font lacks is taken to need, in em: as wide as those of Chinese and Japanese.
const WIDE_EM: f64 = 1.0;

/// Characters of a name in a note.
const BRIEF: usize = 80;

/// Of a shortened name this share stays at its beginning; the rest, its end, often tells names apart.
const HEAD_SHARE: f64 = 0.65;

/// The width of a drawn text in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let advance = advances();
    text.chars().map(|letter| advance(letter) * size).sum()
}

/// A name on one line that keeps to its place: runs of blanks and control characters are one space, signs that turn
/// the direction of what follows are left out, and of marks that pile up on a letter all but the first.
pub(super) fn on_one_line(name: &str) -> String {
    let mut line = String::new();
    let mut has_mark = false;
    for letter in name.chars().filter(|letter| !turns_direction(*letter)) {
        if letter.is_whitespace() || letter.is_control() {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
            continue;
        }
        let is_mark = letter.width() == Some(0);
        if !(is_mark && has_mark) {
            line.push(letter);
        }
        has_mark = is_mark;
    }
    line.truncate(line.trim_end().len());
    line
}

/// A name on one line that needs at most `room` pixels; cut in its middle where it is longer.
pub(super) fn fitted(name: &str, size: f64, room: f64) -> String {
    let line = on_one_line(name);
    let advance = advances();
    let needed = |letter: char| advance(letter) * size;
    if line.chars().map(needed).sum::<f64>() <= room {
        return line;
    }
    let letters = (room - needed(ELLIPSIS)).max(0.0);
    let head = prefix_within(line.chars(), letters * HEAD_SHARE, &needed);
    let head_width: f64 = head.chars().map(needed).sum();
    let tail: String =
        prefix_within(line.chars().rev(), letters - head_width, &needed).chars().rev().collect();
    format!("{}{ELLIPSIS}{}", head.trim_end(), tail.trim_start())
}

/// A name on one line for a note that repeats it often: at most [`BRIEF`] characters.
pub(super) fn brief(name: &str) -> String {
    let line = on_one_line(name);
    match line.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}{ELLIPSIS}", &line[..end]),
        None => line,
    }
}

/// A text broken between words into at most `lines` lines of `room` pixels; the last is cut where there is more.
pub(super) fn wrapped(text: &str, size: f64, room: f64, lines: usize) -> Vec<String> {
    let line = on_one_line(text);
    let mut words = line.split(' ').filter(|word| !word.is_empty()).peekable();
    let mut broken = Vec::new();
    while words.peek().is_some() && broken.len() + 1 < lines {
        let mut current = String::new();
        while let Some(word) = words.peek() {
            let longer = if current.is_empty() { (*word).to_owned() } else { format!("{current} {word}") };
            if !current.is_empty() && width(&longer, size) > room {
                break;
            }
            current = longer;
            words.next();
        }
        broken.push(fitted(&current, size, room));
    }
    if words.peek().is_some() {
        broken.push(fitted(&words.collect::<Vec<_>>().join(" "), size, room));
    }
    broken
}

/// As many characters from the front as fit into `room`.
fn prefix_within(letters: impl Iterator<Item = char>, room: f64, needed: &impl Fn(char) -> f64) -> String {
    let mut used = 0.0;
    letters
        .take_while(|letter| {
            used += needed(*letter);
            used <= room
        })
        .collect()
}

/// Unicode's marks, embeddings, overrides and isolates of direction.
fn turns_direction(letter: char) -> bool {
    matches!(letter, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The outline of a drawn text that begins at a spot of its base line; absent if there is nothing to be seen.
pub(super) fn outline(text: &str, begin: Spot, size: f64) -> Option<Path> {
    let font = font();
    let scale = near(size / f64::from(font.units_per_em()));
    let advance = advances();
    let (mut path, mut at) = (PathBuilder::new(), begin.x);
    for letter in text.chars() {
        // What the font lacks is its box for that.
        let glyph = font.glyph_index(letter).unwrap_or(GlyphId(0));
        font.outline_glyph(glyph, &mut Pen { path: &mut path, x: near(at), y: near(begin.y), scale });
        at += advance(letter) * size;
    }
    path.finish()
}

/// Writes the curves of a glyph into a path: units of the font, upwards, become pixels, downwards.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[expect(clippy::cast_possible_truncation, reason = "places in a picture, of some thousand pixels")]
pub(super) fn near(value: f64) -> f32 {
    value as f32
}

fn font() -> Face<'static> {
    Face::parse(FONT, 0).expect("the embedded font is one")
}

/// The advance of a letter in em.
fn advances() -> impl Fn(char) -> f64 {
    let font = font();
    let units = f64::from(font.units_per_em());
    move |letter| {
        let advance = font.glyph_index(letter).and_then(|glyph| font.glyph_hor_advance(glyph));
        advance.map_or(WIDE_EM, |advance| f64::from(advance) / units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // From the font's own table: M 1767, i 569 of 2048 units.
        assert!((width("M", 2048.0) - 1767.0).abs() < 1e-9, "{}", width("M", 2048.0));
        assert!((width("Mi", 10.0) - (1767.0 + 569.0) / 204.8).abs() < 1e-9);
        assert!((width("漢", 12.0) - 12.0).abs() < 1e-9, "what the font lacks is taken as wide");
    }

    #[test]
    fn the_font_has_the_signs_that_charts_use() {
        let font = font();
        for letter in ('!'..='~').chain("…–−×≤≥µ%±§äßéčŁ→·".chars()) {
            assert!(font.glyph_index(letter).is_some(), "{letter}");
        }
    }

    #[test]
    fn names_stand_on_one_line_and_keep_to_themselves() {
        assert_eq!(on_one_line("  a\r\n\tb\u{0}c \u{202e}d\u{2069} "), "a b c d");
        assert_eq!(on_one_line("\n\n"), "");
        assert_eq!(on_one_line("z\u{300}\u{301}\u{302}a\u{301}"), "z\u{300}a\u{301}");
    }

    #[test]
    fn a_name_that_is_too_long_keeps_its_beginning_and_its_end() {
        let name = "rocksdb@8.7.3+block-cache-of-sixteen-gibibytes-and-no-compression-b";
        let short = fitted(name, 12.0, 200.0);
        assert!(width(&short, 12.0) <= 200.0, "{short}");
        assert!(
            short.starts_with("rocksdb@8.7.3") && short.ends_with("-b") && short.contains('…'),
            "{short}"
        );
        assert_eq!(fitted("readrandom", 12.0, 200.0), "readrandom");
        assert_eq!(fitted(&"x".repeat(10_000), 12.0, 0.0), "…");
    }

    #[test]
    fn a_long_title_breaks_between_words_and_ends() {
        let lines = wrapped("relative rate of the steps of a workload over releases", 16.0, 200.0, 2);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains('…') && lines.iter().all(|line| width(line, 16.0) <= 200.0), "{lines:?}");
        assert_eq!(wrapped("short", 16.0, 200.0, 2), ["short"]);
        assert_eq!(wrapped("", 16.0, 200.0, 2), Vec::<String>::new());
    }
}
