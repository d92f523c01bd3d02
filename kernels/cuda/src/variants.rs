//! Everything that the server may compile, for the check that compiles it all without a device.

use crate::{All, Attention, Cast, Embed, Fill, GatherRows, Linear, QkNormRopeWrite, RmsNorm, Sample, SiluMul, Variant, Vec, all, fn, of, pub, sources, variants};
}
