//! A dense part and a mixture of experts beside each other (Gemma 4 26B-A4B): both read the residual
//! stream through norms of their own, and the norm of the sum of their normed results is added to it.

use super::mlp::{GatedMlp, MlpScratch};
use super::moe;
use super::stream::ResidualStream;
use crate::models::config::{ExpertsConfig, GatedConfig};
use crate::models::loading::Loading;
use crate::models::ops::{Norm, Routing, StoreMode, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Weights of one layer.
#[derive(Debug)]
pub(super) struct BothMlps<B: Backend> {
    config: ExpertsConfig,
    pub(super) dense: GatedMlp<B>,
    /// Norm of what the router reads.
    router_norm: Norm<B::Vector>,
    router: B::Matrix,
    /// Factor of each expert's weight.
    factors: B::Vector,
    experts_norm: Norm<B::Vector>,
    experts: B::Experts,
    experts_post_norm: Norm<B::Vector>,
    post_norm: Norm<B::Vector>,
}

/// Activations of a step, beside those of the dense part.
#[derive(Debug)]
pub(super) struct BothScratch<B: Backend> {
    scores: B::Tensor,
    routes: B::Routes,
    sum: B::Tensor,
}

impl<B: Backend> BothScratch<B> {
    /// Allocates activations, of width one for a model without such layers.
    pub(super) fn new(
        backend: &mut B,
        (config, hidden): (Option<&ExpertsConfig>, usize),
    ) -> Result<Self, LoadError> {
        let [experts, per_token, hidden] =
            config.map_or([1; 3], |config| [config.experts, config.per_token, hidden]);
        Ok(Self {
            scores: backend.tensor(TensorRole::Sums, experts)?,
            routes: backend.routes(per_token)?,
            sum: backend.tensor(TensorRole::Sums, hidden)?,
        })
    }
}

impl<B: Backend> BothMlps<B> {
    /// Loads tensors whose names begin with `layer`.
    #[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        layer: &str,
        hidden: usize,
        dense: GatedConfig,
        config: &ExpertsConfig,
    ) -> Result<Self, LoadError> {
        let name = |part: &str| format!("{layer}.{part}");
        let count = config.experts;
        let sizes = moe::ExpertSizes { count, hidden, intermediate: config.intermediate };
        let experts = moe::separate_or_stacked(loading, &name("experts"), sizes)?;
        let mut norm = |part: &str| loading.norm(&name(part), hidden);
        let experts_norm = norm("pre_feedforward_layernorm_2.weight")?;
        let experts_post_norm = norm("post_feedforward_layernorm_2.weight")?;
        let post_norm = norm("post_feedforward_layernorm.weight")?;
        let dense_post_norm = name("post_feedforward_layernorm_1.weight");
        let router_factor = (hidden as f32).sqrt().recip();
        Ok(Self {
            config: config.clone(),
            dense: GatedMlp::load(loading, &name("mlp"), &dense_post_norm, hidden, dense)?,
            router_norm: loading.scaled_norm(&name("router.scale"), hidden, router_factor, 1.0)?,
            router: loading.matrix_for(WeightRole::Router, &name("router.proj.weight"), count, hidden)?,
            factors: loading.vector(&name("router.per_expert_scale"), count)?,
            experts_norm,
            experts: loading.backend.expert_weights(&experts, config.per_token, config.activation)?,
            experts_post_norm,
            post_norm,
        })
    }

    /// Adds the layer's result for the stream to the stream; `norm` is that of what the dense part
    /// reads.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        norm: Norm<&B::Vector>,
        dense: &mut MlpScratch<B::Tensor>,
        scratch: &mut BothScratch<B>,
        stream: &mut ResidualStream<B>,
    ) {
        let BothScratch { scores, routes, sum } = scratch;
        self.dense.forward_beside(backend, norm, dense, stream, sum);
        stream.normalize(backend, self.router_norm.as_ref());
        backend.linear(&stream.normed, &self.router, None, StoreMode::Overwrite, scores);
        let ExpertsConfig { experts, per_token, scoring, .. } = self.config;
        let factors = Some(&self.factors);
        backend.route(scores, Routing { experts, per_token, scoring, correction: None, factors }, routes);
        stream.normalize(backend, self.experts_norm.as_ref());
        backend.clear(&mut stream.result);
        backend.experts(&stream.normed, routes, &self.experts, &mut stream.result);
        backend.add_rms_norm(&stream.result, self.experts_post_norm.as_ref(), sum);
        backend.add_rms_norm(sum, self.post_norm.as_ref(), &mut stream.hidden);
    }
}
