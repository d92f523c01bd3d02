//! Mixtures of experts.

/// Parameters of a router's choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Routing<V> {
    /// Number of experts.
    pub experts: usize,
    /// Number of experts chosen for each token.
    pub per_token: usize,
    /// How scores become a choice and weights.
    pub scoring: Scoring,
    /// `[experts]`: added to the scores for the choice, and not for the weights.
    pub correction: Option<V>,
    /// `[experts]`: factors of the weights.
    pub factors: Option<V>,
}

impl<V> Routing<V> {
    /// The same parameters with vectors held in another way.
    pub fn map<U>(self, mut of: impl FnMut(V) -> U) -> Routing<U> {
        let Self { experts, per_token, scoring, correction, factors } = self;
        Routing { experts, per_token, scoring, correction: correction.map(&mut of), factors: factors.map(of) }
    }
}

/// How scores of all experts become a choice and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// Softmax over all scores; the greatest are chosen (Qwen3).
    Softmax {
        /// Whether weights are divided by their sum.
        normalize: bool,
    },
    /// The greatest scores are chosen; softmax over those (gpt-oss).
    SoftmaxOfChosen,
    /// Sigmoid of each score. Groups of neighbouring experts with the greatest sums of their best
    /// two scores are kept, and the greatest scores in these groups are chosen (DeepSeek-V3,
    /// arXiv:2412.19437).
    Sigmoid {
        /// Number of groups; divides the number of experts.
        groups: usize,
        /// Number of groups that are kept.
        top_groups: usize,
        /// Whether weights are divided by their sum.
        normalize: bool,
        /// Added to that sum.
        eps: f32,
        /// Factor of weights.
        scale: f32,
    },
}

/// What DeepSeek-V3's models add to the sum of weights; the only constant that the CUDA kernel has.
pub const SIGMOID_EPS: f32 = 1e-20;

/// Activation between an expert's two linear layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpertActivation {
    /// `silu(gate) * up`; the weight has all rows of gate, then all rows of up.
    SwiGlu,
    /// The same with GELU ([`GateActivation::GeluTanh`](crate::GateActivation::GeluTanh)) in the
    /// place of silu.
    GeGlu,
    /// `(up + 1) * gate * sigmoid(alpha * gate)` with `gate ≤ limit` and `-limit ≤ up ≤ limit`; the
    /// weight's rows of gate and up alternate.
    ClampedSwiGlu {
        /// Factor within the sigmoid.
        alpha: f32,
        /// Bound of gate and up.
        limit: f32,
    },
}
