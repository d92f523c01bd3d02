//! List of everything that the server may compile, for the check that compiles all of it without a
//! device.

use crate::{
    Attention, AttentionDecode, AttentionPrefill, Cast, Embed, Fill, GateMul, GatherRows, Linear,
    QkNormRopeWrite, RmsNorm, Sample, Variant, mla, moe,
};

/// All variants that are checked.
pub fn variants() -> Vec<Variant> {
    let all = [
        Embed::variants(),
        RmsNorm::variants(),
        GateMul::variants(),
        QkNormRopeWrite::variants(),
        Linear::variants(),
        Cast::variants(),
        GatherRows::variants(),
        Fill::variants(),
        Attention::variants(),
        AttentionDecode::variants(),
        AttentionPrefill::variants(),
        Sample::variants(),
        mla::variants(),
        moe::variants(),
    ];
    all.into_iter().flatten().collect()
}
