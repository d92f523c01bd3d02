//! Mixtures of experts as launches. Experts' weights lie on the device in their stored format where
//! a kernel reads it, else as bf16.
//!
//! Invariant: all buffers are sized for the largest step and allocated at load. Rows that pad a
//! step are routed as all others are; their results are never read.

use cuda_kernels::{
    ClampedSwiglu, DevicePtr, ExpertFormat, Fp8Scales, GateMul, MXFP4_MAX_SCALE, MoeAlign, MoeCombine,
    MoeLayer, MoeLinear, MoeRoute, StoredExperts, size,
};

use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::content::Content;
use crate::cuda::driver::Driver;
use crate::cuda::fp8::Fp8Contents;
use crate::cuda::scratch::ExpertScratch;
use crate::cuda::supported::{MOST_EXPERTS, refused_at_load, unsupported};
use crate::cuda::weights::{DeviceVector, WeightUpload};
use crate::models::ops::{ExpertActivation, GateActivation, Routing};
use crate::models::{ExpertWeights, LoadError, StoredMatrix, WeightTensor};

/// Weights of the experts of a layer, and the buffers of their activations.
#[derive(Debug)]
pub(in crate::cuda) struct DeviceExperts {
    experts: u32,
    hidden: u32,
    intermediate: u32,
    gate_up: StoredExperts,
    down: StoredExperts,
    activation: ExpertActivation,
    room: ExpertScratch,
}

/// Experts that the rows of a step go to. The number of a route is `row * per_token + choice`.
#[derive(Debug)]
pub(in crate::cuda) struct DeviceRoutes {
    /// `[rows, per_token]` u32: the expert of each route.
    chosen: DevicePtr,
    /// `[rows, per_token]` f32: the weight of each route.
    weights: DevicePtr,
    /// `[routes]` u32: routes ordered by expert.
    order: DevicePtr,
    /// `[experts + 1]` u32: where the routes of each expert begin in `order`, and the number of
    /// routes.
    starts: DevicePtr,
    per_token: u32,
}

impl CudaBackend {
    pub(super) fn load_experts(
        &mut self,
        experts: &[ExpertWeights],
        per_token: usize,
        activation: ExpertActivation,
    ) -> Result<DeviceExperts, LoadError> {
        let (hidden, intermediate) = experts[0].down.shape();
        let room = self.expert_scratch((self.rows() * per_token, intermediate, hidden))?;
        let (driver, weights) = self.upload();
        let biases = experts.iter().filter_map(|expert| expert.biases.as_ref());
        let (gate_up_biases, down_biases): (Vec<_>, Vec<_>) = biases.map(|(a, b)| (a, b)).unzip();
        let gate_up: Vec<&StoredMatrix> = experts.iter().flat_map(|expert| &expert.gate_up).collect();
        let down: Vec<&StoredMatrix> = experts.iter().map(|expert| &expert.down).collect();
        let loaded = DeviceExperts {
            experts: size(experts.len()),
            hidden: size(hidden),
            intermediate: size(intermediate),
            gate_up: stored(driver, weights, &gate_up, &gate_up_biases)?,
            down: stored(driver, weights, &down, &down_biases)?,
            activation,
            room,
        };
        for StoredExperts { format, .. } in [loaded.gate_up, loaded.down] {
            self.note_type(match format {
                ExpertFormat::Bf16 => "bf16",
                ExpertFormat::Mxfp4 { .. } => "mxfp4",
                ExpertFormat::Fp8(_) => "fp8",
            });
        }
        Ok(loaded)
    }

    /// Buffers of the experts: the ones of the layer before, if it has the same sizes.
    fn expert_scratch(&mut self, sizes: (usize, usize, usize)) -> Result<ExpertScratch, LoadError> {
        let (routes, intermediate, hidden) = sizes;
        if let Some(room) = self.expert_scratch.filter(|room| room.sizes == sizes) {
            return Ok(room);
        }
        let mut make = |bytes| self.driver.allocate("activations of experts", bytes);
        let room = ExpertScratch {
            gate_up: make(routes * 2 * intermediate * 2)?,
            activated: make(routes * intermediate * 2)?,
            results: make(routes * hidden * 4)?,
            sizes,
        };
        self.expert_scratch = Some(room);
        Ok(room)
    }

    pub(super) fn make_routes(&mut self, per_token: usize) -> Result<DeviceRoutes, LoadError> {
        let routes = self.rows() * per_token;
        let mut words = |words: usize| self.driver.allocate("routes of experts", words * 4);
        Ok(DeviceRoutes {
            chosen: words(routes)?,
            weights: words(routes)?,
            order: words(routes)?,
            starts: words(MOST_EXPERTS + 1)?,
            per_token: size(per_token),
        })
    }

    pub(super) fn launch_route(
        &mut self,
        scores: &Tensor,
        routing: Routing<&DeviceVector>,
        out: &DeviceRoutes,
    ) {
        let (rows, experts) = (self.tokens(), size(routing.experts));
        let route = MoeRoute {
            scores: scores.at,
            chosen: out.chosen,
            weights: out.weights,
            rows,
            routing: routing.map(|correction| correction.at),
        };
        self.launch(&route.launch());
        let DeviceRoutes { chosen, order, starts, per_token, .. } = *out;
        self.launch(&MoeAlign { chosen, order, starts, routes: rows * per_token, experts }.launch());
    }

    pub(super) fn launch_experts(
        &mut self,
        x: &Tensor,
        routes: &DeviceRoutes,
        weights: &DeviceExperts,
        out: &Tensor,
    ) {
        let DeviceExperts { experts, hidden, intermediate, gate_up, down, room, .. } = *weights;
        let (rows, per_token) = (self.tokens(), routes.per_token);
        let first = MoeLinear {
            x: x.at,
            order: routes.order,
            starts: routes.starts,
            weights: gate_up,
            out: room.gate_up,
            routes: rows * per_token,
            experts,
            n: 2 * intermediate,
            k: hidden,
            layer: MoeLayer::GateUp { per_token },
        };
        self.launch_expert_layer(&first);
        self.launch_expert_activation(weights, first.routes);
        let second = MoeLinear {
            x: room.activated,
            weights: down,
            out: room.results,
            n: hidden,
            k: intermediate,
            layer: MoeLayer::Down,
            ..first
        };
        self.launch_expert_layer(&second);
        let (results, weights) = (room.results, routes.weights);
        self.launch(&MoeCombine { results, weights, out: out.at, rows, cols: hidden, per_token }.launch());
    }

    /// The kernel for few rows divides the inner dimension among warps, as that of linear layers
    /// does. So a deterministic engine uses tiles for any number of rows.
    fn launch_expert_layer(&mut self, layer: &MoeLinear) {
        let launch = if self.deterministic { layer.tiles() } else { layer.launch() };
        self.launch(&launch);
    }

    fn launch_expert_activation(&mut self, weights: &DeviceExperts, rows: u32) {
        let DeviceExperts { intermediate: cols, activation, room, .. } = *weights;
        let (gate_up, out) = (room.gate_up, room.activated);
        self.launch(&match activation {
            ExpertActivation::SwiGlu => {
                let activation = GateActivation::Silu;
                GateMul { activation, gate_up, out, rows, cols, group: cols }.launch()
            }
            ExpertActivation::GeGlu => refused_at_load(),
            ExpertActivation::ClampedSwiGlu { alpha, limit } => {
                ClampedSwiglu { gate_up, out, rows, cols, alpha, limit }.launch()
            }
        });
    }
}

/// Uploads one matrix of all experts, one expert behind the other: `[experts, parts, rows, cols]`.
fn stored(
    driver: &mut dyn Driver,
    weights: &mut WeightUpload,
    matrices: &[&StoredMatrix],
    biases: &[&WeightTensor],
) -> Result<StoredExperts, LoadError> {
    let (at, format) = if let Some(codes) = all_mxfp4(matrices)? {
        let (codes, scales): (Vec<_>, Vec<_>) = codes.into_iter().unzip();
        let scales = weights.put(driver, &scales)?;
        (weights.put(driver, &codes)?, ExpertFormat::Mxfp4 { scales })
    } else if let Some(Fp8Contents { codes, scales, block_cols }) = Fp8Contents::of(matrices) {
        let scales = Fp8Scales { at: weights.put(driver, &scales)?, block_cols };
        (weights.put(driver, &codes)?, ExpertFormat::Fp8(scales))
    } else {
        let all =
            matrices.iter().map(|matrix| Content::bf16(matrix)).collect::<Result<Vec<_>, LoadError>>()?;
        (weights.put(driver, &all)?, ExpertFormat::Bf16)
    };
    let values = |biases: &[&WeightTensor]| biases.iter().flat_map(|bias| bias.to_f32()).collect();
    let bias = match biases {
        [] => None,
        biases => Some(weights.put(driver, &[Content::Values(values(biases))])?),
    };
    Ok(StoredExperts { at, format, bias })
}

/// Contents of codes and scales, if all matrices are MXFP4; an error where the kernels wouldn't
/// have each weight exactly.
fn all_mxfp4<'a>(
    matrices: &[&'a StoredMatrix],
) -> Result<Option<Vec<(Content<'a>, Content<'a>)>>, LoadError> {
    let mut contents = Vec::new();
    for matrix in matrices {
        let StoredMatrix::Mxfp4 { codes, scales } = matrix else { return Ok(None) };
        if let Some(scale) = scales.bytes().iter().find(|scale| **scale > MXFP4_MAX_SCALE) {
            let most = MXFP4_MAX_SCALE;
            return Err(unsupported(&format!("MXFP4 weights with a scale of {scale}, more than {most}")));
        }
        contents.push((Content::Mxfp4(codes), Content::Codes(scales)));
    }
    Ok(Some(contents))
}
