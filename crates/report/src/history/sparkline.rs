//! A series on one line: eight heights, a bar before each step, a dot where there is no value.

use findings::history::SeriesView;

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where a step begins.
const STEP: char = '|';
/// Where there is no value.
const GAP: char = '·';

/// At most `width` characters: long series are drawn by means of neighbours.
pub(super) fn sparkline(series: &SeriesView, width: usize) -> String {
    let steps: Vec<usize> = series
        .changes
        .iter()
        .filter(|change| !change.glitch)
        .filter_map(|change| series.releases.iter().position(|release| *release == change.version))
        .collect();
    let room = width.saturating_sub(steps.len()).max(1);
    let per_bin = series.values.len().div_ceil(room).max(1);
    let bins: Vec<Option<f64>> = series
        .values
        .chunks(per_bin)
        .map(|bin| analysis::student::mean(&bin.iter().flatten().copied().collect::<Vec<f64>>()))
        .collect();
    let known = || bins.iter().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let mut line = String::new();
    for (bin, value) in bins.iter().enumerate() {
        if steps.iter().any(|step| step / per_bin == bin) {
            line.push(STEP);
        }
        line.push(value.map_or(GAP, |value| height(value, low, high)));
    }
    line
}

/// Linear between the smallest and the largest value; one that is all there is stands in the middle.
fn height(value: f64, low: f64, high: f64) -> char {
    if high <= low {
        return HEIGHTS[HEIGHTS.len() / 2];
    }
    let share = (value - low) / (high - low);
    let top = HEIGHTS.len() - 1;
    HEIGHTS
        .into_iter()
        .enumerate()
        .find(|(at, _)| share * top as f64 <= *at as f64 + 0.5)
        .map_or(HEIGHTS[top], |(_, height)| height)
}
