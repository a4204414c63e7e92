//! The stacks of two sides as one tree: what a flame graph is drawn from.

use model::profile::Profile;
use std::collections::BTreeMap;

/// A function where it was called from, on two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flame {
    /// The kind of thread, then functions; of the root nothing.
    pub name: String,
    /// CPU time with what it calls, in microseconds per operation, base and candidate.
    pub us_per_op: [f64; 2],
    /// By how much the function's time changed, wherever it was called from: releases name and order their outer functions anew, and what they call would
    /// be gone from one place and new in another.
    pub change: f64,
    pub children: Vec<Flame>,
}

/// What is a smaller part of both sides is left out of a tree.
const SMALLEST: f64 = 0.004;

impl Flame {
    /// The mean of launches; each has a profile of the base and one of the candidate. `changes` are those of functions, in microseconds per operation.
    pub fn of(launches: &[[&Profile; 2]], changes: &BTreeMap<&str, f64>) -> Flame {
        let mut root = Flame::default();
        for profiles in launches {
            for (side, profile) in profiles.iter().enumerate() {
                let cpu = profile.cpu_us_per_op().unwrap_or(0.0) / launches.len() as f64;
                let samples = profile.samples().max(1) as f64;
                for stack in &profile.stacks {
                    let path = std::iter::once(&stack.thread).chain(&stack.frames);
                    let names = path.map(|place| profile.names.get(*place).map_or("?", String::as_str));
                    root.add(side, cpu * stack.samples as f64 / samples, names);
                }
            }
        }
        let smallest = root.us_per_op.map(|us| us * SMALLEST);
        root.prune(smallest);
        // The first row are kinds of threads, which are no functions.
        root.children.iter_mut().for_each(|kind| kind.change = kind.us_per_op[1] - kind.us_per_op[0]);
        let kinds = root.children.iter_mut();
        kinds.flat_map(|kind| &mut kind.children).for_each(|child| child.colour(changes));
        root
    }

    fn add<'a>(&mut self, side: usize, us: f64, names: impl Iterator<Item = &'a str>) {
        self.us_per_op[side] += us;
        let mut at = self;
        for name in names {
            let place = at.children.iter().position(|child| child.name == name).unwrap_or_else(|| {
                at.children.push(Flame { name: name.to_owned(), ..Flame::default() });
                at.children.len() - 1
            });
            at = &mut at.children[place];
            at.us_per_op[side] += us;
        }
    }

    /// In the order of names, so that both sides' pictures are alike.
    fn prune(&mut self, smallest: [f64; 2]) {
        self.children.retain(|child| (0..2).any(|side| child.us_per_op[side] > smallest[side]));
        self.children.sort_by(|left, right| left.name.cmp(&right.name));
        self.children.iter_mut().for_each(|child| child.prune(smallest));
    }

    fn colour(&mut self, changes: &BTreeMap<&str, f64>) {
        self.change = changes.get(self.name.as_str()).copied().unwrap_or(0.0);
        self.children.iter_mut().for_each(|child| child.colour(changes));
    }

    /// Rows of a picture: 1 of a function that calls none.
    pub fn depth(&self) -> usize {
        1 + self.children.iter().map(Flame::depth).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::profiles::profile;

    #[test]
    fn stacks_of_both_sides_are_one_tree_and_what_is_small_on_both_is_left_out() {
        let base = profile(1, 0, 10_000, &[("main;get;seek", 599), ("main;get", 400), ("main;rare", 1)]);
        let candidate =
            profile(1, 1, 12_000, &[("main;get;seek", 600), ("main;get", 400), ("main;new", 200)]);
        let root = Flame::of(
            &[[&base, &candidate], [&base, &candidate]],
            &BTreeMap::from([("get", 0.5), ("new", 2.0)]),
        );
        assert!(
            (root.us_per_op[0] - 10.0).abs() < 1e-9 && (root.us_per_op[1] - 12.0).abs() < 1e-9,
            "{root:?}"
        );
        let main = &root.children[0].children[0];
        assert_eq!((root.children[0].name.as_str(), main.name.as_str()), ("foreground", "main"));
        let names: Vec<&str> = main.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["get", "new"]);
        let new = &main.children[1];
        assert!(new.us_per_op[0] < 1e-9 && (new.us_per_op[1] - 2.0).abs() < 1e-9, "{new:?}");
        let changes = [root.children[0].change, main.change, main.children[0].change, new.change];
        assert!(
            changes.iter().zip([2.0, 0.0, 0.5, 2.0]).all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{changes:?}"
        );
        assert_eq!(root.depth(), 5);
    }
}
