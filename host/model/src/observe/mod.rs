//! What operators see of turns: metrics of each model, with the names of vLLM's, and the clock that
//! measures one turn.
//!
//! Invariant: a step costs a few additions in the turn's own memory, and at most one reading of the
//! clock (none for steps of the local engine, which reads it once for all of its sequences); what all
//! turns share is touched once a second at most, and at the turn's end.

mod gaps;
pub mod metrics;
mod model_metrics;
mod turn_meter;

pub use gaps::GapHistogram;
pub use model_metrics::{FinishedReason, ModelMetrics};
pub(crate) use turn_meter::TurnMeter;
