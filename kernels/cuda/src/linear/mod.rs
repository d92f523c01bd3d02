//! Linear layers: the parameters that all their kernels share, and the choice of the kernel.

mod product;
mod skinny;
mod tiles;

use crate::{DevicePtr, Fp8Scales, Launch, Variant, check};

pub use product::{MatrixProduct, ProductStore};

/// `y = x · weightᵀ + bias`, stored to `out` as `store` says.
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    /// `[rows, inputs]`.
    pub x: LinearInput,
    /// `[outputs, inputs]`.
    pub weight: LinearWeight,
    /// `[outputs]` f32.
    pub bias: Option<DevicePtr>,
    /// `[rows, outputs]`, or `[rows, outputs / 2]` for [`LinearStore::SwiGlu`].
    pub out: DevicePtr,
    /// What is done with `y`.
    pub store: LinearStore,
    /// Rows of x.
    pub rows: u32,
    /// Rows of the weight.
    pub outputs: u32,
    /// Columns of x and of the weight.
    pub inputs: u32,
}

/// Weight of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearWeight {
    /// Address of the weight or of its codes.
    pub at: DevicePtr,
    /// Scales of E4M3 codes; `None`: the weight is bf16.
    pub fp8: Option<Fp8Scales>,
}

impl LinearWeight {
    /// A bf16 weight.
    pub fn bf16(at: DevicePtr) -> Self {
        Self { at, fp8: None }
    }

    /// Value of the constant FP8, and the argument `scales`.
    fn format(&self) -> (u32, DevicePtr) {
        self.fp8.map_or((0, DevicePtr::NULL), |scales| (1, scales.at))
    }
}

/// Input of a linear layer.
#[derive(Debug, Clone, Copy)]
pub enum LinearInput {
    /// bf16.
    Bf16(DevicePtr),
    /// f32, whose RMS norm rounded to bf16 is the input; only where [`Linear::takes_norm`].
    Normed {
        /// `[rows, inputs]` f32.
        x: DevicePtr,
        /// Weight of the norm, `[inputs]` f32.
        weight: DevicePtr,
        /// Added to the mean square.
        eps: f32,
    },
}

/// What is done with the sums of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearStore {
    /// They replace bf16 values.
    Bf16,
    /// They replace f32 values.
    F32,
    /// They are added to f32 values (a residual connection).
    AddF32,
    /// The weight's rows are interleaved, eight of gate and eight of up; `silu(gate) * up` replaces
    /// bf16 values. `outputs` is a multiple of 16.
    SwiGlu,
}

impl LinearStore {
    const ALL: [Self; 4] = [Self::Bf16, Self::F32, Self::AddF32, Self::SwiGlu];

    /// Value of the constant STORE in `linear_store.cuh`.
    fn define(self) -> u32 {
        match self {
            Self::Bf16 => 0,
            Self::F32 => 1,
            Self::AddF32 => 2,
            Self::SwiGlu => 3,
        }
    }
}

impl Linear {
    /// Launch of the best kernel for these sizes.
    ///
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, sizes don't fit the store, or no
    /// kernel takes the norm.
    pub fn launch(&self) -> Launch {
        self.skinny().or_else(|| self.tiles()).expect("linear: a norm for more rows than the kernels take")
    }

    /// Whether a kernel takes [`LinearInput::Normed`] with `rows` rows of `inputs` columns and this
    /// weight. Each block reads and norms x again, so it pays for few rows only.
    pub fn takes_norm(rows: u32, inputs: u32, weight: &LinearWeight) -> bool {
        rows <= 4 && skinny::takes(inputs, weight) && skinny::is_shared(rows, inputs)
    }

    /// Checks sizes and pointers, and returns the addresses of x and of the norm's weight (or
    /// null).
    fn checked(&self) -> (DevicePtr, DevicePtr) {
        let (x, norm) = match self.x {
            LinearInput::Bf16(x) => (x, DevicePtr::NULL),
            LinearInput::Normed { x, weight, .. } => (x, weight),
        };
        check::shape("linear", self.rows, self.inputs, &[x, self.weight.at, self.out]);
        assert!(self.outputs > 0, "linear: no outputs");
        if let Some(scales) = self.weight.fp8 {
            scales.check("linear", self.outputs, self.inputs);
            assert!(x.is_wide() && self.weight.at.is_wide(), "linear: a pointer is misaligned");
        }
        let fits = self.store != LinearStore::SwiGlu || self.outputs.is_multiple_of(16);
        assert!(fits, "linear: SwiGLU of {} outputs", self.outputs);
        // Pairs of outputs are written at once.
        assert!(self.out.0.is_multiple_of(8), "linear: a misaligned output");
        (x, norm)
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [skinny::variants(), tiles::variants()].concat()
    }
}

/// Reference of [`LinearStore::SwiGlu`]: `silu(gate) * up` of sums that are interleaved by eight.
pub fn swiglu_turns_reference(sums: &[f64]) -> Vec<f64> {
    let pair = |(gate, up): (&f64, &f64)| gate / (1.0 + (-gate).exp()) * up;
    sums.chunks_exact(16).flat_map(|both| both[..8].iter().zip(&both[8..]).map(pair)).collect()
}
