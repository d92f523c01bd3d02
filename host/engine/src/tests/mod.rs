//! Tests of the engine over a fake model whose every token depends on everything that its cache should hold.

mod adjust;
mod fake;
mod local;
mod play;
mod random;
mod sampler;
mod steps;
