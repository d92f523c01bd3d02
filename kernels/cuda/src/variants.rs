//! Everything that the server may compile, for the check that compiles it all without a device.

use crate::{Embed, RmsNorm, SiluMul, Variant};

/// All variants of all sources.
pub fn variants() -> Vec<Variant> {
    [Embed::variants(), RmsNorm::variants(), SiluMul::variants()].into_iter().flatten().collect()
}
