//! Many steps at once: the more are looked at, the more stand out by chance.

use crate::judgement::Judgement;
use model::verdict::Verdict;

/// What holds for all steps of a report together; one entry for each judgement, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Regressions and improvements that hold in the family: Holm at alpha. The summary sentence and a gate
    /// speak of these; another one is shown as holding by itself only.
    pub confirmed: Vec<bool>,
    /// Those that Benjamini-Hochberg lets through at 5 %: worth a look in a report.
    pub discovered: Vec<bool>,
    /// Whether the p values are Student's: the signed-rank test cannot give as small a p value as a family of
    /// this size needs.
    pub parametric: bool,
}

/// Share of false findings in a report (statistics 1.9, rule 5).
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Judges the family of all steps of a report at `alpha` (statistics 1.9, rule 5).
pub fn family(judgements: &[&Judgement], alpha: f64) -> Family {
    let needed = alpha / judgements.len().max(1) as f64;
    let directional =
        |judgement: &&&Judgement| matches!(judgement.verdict, Verdict::Regression | Verdict::Improvement);
    // Only a step that could be confirmed can be kept from it by its floor.
    let parametric = judgements
        .iter()
        .filter(directional)
        .any(|judgement| judgement.significance.p_floor.is_some_and(|floor| floor > needed));
    let p_values: Vec<f64> = judgements
        .iter()
        .map(|judgement| {
            let significance = &judgement.significance;
            let p = if parametric { significance.p_parametric } else { significance.p };
            p.unwrap_or(1.0)
        })
        .collect();
    let only_directional = |passed: Vec<bool>| {
        passed
            .into_iter()
            .zip(judgements)
            .map(|(passed, judgement)| passed && directional(&judgement))
            .collect()
    };
    Family {
        confirmed: only_directional(holm(&p_values, alpha)),
        discovered: only_directional(benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE)),
        parametric,
    }
}

/// Which hypotheses Holm (1979) rejects at family-wise level `alpha`: in ascending order of p, each at alpha over
/// the number of those left, until the first that fails.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let order = ascending(p_values);
    let passed = order
        .iter()
        .enumerate()
        .take_while(|(place, index)| p_values[**index] <= alpha / (order.len() - place) as f64)
        .count();
    rejected(&order, passed)
}

/// Which hypotheses Benjamini and Hochberg (1995) reject with a share of false ones of at most `rate`.
pub fn benjamini_hochberg(p_values: &[f64], rate: f64) -> Vec<bool> {
    let order = ascending(p_values);
    let passed = (1..=order.len())
        .rev()
        .find(|place| p_values[order[place - 1]] <= rate * *place as f64 / order.len() as f64)
        .unwrap_or(0);
    rejected(&order, passed)
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    order
}

fn rejected(order: &[usize], passed: usize) -> Vec<bool> {
    let mut rejected = vec![false; order.len()];
    for index in &order[..passed] {
        rejected[*index] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_steps_down_and_stops_at_the_first_failure() {
        assert_eq!(holm(&[0.004, 0.3, 0.001, 0.0049], 0.01), [false, false, true, false]);
        assert_eq!(holm(&[0.004, 0.9, 0.001], 0.01), [true, false, true]);
        assert_eq!(holm(&[], 0.01), Vec::<bool>::new());
        assert_eq!(holm(&[0.009], 0.01), [true]);
    }

    #[test]
    fn benjamini_hochberg_steps_up() {
        // The example of the 1995 paper: 15 p values, four rejected at 5 %.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let passed = benjamini_hochberg(&p_values, 0.05).into_iter().filter(|passed| *passed).count();
        assert_eq!(passed, 4);
        assert_eq!(benjamini_hochberg(&[0.05, 0.05], 0.05), [true, true]);
    }
}
