//! Which changes at one release say the same: metrics that are products of others, and metrics that rise and fall
//! together over all releases (statistics 1.8, rule 4).

use super::{Line, Observed};
use analysis::moved_with::go_in_step;

/// Over fewer releases an equation may hold by luck.
const LEAST_RELEASES: usize = 6;
/// A product holds where no release is off by more than this, in ln, besides what rounding allows: means of a step's
/// samples are multiplied, and the mean of their products is another number.
const PRODUCT_WITHIN: f64 = 0.025;

/// Members of an event, gathered into lines; each line and all lines in the order of the members.
pub(super) fn groups(members: &[(usize, usize)], observed: &[Observed]) -> Vec<Line> {
    let mut lines: Vec<Line> =
        members.iter().map(|member| Line { members: vec![*member], identity: None }).collect();
    let series = |at: usize| &observed[members[at].0];
    for product in 0..members.len() {
        for left in 0..members.len() {
            for right in left + 1..members.len() {
                if product != left
                    && product != right
                    && is_product(series(product), series(left), series(right))
                {
                    let name = |at: usize| series(at).metric.as_str();
                    let identity = format!("{} = {} x {}", name(product), name(left), name(right));
                    for other in [left, right] {
                        join(&mut lines, members[product], members[other], Some(&identity));
                    }
                }
            }
        }
    }
    for left in 0..members.len() {
        for right in left + 1..members.len() {
            if say_the_same(series(left), series(right)) {
                join(&mut lines, members[left], members[right], None);
            }
        }
    }
    let place = |member: &(usize, usize)| members.iter().position(|other| other == member);
    for line in &mut lines {
        line.members.sort_by_key(|member| place(member));
    }
    lines.sort_by_key(|line| line.members.first().and_then(place));
    lines
}

/// Puts the lines of two members together.
fn join(lines: &mut Vec<Line>, left: (usize, usize), right: (usize, usize), identity: Option<&str>) {
    let of = |lines: &[Line], member| lines.iter().position(|line| line.members.contains(&member));
    let (Some(into), Some(from)) = (of(lines, left), of(lines, right)) else { return };
    if into == from {
        return;
    }
    let taken = lines[from].clone();
    lines[into].members.extend(taken.members);
    let known = lines[into].identity.take().or(taken.identity);
    lines[into].identity = known.or_else(|| identity.map(str::to_owned));
    lines.remove(from);
}

/// Whether one metric is the product of two others, up to a factor, at every release within rounding.
fn is_product(product: &Observed, left: &Observed, right: &Observed) -> bool {
    if product.releases != left.releases || product.releases != right.releases {
        return false;
    }
    let rest: Vec<(f64, f64)> = (0..product.releases.len())
        .filter_map(|at| {
            let (whole, one, other) = (product.values[at]?, left.values[at]?, right.values[at]?);
            let usable = whole > 0.0 && one > 0.0 && other > 0.0;
            let rounding = |of: &Observed, value: f64| 0.5 * of.floor.resolution / value;
            let allowed = rounding(product, whole) + rounding(left, one) + rounding(right, other);
            usable.then(|| (whole.ln() - one.ln() - other.ln(), allowed))
        })
        .collect();
    if rest.len() < LEAST_RELEASES {
        return false;
    }
    let middle = rest.iter().map(|(rest, _)| rest).sum::<f64>() / rest.len() as f64;
    // A metric that hardly moves is no factor: among many metrics one would always be its product with another.
    let moves = |of: &Observed| spread(of) > 10.0 * PRODUCT_WITHIN;
    moves(left)
        && moves(right)
        && rest.iter().all(|(rest, allowed)| (rest - middle).abs() <= PRODUCT_WITHIN + allowed)
}

/// Largest less smallest value, in ln.
fn spread(of: &Observed) -> f64 {
    let logarithms = || of.values.iter().flatten().filter(|value| **value > 0.0).map(|value| value.ln());
    logarithms().fold(f64::NEG_INFINITY, f64::max) - logarithms().fold(f64::INFINITY, f64::min)
}

/// Whether they rise and fall together.
fn say_the_same(left: &Observed, right: &Observed) -> bool {
    let all: Vec<usize> = (0..left.releases.len()).collect();
    let comparable =
        left.releases == right.releases && left.logarithms.rounds().len() == right.logarithms.rounds().len();
    comparable && go_in_step(&left.logarithms, &right.logarithms, &all)
}
