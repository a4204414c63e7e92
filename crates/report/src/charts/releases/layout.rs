//! What can be drawn of the lines of a chart of releases, and where its parts are: the plot, its scale, the releases along it, the major versions.

use super::super::frame::{self, EDGE, SMALL, TEXT, WIDTH};
use super::super::lettering::{fitted, width};
use super::super::palette::{Look, look};
use super::super::scale::{Domain, Scale, Tick, drawable};
use super::super::scene::{Area, Turn};
use super::super::{Band, Bands, Line, Point, Releases};

const PLOT_HEIGHT: f64 = 350.0;
/// Above the values, for the names of bands.
const BAND_HEAD: f64 = 18.0;
/// Up to so many lines are named at their ends; more have a legend below.
const MOST_END_LABELS: usize = 12;
/// Names at the ends of lines are cut to this width.
pub(super) const END_LABEL_ROOM: f64 = 190.0;
/// From the end of a line to its name: a connecting stroke and a marker.
pub(super) const LEADER: f64 = 32.0;
/// Names of releases are cut to this width, or to their share of the plot where that is more.
const RELEASE_ROOM: f64 = 120.0;
/// The plot is at least about as wide, however long the names beside it are.
const LEAST_PLOT_WIDTH: f64 = 640.0;
/// Markers of a line are at least this far apart; where points are nearer, some have none.
const MARKER_PITCH: f64 = 14.0;
/// Intervals of lines at one release stand beside each other, so far apart.
const INTERVAL_PITCH: f64 = 4.0;
/// Before the first and after the last release, where there are few.
const LEAST_MARGIN: f64 = 26.0;
/// Sine and cosine of 45 degrees.
const SLANT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// A line with what can be drawn of it.
pub(super) struct Drawn<'a> {
    pub line: &'a Line,
    pub index: usize,
    pub look: Look,
    pub points: Vec<Option<Point>>,
    /// How far it stands beside the place of the release, in parts of the distance that lines have.
    pub beside: f64,
}

impl<'a> Drawn<'a> {
    pub fn of((index, line): (usize, &'a Line), chart: &Releases) -> Self {
        let points = line.points.iter().take(chart.releases.len()).map(|point| drawable(*point)).collect();
        let middle = (chart.lines.len() as f64 - 1.0) / 2.0;
        Self { line, index, look: look(index), points, beside: index as f64 - middle }
    }

    pub fn last(&self) -> Option<Point> {
        self.points.iter().rev().copied().flatten().next()
    }
}

/// Where things are.
pub(super) struct Layout {
    pub plot: Area,
    pub scale: Scale,
    pub ticks: Vec<Tick>,
    /// The middle of each release.
    pub places: Vec<f64>,
    pub pitch: f64,
    /// Every so many points have a marker.
    pub marker_stride: usize,
    /// Between lines at one release.
    pub beside: f64,
    /// Names of releases and how they stand.
    pub names: Vec<String>,
    pub turn: Turn,
    pub release_height: f64,
    pub bands: Vec<Stretch>,
    pub has_end_labels: bool,
}

impl Layout {
    pub fn of(chart: &Releases, lines: &[Drawn], points: &[Point], top: f64) -> Self {
        let count = chart.releases.len();
        let plot_top = top + 30.0;
        let domain = Domain::of(points, chart.reference);
        let bands = stretches(chart);
        let head = if bands.is_empty() { 0.0 } else { BAND_HEAD };
        let scale = Scale { domain, start: plot_top + PLOT_HEIGHT, end: plot_top + head };
        let ticks = domain.ticks(7);
        let named: Vec<&Drawn> = lines.iter().filter(|line| line.last().is_some()).collect();
        let has_end_labels = named.len() <= MOST_END_LABELS;
        let name_room = (LEAST_PLOT_WIDTH / count.max(1) as f64 - 12.0).max(RELEASE_ROOM);
        let names: Vec<String> =
            chart.releases.iter().map(|release| fitted(release, SMALL, name_room)).collect();
        let widest_name = names.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max);

        let tick_room = ticks.iter().map(|tick| width(&tick.text, SMALL)).fold(0.0, f64::max) + 8.0;
        let right = if has_end_labels {
            let labels = named.iter().map(|line| line.line.name.as_str());
            WIDTH - EDGE - LEADER - frame::widest(labels, TEXT, END_LABEL_ROOM)
        } else {
            WIDTH - EDGE
        };
        let level_plot =
            Area { left: EDGE + tick_room, top: plot_top, right, bottom: plot_top + PLOT_HEIGHT };
        let turn = if widest_name + 10.0 <= Row::of(&level_plot, count, widest_name).pitch {
            Turn::Level
        } else {
            Turn::Rising
        };
        let plot = match turn {
            Turn::Level => level_plot,
            // A name rises to its release from the left, the first ones from beside the plot.
            Turn::Rising => {
                Area { left: level_plot.left.max(EDGE + widest_name * SLANT - 12.0), ..level_plot }
            }
        };
        let Row { first, pitch } = Row::of(&plot, count, widest_name);
        let places = (0..count).map(|release| first + pitch * release as f64).collect();
        let release_height = match turn {
            Turn::Level => 20.0,
            Turn::Rising => 14.0 + widest_name * SLANT,
        };
        let marker_stride = (1..count).find(|stride| *stride as f64 * pitch >= MARKER_PITCH).unwrap_or(1);
        let beside = ((pitch * 0.5).min(LEAST_MARGIN * 1.8) / lines.len().max(1) as f64).min(INTERVAL_PITCH);
        Self {
            plot,
            scale,
            ticks,
            places,
            pitch,
            marker_stride,
            beside,
            names,
            turn,
            release_height,
            bands,
            has_end_labels,
        }
    }
}

/// Where releases stand along the plot.
struct Row {
    first: f64,
    pitch: f64,
}

impl Row {
    /// With room for half a name at both ends; one release stands in the middle.
    fn of(plot: &Area, count: usize, widest_name: f64) -> Self {
        let margin = (plot.width() / count.max(1) as f64 / 2.0).min((widest_name / 2.0).max(LEAST_MARGIN));
        let pitch = (plot.width() - 2.0 * margin) / count.saturating_sub(1).max(1) as f64;
        let first = if count == 1 { plot.left + plot.width() / 2.0 } else { plot.left + margin };
        Self { first, pitch }
    }
}

/// Neighbouring releases of one major version, or others that belong together.
pub(super) struct Stretch {
    /// Index of the first of them.
    pub first: usize,
    pub count: usize,
    /// `8.x`
    pub name: String,
}

fn stretches(chart: &Releases) -> Vec<Stretch> {
    match &chart.bands {
        Bands::MajorVersions => majors(&chart.releases),
        Bands::Of(bands) => {
            let mut first = 0;
            let stretch = |band: &Band| {
                let stretch = Stretch { first, count: band.count, name: band.name.clone() };
                first = first.saturating_add(band.count);
                stretch
            };
            bands.iter().map(stretch).collect()
        }
    }
}

/// The major versions; none where there is but one, or where most have one release: bands would be stripes.
fn majors(releases: &[String]) -> Vec<Stretch> {
    let Some(majors) = releases.iter().map(|release| major(release)).collect::<Option<Vec<&str>>>() else {
        return Vec::new();
    };
    let mut runs: Vec<Stretch> = Vec::new();
    for run in majors.chunk_by(|one, other| one == other) {
        let first = runs.last().map_or(0, |last| last.first + last.count);
        runs.extend(run.first().map(|major| Stretch { first, count: run.len(), name: format!("{major}.x") }));
    }
    if runs.len() < 2 || runs.len() * 2 > majors.len() { Vec::new() } else { runs }
}

/// The major version of a release: `8` of `rocksdb@8.6.7`; none where it does not begin with a number and a dot.
fn major(release: &str) -> Option<&str> {
    let version = release.rsplit('@').next()?;
    let (major, _) = version.split_once('.')?;
    let is_number = !major.is_empty() && major.len() <= 4 && major.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_number_before_the_first_dot() {
        let majors =
            ["rocksdb@8.6.7", "16.4", "8.0.36+small", "a1b2c3", "x.1", "12345.1", ".1", "8"].map(major);
        assert_eq!(majors, [Some("8"), Some("16"), Some("8"), None, None, None, None, None]);
    }
}
