//! Linear algebra of small dense matrices.

/// Gauss and Jordan; positive definite matrices need no exchange of rows.
pub(crate) fn inverse_of_positive_definite(matrix: &mut [Vec<f64>]) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..size).map(|row| (0..size).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for pivot in 0..size {
        let scale = 1.0 / matrix[pivot][pivot];
        matrix[pivot].iter_mut().chain(&mut inverse[pivot]).for_each(|value| *value *= scale);
        let (pivot_row, pivot_inverse) = (matrix[pivot].clone(), inverse[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot];
            let values = matrix[row].iter_mut().chain(&mut inverse[row]);
            for (value, eliminated) in values.zip(pivot_row.iter().chain(&pivot_inverse)) {
                *value -= factor * eliminated;
            }
        }
    }
    inverse
}

/// Whether a matrix is symmetric and positive definite (Cholesky).
pub(crate) fn is_positive_definite(matrix: &[Vec<f64>]) -> bool {
    let size = matrix.len();
    if matrix.iter().any(|row| row.len() != size) {
        return false;
    }
    let mut factor = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let of_both: f64 = (0..column).map(|at| factor[row][at] * factor[column][at]).sum();
            let left: f64 = matrix[row][column] - of_both;
            let scale = matrix[row][row].abs().max(matrix[column][column].abs());
            if (matrix[row][column] - matrix[column][row]).abs() > 1e-9 * scale {
                return false;
            }
            let is_positive = left > 1e-12 * matrix[row][row];
            if row == column && !is_positive {
                return false;
            }
            factor[row][column] = if row == column { left.sqrt() } else { left / factor[column][column] };
        }
    }
    true
}
