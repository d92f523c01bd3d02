//! Operations of the CPU against their references, and against themselves with the work cut
//! differently.
#![expect(clippy::cast_precision_loss, reason = "widths, counts and positions are far below 2²³")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod activation;
mod blocks;
mod clamped_swiglu;
mod delta;
mod embed;
mod experts;
mod linear;
mod mla;
mod norm;
mod quantized;
mod short_conv;
mod states;
