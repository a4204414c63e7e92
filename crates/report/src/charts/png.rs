//! Charts as PNG: the SVG file drawn with the embedded font alone, so that no font of the machine takes part.

use super::lettering::{FAMILY, FONT};
use super::{Chart, svg};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels of the image per pixel of the view box: sharp on today's screens.
const SCALE: u16 = 2;

/// An image higher than this is refused: nobody looks at it, and it needs a quarter of a gigabyte.
const MOST_PIXELS_HIGH: u32 = 32_768;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The SVG was not understood: a fault of ours.
    #[error("failed to read the chart's own SVG")]
    Svg(#[from] resvg::usvg::Error),
    #[error(
        "a chart of {height} pixels is too high for an image of at most {MOST_PIXELS_HIGH}; write it as SVG"
    )]
    TooHigh {
        /// In pixels of the image.
        height: u32,
    },
    #[error("failed to pack the image of a chart")]
    Packing(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The chart as a PNG image, twice as many pixels as [`svg::file`] is wide and high.
pub fn render(chart: &Chart) -> Result<Vec<u8>, PngError> {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let options = Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&svg::for_image(chart), &options)?;
    let size = tree.size().to_int_size();
    let width = size.width().saturating_mul(u32::from(SCALE));
    let height = size.height().saturating_mul(u32::from(SCALE));
    let pixels = (height <= MOST_PIXELS_HIGH).then(|| Pixmap::new(width, height)).flatten();
    let mut pixels = pixels.ok_or(PngError::TooHigh { height })?;
    let transform = Transform::from_scale(f32::from(SCALE), f32::from(SCALE));
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Packing(error.into()))
}
