//! Everything that the server may compile, for the check that compiles it all without a device.

use crate::{
    Attention, Cast, Embed, Fill, GatherRows, Linear, QkNormRopeWrite, RmsNorm, Sample, SiluMul, Variant,
};

/// All variants of all sources.
pub fn variants() -> Vec<Variant> {
    let all = [
        Embed::variants(),
        RmsNorm::variants(),
        SiluMul::variants(),
        QkNormRopeWrite::variants(),
        Linear::variants(),
        Attention::variants(),
        Sample::variants(),
        Cast::variants(),
        GatherRows::variants(),
        Fill::variants(),
    ];
    all.into_iter().flatten().collect()
}
