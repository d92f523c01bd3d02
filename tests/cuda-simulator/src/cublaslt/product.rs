//! Products of bf16 matrices, summed in f32 and rounded once.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cuda_kernels::DevicePtr;
use cuda_shim::{Shim, ShimError};
use cudarc::cublaslt::sys::{
    cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasStatus_t, cudaDataType,
};
use half::bf16;

use super::descriptors::{Layout, Library};
use crate::outcome::wrong;

/// Layouts of A, B, C and D, and whether A is transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    is_transposed: bool,
    layouts: [Layout; 4],
}

/// A product of matrices at these addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(super) sizes: Sizes,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) c: u64,
    pub(super) d: u64,
}

impl Sizes {
    /// Checks that the matrices can be multiplied.
    pub(super) fn new(
        library: &Library,
        name: &str,
        product: cublasLtMatmulDesc_t,
        layouts: [cublasLtMatrixLayout_t; 4],
    ) -> Result<Self, cublasStatus_t> {
        let invalid = |reason: String| wrong(name, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason);
        let unknown = || invalid("no such descriptor".into());
        let is_transposed = *library.products.get(product).ok_or_else(unknown)?;
        let layout = |of: cublasLtMatrixLayout_t| library.layouts.get(of).copied().ok_or_else(unknown);
        let [a, b, c, d] = layouts;
        let sizes = Self { is_transposed, layouts: [layout(a)?, layout(b)?, layout(c)?, layout(d)?] };
        let ([outputs, rows, inputs], [_, b, c, d]) = (sizes.numbers(), sizes.layouts);
        let fit = (b.rows, d.rows, d.cols) == (inputs, outputs, rows) && c == d;
        let types = sizes.layouts.map(|layout| layout.kind);
        let known = matches!(
            types,
            [
                cudaDataType::CUDA_R_16BF,
                cudaDataType::CUDA_R_16BF,
                _,
                cudaDataType::CUDA_R_16BF | cudaDataType::CUDA_R_32F
            ]
        );
        if fit && known { Ok(sizes) } else { Err(invalid(format!("matrices of {sizes:?}"))) }
    }

    /// Rows and columns of D, and the dimension that is summed over.
    fn numbers(&self) -> [u64; 3] {
        let [a, b, ..] = self.layouts;
        let (outputs, inputs) = if self.is_transposed { (a.cols, a.rows) } else { (a.rows, a.cols) };
        [outputs, b.cols, inputs]
    }

    /// Whether all columns begin at multiples of 16 bytes, which the library's kernels need.
    pub(super) fn is_aligned(&self) -> bool {
        self.layouts.iter().all(|layout| (layout.stride * size(layout.kind)).is_multiple_of(16))
    }

    /// Name of the kernel for these sizes.
    pub(super) fn algorithm(&self) -> cublasLtMatmulAlgo_t {
        let mut hash = DefaultHasher::new();
        format!("{self:?}").hash(&mut hash);
        cublasLtMatmulAlgo_t { data: [hash.finish(); 8] }
    }
}

impl Product {
    /// Address and bytes of each matrix.
    #[expect(clippy::cast_possible_truncation, reason = "pointers have 64 bits")]
    pub(super) fn ranges(&self) -> [(u64, usize); 4] {
        let [a, b, c, d] = self.sizes.layouts.map(|layout| {
            let numbers = layout.stride * (layout.cols - 1) + layout.rows;
            (numbers * size(layout.kind)) as usize
        });
        [(self.a, a), (self.b, b), (self.c, c), (self.d, d)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "pointers have 64 bits")]
    pub(crate) fn compute(&self, shim: &Shim) -> Result<(), ShimError> {
        let [outputs, rows, inputs] = self.sizes.numbers().map(|number| number as usize);
        let [a_layout, b_layout, _, d_layout] = self.sizes.layouts;
        let [a_stride, b_stride, stride] =
            [a_layout, b_layout, d_layout].map(|layout| layout.stride as usize);
        let [(_, a_bytes), (_, b_bytes), _, (_, d_bytes)] = self.ranges();
        let (a, b) = (read_bf16(shim, self.a, a_bytes)?, read_bf16(shim, self.b, b_bytes)?);
        let mut out = match self.beta {
            0.0 => vec![0f32; stride * rows],
            _ => read(shim, self.c, d_bytes, d_layout.kind)?,
        };
        for row in 0..rows {
            let x = &b[row * b_stride..][..inputs];
            for output in 0..outputs {
                let sum: f32 = if self.sizes.is_transposed {
                    a[output * a_stride..][..inputs].iter().zip(x).map(|(a, x)| a * x).sum()
                } else {
                    x.iter().enumerate().map(|(i, x)| a[i * a_stride + output] * x).sum()
                };
                let at = &mut out[row * stride + output];
                *at = self.alpha * sum + if self.beta == 0.0 { 0.0 } else { self.beta * *at };
            }
        }
        let out = &out[..stride * (rows - 1) + outputs];
        if d_layout.kind == cudaDataType::CUDA_R_32F {
            return shim.upload(DevicePtr(self.d), out);
        }
        let rounded: Vec<u16> = out.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
        shim.upload(DevicePtr(self.d), &rounded)
    }
}

fn size(kind: cudaDataType) -> u64 {
    if kind == cudaDataType::CUDA_R_32F { 4 } else { 2 }
}

fn read_bf16(shim: &Shim, at: u64, bytes: usize) -> Result<Vec<f32>, ShimError> {
    let bits: Vec<u16> = shim.read(DevicePtr(at), bytes / 2)?;
    Ok(bits.into_iter().map(|bits| bf16::from_bits(bits).to_f32()).collect())
}

fn read(shim: &Shim, at: u64, bytes: usize, kind: cudaDataType) -> Result<Vec<f32>, ShimError> {
    match kind {
        cudaDataType::CUDA_R_32F => shim.read(DevicePtr(at), bytes / 4),
        _ => read_bf16(shim, at, bytes),
    }
}
