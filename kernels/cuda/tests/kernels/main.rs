//! Every kernel on the shim against its reference, on small and odd shapes, with threads in both
//! orders.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "small shapes, whose errors are printed"
)]

mod attention;
mod device;
mod driver;
mod elementwise;
mod embed;
mod fp8;
mod linear;
mod loading;
mod mla;
mod mla_attention;
mod moe;
mod moe_layer;
mod moe_linear;
mod paged;
mod qk_norm_rope_write;
mod refused;
mod sampling;
