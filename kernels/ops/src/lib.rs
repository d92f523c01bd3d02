//! Parameters of operations, in types that models and the kernels of every device share: shapes,
//! the choice of experts, number formats; and what the operations mean
//! ([`reference`](mod@reference)).
//!
//! Invariant: plain data without dependencies. `V` is whatever a device holds a vector in: a slice,
//! or an address in its memory.
//!
//! ```
//! use ops::{AttentionSpec, QkvShape};
//!
//! let shape = QkvShape { heads: 32, kv_heads: 8, head_dim: 128 };
//! let spec = AttentionSpec { shape, scale: 128f32.sqrt().recip(), window: None, sinks: None::<&[f32]> };
//! assert_eq!(spec.shape.width(), 6144);
//! ```

mod attention;
mod delta;
mod experts;
mod formats;
mod gate;
mod mla;
mod norm;
pub mod reference;
mod short_conv;
mod store;

pub use attention::{AttentionSpec, QkvShape, QueryScaling};
pub use delta::{DELTA_L2_EPS, DeltaLayout, DeltaOffsets, DeltaShape, DeltaWeights, HeadPairing};
pub use experts::{ExpertActivation, Routing, SIGMOID_EPS, Scoring};
pub use formats::{E2M1_VALUES, E4M3_VALUES, MXFP4_BLOCK};
pub use gate::GateActivation;
pub use mla::MlaShape;
pub use norm::{HeadNorms, Norm};
pub use short_conv::{ShortConvShape, ShortConvWeights};
pub use store::StoreMode;
