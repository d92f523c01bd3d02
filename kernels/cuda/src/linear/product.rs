//! Linear layers as plain matrix products, which a library computes.

use super::{Linear, LinearInput, LinearStore, LinearWeight};
use crate::{DevicePtr, check};

/// `out = x · weightᵀ`, stored as `store` says. A library takes it whose rows begin at multiples of
/// 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixProduct {
    /// `[rows, inputs]` bf16.
    pub x: DevicePtr,
    /// `[outputs, inputs]` bf16.
    pub weight: DevicePtr,
    /// `[rows, outputs]` of the type that `store` names.
    pub out: DevicePtr,
    /// What is done with the sums.
    pub store: ProductStore,
    /// Rows of x.
    pub rows: u32,
    /// Rows of the weight.
    pub outputs: u32,
    /// Columns of x and of the weight.
    pub inputs: u32,
}

/// What is done with the sums of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProductStore {
    /// They replace bf16 values.
    Bf16,
    /// They replace f32 values.
    F32,
    /// They are added to f32 values.
    AddF32,
}

impl Linear {
    /// The layer as a plain matrix product. `None` where there is more to it (a norm, a bias, a
    /// gate), for FP8 weights, and where rows don't begin at multiples of 16 bytes.
    ///
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, or sizes don't fit the store.
    pub fn product(&self) -> Option<MatrixProduct> {
        let (x, _) = self.checked();
        let (LinearInput::Bf16(_), None) = (self.x, self.weight.fp8) else { return None };
        let store = match self.store {
            LinearStore::Bf16 => ProductStore::Bf16,
            LinearStore::F32 => ProductStore::F32,
            LinearStore::AddF32 => ProductStore::AddF32,
            LinearStore::SwiGlu => return None,
        };
        let Self { weight: LinearWeight { at: weight, .. }, out, rows, outputs, inputs, .. } = *self;
        let is_aligned = check::width(inputs, &[x, weight]) == 8
            && check::width(outputs, &[out]) == 8
            && self.bias.is_none();
        is_aligned.then_some(MatrixProduct { x, weight, out, store, rows, outputs, inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fp8Scales;

    #[test]
    fn only_plain_layers_with_aligned_rows_are_products() {
        let at = DevicePtr(256);
        let plain = Linear {
            x: LinearInput::Bf16(at),
            weight: LinearWeight::bf16(at),
            bias: None,
            out: at,
            store: LinearStore::AddF32,
            rows: 3,
            outputs: 16,
            inputs: 32,
        };
        let scales = Fp8Scales { at, block_cols: 128 };
        assert_eq!(plain.product().map(|product| product.store), Some(ProductStore::AddF32));
        let others = [
            Linear { weight: LinearWeight { at, fp8: Some(scales) }, ..plain },
            Linear { bias: Some(at), ..plain },
            Linear { store: LinearStore::SwiGlu, ..plain },
            Linear { x: LinearInput::Normed { x: at, weight: at, eps: 1e-6 }, ..plain },
            Linear { inputs: 20, ..plain },
            Linear { outputs: 12, ..plain },
            Linear { out: DevicePtr(264), ..plain },
        ];
        assert!(others.iter().all(|linear| linear.product().is_none()), "{others:?}");
    }
}
