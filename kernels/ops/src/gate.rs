//! Gates of feed-forward layers.

/// Activation of the gate in a feed-forward layer, whose result is `activation(gate) * up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateActivation {
    /// `x · sigmoid(x)` (`SwiGLU`, arXiv:2002.05202).
    Silu,
    /// GELU with a hyperbolic tangent in the place of the error function (arXiv:1606.08415).
    GeluTanh,
}
