//! FP8 weights that stay FP8 on the device: which ones do, and what is written there.
//!
//! Invariant: codes are those of the file. The rows of scales are repeated, one for each eight rows
//! of a matrix, so that matrices may be stacked, or interleaved by eight rows, whatever their
//! quantisation blocks are.

use cuda_kernels::{FP8_ROWS, Fp8Scales, size};

use super::content::Content;
use crate::models::StoredMatrix;

/// Contents of FP8 matrices, which lie one behind the other.
#[derive(Debug)]
pub(super) struct Fp8Contents<'a> {
    /// Codes of each matrix.
    pub(super) codes: Vec<Content<'a>>,
    /// Scales of each matrix, `[rows / 8, ⌈cols / block_cols⌉]`.
    pub(super) scales: Vec<Content<'a>>,
    /// Columns of a quantisation block.
    pub(super) block_cols: u32,
}

impl<'a> Fp8Contents<'a> {
    /// Contents of matrices of one width, if all are FP8 with equally wide quantisation blocks, and
    /// kernels take each of them; `None`: they are converted to bf16.
    pub(super) fn of(matrices: &[&'a StoredMatrix]) -> Option<Self> {
        let (mut codes, mut scales, mut widths) = (Vec::new(), Vec::new(), Vec::new());
        for matrix in matrices {
            let StoredMatrix::Fp8 { codes: of_file, scales: tensor, block } = matrix else { return None };
            let (rows, cols) = matrix.shape();
            if !Fp8Scales::fit((size(rows), size(cols)), (size(block.0), size(block.1))) {
                return None;
            }
            codes.push(Content::Codes(of_file));
            scales.push(Content::Values(repeated(&tensor.to_f32(), rows, block.0)));
            widths.push(size(block.1));
        }
        let block_cols = *widths.first()?;
        widths.iter().all(|width| *width == block_cols).then_some(Self { codes, scales, block_cols })
    }
}

/// Scales of each eight of `rows` rows, from those of quantisation blocks of `block_rows` rows.
fn repeated(scales: &[f32], rows: usize, block_rows: usize) -> Vec<f32> {
    let across = scales.len() / rows.div_ceil(block_rows);
    let row = |row: usize| &scales[row / block_rows * across..][..across];
    (0..rows).step_by(FP8_ROWS as usize).flat_map(row).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{CodeKind, Weights};

    fn matrix(rows: usize, cols: usize, block: (usize, usize)) -> StoredMatrix {
        let weights = Weights::random(5);
        let codes = weights.codes("codes", &[rows, cols], CodeKind::E4m3).unwrap();
        let scales = weights.tensor("scales", &[rows.div_ceil(block.0), cols.div_ceil(block.1)]).unwrap();
        StoredMatrix::Fp8 { codes, scales, block }
    }

    fn stays(matrices: &[StoredMatrix]) -> bool {
        Fp8Contents::of(&matrices.iter().collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn each_eight_rows_have_the_scales_of_their_block() {
        // Blocks of 16 rows, the last one with 8 rows.
        let scales = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let wanted = [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(repeated(&scales, 40, 16), wanted);
        assert_eq!(repeated(&[7.0], 24, 128), [7.0; 3]);
    }

    #[test]
    fn matrices_of_any_heights_stay_fp8_together() {
        let block = (128, 128);
        assert!(stays(&[matrix(256, 144, block), matrix(72, 144, block), matrix(8, 144, block)]));
        assert!(stays(&[matrix(48, 80, (32, 32))]));
    }

    #[test]
    fn what_kernels_do_not_take_is_converted() {
        let block = (32, 32);
        let plain = StoredMatrix::Plain(Weights::random(5).tensor("plain", &[48, 80]).unwrap());
        let others = [
            vec![matrix(44, 80, block)],
            vec![matrix(48, 72, block)],
            vec![matrix(48, 80, (4, 32))],
            vec![matrix(48, 80, (32, 16))],
            vec![matrix(48, 80, (32, 96))],
            vec![matrix(48, 80, block), plain],
            vec![matrix(48, 80, block), matrix(48, 80, (32, 64))],
            Vec::new(),
        ];
        for (i, matrices) in others.iter().enumerate() {
            assert!(!stays(matrices), "case {i}");
        }
    }
}
