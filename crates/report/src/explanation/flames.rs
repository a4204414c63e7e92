//! Flame graphs of both sides, each coloured by the difference to the other.

use crate::charts::{Chart, FlameGraph, FlameNode};
use crate::document::Figure;
use findings::explanation::Explained;
use findings::profile::{Flame, ProfileView};

/// One as wide as the candidate's time, where what is new is seen, and one as wide as the base's, where what is gone is.
pub fn figures(case: &Explained, profile: &ProfileView) -> impl Iterator<Item = Figure> {
    let sides = [(1, &case.candidate), (0, &case.base)];
    sides.map(|(side, subject)| figure(case, profile, side, subject)).into_iter()
}

fn figure(case: &Explained, profile: &ProfileView, side: usize, subject: &str) -> Figure {
    let whole = profile.flame.us_per_op[side];
    let title = format!("{}: CPU time of {subject} by function", case.step);
    let legend = format!(
        "width: CPU time, {whole:.3} us per operation in all; red: the function takes longer on {}, blue: less",
        case.candidate
    );
    let roots = profile.flame.children.iter().map(|child| node(child, side)).collect();
    Figure {
        name: format!("flame-{}-{}", case.step, if side == 0 { "base" } else { "candidate" }),
        caption: format!("CPU time of an operation on {subject}: each function is drawn above its caller."),
        chart: Chart::Flame(FlameGraph { title, legend, roots }),
    }
}

fn node(flame: &Flame, side: usize) -> FlameNode {
    let [base, candidate] = flame.us_per_op;
    FlameNode {
        name: flame.name.clone(),
        width: flame.us_per_op[side],
        change: flame.change,
        about: format!(
            "{}: here {base:.3} us/op on the base, {candidate:.3} on the candidate; {:+.3} in all",
            flame.name, flame.change
        ),
        children: flame.children.iter().map(|child| node(child, side)).collect(),
    }
}
