//! What gives a change back, and what lies between two ends.

use super::sized::sized;
use crate::document::Kind::{Name, Number, Prose};
use crate::document::{Block, Section, Table};
use findings::counterfactual::{Chain, ChainOfStep, Says, Test};
use model::figures::{chosen_percent, count, or_none};

/// What is said of tests in short: "; with `readahead-96k` the change is gone: what `readahead-96k` sets is its cause".
pub fn in_short(tests: &[Test]) -> String {
    let said = |test: &Test| {
        let with = &test.with;
        match test.says {
            Says::Cause => {
                Some(format!("; with `{with}` the change is gone: what `{with}` sets is its cause"))
            }
            Says::Part => Some(format!("; with `{with}` {} is gone", part(test.share))),
            Says::Reversed => Some(format!("; with `{with}` the change has the other sign")),
            Says::LessThanHalf => Some(format!("; with `{with}` at least half of it stays")),
            Says::Open | Says::NotSeen => None,
        }
    };
    tests.iter().filter_map(said).collect()
}

/// A configuration that was tested: what it says, and the ratios that it rests on.
pub fn blocks(test: &Test) -> [Block; 2] {
    let with = &test.with;
    let both = match test.base_has_it {
        true => format!("candidate over base, both with `{with}`"),
        false => format!("candidate with `{with}` over base, whose release does not know all of its options"),
    };
    let rows = [
        (format!("{} over {}", test.candidate, test.base), test.change),
        (both, test.change_with),
        (format!("effect of `{with}` on the candidate"), test.on_candidate),
        ("effect on the candidate over effect on the base".to_owned(), test.given_back),
    ];
    let shown = if test.base_has_it { rows.len() } else { rows.len() - 1 };
    let mut table = Table::new(&[("rate", Prose), ("change", Number)]);
    table.fill(rows.into_iter().take(shown).map(|(what, change)| [what, sized(change)]));
    [Block::Paragraph(sentence(test)), Block::Table(table)]
}

/// "With `readahead-96k` on both sides no difference is proven (+0.3 % [-1.1, +1.8]), and more than half ..; 12 launches, ..".
fn sentence(test: &Test) -> String {
    let with = &test.with;
    let left = sized(test.change_with);
    let says = match test.says {
        Says::Cause => format!(
            "With `{with}` no difference is proven ({left}), and more than half of the change is proven gone: what `{with}` sets is the cause"
        ),
        Says::Part => format!(
            "With `{with}` {} is gone, and the change is {left}: what `{with}` sets is one cause; whether it is the only one is not proven",
            part(test.share)
        ),
        Says::Reversed => {
            format!("With `{with}` the change has the other sign ({left}): it does more than undo the change")
        }
        Says::LessThanHalf => {
            format!(
                "With `{with}` the change is {left}: less than half of it is gone, if anything. What `{with}` sets is not the main cause"
            )
        }
        Says::Open => format!(
            "It is not proven either way whether `{with}` takes the change away ({left} with it): measure longer, with --budget"
        ),
        Says::NotSeen => format!(
            "This run does not prove the change again ({}), so it says nothing of `{with}`: measure longer, with --budget",
            sized(test.change)
        ),
    };
    format!(
        "{says}. {}, intervals of {}; run {}.",
        count(u64::from(test.repeats), "repeat", "repeats"),
        chosen_percent(test.confidence),
        test.run
    )
}

fn part(share: Option<f64>) -> String {
    match share {
        Some(share) if share < 0.995 => format!("about {:.0} % of it", 100.0 * share),
        Some(_) => "about all of it".to_owned(),
        None => "a part of it".to_owned(),
    }
}

/// The links of a chain, step by step.
pub fn section(chain: &Chain, number: usize) -> Section {
    let about = format!(
        "Each row compares a subject with the one before it, within a launch or round; the rows multiply to the last. A link between two builds \
         includes what builds of one source differ by. {}; all intervals hold at once at {}; run {}.",
        count(u64::from(chain.repeats), "repeat", "repeats"),
        chosen_percent(chain.confidence),
        chain.run
    );
    let mut blocks = vec![Block::Paragraph(about)];
    blocks.extend(chain.steps.iter().map(|step| Block::Table(links(step))));
    Section::new(format!("chain-{number}"), "What lies between the ends", blocks)
}

fn links(step: &ChainOfStep) -> Table {
    let mut table = Table::new(&[("from", Name), ("to", Name), ("change", Number), ("of the whole", Number)]);
    let share = |share: Option<f64>| or_none(share, |share| format!("{:.0} %", 100.0 * share));
    table.fill(
        step.links
            .iter()
            .map(|link| [link.from.clone(), link.to.clone(), sized(link.change), share(link.share)]),
    );
    if let [first, .., last] = step.links.as_slice() {
        table.fill([[first.from.clone(), last.to.clone(), sized(step.whole), "all".to_owned()]]);
    }
    table.captioned(format!("Step {}.", step.step))
}
