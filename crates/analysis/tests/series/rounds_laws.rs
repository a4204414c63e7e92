//! Laws of the additive model, and brute force as its oracle.

use analysis::rounds::{Contrast, RoundValues, RoundsFit, fit};
use proptest::prelude::*;

type Cells = Vec<Vec<Option<f64>>>;

/// Up to six rounds of up to six versions, some cells absent.
fn any_cells() -> impl Strategy<Value = Cells> {
    (2usize..7, 1usize..7, prop::sample::select(vec![0.0, 0.15, 0.5])).prop_flat_map(
        |(versions, rounds, failed)| {
            let cell =
                (-1.0f64..1.0, 0.0f64..1.0).prop_map(move |(value, luck)| (luck >= failed).then_some(value));
            prop::collection::vec(prop::collection::vec(cell, versions), rounds)
        },
    )
}

fn fitted(cells: &Cells) -> RoundsFit {
    fit(&RoundValues::new(cells[0].len(), cells.clone()).expect("finite cells"))
}

fn contrast(base: usize, candidate: usize) -> Contrast {
    Contrast { base, candidate, layout_noise: 0.0, confidence: 0.99 }
}

fn ln_ratio(fit: &RoundsFit, base: usize, candidate: usize) -> Option<f64> {
    Some(fit.difference(&contrast(base, candidate))?.ratio.ln())
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-8 * (1.0 + left.abs())
}

/// Residual squares and rank of the additive model, by Gram and Schmidt on its columns.
fn brute_force(cells: &Cells) -> (f64, usize) {
    let places: Vec<(usize, usize, f64)> = cells
        .iter()
        .enumerate()
        .flat_map(|(round, of)| {
            of.iter().enumerate().filter_map(move |(version, cell)| Some((round, version, (*cell)?)))
        })
        .collect();
    let column = |belongs: &dyn Fn(usize, usize) -> bool| -> Vec<f64> {
        places.iter().map(|(round, version, _)| f64::from(u8::from(belongs(*round, *version)))).collect()
    };
    let rounds = (0..cells.len()).map(|wanted| column(&move |round, _| round == wanted));
    let versions = (0..cells[0].len()).map(|wanted| column(&move |_, version| version == wanted));
    let product = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut residual: Vec<f64> = places.iter().map(|place| place.2).collect();
    let remove = |vector: &mut Vec<f64>, unit: &Vec<f64>| {
        let along = product(vector, unit);
        vector.iter_mut().zip(unit).for_each(|(value, part)| *value -= along * part);
    };
    for mut vector in rounds.chain(versions) {
        // Twice: once leaves rounding.
        for _ in 0..2 {
            basis.iter().for_each(|unit| remove(&mut vector, unit));
        }
        let length = product(&vector, &vector).sqrt();
        if length > 1e-7 {
            vector.iter_mut().for_each(|value| *value /= length);
            basis.push(vector);
        }
    }
    for _ in 0..2 {
        basis.iter().for_each(|unit| remove(&mut residual, unit));
    }
    (product(&residual, &residual), basis.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn noise_is_that_of_least_squares_by_brute_force(cells in any_cells()) {
        let fit = fitted(&cells);
        let (residual_squares, rank) = brute_force(&cells);
        let count = cells.iter().flatten().flatten().count();
        prop_assert_eq!(fit.df, count - rank);
        match fit.variance {
            Some(variance) => prop_assert!(near(variance * fit.df as f64, residual_squares)),
            None => prop_assert_eq!(fit.df, 0),
        }
    }

    /// Each difference is a sum of cells by weights; moving one cell by 1 shows its weight.
    #[test]
    fn the_error_of_a_difference_is_that_of_its_weights(cells in any_cells()) {
        let whole = fitted(&cells);
        let Some(before) = ln_ratio(&whole, 0, 1) else { return Ok(()) };
        let mut squares = 0.0;
        for round in 0..cells.len() {
            for version in 0..cells[0].len() {
                if let Some(value) = cells[round][version] {
                    let mut moved = cells.clone();
                    moved[round][version] = Some(value + 1.0);
                    squares += (ln_ratio(&fitted(&moved), 0, 1).unwrap() - before).powi(2);
                }
            }
        }
        let found = whole.difference(&contrast(0, 1)).unwrap();
        if let (Some(error), Some(variance)) = (found.ln_error, whole.variance) {
            // A version's own noise counts where it is larger; of two rounds it says nothing.
            let pooled = variance * squares;
            prop_assert!(error.powi(2) >= pooled - 1e-9, "{} {pooled}", error.powi(2));
            let few = found.base_rounds.max(found.candidate_rounds) < 3;
            prop_assert!(!few || near(error.powi(2), pooled), "{} {pooled}", error.powi(2));
            let rounds = 1.0 / found.base_rounds as f64 + 1.0 / found.candidate_rounds as f64;
            prop_assert!(squares >= rounds - 1e-9);
        }
    }

    /// The mean of some versions against that of others, with the covariance of versions that share rounds.
    #[test]
    fn the_error_of_a_mean_of_versions_is_that_of_its_weights(cells in any_cells()) {
        let whole = fitted(&cells);
        let of = |fit: &RoundsFit| fit.between(&[0], &[1, 2], 0.0).filter(|_| fit.versions.len() > 2);
        if cells[0].len() < 3 || whole.versions[..3].iter().any(|version| version.rounds == 0) {
            return Ok(());
        }
        let (Some(before), Some(variance)) = (of(&whole), whole.variance) else { return Ok(()) };
        let mut squares = 0.0;
        for round in 0..cells.len() {
            for version in 0..cells[0].len() {
                if let Some(value) = cells[round][version] {
                    let mut moved = cells.clone();
                    moved[round][version] = Some(value + 1.0);
                    squares += (of(&fitted(&moved)).unwrap().ln_ratio - before.ln_ratio).powi(2);
                }
            }
        }
        prop_assert!(before.ln_error.powi(2) >= variance * squares - 1e-9);
        let few = whole.versions[..3].iter().all(|version| version.rounds < 3);
        prop_assert!(!few || near(before.ln_error.powi(2), variance * squares));
    }

    #[test]
    fn the_order_and_the_speed_of_rounds_are_of_no_consequence(
        (cells, order) in any_cells().prop_flat_map(|cells| {
            let order: Vec<usize> = (0..cells.len()).collect();
            (Just(cells), Just(order).prop_shuffle())
        }),
        speed in -3.0f64..3.0,
    ) {
        let faster: Cells = order
            .iter()
            .map(|round| cells[*round].iter().map(|cell| cell.map(|cell| cell + speed * *round as f64)).collect())
            .collect();
        let (there, here) = (fitted(&cells), fitted(&faster));
        prop_assert_eq!((there.basis, there.df), (here.basis, here.df));
        for candidate in 1..cells[0].len() {
            match (ln_ratio(&there, 0, candidate), ln_ratio(&here, 0, candidate)) {
                (Some(there), Some(here)) => prop_assert!(near(there, here)),
                (there, here) => prop_assert_eq!(there, here),
            }
        }
        if let (Some(there), Some(here)) = (there.variance, here.variance) {
            prop_assert!(near(there, here));
        }
    }

    #[test]
    fn swapping_base_and_candidate_flips_the_sign_and_nothing_else(cells in any_cells()) {
        let fit = fitted(&cells);
        let (there, back) = (fit.difference(&contrast(0, 1)), fit.difference(&contrast(1, 0)));
        let (Some(there), Some(back)) = (there, back) else { return Ok(()) };
        prop_assert!(near(there.ratio * back.ratio, 1.0));
        if let (Some(low), Some(high)) = (there.low, back.high) {
            prop_assert!(near(low.ln(), -high.ln()));
            prop_assert!(near(there.p.unwrap(), back.p.unwrap()));
        }
    }

    #[test]
    fn noise_scales_with_the_cells(cells in any_cells(), factor in 0.1f64..10.0) {
        let scaled: Cells =
            cells.iter().map(|of| of.iter().map(|cell| cell.map(|cell| cell * factor)).collect()).collect();
        let (there, here) = (fitted(&cells), fitted(&scaled));
        if let (Some(there), Some(here)) = (there.variance, here.variance) {
            prop_assert!(near(there * factor * factor, here));
        }
    }
}
