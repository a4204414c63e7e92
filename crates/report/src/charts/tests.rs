//! Charts of all kinds, drawn and read back: what is in them, that nothing leaves them, that names do no harm.

use super::svg::draw;
use super::*;
use proptest::prelude::*;
use std::sync::Arc;
use usvg::fontdb::Database;
use usvg::roxmltree::{Document, Node};
use usvg::{Options, Tree};

mod examples;
mod hostile;

/// The whole SVG as a tree; panics where it is not well-formed.
fn parsed(svg: &str) -> Document<'_> {
    Document::parse(svg).unwrap_or_else(|error| panic!("{error} in {}", &svg[..svg.len().min(4000)]))
}

/// What is shown where a reader points at something.
fn notes<'a>(document: &'a Document) -> Vec<&'a str> {
    let is_note = |node: &Node| {
        node.has_tag_name("title") && node.parent_element().is_some_and(|up| up.has_tag_name("g"))
    };
    document.descendants().filter(is_note).filter_map(|node| node.text()).collect()
}

fn texts<'a>(document: &'a Document) -> Vec<&'a str> {
    document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect()
}

fn with_class(document: &Document, class: &str) -> usize {
    document.descendants().filter(|node| node.attribute("class") == Some(class)).count()
}

/// Reads the drawing back as what draws it sees it, and asserts that no ink is outside the view box.
#[track_caller]
fn assert_inside(chart: &Chart) {
    let mut fonts = Database::new();
    fonts.load_font_data(lettering::FONT.to_vec());
    let family = lettering::FAMILY.to_owned();
    let options = Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() };
    let tree = Tree::from_str(&svg::without_font(chart), &options).unwrap();
    let (size, ink) = (tree.size(), tree.root().abs_stroke_bounding_box());
    let inside = ink.left() >= -0.01
        && ink.top() >= -0.01
        && ink.right() <= size.width() + 0.01
        && ink.bottom() <= size.height() + 0.01;
    assert!(inside, "{ink:?} is not within {size:?}");
}

/// Elements of a class by their name, those of a note's group with it.
fn shapes_of_class(document: &Document, class: &str, name: &str) -> usize {
    let named = document.descendants().filter(|node| node.has_tag_name(name));
    named
        .filter(|node| {
            let own = node.attribute("class");
            own.or_else(|| node.parent_element()?.attribute("class")) == Some(class)
        })
        .count()
}

/// What must hold of any chart.
#[track_caller]
fn assert_sound(chart: &Chart) {
    let (file, inline) = (svg::file(chart), svg::inline(chart));
    assert_eq!(file, svg::file(chart));
    assert_eq!(inline, svg::inline(chart));
    for svg in [&file, &inline] {
        let document = parsed(svg);
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        let named = |name: &str| root.children().any(|node| node.has_tag_name(name));
        assert!(named("title") && named("desc"));
        for attribute in document.descendants().flat_map(|node| node.attributes()) {
            let value = attribute.value();
            assert!(!value.contains("NaN") && !value.contains("inf"), "{}: {value}", attribute.name());
        }
    }
    let page = parsed(&inline);
    for node in page.descendants() {
        assert!(!node.has_tag_name("style") && !node.has_tag_name("script"));
        assert!(!node.attributes().any(|attribute| matches!(attribute.name(), "style" | "id")), "{node:?}");
    }
    assert_inside(chart);
}

fn exact(value: f64) -> Option<Point> {
    Some(Point { value, low: None, high: None })
}

fn within(value: f64, low: f64, high: f64) -> Option<Point> {
    Some(Point { value, low: Some(low), high: Some(high) })
}

fn releases(names: &[&str], lines: Vec<Line>) -> Chart {
    Chart::Releases(Releases {
        bands: Bands::MajorVersions,
        title: "relative rate of range scans".to_owned(),
        axis: "relative rate".to_owned(),
        reference: Some(1.0),
        confidence: Some(0.99),
        releases: names.iter().map(ToString::to_string).collect(),
        lines,
    })
}

fn small_releases() -> Chart {
    let line =
        |name: &str, points: Vec<Option<Point>>, changes| Line { name: name.to_owned(), points, changes };
    releases(
        &["7.9.3", "7.10.2", "8.5.4", "8.6.7", "8.7.3"],
        vec![
            line(
                "fwdrange",
                vec![
                    exact(1.0),
                    within(1.01, 0.99, 1.03),
                    within(1.0, 0.98, 1.02),
                    within(0.91, 0.9, 0.93),
                    within(0.92, 0.9, 0.94),
                ],
                vec![Mark { release: 3, confirmed: true }],
            ),
            line(
                "revrange",
                vec![
                    exact(1.0),
                    within(1.0, 0.98, 1.02),
                    None,
                    within(1.04, 1.0, 1.31),
                    within(1.05, 1.03, 1.07),
                ],
                vec![Mark { release: 2, confirmed: false }],
            ),
        ],
    )
}

fn bars(labels: &[&str], series: Vec<(&str, Vec<Option<Point>>)>) -> Chart {
    Chart::Bars(Bars {
        title: "relative rate by step".to_owned(),
        axis: "relative rate".to_owned(),
        reference: 1.0,
        confidence: Some(0.995),
        labels: labels.iter().map(ToString::to_string).collect(),
        series: series
            .into_iter()
            .map(|(name, values)| BarSeries { name: name.to_owned(), values })
            .collect(),
    })
}

fn small_bars() -> Chart {
    bars(
        &["readrandom", "fwdrange"],
        vec![
            ("rocksdb@8.6.7", vec![within(0.99, 0.97, 1.01), within(0.91, 0.9, 0.93)]),
            ("rocksdb@8.7.3", vec![exact(1.0), None]),
        ],
    )
}

fn small_latency() -> Chart {
    let row = |name: &str, shares: &[f64]| LatencyRow { name: name.to_owned(), shares: shares.to_vec() };
    Chart::Latency(LatencyShares {
        title: "latency of readrandom".to_owned(),
        upper_us: vec![50.0, 100.0, 1000.0],
        rows: vec![
            row("rocksdb@8.5.4", &[0.62, 0.3, 0.0798, 0.0002]),
            row("rocksdb@8.7.3", &[0.0, 0.0, 0.0, 0.0]),
        ],
    })
}

#[test]
fn releases_as_a_piece_of_a_page() {
    insta::assert_snapshot!(svg::inline(&small_releases()));
}

#[test]
fn bars_as_a_piece_of_a_page() {
    insta::assert_snapshot!(svg::inline(&small_bars()));
}

#[test]
fn latency_as_a_file_without_its_font() {
    insta::assert_snapshot!(svg::without_font(&small_latency()));
}

fn flame(name: &str, width: f64, change: f64, children: Vec<FlameNode>) -> FlameNode {
    FlameNode { name: name.to_owned(), width, change, about: format!("{name}: {width} us"), children }
}

/// Two kinds of threads; one function grew, one shrank.
fn small_flame() -> Chart {
    let seek = flame("rocksdb::BlockIter::Seek", 3.0, 0.4, vec![flame("memcmp", 1.0, 0.0, Vec::new())]);
    let get = flame(
        "rocksdb::DBImpl::Get",
        5.0,
        0.2,
        vec![seek, flame("rocksdb::LRUCache::Lookup", 1.5, -0.3, Vec::new())],
    );
    let roots = vec![flame("foreground", 6.0, 0.2, vec![get]), flame("compaction", 1.0, 0.0, Vec::new())];
    Chart::Flame(FlameGraph { title: "readrandom".to_owned(), legend: "width: time".to_owned(), roots })
}

#[test]
fn flames_as_a_piece_of_a_page() {
    insta::assert_snapshot!(svg::inline(&small_flame()));
}

#[test]
fn small_charts_are_sound() {
    for chart in [small_releases(), small_bars(), small_latency(), small_flame()] {
        assert_sound(&chart);
    }
}

#[test]
fn an_image_is_the_same_each_time_and_twice_as_large_as_the_view_box() {
    for chart in [small_releases(), small_bars(), small_latency(), small_flame()] {
        let (png, again) = (png::render(&chart).unwrap(), png::render(&chart).unwrap());
        assert!(png == again);
        let image = tiny_skia::Pixmap::decode_png(&png).unwrap();
        let scene = draw(&chart);
        assert_eq!(
            (f64::from(image.width()), f64::from(image.height())),
            (scene.width * 2.0, scene.height * 2.0)
        );
        // The paper is white, and something is drawn on it.
        let white = image
            .pixels()
            .iter()
            .filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == (255, 255, 255));
        let share = white.count() as f64 / image.pixels().len() as f64;
        assert!((0.3..0.99).contains(&share), "{share}");
    }
}

#[test]
fn a_file_embeds_the_font_that_it_was_laid_out_with() {
    let file = svg::file(&small_latency());
    let document = parsed(&file);
    let style =
        document.descendants().find(|node| node.has_tag_name("style")).and_then(|node| node.text()).unwrap();
    assert!(
        style.starts_with("@font-face{font-family:\"DejaVu Sans\";src:url(data:font/ttf;base64,"),
        "{}",
        &style[..80]
    );
    assert!(
        document
            .root_element()
            .attribute("font-family")
            .is_some_and(|family| family.starts_with("DejaVu Sans"))
    );
    assert!(file.len() < 100_000, "{}", file.len());
}

#[test]
fn the_width_of_a_text_is_what_it_takes_when_drawn() {
    let mut fonts = Database::new();
    fonts.load_font_data(lettering::FONT.to_vec());
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    for text in ["AVAToday fi ffl 8.6.7", "update-index_range=100", "≤ 50 µs"] {
        let width_to = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"50\"><text x=\"0\" y=\"30\" \
                 font-size=\"20\" font-family=\"DejaVu Sans\">{text}|</text></svg>"
            );
            f64::from(Tree::from_str(&svg, &options).unwrap().root().abs_bounding_box().right())
        };
        // The bar at the end stands at the same place behind any text.
        let drawn = width_to(text) - width_to("");
        let computed = lettering::width(text, 20.0);
        assert!((drawn - computed).abs() < 0.05, "{text}: {drawn} drawn, {computed} computed");
    }
}

#[test]
fn every_value_is_in_the_chart_with_its_interval() {
    let svg = svg::inline(&small_releases());
    let document = parsed(&svg);
    let notes = notes(&document);
    for note in [
        "fwdrange, 7.9.3: 1.000",
        "fwdrange, 7.10.2: 1.010 [0.990, 1.030]",
        "fwdrange, 8.6.7: confirmed change",
        "revrange, 8.6.7: 1.040 [1.000, 1.310]",
        "revrange, 8.5.4: candidate of a change",
    ] {
        assert!(notes.contains(&note), "{note} is not among {notes:?}");
    }
    let svg = svg::inline(&small_bars());
    let document = parsed(&svg);
    let notes = self::notes(&document);
    for note in ["rocksdb@8.6.7, fwdrange: 0.910 [0.900, 0.930]", "rocksdb@8.7.3, fwdrange: not measured"] {
        assert!(notes.contains(&note), "{note} is not among {notes:?}");
    }
    let svg = svg::inline(&small_latency());
    let document = parsed(&svg);
    assert!(
        self::notes(&document).contains(&"rocksdb@8.5.4, > 1 ms: 0.020 %"),
        "{:?}",
        self::notes(&document)
    );
    assert!(texts(&document).contains(&"0.020 % > 1 ms") && texts(&document).contains(&"no operations"));
}

#[test]
fn the_line_of_no_change_is_drawn_over_the_bands_and_under_the_values() {
    let line = |name: &str| Line { name: name.to_owned(), points: vec![exact(0.7); 4], changes: Vec::new() };
    let chart = releases(&["7.1.0", "7.2.0", "8.1.0", "8.2.0"], vec![line("a")]);
    let svg = svg::inline(&chart);
    let order = ["\"band\"", "\"ref\"", "class=\"c0\""].map(|class| svg.find(class).unwrap());
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(with_class(&parsed(&svg), "ref"), 1, "1 is on the axis although all values are far below");
    assert!(texts(&parsed(&svg)).contains(&"8.x"));
}

#[test]
fn releases_of_one_major_version_or_of_none_have_no_bands() {
    for names in [
        ["8.1.0", "8.2.0", "8.3.0", "8.4.0"],
        ["a1b2", "c3d4", "e5f6", "1234"],
        ["15.1", "16.1", "17.1", "18.1"],
    ] {
        let line = Line { name: "a".to_owned(), points: vec![exact(1.0); 4], changes: Vec::new() };
        assert_eq!(with_class(&parsed(&svg::inline(&releases(&names, vec![line]))), "band"), 0, "{names:?}");
    }
}

#[test]
fn up_to_twelve_lines_are_named_at_their_ends_and_more_in_a_legend() {
    let chart = |count: usize| {
        let line = |index: usize| Line {
            name: format!("step-{index}"),
            points: vec![exact(1.0), exact(1.0 + index as f64 / 1000.0)],
            changes: Vec::new(),
        };
        releases(&["8.6.7", "8.7.3"], (0..count).map(line).collect())
    };
    for count in [1, 12, 13, 42] {
        let svg = svg::inline(&chart(count));
        let document = parsed(&svg);
        let names: Vec<(f64, &str)> = document
            .descendants()
            .filter(|node| {
                node.has_tag_name("text") && node.text().is_some_and(|text| text.starts_with("step-"))
            })
            .filter_map(|node| Some((node.attribute("y")?.parse().ok()?, node.text()?)))
            .collect();
        assert_eq!(names.len(), count);
        if count <= 12 {
            let mut places: Vec<f64> = names.iter().map(|(y, _)| *y).collect();
            places.sort_by(f64::total_cmp);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{places:?}");
        }
        assert_sound(&chart(count));
    }
}

#[test]
fn of_many_releases_the_last_and_those_that_changed_are_named() {
    let names: Vec<String> =
        (0..400).map(|release| format!("{}.{}.{}", 5 + release / 60, release % 60, 1)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let points = (0..400).map(|release| exact(if release < 137 { 1.0 } else { 0.9 })).collect();
    let changes = vec![Mark { release: 137, confirmed: true }, Mark { release: 4000, confirmed: true }];
    let chart = releases(&names, vec![Line { name: "fwdrange".to_owned(), points, changes }]);
    let svg = svg::inline(&chart);
    let document = parsed(&svg);
    let texts = texts(&document);
    assert!(texts.contains(&"7.17.1") && texts.contains(&"11.39.1") && texts.len() < 80, "{texts:?}");
    assert_sound(&chart);
}

#[test]
fn a_long_name_of_the_last_release_is_not_cut_by_the_edge() {
    for count in [1, 2, 3, 9] {
        let names: Vec<String> =
            (0..count).map(|index| format!("rocksdb@8.{index}.0+a-long-configuration")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let line = |name: String| Line { name, points: vec![exact(1.0); count], changes: Vec::new() };
        assert_sound(&releases(&names, (0..14).map(|index| line(format!("s{index}"))).collect()));
        assert_sound(&releases(&names, vec![line("x".to_owned())]));
    }
}

#[test]
fn many_subjects_have_a_panel_each_and_few_share_the_groups() {
    let labels: Vec<String> = (0..42).map(|label| format!("microbenchmark-{label}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for (subjects, references) in [(1, 1), (4, 1), (5, 5), (10, 10)] {
        let names: Vec<String> = (0..subjects).map(|subject| format!("subject-{subject}")).collect();
        let series = names.iter().map(|name| (name.as_str(), vec![within(0.97, 0.95, 0.99); 42])).collect();
        let chart = bars(&labels, series);
        let svg = svg::inline(&chart);
        let document = parsed(&svg);
        assert_eq!(with_class(&document, "ref"), references, "{subjects} subjects");
        assert_eq!(notes(&document).len(), 42 * subjects);
        // Error bars are one path for each bar; bars are rectangles below the legend's swatches.
        assert_eq!(shapes_of_class(&document, "error-bar", "path"), 42 * subjects);
        assert!(draw(&chart).height < 1700.0, "{}", draw(&chart).height);
        assert_sound(&chart);
    }
}

#[test]
fn ratios_have_lines_at_0_95_and_1_05_and_other_values_have_none() {
    let svg = svg::inline(&small_bars());
    assert_eq!(with_class(&parsed(&svg), "guide"), 2);
    let Chart::Bars(mut chart) = small_bars() else { panic!("bars are bars") };
    chart.reference = 0.0;
    let svg = svg::inline(&Chart::Bars(chart));
    assert_eq!(with_class(&parsed(&svg), "guide"), 0);
}

#[test]
fn charts_of_nothing_say_so() {
    let nothing = [
        releases(&[], Vec::new()),
        releases(&["8.6.7"], Vec::new()),
        releases(&["8.6.7"], vec![Line { name: "a".to_owned(), points: vec![None], changes: Vec::new() }]),
        releases(&[], vec![Line { name: "a".to_owned(), points: vec![exact(1.0)], changes: Vec::new() }]),
        bars(&[], Vec::new()),
        bars(&["a"], vec![("b", vec![None])]),
        Chart::Latency(LatencyShares { title: String::new(), upper_us: Vec::new(), rows: Vec::new() }),
        Chart::Flame(FlameGraph { title: String::new(), legend: String::new(), roots: Vec::new() }),
    ];
    for chart in nothing {
        assert!(texts(&parsed(&svg::inline(&chart))).contains(&"no values"), "{chart:?}");
        assert_sound(&chart);
        png::render(&chart).unwrap();
    }
}

#[test]
fn an_image_of_too_many_rows_is_refused() {
    let labels: Vec<String> = (0..2000).map(|label| format!("step-{label}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let chart = bars(&labels, vec![("a", vec![exact(1.1); 2000])]);
    let error = png::render(&chart).unwrap_err();
    assert!(matches!(error, png::PngError::TooHigh { height } if height > 80_000), "{error}");
}
