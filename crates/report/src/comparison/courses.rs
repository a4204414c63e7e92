//! How rates go on over the seconds of a step: those that fall, and those that go up and down in waves.

use crate::document::{Block, PostPart, Section};
use findings::Comparison;
use findings::comparison::{Course, Waves};
use model::figures::{count, ratio, span};

/// The section; absent if no rate does either.
pub(super) fn section(view: &Comparison) -> Option<Section> {
    if view.courses.is_empty() {
        return None;
    }
    let sentences = view.courses.iter().flat_map(|course| sentences(course, view));
    let legend = "Told of a rate whose last fifth of the seconds is at most four fifths of the first in each round, and of waves that most \
                  rounds have: the rate comes back after so many seconds. A mean of such a step depends on how long it lasts.";
    let blocks = vec![Block::Items(sentences.collect()), Block::Paragraph(legend.to_owned())];
    Some(Section::new("courses", "Within the steps", blocks).in_post(PostPart::Results))
}

fn sentences(course: &Course, view: &Comparison) -> Vec<String> {
    let who = format!("{} of {}", course.step, view.label(course.side));
    let rounds = count(u64::from(course.rounds), "round", "rounds");
    let fell = course.fallen_to.map(|left| {
        format!("{who}: the rate falls to {} of what it was, from the first fifth of the step to the last ({rounds})", ratio(left))
    });
    let waves = course.waves.map(|Waves { period_s, low, high }| {
        format!(
            "{who}: the rate goes up and down every {}: a tenth of the seconds has less than {} of the middle one's, a tenth more than {} \
             ({rounds})",
            span(period_s),
            ratio(low),
            ratio(high)
        )
    });
    fell.into_iter().chain(waves).collect()
}
