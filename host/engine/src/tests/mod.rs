//! Tests of the engine over a fake model whose every token depends on everything that its cache
//! should hold.

mod accept;
mod ahead;
mod fairness;
pub(crate) mod fake;
mod late_masks;
mod local;
mod logits;
mod masks;
mod play;
mod random;
mod sampler;
mod scores;
mod sharing;
mod simulation;
mod speculation;
mod start;
mod states;
mod steps;
