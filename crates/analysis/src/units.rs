//! What counts as one: the launch, or the image where launches share images.
//!
//! Launches on the same bytes share the interaction of build and image. Counting them as independent gave
//! 12.7 % false verdicts at nominal 1 % with one image, 2.2 % with five (statistics 1.9, rule 3).

use crate::launch::LaunchSummary;
use crate::student::mean;
use std::collections::BTreeMap;

/// How launches and images go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each launch has its own image: the launch is the unit.
    None,
    /// All launches have the same image: the launch is the unit, and the finding holds on this image only.
    One,
    /// Several images, some of them in more than one launch: the image is the unit.
    Several,
}

/// How these launches share images.
pub(crate) fn sharing(launches: &[LaunchSummary]) -> Sharing {
    let images = images(launches).len();
    if images == launches.len() {
        Sharing::None
    } else if images == 1 {
        Sharing::One
    } else {
        Sharing::Several
    }
}

/// One value of each unit; a launch without a value is left out.
pub(crate) fn unit_values(launches: &[LaunchSummary], value: fn(&LaunchSummary) -> Option<f64>) -> Vec<f64> {
    match sharing(launches) {
        Sharing::None | Sharing::One => launches.iter().filter_map(value).collect(),
        Sharing::Several => images(launches)
            .values()
            .filter_map(|of_image| {
                mean(&of_image.iter().filter_map(|launch| value(launch)).collect::<Vec<f64>>())
            })
            .collect(),
    }
}

/// How many units these launches are.
pub(crate) fn unit_count(launches: &[LaunchSummary]) -> usize {
    match sharing(launches) {
        Sharing::None | Sharing::One => launches.len(),
        Sharing::Several => images(launches).len(),
    }
}

/// Launches by image.
pub(crate) fn images(launches: &[LaunchSummary]) -> BTreeMap<u32, Vec<&LaunchSummary>> {
    let mut images: BTreeMap<u32, Vec<&LaunchSummary>> = BTreeMap::new();
    for launch in launches {
        images.entry(launch.image).or_default().push(launch);
    }
    images
}
