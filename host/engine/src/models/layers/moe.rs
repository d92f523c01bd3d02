//! Mixture of experts: a router, the experts in the layouts of checkpoints, and perhaps a shared
//! expert that every token goes to.

use ops::MXFP4_BLOCK;

use super::mlp::{self, GatedMlp, ResultGate};
use super::stream::ResidualStream;
use crate::models::config::{ExpertLayout, ExpertsConfig, GatedConfig, Quantization, SharedExpert};
use crate::models::loading::Loading;
use crate::models::ops::{Norm, Routing, StoreMode, TensorRole};
use crate::models::stored::{ExpertWeights, StoredMatrix};
use crate::models::{Backend, CodeKind, LoadError, WeightRole};

/// A mixture of experts on a backend.
#[derive(Debug)]
pub(super) struct MoeMlp<B: Backend> {
    config: ExpertsConfig,
    router: B::Matrix,
    router_bias: Option<B::Vector>,
    correction: Option<B::Vector>,
    experts: B::Experts,
    shared: Option<SharedExpertLayer<B>>,
}

/// An expert that every token goes to.
#[derive(Debug)]
struct SharedExpertLayer<B: Backend> {
    expert: GatedMlp<B>,
    /// Gate of its result.
    gate: Option<B::SigmoidGate>,
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct MoeLayerScratch<B: Backend> {
    scores: B::Tensor,
    routes: B::Routes,
    shared: mlp::MlpScratch<B::Tensor>,
    /// Gate of the shared expert.
    gate: B::Tensor,
}

impl<B: Backend> MoeLayerScratch<B> {
    /// Allocates activations, of width one for those that a model lacks.
    pub(super) fn new(backend: &mut B, config: Option<&ExpertsConfig>) -> Result<Self, LoadError> {
        let (experts, per_token) = config.map_or((1, 1), |config| (config.experts, config.per_token));
        Ok(Self {
            scores: backend.tensor(TensorRole::Sums, experts)?,
            routes: backend.routes(per_token)?,
            shared: mlp::MlpScratch::new(
                backend,
                config.and_then(|config| Some(config.shared?.intermediate)).unwrap_or(1),
            )?,
            gate: backend.tensor(TensorRole::Sums, 1)?,
        })
    }
}

/// Sizes of a layer's experts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpertSizes {
    pub(super) count: usize,
    pub(super) hidden: usize,
    pub(super) intermediate: usize,
}

impl<B: Backend> MoeMlp<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        hidden: usize,
        config: &ExpertsConfig,
    ) -> Result<Self, LoadError> {
        let name = |part: &str| format!("{prefix}.{part}");
        let count = config.experts;
        let (router, bias, correction) = match config.layout {
            ExpertLayout::Packed => ("router.weight", Some("router.bias"), None),
            ExpertLayout::Separate { correction } => {
                ("gate.weight", None, correction.then_some("gate.e_score_correction_bias"))
            }
        };
        let router = loading.matrix_for(WeightRole::Router, &name(router), count, hidden)?;
        let router_bias = bias.map(|bias| loading.vector(&name(bias), count)).transpose()?;
        let correction = correction.map(|part| loading.vector(&name(part), count)).transpose()?;
        let sizes = ExpertSizes { count, hidden, intermediate: config.intermediate };
        let experts = match config.layout {
            ExpertLayout::Separate { .. } => separate_or_stacked(loading, &name("experts"), sizes)?,
            ExpertLayout::Packed => packed(loading, &name("experts"), sizes)?,
        };
        let experts = loading.backend.expert_weights(&experts, config.per_token, config.activation)?;
        let shared = config
            .shared
            .map(|shared| SharedExpertLayer::load(loading, prefix, hidden, shared))
            .transpose()?;
        Ok(Self { config: config.clone(), router, router_bias, correction, experts, shared })
    }

    /// Adds the layer's result for the norm of the stream to the stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        norm: Norm<&B::Vector>,
        scratch: &mut MoeLayerScratch<B>,
        stream: &mut ResidualStream<B>,
    ) {
        let MoeLayerScratch { scores, routes, shared, gate } = scratch;
        // Computed once, since the router and all experts read it.
        stream.normalize(backend, norm);
        let ResidualStream { hidden, normed, .. } = stream;
        let ExpertsConfig { experts, per_token, scoring, .. } = self.config;
        let routing =
            Routing { experts, per_token, scoring, correction: self.correction.as_ref(), factors: None };
        backend.linear(normed, &self.router, self.router_bias.as_ref(), StoreMode::Overwrite, scores);
        backend.route(scores, routing, routes);
        backend.experts(normed, routes, &self.experts, hidden);
        if let Some(SharedExpertLayer { expert, gate: gated_by }) = &self.shared {
            let gate = gated_by.as_ref().map(|projection| ResultGate { projection, values: gate });
            expert.forward_of(backend, normed, shared, gate, hidden);
        }
    }
}

impl<B: Backend> SharedExpertLayer<B> {
    fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        hidden: usize,
        config: SharedExpert,
    ) -> Result<Self, LoadError> {
        let part = if config.gated { "shared_expert" } else { "shared_experts" };
        let (names, sizes) = (format!("{prefix}.{part}"), GatedConfig::swiglu(config.intermediate));
        let expert = GatedMlp::load(loading, &names, "", hidden, sizes)?;
        let gate = format!("{prefix}.shared_expert_gate.weight");
        let stored = config.gated.then(|| loading.stored(&vec![(gate, 1)], hidden)).transpose()?;
        let gate = stored.map(|stored| loading.backend.sigmoid_gate(&stored)).transpose()?;
        Ok(Self { expert, gate })
    }
}

/// Loads the experts of a checkpoint that has tensors for each, or one of each kind for all.
pub(super) fn separate_or_stacked<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    sizes: ExpertSizes,
) -> Result<Vec<ExpertWeights>, LoadError> {
    if loading.has(&format!("{prefix}.gate_up_proj")) {
        return stacked(loading, prefix, sizes);
    }
    (0..sizes.count).map(|i| separate(loading, &format!("{prefix}.{i}"), sizes)).collect()
}

/// Loads one expert of a checkpoint that has three tensors for each, or two.
fn separate<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    ExpertSizes { hidden, intermediate, .. }: ExpertSizes,
) -> Result<ExpertWeights, LoadError> {
    let both = format!("{prefix}.gate_up_proj.weight");
    let gate_up = if loading.has(&both) {
        vec![(both, 2 * intermediate)]
    } else {
        ["gate", "up"].map(|part| (format!("{prefix}.{part}_proj.weight"), intermediate)).into()
    };
    let gate_up = loading.stored(&gate_up, hidden)?;
    let down = loading.stored(&vec![(format!("{prefix}.down_proj.weight"), hidden)], intermediate)?;
    Ok(ExpertWeights { gate_up, down: down[0].clone(), biases: None })
}

/// Loads the experts of a checkpoint that has one tensor of each kind for all, as linear layers have
/// them.
fn stacked<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    sizes: ExpertSizes,
) -> Result<Vec<ExpertWeights>, LoadError> {
    let ExpertSizes { count, hidden, intermediate } = sizes;
    let gate_up = loading.tensor(&format!("{prefix}.gate_up_proj"), &[count, 2 * intermediate, hidden])?;
    let down = loading.tensor(&format!("{prefix}.down_proj"), &[count, hidden, intermediate])?;
    let one = |i| ExpertWeights {
        gate_up: vec![StoredMatrix::Plain(gate_up.index(i))],
        down: StoredMatrix::Plain(down.index(i)),
        biases: None,
    };
    Ok((0..count).map(one).collect())
}

/// Loads the experts of a checkpoint that has one tensor of each kind for all, transposed or packed.
fn packed<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    sizes: ExpertSizes,
) -> Result<Vec<ExpertWeights>, LoadError> {
    let ExpertSizes { count, hidden, intermediate } = sizes;
    if loading.is_gguf() {
        let one = |i| alternating(loading, &format!("{prefix}.{i}"), sizes);
        return (0..count).map(one).collect();
    }
    let gate_up = packed_part(loading, &format!("{prefix}.gate_up_proj"), [count, 2 * intermediate, hidden])?;
    let down = packed_part(loading, &format!("{prefix}.down_proj"), [count, hidden, intermediate])?;
    let gate_up_bias = loading.tensor(&format!("{prefix}.gate_up_proj_bias"), &[count, 2 * intermediate])?;
    let down_bias = loading.tensor(&format!("{prefix}.down_proj_bias"), &[count, hidden])?;
    let both = gate_up.into_iter().zip(down).enumerate();
    Ok(both
        .map(|(i, (gate_up, down))| ExpertWeights {
            gate_up: vec![gate_up],
            down,
            biases: Some((gate_up_bias.index(i), down_bias.index(i))),
        })
        .collect())
}

/// Loads one expert of a GGUF file, which has gate and up in tensors of their own.
fn alternating<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    ExpertSizes { hidden, intermediate, .. }: ExpertSizes,
) -> Result<ExpertWeights, LoadError> {
    let [gate, up, gate_bias, up_bias] =
        ["gate_proj.weight", "up_proj.weight", "gate_proj.bias", "up_proj.bias"]
            .map(|part| format!("{prefix}.{part}"));
    let gate_up = loading.alternating_matrix([&gate, &up], (intermediate, hidden))?;
    let gate_up_bias = loading.alternating_vector([&gate_bias, &up_bias], intermediate)?;
    let down = loading.stored(&vec![(format!("{prefix}.down_proj.weight"), hidden)], intermediate)?;
    let down_bias = loading.tensor(&format!("{prefix}.down_proj.bias"), &[hidden])?;
    Ok(ExpertWeights {
        gate_up: vec![gate_up],
        down: down[0].clone(),
        biases: Some((gate_up_bias, down_bias)),
    })
}

/// Loads a matrix of each expert from MXFP4 codes and exponents, or from plain numbers
/// `[experts, cols, rows]`.
fn packed_part<B: Backend>(
    loading: &mut Loading<'_, B>,
    name: &str,
    [count, rows, cols]: [usize; 3],
) -> Result<Vec<StoredMatrix>, LoadError> {
    if loading.quantization() != Some(Quantization::Mxfp4) {
        let all = loading.tensor(name, &[count, cols, rows])?;
        return Ok((0..count).map(|i| StoredMatrix::Transposed(all.index(i))).collect());
    }
    let blocks = cols / MXFP4_BLOCK;
    let codes = loading.codes(
        &format!("{name}_blocks"),
        &[count, rows, blocks, MXFP4_BLOCK / 2],
        CodeKind::E2m1Pairs,
    )?;
    let scales = loading.codes(&format!("{name}_scales"), &[count, rows, blocks], CodeKind::E8m0)?;
    let one = |i| StoredMatrix::Mxfp4 { codes: codes.index(i), scales: scales.index(i) };
    Ok((0..count).map(one).collect())
}
