//! Charts as real reports have them, to be looked at: `DBDYNO_CHARTS=DIR cargo test -p report charts` writes them.

use super::*;
use std::path::PathBuf;

/// Noise of about one standard deviation, the same in each run.
struct Noise(u64);

impl Noise {
    fn drawn(&mut self) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(*state >> 33).unwrap()) / f64::from(1_u32 << 31)
        };
        (0..3).map(|_| uniform(&mut self.0) * 2.0 - 1.0).sum()
    }
}

const RELEASES: [&str; 20] = [
    "6.0.2", "6.10.4", "6.20.4", "6.29.5", "7.0.4", "7.2.2", "7.4.5", "7.6.0", "7.8.3", "7.10.2", "8.0.0",
    "8.1.1", "8.2.1", "8.3.3", "8.4.4", "8.5.4", "8.6.7", "8.7.3", "8.8.1", "9.0.0",
];

/// Six steps over twenty releases; ranges lose at 8.6, point reads gain a little at 7.0.
fn rocksdb_releases() -> Chart {
    let mut noise = Noise(42);
    let mut line = |name: &str, spread: f64, levels: &dyn Fn(usize) -> f64, changes: Vec<Mark>| Line {
        name: name.to_owned(),
        points: (0..RELEASES.len())
            .map(|release| {
                let value = levels(release) + spread * 0.5 * noise.drawn();
                if release == 0 { exact(1.0) } else { within(value, value - spread, value + spread * 1.1) }
            })
            .collect(),
        changes,
    };
    let confirmed = |release| vec![Mark { release, confirmed: true }];
    let at = |from: usize, before: f64, after: f64| {
        move |release: usize| if release < from { before } else { after }
    };
    let mut lines = vec![
        line("readrandom", 0.008, &at(4, 1.0, 1.045), confirmed(4)),
        line("multireadrandom", 0.012, &at(4, 1.0, 1.06), vec![Mark { release: 4, confirmed: false }]),
        line("fwdrange", 0.01, &at(16, 1.01, 0.885), confirmed(16)),
        line("revrange", 0.012, &at(16, 0.995, 0.90), confirmed(16)),
        line("overwrite", 0.03, &at(0, 0.97, 0.97), Vec::new()),
        line("fillseq", 0.02, &|release| 1.0 - 0.004 * release as f64, Vec::new()),
    ];
    lines[4].points[7] = None;
    Chart::Releases(Releases {
        bands: Bands::MajorVersions,
        title: "RocksDB 6.0 to 9.0, cached by RocksDB: rate relative to 6.0.2".to_owned(),
        axis: "relative rate (operations per second over those of 6.0.2)".to_owned(),
        reference: Some(1.0),
        confidence: Some(0.99),
        releases: RELEASES.map(str::to_owned).to_vec(),
        lines,
    })
}

/// The names of the 42 steps, as the workload has them.
fn microbenchmark_names() -> Vec<&'static str> {
    const STEPS: &str = include_str!("../../../../../workloads/sequences/sysbench-42.toml");
    let names = STEPS.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    names.filter(|name| name.contains("range=")).collect()
}

fn microbenchmarks(subjects: &[&str], names: &[&str]) -> Chart {
    let mut noise = Noise(7);
    let mut series = Vec::new();
    for (index, subject) in subjects.iter().enumerate() {
        let values = names.iter().enumerate().map(|(step, _)| {
            let level = 1.0 - 0.012 * index as f64 + if step % 11 == 3 { -0.08 } else { 0.0 };
            let value = level + 0.035 * noise.drawn();
            let half = 0.008 + 0.01 * noise.drawn().abs();
            if (step, index) == (25, 1) { None } else { within(value, value - half, value + half) }
        });
        series.push((*subject, values.collect()));
    }
    let Chart::Bars(mut chart) = bars(names, series) else { panic!("bars are bars") };
    chart.title = "sysbench microbenchmarks, 1 client: rate relative to Postgres 16.4".to_owned();
    chart.axis = "relative rate (queries per second over those of postgres@16.4)".to_owned();
    Chart::Bars(chart)
}

fn subjects(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("postgres@{}.{}", 16 + index / 4, index % 4 + 1)).collect()
}

fn latency() -> Chart {
    let row = |name: &str, shares: [f64; 9]| LatencyRow { name: name.to_owned(), shares: shares.to_vec() };
    Chart::Latency(LatencyShares {
        title: "Latency of readrandom, 8 threads, larger than memory".to_owned(),
        upper_us: vec![10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10_000.0],
        rows: vec![
            row("rocksdb@8.5.4", [0.31, 0.22, 0.18, 0.14, 0.09, 0.04, 0.015, 0.0048, 0.0002]),
            row("rocksdb@8.6.7", [0.24, 0.19, 0.2, 0.17, 0.11, 0.06, 0.02, 0.0095, 0.0005]),
            row("rocksdb@8.7.3", [0.24, 0.18, 0.21, 0.17, 0.12, 0.055, 0.018, 0.00697, 0.00003]),
            row("rocksdb@8.7.3+readahead-96k", [0.33, 0.23, 0.18, 0.13, 0.08, 0.035, 0.012, 0.003, 0.0]),
        ],
    })
}

fn rates() -> Chart {
    let Chart::Releases(mut chart) = rocksdb_releases() else { panic!("releases are releases") };
    chart.title = "Rates of RocksDB 6.0 to 9.0".to_owned();
    chart.axis = "operations per second".to_owned();
    chart.reference = None;
    for (index, line) in chart.lines.iter_mut().enumerate() {
        let scale = 160_000.0 * (index + 2) as f64;
        let scaled = |end: Option<f64>| end.map(|end| end * scale);
        for point in line.points.iter_mut().flatten() {
            *point = Point { value: point.value * scale, low: scaled(point.low), high: scaled(point.high) };
        }
        line.changes.clear();
    }
    Chart::Releases(chart)
}

/// Read sizes that change twelvefold: a logarithmic axis. And more lines than have room at their ends.
fn many_lines() -> Chart {
    let (mut noise, steps) = (Noise(3), microbenchmark_names());
    let names: Vec<String> =
        (0..60).map(|release| format!("{}.{}.{}", 5 + release / 13, release % 13, 2)).collect();
    let lines = (0..18_u8).map(|line| Line {
        name: steps[usize::from(line)].to_owned(),
        points: (0..60)
            .map(|release| {
                let level = if release > 41 && line % 3 == 0 { 12.0 } else { 1.0 + 0.05 * f64::from(line) };
                let value = level * (1.0 + 0.02 * noise.drawn());
                within(value, value * 0.97, value * 1.03)
            })
            .collect(),
        changes: if line % 3 == 0 { vec![Mark { release: 42, confirmed: line < 9 }] } else { Vec::new() },
    });
    Chart::Releases(Releases {
        bands: Bands::MajorVersions,
        title: "Reads from storage per operation".to_owned(),
        axis: "reads per operation, relative to 5.0.2".to_owned(),
        reference: Some(1.0),
        confidence: Some(0.99),
        releases: names,
        lines: lines.collect(),
    })
}

/// What nobody should call a subject, and intervals without end.
fn hostile() -> Chart {
    let long = "x".repeat(10_000);
    let labels = ["<script>alert(1)</script>", "שלום עולם", "微基准测试 and \"quotes\"", &long, "zero", ""];
    let series = vec![
        (
            "line\nbreak & <b>bold</b>",
            vec![
                within(0.97, 0.2, 9.0),
                within(1.0, 1.0, 1.0),
                Some(Point { value: 0.91, low: Some(0.9), high: None }),
                exact(1.2),
                exact(0.0),
                None,
            ],
        ),
        (long.as_str(), vec![exact(0.99); 6]),
    ];
    bars(&labels, series)
}

fn hostile_releases() -> Chart {
    let names = ["<i>1.0</i>", "العربية", "rocksdb@8.6.7+a-configuration-with-a-long-name", "v2"];
    let line = |name: &str, value: f64| Line {
        name: name.to_owned(),
        points: vec![exact(1.0), within(value, value / 9.0, value * 9.0), None, exact(value)],
        changes: vec![Mark { release: 2, confirmed: true }],
    };
    let lines = vec![
        line("&lt; \u{202e}reversed", 0.99),
        line("שלום", 1.01),
        line(&"微".repeat(3000), 1.005),
        line("z\u{300}\u{301}\u{302}\u{303}\u{304}", 30.0),
    ];
    releases(&names, lines)
}

fn names(subjects: &[String]) -> Vec<&str> {
    subjects.iter().map(String::as_str).collect()
}

#[test]
fn charts_of_real_size_are_sound_and_become_images() {
    let steps = microbenchmark_names();
    let directory = std::env::var_os("DBDYNO_CHARTS").map(PathBuf::from);
    let examples = [
        ("releases", rocksdb_releases()),
        ("rates", rates()),
        ("many-lines", many_lines()),
        ("bars-42x3", microbenchmarks(&names(&subjects(3)), &steps)),
        ("bars-42x10", microbenchmarks(&names(&subjects(10)), &steps)),
        ("bars-12x1", microbenchmarks(&names(&subjects(1)), &steps[..12])),
        ("bars-8x2", microbenchmarks(&names(&subjects(2)), &steps[24..32])),
        ("latency", latency()),
        ("hostile", hostile()),
        ("hostile-releases", hostile_releases()),
        ("small-releases", small_releases()),
        ("small-bars", small_bars()),
        ("small-latency", small_latency()),
        ("small-flame", small_flame()),
    ];
    for (name, chart) in examples {
        assert_sound(&chart);
        let image = png::render(&chart).unwrap();
        assert!(image.len() < 1_000_000, "{name}: {} bytes", image.len());
        if let Some(directory) = &directory {
            std::fs::write(directory.join(format!("{name}.png")), image).unwrap();
            std::fs::write(directory.join(format!("{name}.svg")), svg::file(&chart)).unwrap();
            std::fs::write(directory.join(format!("{name}.inline.svg")), svg::inline(&chart)).unwrap();
        }
    }
    if let Some(directory) = &directory {
        let sheet =
            svg::style_sheet(".light", svg::Scheme::Light) + &svg::style_sheet(".dark", svg::Scheme::Dark);
        std::fs::write(directory.join("charts.css"), sheet).unwrap();
    }
}
