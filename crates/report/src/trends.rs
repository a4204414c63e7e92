//! A steady change in words, the same in campaigns and histories.

use findings::TrendView;
use findings::history::TrendKind;
use findings::toolchain::Toolchain;
use model::figures::{count, quantity};

/// "falls by 9.5 % [9.1, 9.9] over 20 releases, no single step of more than 1.2 %".
pub(crate) fn steadily(trend: &TrendView, releases: usize, maybe_autocorrelation: bool) -> String {
    let share = |ratio: f64| {
        let percent = if trend.ratio < 1.0 { 100.0 * (1.0 - ratio) } else { 100.0 * (ratio - 1.0) };
        if percent.abs() < 10.0 { format!("{percent:.1}") } else { quantity(percent) }
    };
    let (word, near, far) =
        if trend.ratio < 1.0 { ("falls", trend.high, trend.low) } else { ("rises", trend.low, trend.high) };
    let rest = match trend.kind {
        TrendKind::TrendOrSteps => ", or changes in steps: the two cannot be told apart".to_owned(),
        TrendKind::Trend | TrendKind::None => {
            format!(", no single step of more than {} %", share(trend.largest_step))
        }
    };
    format!(
        "{word} by {} % [{}, {}] over {}{rest}{}",
        share(trend.ratio),
        share(near),
        share(far),
        count(releases as u64, "release", "releases"),
        doubt(maybe_autocorrelation)
    )
}

/// What else may explain what was found in single runs.
pub(crate) fn doubt(maybe_autocorrelation: bool) -> &'static str {
    if maybe_autocorrelation { "; or the noise is autocorrelated from release to release" } else { "" }
}

/// "; built by other compilers (GCC 7.3.1, since then GCC 13.3.1), so not by the code alone"
pub(crate) fn other_compilers(toolchain: &Toolchain) -> String {
    format!(
        "; the compiler changed too ({}, from then on {}), so the code need not be the only cause",
        toolchain.before, toolchain.after
    )
}
