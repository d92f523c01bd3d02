//! The tests of `cuda-kernels` on this crate's drivers: the shim, or the GPU that
//! `ENGINE_TESTS_DEVICE` names.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small shapes")]

mod driver;

#[path = "../../../../../../kernels/cuda/tests/kernels/attention.rs"]
mod attention;
#[path = "../../../../../../kernels/cuda/tests/kernels/device.rs"]
mod device;
#[path = "../../../../../../kernels/cuda/tests/kernels/elementwise.rs"]
mod elementwise;
#[path = "../../../../../../kernels/cuda/tests/kernels/embed.rs"]
mod embed;
#[path = "../../../../../../kernels/cuda/tests/kernels/fp8.rs"]
mod fp8;
#[path = "../../../../../../kernels/cuda/tests/kernels/linear.rs"]
mod linear;
#[path = "../../../../../../kernels/cuda/tests/kernels/loading.rs"]
mod loading;
#[path = "../../../../../../kernels/cuda/tests/kernels/mla.rs"]
mod mla;
#[path = "../../../../../../kernels/cuda/tests/kernels/mla_attention.rs"]
mod mla_attention;
#[path = "../../../../../../kernels/cuda/tests/kernels/moe.rs"]
mod moe;
#[path = "../../../../../../kernels/cuda/tests/kernels/moe_layer.rs"]
mod moe_layer;
#[path = "../../../../../../kernels/cuda/tests/kernels/moe_linear.rs"]
mod moe_linear;
#[path = "../../../../../../kernels/cuda/tests/kernels/paged.rs"]
mod paged;
#[path = "../../../../../../kernels/cuda/tests/kernels/qk_norm_rope_write.rs"]
mod qk_norm_rope_write;
#[path = "../../../../../../kernels/cuda/tests/kernels/sampling.rs"]
mod sampling;
