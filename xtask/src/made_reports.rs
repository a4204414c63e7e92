//! Reports on measurements that nobody made, in the sizes and with the names that real ones have: for looking at pages
//! in a browser and for timing how they are built. The numbers follow from a seed.

use anyhow::Context;
use model::verdict::Verdict;
use report::charts::{Bands, BarSeries, Bars, Chart, LatencyRow, LatencyShares, Line, Mark, Point, Releases};
use report::document::{
    Block, Column, Document, Figure, Kind, Level, Matrix, MatrixCell, MatrixRow, Merge, Notice, Section,
    Sentence, Table, Timeline, TimelineLine, TimelineMetric,
};
use report::signs::{self, Sign};

/// The 42 microbenchmarks, with their groups.
const SEQUENCE: &str = include_str!("../../workloads/sequences/sysbench-42.toml");

/// How large a report is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Of the 42 microbenchmarks, from the first on.
    pub steps: usize,
    /// Builds, the base among them.
    pub builds: usize,
    /// Of each build in each step.
    pub seconds: usize,
}

/// The report that the budget of a page is made for.
pub const LARGE: Size = Size { steps: 42, builds: 10, seconds: 3600 };
/// One whose every second fits into a page.
pub const SMALL: Size = Size { steps: 6, builds: 3, seconds: 600 };

/// A campaign of this size.
pub fn campaign(size: Size) -> anyhow::Result<Document> {
    let steps = steps(size.steps)?;
    let builds: Vec<String> = (0..size.builds).map(build).collect();
    let mut sections = vec![overview(&steps, &builds), releases(&steps, &builds), groups(&steps, &builds)];
    sections.extend(
        steps.iter().enumerate().map(|(index, step)| step_section(index, step, &builds, size.seconds)),
    );
    sections.push(differences(&builds));
    Ok(Document {
        title: format!("{} releases from {} to {}", builds.len(), builds[0], builds[builds.len() - 1]),
        kind: "campaign",
        runs: vec!["20261121-091500-3fa9".to_owned()],
        found: vec![
            Sentence {
                verdict: Some(Verdict::Regression),
                text: format!("{} is slower than {} on {} (-11.2 %).", builds[size.builds - 1], builds[0], steps[0].name),
            },
            Sentence {
                verdict: Some(Verdict::NoChange),
                text: format!("No difference beyond 2 % on {} other steps.", size.steps - 1),
            },
        ],
        intro: vec![
            "Workload sysbench-42 measures the cost of single statements. It does not measure how they behave together."
                .to_owned(),
            "Run 20261121-091500-3fa9: campaign, done; 3 of 3 rounds.".to_owned(),
        ],
        warnings: vec![Notice {
            id: "busy-host".to_owned(),
            step: None,
            text: "load average 3.1 on 8 CPUs when the run began: other processes take part of the time".to_owned(),
        }],
        sections,
        command: Some("dbdyno run plan.toml --seed 7".to_owned()),
        footer: vec!["Host bench-1: 8 CPUs, 64.0 GiB of memory.".to_owned(), "dbdyno 0.1.0, seed 7".to_owned()],
    })
}

/// A small report whose every text tries to be something else.
pub fn hostile() -> anyhow::Result<Document> {
    let tag = "script";
    let bad = format!(
        "</{tag}><{tag}>document.title='taken'</{tag}><img src=x onerror=alert(1)>\"'\n\u{202e}&amp;"
    );
    let bad = bad.as_str();
    let long = format!("{}{bad}", "x".repeat(10_000));
    let mut document = campaign(Size { steps: 2, builds: 3, seconds: 20 })?;
    document.title = bad.to_owned();
    document.runs = vec![bad.to_owned(), long.clone()];
    document.found[0].text = bad.to_owned();
    document.intro.push(bad.to_owned());
    document.warnings.push(Notice { id: bad.to_owned(), step: Some(long.clone()), text: bad.to_owned() });
    document.command = Some(bad.to_owned());
    document.footer.push(long.clone());
    for section in &mut document.sections {
        section.title = long.clone();
        for block in &mut section.blocks {
            spoil(block, bad, &long);
        }
    }
    Ok(document)
}

fn spoil(block: &mut Block, bad: &str, long: &str) {
    match block {
        Block::Paragraph(text) | Block::Verbatim(text) => bad.clone_into(text),
        Block::Items(items) => items.push(bad.to_owned()),
        Block::Table(table) => {
            bad.clone_into(&mut table.caption);
            bad.clone_into(&mut table.columns[0].header);
            for (index, row) in table.rows.iter_mut().enumerate() {
                let text = if index % 2 == 0 { bad } else { long };
                text.clone_into(&mut row[0].text);
            }
        }
        Block::Matrix(matrix) => {
            bad.clone_into(&mut matrix.caption);
            long.clone_into(&mut matrix.candidates[0]);
            for row in &mut matrix.rows {
                long.clone_into(&mut row.step);
                bad.clone_into(&mut row.group);
                row.cells.iter_mut().flatten().for_each(|cell| bad.clone_into(&mut cell.detail));
            }
        }
        Block::Figure(figure) => bad.clone_into(&mut figure.caption),
        Block::Timeline(timeline) => {
            bad.clone_into(&mut timeline.caption);
            bad.clone_into(&mut timeline.metrics[0].name);
            long.clone_into(&mut timeline.lines[0].subject);
            bad.clone_into(&mut timeline.lines[1].subject);
        }
    }
}

struct Step {
    name: String,
    group: String,
}

fn steps(count: usize) -> anyhow::Result<Vec<Step>> {
    let sequence: toml::Table = SEQUENCE.parse().context("the sequence of sysbench is no TOML")?;
    let listed = sequence.get("step").and_then(toml::Value::as_array).context("the sequence has no steps")?;
    let text = |step: &toml::Value, key: &str| step.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let is_measured = |step: &&toml::Value| text(step, "operation").as_deref() == Some("transaction");
    let measured = listed
        .iter()
        .filter(is_measured)
        .filter_map(|step| Some(Step { name: text(step, "name")?, group: text(step, "group")? }));
    Ok(measured.take(count).collect())
}

fn build(index: usize) -> String {
    const VERSIONS: [&str; 10] =
        ["5.6.51", "5.7.44", "8.0.28", "8.0.30", "8.0.32", "8.0.34", "8.0.36", "8.0.39", "8.4.2", "9.0.1"];
    format!("mysql@{}", VERSIONS[index % VERSIONS.len()])
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// About normal, mean 0, deviation 1: the sum of twelve.
    fn normal(&mut self) -> f64 {
        let share = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(|_| share(self.bits())).sum::<f64>() - 6.0
    }
}

/// Candidate over base: most do not differ, every seventh step became slower, every ninth faster.
fn ratio(step: usize, build: usize) -> f64 {
    let drift = match step {
        step if step % 7 == 0 => 1.0 - 0.045 * build as f64,
        step if step % 9 == 4 => 1.0 + 0.06 * build as f64,
        _ => 1.0,
    };
    drift * (1.0 + 0.004 * Noise((step * 100 + build) as u64).normal())
}

fn verdict(ratio: f64) -> Verdict {
    match ratio {
        ..0.98 => Verdict::Regression,
        1.02.. => Verdict::Improvement,
        0.995..1.005 => Verdict::NoChange,
        _ => Verdict::Inconclusive,
    }
}

fn section_id(index: usize) -> String {
    format!("step-{index}")
}

fn cell(ratio: f64, metric: &str) -> MatrixCell {
    let verdict = verdict(ratio);
    let text = match verdict {
        Verdict::Regression | Verdict::Improvement => format!("{ratio:.2}"),
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => String::new(),
    };
    let detail = format!("{metric}, 14 launches, 99 % interval");
    MatrixCell {
        text,
        ratio: Some(ratio),
        low: Some(ratio - 0.012),
        high: Some(ratio + 0.012),
        sign: Sign::of(verdict, true),
        detail,
    }
}

fn overview(steps: &[Step], builds: &[String]) -> Section {
    let row = |(index, step): (usize, &Step)| MatrixRow {
        step: step.name.clone(),
        section: Some(section_id(index)),
        group: step.group.clone(),
        base_value: format!("{},{:03}", 12 + index, (index * 37) % 1000),
        cells: (1..builds.len())
            .map(|build| (index != 3 || build != 1).then(|| cell(ratio(index, build), "QPS")))
            .collect(),
        ..MatrixRow::default()
    };
    let mut matrix = Matrix {
        caption: format!("Relative QPS, candidate over {}", builds[0]),
        base: builds[0].clone(),
        candidates: builds[1..].to_vec(),
        rows: steps.iter().enumerate().map(row).collect(),
        ..Matrix::default()
    };
    matrix.legend = signs::legend(&matrix.signs(), 0.02);
    Section {
        id: "overview".to_owned(),
        title: "Overview".to_owned(),
        level: Level::Shown,
        post: None,
        blocks: vec![Block::Matrix(matrix)],
    }
}

fn point(ratio: f64) -> Point {
    Point { value: ratio, low: Some(ratio - 0.012), high: Some(ratio + 0.012) }
}

fn releases(steps: &[Step], builds: &[String]) -> Section {
    let line = |(index, step): (usize, &Step)| Line {
        name: step.name.clone(),
        points: (0..builds.len())
            .map(|build| Some(point(if build == 0 { 1.0 } else { ratio(index, build) })))
            .collect(),
        changes: if index % 7 == 0 { vec![Mark { release: 1, confirmed: index == 0 }] } else { Vec::new() },
    };
    let chart = Releases {
        title: "Relative QPS over releases".to_owned(),
        axis: "relative QPS".to_owned(),
        reference: Some(1.0),
        confidence: Some(0.99),
        releases: builds.to_vec(),
        bands: Bands::MajorVersions,
        lines: steps.iter().enumerate().take(6).map(line).collect(),
    };
    drawn("releases", "Over releases", "Relative QPS of six steps over the releases.", Chart::Releases(chart))
}

fn groups(steps: &[Step], builds: &[String]) -> Section {
    let series = |build: usize| BarSeries {
        name: builds[build].clone(),
        values: (0..steps.len()).map(|index| Some(point(ratio(index, build)))).collect(),
    };
    let chart = Bars {
        title: "Relative QPS by step".to_owned(),
        axis: "relative QPS".to_owned(),
        reference: 1.0,
        confidence: Some(0.99),
        labels: steps.iter().map(|step| step.name.clone()).collect(),
        series: (1..builds.len().min(4)).map(series).collect(),
    };
    drawn("by-step", "By step", "Relative QPS of all steps.", Chart::Bars(chart))
}

fn drawn(id: &str, title: &str, caption: &str, chart: Chart) -> Section {
    let figure = Figure { name: id.to_owned(), caption: caption.to_owned(), chart };
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        level: Level::Shown,
        post: None,
        blocks: vec![Block::Figure(figure)],
    }
}

fn step_section(index: usize, step: &Step, builds: &[String], seconds: usize) -> Section {
    let latency = LatencyShares {
        title: format!("Latency of {}", step.name),
        upper_us: vec![100.0, 250.0, 1000.0, 4000.0],
        rows: builds
            .iter()
            .map(|name| LatencyRow { name: name.clone(), shares: vec![0.6, 0.3, 0.07, 0.02, 0.01] })
            .collect(),
    };
    let figure = Figure {
        name: format!("latency-{index}"),
        caption: "Shares of statements by their latency.".to_owned(),
        chart: Chart::Latency(latency),
    };
    Section {
        id: section_id(index),
        title: step.name.clone(),
        level: Level::Folded,
        post: None,
        blocks: vec![
            Block::Paragraph(format!("{} of group {}, 8 clients, {seconds} s.", step.name, step.group)),
            Block::Table(counters(index, builds)),
            Block::Figure(figure),
            Block::Timeline(timeline(index, builds, seconds)),
            Block::Verbatim(format!("[ 10s ] thds: 8 tps: {}.00 lat (ms,99%): 1.2\n", 12_000 + index)),
        ],
    }
}

fn counters(step: usize, builds: &[String]) -> Table {
    let column = Column::new;
    let columns = vec![
        column("build", Kind::Name),
        column("QPS", Kind::Number),
        column("relative QPS\nand interval", Kind::Number),
        column("CPU us/op", Kind::Number),
        column("p99", Kind::Number),
        column("written", Kind::Number),
        column("verdict", Kind::Word),
        column("also changed", Kind::Prose),
    ];
    let row = |(build, name): (usize, &String)| {
        let ratio = if build == 0 { 1.0 } else { ratio(step, build) };
        vec![
            name.clone(),
            format!("{},{:03}", 9 + build, (step * 41 + build * 7) % 1000),
            if build == 0 {
                "-".to_owned()
            } else {
                format!("{ratio:.3} [{:.3}, {:.3}]", ratio - 0.012, ratio + 0.012)
            },
            format!("{:.1}", 80.0 / ratio),
            format!("{:.2} ms", 1.1 / ratio),
            if build % 2 == 0 { format!("{}.5 MiB", 3 + build) } else { format!("{} KiB", 900 - 50 * build) },
            verdict(ratio).name().to_owned(),
            "context switches 1.550, read calls 1.341".to_owned(),
        ]
    };
    Table::of(columns, builds.iter().enumerate().map(row)).captioned("Per operation, all clients")
}

fn timeline(step: usize, builds: &[String], seconds: usize) -> Timeline {
    let metric = |name: &str, unit: &str, scale, merge| TimelineMetric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        scale,
        merge,
    };
    let line = |(build, name): (usize, &String)| TimelineLine {
        subject: name.clone(),
        round: 1,
        values: series(step, build, seconds),
    };
    Timeline {
        id: format!("seconds-{step}"),
        caption: "Second by second, all clients.".to_owned(),
        x: "second",
        metrics: vec![
            metric("operations", "1/s", 1.0, Merge::Mean),
            metric("p99 latency", "us", 1000.0, Merge::Largest),
            metric("largest latency", "us", 1000.0, Merge::Largest),
            metric("device writes", "MB/s", 1e6, Merge::Mean),
        ],
        lines: builds.iter().enumerate().map(line).collect(),
    }
}

/// Four metrics; every ten minutes a stall of some seconds, and in one build a second that was not seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made numbers are small and positive"
)]
fn series(step: usize, build: usize, seconds: usize) -> Vec<Vec<Option<u64>>> {
    let mut noise = Noise((step * 1000 + build) as u64);
    let rate = 12_000.0 * ratio(step, build) + 300.0 * step as f64;
    let mut metrics = vec![Vec::new(); 4];
    for second in 0..seconds {
        let stalled = if (second + 17 * build) % 600 < 5 { 0.2 } else { 1.0 };
        let mut around =
            |center: f64, spread: f64| (center * (1.0 + spread * noise.normal())).max(0.0) as u64;
        let values = [
            around(rate * stalled, 0.03),
            around(1.2e6 / stalled, 0.06),
            around(4.0e6 / stalled, 0.3),
            around(9.0e7 * stalled, 0.05),
        ];
        let unseen = build == 1 && second == 100;
        for (metric, value) in metrics.iter_mut().zip(values) {
            metric.push((!unseen).then_some(value));
        }
    }
    metrics
}

fn differences(builds: &[String]) -> Section {
    let headers = ["differs besides the code", "base", "candidate"];
    let columns = headers.map(|header| Column::new(header, Kind::Prose));
    let row =
        |name: &String| vec![format!("compiler of {name}"), "GCC 11.4.0".to_owned(), "GCC 12.2.0".to_owned()];
    let table = Table::of(columns, builds.iter().skip(1).map(row));
    Section {
        id: "differences".to_owned(),
        title: "What differs besides the code".to_owned(),
        level: Level::Folded,
        post: None,
        blocks: vec![Block::Table(table)],
    }
}
