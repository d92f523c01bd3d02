//! Content of weights as it is written to the device's memory at load: bytes of files as they are,
//! elements converted to bf16 or MXFP4 codes reordered while they are copied.
//!
//! Invariant: any part of a content can be written by itself, so that uploads can be cut anywhere.
//! FP8 that stays FP8 is codes and values (`fp8.rs`); where no kernel takes it, products of codes
//! and their factors are rounded to bf16.

use std::ops::Range;

use cuda_kernels::{DevicePtr, Launch, RandomCodes, RandomWeights, pack_mxfp4};
use half::{bf16, f16};
use ops::E4M3_VALUES;

use super::supported::unsupported;
use crate::models::{Codes, Dtype, LoadError, RandomValues, StoredMatrix, WeightTensor};

/// Source of some bytes on the device, and their conversion.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// bf16 of a tensor's elements, in their order.
    Plain(&'a WeightTensor),
    /// bf16 of a tensor that is stored as `[cols, rows]`, transposed to `[rows, cols]`.
    Transposed { tensor: &'a WeightTensor, rows: usize, cols: usize },
    /// bf16 of FP8 codes `[rows, cols]` times their factors: one for each quantisation block of
    /// `block` rows and columns.
    Fp8 { codes: &'a Codes, cols: usize, scales: Vec<f32>, block: (usize, usize) },
    /// Quantisation codes or scales, one byte each, as they are stored.
    Codes(&'a Codes),
    /// MXFP4 codes, their bits in the order of kernels. Their number of bytes is a multiple of 8.
    Mxfp4(&'a Codes),
    /// f32 values.
    Values(Vec<f32>),
    /// A byte range of another content; it begins and ends between two elements.
    Part { whole: &'a Content<'a>, part: Range<usize> },
}

impl<'a> Content<'a> {
    /// Content that gives a matrix as bf16.
    pub(super) fn bf16(matrix: &'a StoredMatrix) -> Result<Self, LoadError> {
        let (rows, cols) = matrix.shape();
        Ok(match matrix {
            StoredMatrix::Plain(tensor) => Self::Plain(tensor),
            StoredMatrix::Transposed(tensor) => Self::Transposed { tensor, rows, cols },
            StoredMatrix::Fp8 { codes, scales, block } => {
                Self::Fp8 { codes, cols, scales: scales.to_f32(), block: *block }
            }
            StoredMatrix::Mxfp4 { .. } => return Err(unsupported("MXFP4 weights outside of experts")),
            StoredMatrix::Blocks(_) => return Err(unsupported("weights in blocks of a GGUF file")),
        })
    }

    /// Number of bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        let product = |shape: &[usize]| shape.iter().product::<usize>();
        match self {
            Self::Plain(tensor) | Self::Transposed { tensor, .. } => 2 * product(&tensor.shape),
            Self::Fp8 { codes, .. } => 2 * product(&codes.shape),
            Self::Codes(codes) | Self::Mxfp4(codes) => product(&codes.shape),
            Self::Values(values) => size_of_val(&values[..]),
            Self::Part { part, .. } => part.len(),
        }
    }

    /// Whether the content is random and the device may draw it for itself.
    pub(super) fn is_random(&self) -> bool {
        self.random_values().is_some()
    }

    fn random_values(&self) -> Option<RandomValues> {
        let random = match self {
            Self::Plain(tensor) => tensor.random_values(),
            Self::Codes(codes) | Self::Mxfp4(codes) => codes.random_values(),
            Self::Part { whole, part } => whole.random_values()?.behind(part.start),
            _ => None,
        };
        random.filter(|random| !matches!(random, RandomValues::Same(_)))
    }

    fn is_mxfp4(&self) -> bool {
        match self {
            Self::Mxfp4(_) => true,
            Self::Part { whole, .. } => whole.is_mxfp4(),
            _ => false,
        }
    }

    /// The launch that draws a random content on the device; `None` where the content must be
    /// copied.
    pub(super) fn draw(&self, out: DevicePtr) -> Option<Launch> {
        let bytes = self.bytes() as u64;
        match self.random_values().filter(|_| bytes > 0 && out.0.is_multiple_of(8))? {
            RandomValues::Bf16 { seed, middle, spread } => {
                Some(RandomWeights { out, count: bytes / 2, seed, middle, spread }.launch())
            }
            RandomValues::Codes { seed, mask } => {
                let mxfp4 = self.is_mxfp4();
                Some(RandomCodes { out, count: bytes, seed, mask, mxfp4 }.launch())
            }
            RandomValues::Same(_) => None,
        }
    }

    /// Writes the bytes from `offset` on, which must lie between two elements.
    pub(super) fn write(&self, offset: usize, out: &mut [u8]) {
        match self {
            Self::Plain(tensor) => plain(tensor, offset, out),
            Self::Transposed { tensor, rows, cols } => {
                transposed(tensor, (*rows, *cols), offset / 2, out.as_chunks_mut().0);
            }
            Self::Fp8 { codes, cols, scales, block } => {
                fp8(codes.bytes(), *cols, (scales, *block), offset / 2, out.as_chunks_mut().0);
            }
            Self::Codes(codes) => out.copy_from_slice(&codes.bytes()[offset..][..out.len()]),
            Self::Mxfp4(codes) => mxfp4(codes.bytes(), offset, out),
            Self::Part { whole, part } => whole.write(part.start + offset, out),
            Self::Values(values) => {
                out.copy_from_slice(&bytemuck::cast_slice(&values[..])[offset..][..out.len()]);
            }
        }
    }
}

/// Writes the bytes from `offset` on of `contents`, which lie one behind the other.
pub(super) fn write_all(contents: &[Content<'_>], offset: usize, out: &mut [u8]) {
    let mut begin = 0;
    for content in contents {
        let Range { start, end } = begin..begin + content.bytes();
        begin = end;
        let part = start.max(offset)..end.min(offset + out.len());
        if !part.is_empty() {
            content.write(part.start - start, &mut out[part.start - offset..part.end - offset]);
        }
    }
}

/// Writes elements as bf16, from byte `offset` of the result on.
fn plain(tensor: &WeightTensor, offset: usize, out: &mut [u8]) {
    let (bytes, first) = (tensor.bytes(), offset / 2);
    let to = out.as_chunks_mut::<2>().0;
    match tensor.dtype {
        Dtype::Bf16 => out.copy_from_slice(&bytes[offset..][..out.len()]),
        Dtype::F16 => {
            for (to, from) in to.iter_mut().zip(&bytes.as_chunks::<2>().0[first..]) {
                *to = bf16::from_f32(f16::from_le_bytes(*from).to_f32()).to_le_bytes();
            }
        }
        Dtype::F32 => {
            for (to, from) in to.iter_mut().zip(&bytes.as_chunks::<4>().0[first..]) {
                *to = bf16::from_f32(f32::from_le_bytes(*from)).to_le_bytes();
            }
        }
    }
}

/// Rows of the result that are written together, so that each cache line of the source is read
/// once.
const ROWS: usize = 32;

/// Writes the transpose of a tensor `[cols, rows]` as bf16, from element `first` of the result on.
fn transposed(tensor: &WeightTensor, (rows, cols): (usize, usize), first: usize, out: &mut [[u8; 2]]) {
    let (bytes, size, end) = (tensor.bytes(), tensor.dtype.size(), first + out.len());
    for begin in (first / cols..end.div_ceil(cols)).step_by(ROWS) {
        for col in 0..cols {
            for row in begin..(begin + ROWS).min(rows) {
                let Some(to) = (row * cols + col).checked_sub(first).and_then(|at| out.get_mut(at)) else {
                    continue;
                };
                let from = &bytes[(col * rows + row) * size..][..size];
                *to = match tensor.dtype {
                    Dtype::Bf16 => [from[0], from[1]],
                    Dtype::F16 => {
                        bf16::from_f32(f16::from_le_bytes([from[0], from[1]]).to_f32()).to_le_bytes()
                    }
                    Dtype::F32 => {
                        bf16::from_f32(f32::from_le_bytes([from[0], from[1], from[2], from[3]])).to_le_bytes()
                    }
                };
            }
        }
    }
}

/// Writes MXFP4 codes in the order of kernels, from byte `offset` on.
fn mxfp4(codes: &[u8], offset: usize, out: &mut [u8]) {
    let codes = codes.as_chunks::<8>().0;
    // The first group of eight bytes may have begun before, the last one may end behind.
    let (first, rest) = out.split_at_mut((offset.next_multiple_of(8) - offset).min(out.len()));
    if !first.is_empty() {
        first.copy_from_slice(&pack_mxfp4(codes[offset / 8])[offset % 8..][..first.len()]);
    }
    let (groups, last) = rest.as_chunks_mut::<8>();
    let codes = &codes[offset.div_ceil(8)..];
    for (to, from) in groups.iter_mut().zip(codes) {
        *to = pack_mxfp4(*from);
    }
    if !last.is_empty() {
        last.copy_from_slice(&pack_mxfp4(codes[groups.len()])[..last.len()]);
    }
}

/// Writes FP8 codes times the factors of their quantisation blocks as bf16, from element `first`
/// on.
fn fp8(
    codes: &[u8],
    cols: usize,
    (scales, block): (&[f32], (usize, usize)),
    first: usize,
    out: &mut [[u8; 2]],
) {
    let mut at = first;
    let end = first + out.len();
    while at < end {
        let (row, col) = (at / cols, at % cols);
        // All codes up to the end of the quantisation block or of the row have one factor.
        let stop = end.min(at + block.1 - col % block.1).min(row * cols + cols);
        let scale = scales[row / block.0 * cols.div_ceil(block.1) + col / block.1];
        for (to, code) in out[at - first..stop - first].iter_mut().zip(&codes[at..stop]) {
            *to = bf16::from_f32(E4M3_VALUES[usize::from(*code)] * scale).to_le_bytes();
        }
        at = stop;
    }
}

#[cfg(test)]
mod tests {
    use kernels::cpu::{Elements, Fp8Blocks};

    use super::*;
    use crate::models::{CodeKind, Weights};

    /// The contents, written in pieces of `piece` bytes.
    fn written(contents: &[Content<'_>], piece: usize) -> Vec<u8> {
        let mut bytes = vec![0; contents.iter().map(Content::bytes).sum()];
        for (i, out) in bytes.chunks_mut(piece).enumerate() {
            write_all(contents, i * piece, out);
        }
        bytes
    }

    fn values(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|bits| bf16::from_le_bytes(*bits).to_f32()).collect()
    }

    #[test]
    fn contents_are_cut_anywhere() {
        let weights = Weights::random(3);
        let tensor = weights.tensor("a", &[37, 70]).unwrap();
        let codes = weights.codes("b", &[70, 37], CodeKind::E4m3).unwrap();
        let scales = || (1..=3 * 5u8).map(f32::from).collect();
        let contents = [
            Content::Plain(&tensor),
            Content::Transposed { tensor: &tensor, rows: 70, cols: 37 },
            Content::Fp8 { codes: &codes, cols: 37, scales: scales(), block: (24, 8) },
            Content::Codes(&codes),
            Content::Values(vec![1.0, -2.5]),
        ];
        let whole = written(&contents, usize::MAX >> 1);
        for piece in [2, 34, 74, 998, 5180] {
            assert!(written(&contents, piece) == whole, "pieces of {piece}");
        }
    }

    #[test]
    fn mxfp4_codes_are_reordered_from_any_byte_on() {
        let codes = Weights::random(3).codes("b", &[5, 3, 16], CodeKind::E2m1Pairs).unwrap();
        let contents = [Content::Mxfp4(&codes), Content::Mxfp4(&codes)];
        let once: Vec<u8> = codes.bytes().as_chunks().0.iter().flat_map(|eight| pack_mxfp4(*eight)).collect();
        let wanted = [once.clone(), once].concat();
        for piece in (1..40).chain([usize::MAX >> 1]) {
            assert!(written(&contents, piece) == wanted, "pieces of {piece}");
        }
        let mut part = [0; 3];
        contents[0].write(18, &mut part);
        assert_eq!(part, wanted[18..21], "within a group of eight");
    }

    #[test]
    fn columns_become_rows() {
        let tensor = Weights::random(3).tensor("a", &[37, 70]).unwrap();
        let turned =
            values(&written(&[Content::Transposed { tensor: &tensor, rows: 70, cols: 37 }], 1 << 20));
        let stored = tensor.to_f32();
        for (i, value) in turned.iter().enumerate() {
            assert_eq!(value.to_bits(), stored[i % 37 * 70 + i / 37].to_bits(), "{i}");
        }
    }

    #[test]
    fn codes_are_multiplied_by_the_factor_of_their_block() {
        let codes = Weights::random(3).codes("b", &[70, 37], CodeKind::E4m3).unwrap();
        let scales: Vec<f32> = (1..=3 * 5u8).map(f32::from).collect();
        let content = Content::Fp8 { codes: &codes, cols: 37, scales: scales.clone(), block: (24, 8) };
        let on_the_cpu = Elements::Fp8(Fp8Blocks::new(codes.bytes(), 37, &scales, (24, 8)));
        for (i, value) in values(&written(&[content], 1 << 20)).into_iter().enumerate() {
            let wanted = bf16::from_f32(on_the_cpu.get(i)).to_f32();
            assert_eq!(value.to_bits(), wanted.to_bits(), "{i}");
        }
    }
}
