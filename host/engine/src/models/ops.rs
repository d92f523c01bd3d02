//! Parameters of operations, in types that models and all devices share. Those that kernels take,
//! too, are of crate `ops`.

pub use ::ops::{
    AttentionSpec, DeltaLayout, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms,
    HeadPairing, MlaShape, Norm, QkvShape, QueryScaling, Routing, SIGMOID_EPS, Scoring, ShortConvShape,
    ShortConvWeights, StoreMode,
};

pub use super::rope::{Llama3Scaling, LongRopeScaling, RopeScaling, RopeSpec, RopeTable, YarnScaling};

/// Input of a linear layer.
#[derive(Debug)]
pub enum LayerInput<'a, T, V> {
    /// A tensor as it is.
    Plain(&'a T),
    /// The norm of a tensor. Devices that don't compute it within the layer keep it in `normed`,
    /// which is undefined afterwards.
    Normed {
        /// Tensor to normalise.
        x: &'a T,
        /// The norm.
        norm: Norm<&'a V>,
        /// Buffer for the norm, as wide as `x`.
        normed: &'a mut T,
    },
}

/// Role of activations: devices may keep different roles in different number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorRole {
    /// Sums that norms, routers or further sums read, such as the residual stream: f32 everywhere.
    Sums,
    /// Inputs of linear layers and attention, and results that only these read: perhaps in fewer
    /// bits.
    Inputs,
}
