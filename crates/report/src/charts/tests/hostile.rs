//! Names and numbers that nobody would choose.

use super::*;

/// Names that have broken other programs.
const NAMES: &[&str] = &[
    "",
    "readrandom",
    "<script>alert(1)</script>",
    "]]><!--\" onload='x' &amp; & --><![CDATA[",
    "a\u{0}b\u{1b}[31m\u{7f}\u{85}\r\n\tc",
    "\u{202e}txet desrever\u{202c} \u{2067}x\u{2069}",
    "שלום עולם",
    "العربية مع أرقام 123",
    "微基准测试",
    "👩‍👩‍👧‍👦🏴‍☠️é́́́́́",
    "\u{fffe}\u{ffff}\u{feff}",
    "../../etc/passwd",
    "            ",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(NAMES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => prop::sample::select(NAMES).prop_map(|name| name.repeat(10_000 / name.len().max(1))),
    ]
}

/// Most near 1, some anywhere, some not even numbers.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.8..1.2,
        1 => any::<f64>(),
        1 => prop::sample::select(&[0.0, -0.0, 5e-324, 1e-300, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, 1.0][..]),
    ]
}

fn point() -> impl Strategy<Value = Option<Point>> {
    let point = (value(), prop::option::of(value()), prop::option::of(value()));
    prop::option::weighted(0.85, point.prop_map(|(value, low, high)| Point { value, low, high }))
}

fn reference() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![2 => Just(Some(1.0)), 1 => Just(None), 1 => value().prop_map(Some)]
}

fn line() -> impl Strategy<Value = Line> {
    let mark = (0..14_usize, any::<bool>()).prop_map(|(release, confirmed)| Mark { release, confirmed });
    let parts = (name(), prop::collection::vec(point(), 0..14), prop::collection::vec(mark, 0..3));
    parts.prop_map(|(name, points, changes)| Line { name, points, changes })
}

fn bands() -> impl Strategy<Value = Bands> {
    // More than there are releases, too.
    let count = prop_oneof![3 => 0..5_usize, 1 => Just(usize::MAX)];
    let band = (name(), count).prop_map(|(name, count)| Band { name, count });
    prop_oneof![Just(Bands::MajorVersions), prop::collection::vec(band, 0..6).prop_map(Bands::Of)]
}

fn release_chart() -> impl Strategy<Value = Chart> {
    let parts = (
        name(),
        name(),
        reference(),
        prop::collection::vec(name(), 0..12),
        bands(),
        prop::collection::vec(line(), 0..16),
    );
    parts.prop_map(|(title, axis, reference, releases, bands, lines)| {
        Chart::Releases(Releases { title, axis, reference, confidence: reference, releases, bands, lines })
    })
}

fn bar_chart() -> impl Strategy<Value = Chart> {
    let series = (name(), prop::collection::vec(point(), 0..7));
    let series = series.prop_map(|(name, values)| BarSeries { name, values });
    let parts = (
        name(),
        name(),
        reference(),
        prop::collection::vec(name(), 0..6),
        prop::collection::vec(series, 0..7),
    );
    parts.prop_map(|(title, axis, reference, labels, series)| {
        Chart::Bars(Bars {
            title,
            axis,
            reference: reference.unwrap_or(0.0),
            confidence: reference,
            labels,
            series,
        })
    })
}

fn latency_chart() -> impl Strategy<Value = Chart> {
    let row = (name(), prop::collection::vec(prop_oneof![3 => 0.0..0.4, 1 => value()], 0..14));
    let row = row.prop_map(|(name, shares)| LatencyRow { name, shares });
    let parts = (name(), prop::collection::vec(value(), 0..13), prop::collection::vec(row, 0..5));
    parts.prop_map(|(title, upper_us, rows)| Chart::Latency(LatencyShares { title, upper_us, rows }))
}

fn flame_graph() -> impl Strategy<Value = Chart> {
    let leaf = (name(), value(), value()).prop_map(|(name, width, change)| FlameNode {
        about: name.clone(),
        name,
        width,
        change,
        children: Vec::new(),
    });
    let node = leaf.prop_recursive(6, 40, 5, |inner| {
        let width = prop_oneof![3 => 0.0..10.0, 1 => value()];
        let parts = (name(), width, value(), prop::collection::vec(inner, 0..5));
        parts.prop_map(|(name, width, change, children)| FlameNode {
            about: name.clone(),
            name,
            width,
            change,
            children,
        })
    });
    let parts = (name(), name(), prop::collection::vec(node, 0..4));
    parts.prop_map(|(title, legend, roots)| Chart::Flame(FlameGraph { title, legend, roots }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chart_of_releases_is_sound(chart in release_chart()) {
        assert_sound(&chart);
    }

    #[test]
    fn any_chart_of_bars_is_sound(chart in bar_chart()) {
        assert_sound(&chart);
    }

    #[test]
    fn any_flame_graph_is_sound(chart in flame_graph()) {
        assert_sound(&chart);
    }

    #[test]
    fn any_chart_of_latency_is_sound(chart in latency_chart()) {
        assert_sound(&chart);
    }
}

#[test]
fn a_long_number_at_the_end_of_an_axis_stays_in_the_drawing() {
    let mut values = [9.463_065e101, 0.8, 0.0, 1.0, 1.1, 0.9].map(exact);
    values[1] = within(0.8, -1e179, 0.9);
    assert_sound(&bars(&[""], values.map(|value| ("", vec![value])).to_vec()));
}

#[test]
fn a_name_that_is_cut_is_whole_in_a_note() {
    let name = format!("<{}>", "x".repeat(10_000));
    let line = Line { name: name.clone(), points: vec![exact(1.0); 2], changes: Vec::new() };
    let svg = svg::inline(&releases(&["8.6.7", "8.7.3"], vec![line]));
    let document = parsed(&svg);
    assert!(notes(&document).contains(&name.as_str()));
    assert!(texts(&document).iter().all(|text| text.chars().count() < 60));
    assert!(svg.len() < 40_000, "the whole name stands at its line and its label only: {}", svg.len());
}

#[test]
fn every_finite_value_of_a_chart_has_its_note() {
    let values = [0.93, 0.0, 4e12, 1e-12, -2.5];
    let series = vec![("a", values.map(exact).to_vec())];
    let labels = ["v0", "v1", "v2", "v3", "v4"];
    let svg = svg::inline(&bars(&labels, series));
    let document = parsed(&svg);
    assert_eq!(notes(&document).len(), 5);
    for (index, reading) in ["0.930", "0.000", "4,000,000,000,000", "0.000", "-2.500"].iter().enumerate() {
        let note = format!("a, v{index}: {reading}");
        assert!(notes(&document).contains(&note.as_str()), "{note}: {:?}", notes(&document));
    }
}
