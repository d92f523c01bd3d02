//! Mixtures of experts: router, ordering of tokens by expert, the experts' linear layers, and the
//! weighted sum.
//!
//! The launches of a layer are [`MoeRoute`], [`MoeAlign`], [`MoeLinear`] of gate and up, an
//! activation over all routes ([`crate::GateMul`] or [`ClampedSwiglu`]), [`MoeLinear`] of down, and
//! [`MoeCombine`]. The number of a route is `token * per_token + choice`.

mod align;
mod clamped_swiglu;
mod codes;
mod combine;
mod linear;
mod route;

pub use align::{MoeAlign, moe_align_reference};
pub use clamped_swiglu::ClampedSwiglu;
pub use codes::{MXFP4_MAX_SCALE, pack_mxfp4};
pub use combine::{MoeCombine, moe_combine_reference};
pub use linear::{ExpertFormat, MoeLayer, MoeLinear, StoredExperts};
pub use route::{MoeRoute, moe_route_reference};

use crate::Variant;

pub(crate) fn variants() -> Vec<Variant> {
    let all = [MoeRoute::variants(), MoeAlign::variants(), MoeLinear::variants(), ClampedSwiglu::variants()];
    all.into_iter().chain([MoeCombine::variants()]).flatten().collect()
}
