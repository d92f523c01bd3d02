//! State of the tile kernel between two spans of keys.

use super::partial::Partial;

/// State of a running softmax. Query row `i` is head `i % heads` of token `i / heads`.
pub(super) struct RunningSoftmax {
    /// `[rows, stride]`: queries, multiplied by the factor of scores.
    pub(super) queries: Vec<f32>,
    /// `[rows, SPAN]`: scores, then weights.
    pub(super) weights: Vec<f32>,
    pub(super) partial: Partial,
}
