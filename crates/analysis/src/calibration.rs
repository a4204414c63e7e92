//! What A/A launches say of the harness: how much it scatters, how small a change it can see. Whether it is honest is told by
//! [`crate::self_test`].

use crate::estimate::{value_of, visible_by_ranks, visible_by_student};
use crate::launch::{LaunchSummary, images};
use crate::procedure::{LEAST_UNITS, critical_sum};
use crate::signed_rank::{absolute_sum, exact_p, hodges_lehmann, sum_deviation, walsh_averages};
use crate::student::{mean, standard_deviation};
use model::metric::Metric;

/// What the A/A launches of one step say.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCalibration {
    pub launches: u32,
    /// Each metric: wall rate, adjusted rate, CPU per operation.
    pub noise: Vec<Noise>,
}

/// The noise of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    pub metric: Metric,
    /// Ratio of the sides over the last 20 launches, which should be 1.
    pub ratio: Option<f64>,
    /// p of the signed-rank test of the same launches, exact. It belongs to the ratio; whether the harness is honest is said
    /// by [`crate::self_test`].
    pub p: f64,
    /// Standard deviation over launches of ln(candidate / base); absent below two launches.
    pub launch_sd: Option<f64>,
    /// Share of images in that; absent unless some images had several launches.
    pub images: Option<ImageNoise>,
}

/// Variance components of launches on images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageNoise {
    pub images: u32,
    /// Standard deviation between images of the same release; 0 where launches explain all.
    pub image_sd: f64,
    /// Standard deviation of launches on one image.
    pub launch_sd: f64,
}

/// The ratio is of this many launches at most: how the harness is now (statistics 1.4).
const RATIO_LAUNCHES: usize = 20;

/// What these A/A launches of one step say; in ascending order.
pub fn calibrate(launches: &[LaunchSummary]) -> StepCalibration {
    let metrics = [Metric::OpsPerSecond, Metric::OpsPerSecondAdjusted, Metric::CpuMicrosPerOp];
    StepCalibration {
        launches: count(launches.len()),
        noise: metrics.into_iter().map(|metric| noise(metric, launches)).collect(),
    }
}

/// The variance between images and within them, by the one-way analysis of variance with unequal counts; absent
/// unless there are two images and one of them has two launches.
pub fn image_noise(launches: &[LaunchSummary], metric: Metric) -> Option<ImageNoise> {
    let value = value_of(metric);
    let groups: Vec<Vec<f64>> = images(launches)
        .values()
        .map(|of_image| of_image.iter().filter_map(|launch| value(launch)).collect::<Vec<f64>>())
        .filter(|values| !values.is_empty())
        .collect();
    let total = groups.iter().map(Vec::len).sum::<usize>();
    if groups.len() < 2 || total <= groups.len() {
        return None;
    }
    let grand = mean(&groups.concat())?;
    let (mut between, mut within, mut squared_counts) = (0.0, 0.0, 0.0);
    for group in &groups {
        let center = mean(group)?;
        let size = group.len() as f64;
        between += size * (center - grand).powi(2);
        within += group.iter().map(|value| (value - center).powi(2)).sum::<f64>();
        squared_counts += size * size;
    }
    let freedom = (groups.len() - 1) as f64;
    let within = within / (total - groups.len()) as f64;
    let typical_size = (total as f64 - squared_counts / total as f64) / freedom;
    let image_variance = ((between / freedom - within) / typical_size).max(0.0);
    Some(ImageNoise {
        images: count(groups.len()),
        image_sd: image_variance.sqrt(),
        launch_sd: within.sqrt(),
    })
}

/// The smallest change (0.03 is 3 %) that `launches` launches of this standard deviation show with 90 % power at two-sided
/// level `alpha`; absent below three launches. In T seconds there is room for T / seconds per launch of them.
pub fn visible_change(alpha: f64, launch_sd: f64, launches: u32) -> Option<f64> {
    let units = launches as usize;
    let ln_change = if launches >= crate::budget::least_launches(alpha) {
        let critical_t = critical_sum(units, alpha) as f64 / sum_deviation(units);
        visible_by_ranks(critical_t, launch_sd, f64::from(launches))
    } else if units >= LEAST_UNITS {
        visible_by_student(alpha, launch_sd, units)
    } else {
        return None;
    };
    Some(ln_change.exp_m1())
}

fn noise(metric: Metric, launches: &[LaunchSummary]) -> Noise {
    let values: Vec<f64> = launches.iter().filter_map(value_of(metric)).collect();
    let last = &values[values.len().saturating_sub(RATIO_LAUNCHES)..];
    let walsh = walsh_averages(last);
    Noise {
        metric,
        ratio: hodges_lehmann(&walsh).map(f64::exp),
        p: exact_p(last.len(), absolute_sum(&walsh)),
        launch_sd: standard_deviation(&values),
        images: image_noise(launches, metric),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Totals;

    fn launches(values: &[(u32, f64)]) -> Vec<LaunchSummary> {
        (1..)
            .zip(values)
            .map(|(launch, (image, value))| LaunchSummary {
                launch,
                image: *image,
                base: Totals::default(),
                candidate: Totals::default(),
                wall: Some(*value),
                adjusted: Some(*value),
                cpu: None,
            })
            .collect()
    }

    #[test]
    fn the_ratio_is_of_the_last_launches() {
        let values: Vec<(u32, f64)> =
            (1..=40).map(|launch| (launch, if launch <= 20 { 0.5 } else { 0.1 })).collect();
        let found = calibrate(&launches(&values)).noise[0].clone();
        assert!((found.ratio.unwrap() - 0.1f64.exp()).abs() < 1e-12 && found.p < 1e-5, "{found:?}");
    }

    #[test]
    fn the_variance_of_images_is_told_from_that_of_launches() {
        // Two images, 2 % apart, launches within 0.1 %: MSW = 2e-6, MSB = 4e-4, size 2.
        let apart = launches(&[(1, 0.001), (1, -0.001), (2, 0.021), (2, 0.019)]);
        let found = image_noise(&apart, Metric::OpsPerSecond).unwrap();
        assert!((found.launch_sd - 2e-6f64.sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found.image_sd - (199e-6f64).sqrt()).abs() < 1e-12, "{found:?}");
        let alike = launches(&[(1, 0.01), (1, -0.01), (2, 0.01), (2, -0.01)]);
        assert!(image_noise(&alike, Metric::OpsPerSecond).unwrap().image_sd.abs() < 1e-12);
        assert_eq!(image_noise(&launches(&[(1, 0.1), (2, 0.2)]), Metric::OpsPerSecond), None);
    }

    #[test]
    fn more_launches_show_smaller_changes() {
        let visible = |launches| visible_change(0.01, 0.015, launches);
        assert_eq!(visible(2), None);
        let (at_16, at_48) = (visible(16).unwrap(), visible(48).unwrap());
        assert!(at_48 < at_16 && at_48 > 0.005 && at_16 < 0.03, "{at_16} {at_48}");
        assert!(visible(5).unwrap() > at_16);
    }

    #[test]
    fn a_calibration_covers_both_rates_and_the_cost() {
        let found = calibrate(&launches(&[(1, 0.01), (2, -0.01), (3, 0.02)]));
        assert_eq!(found.noise.len(), 3);
        assert!(found.noise[0].launch_sd.unwrap() > 0.01);
        assert_eq!(found.noise[2].launch_sd, None);
    }
}
