//! Scheduler and runner together, on a device that executes the kernels and one step ahead:
//! arrivals, cancellations, preemption, masks and stops. Every client gets the tokens that it gets
//! alone.
//!
//! A row's bits don't depend on its batch where the same kernels compute all steps: in steps of few
//! rows of a model that only the simple kernel of attention supports, and in a deterministic
//! engine.

use super::rig::{device, options};
use crate::cuda::{CudaOptions, CudaRunner};
use crate::error::MaskError;
use crate::generation::{GenerationRequest, TokenMask};
use crate::logits::LogitsProcessors;
use crate::models::{ModelConfig, Weights};
use crate::options::LocalOptions;
use crate::speculation::SpeculationOptions;
use crate::tests::fake::{Client, Rig, sampled};
use crate::token::Token;

const VOCAB: u32 = 40;

/// One small layer: a step takes a millisecond.
fn dense(head_dim: usize) -> String {
    format!(
        r#"{{
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": 40, "hidden_size": 32,
    "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": {head_dim},
    "max_position_embeddings": 192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true
}}"#
    )
}

const LATENT_EXPERTS: &str = r#"{
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_act": "silu", "vocab_size": 40, "hidden_size": 32,
    "intermediate_size": 32, "moe_intermediate_size": 16, "num_hidden_layers": 1, "first_k_dense_replace": 0, "num_attention_heads": 2,
    "num_key_value_heads": 2, "kv_lora_rank": 16, "q_lora_rank": null, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "norm_topk_prob": true,
    "routed_scaling_factor": 1.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
    "max_position_embeddings": 192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true
}"#;

/// Attention and feed-forward part of the model's one layer.
#[derive(Debug, Clone, Copy)]
enum Layer {
    /// Grouped heads of this width.
    Dense {
        head_dim: usize,
    },
    LatentExperts,
}

impl Layer {
    /// Configuration of the model, and bytes of a KV block.
    fn model(self) -> (ModelConfig, u64) {
        let (text, bytes) = match self {
            Self::Dense { head_dim } => (dense(head_dim), 2 * 64 * head_dim as u64 * 2),
            Self::LatentExperts => (LATENT_EXPERTS.to_owned(), 64 * 24 * 2),
        };
        (ModelConfig::parse("config.json", text.as_bytes()).unwrap(), bytes)
    }
}

/// Sizes of an engine. Either it has few sequences, and heads that only the simple kernel supports,
/// or it is deterministic and has many sequences, and heads that all kernels support.
#[derive(Debug, Clone, Copy)]
struct Shape {
    layer: Layer,
    /// Greatest number of tokens in a step.
    tokens: usize,
    lanes: usize,
    deterministic: bool,
}

const SIMPLE: Shape =
    Shape { layer: Layer::Dense { head_dim: 16 }, tokens: 16, lanes: 4, deterministic: false };
const DETERMINISTIC: Shape =
    Shape { layer: Layer::Dense { head_dim: 32 }, tokens: 80, lanes: 20, deterministic: true };

impl Shape {
    /// An engine with `blocks` KV blocks, beside the block for padding.
    fn rig(self, blocks: u64) -> Rig<CudaRunner> {
        let Self { layer, tokens, lanes, deterministic } = self;
        let (config, block) = layer.model();
        let kv_cache_bytes = Some((blocks + 1) * block);
        let cuda = CudaOptions { kv_cache_bytes, batch_tokens: tokens, lanes, deterministic, ..options() };
        let weights = Weights::random(3);
        let runner = CudaRunner::on(device(), &config, &weights, &cuda, &mut |_| {}).unwrap();
        let speculation = SpeculationOptions::OFF;
        let local =
            LocalOptions { batch_tokens: tokens, sequences: lanes, speculation, ..LocalOptions::default() };
        Rig::with_runner(runner, local)
    }
}

/// Mask that forbids the last token from being repeated.
#[derive(Debug, Default)]
struct NoRepeat(Option<u32>);

impl TokenMask for NoRepeat {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        if let Some(id) = self.0 {
            mask[id as usize / 32] &= !(1 << (id % 32));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        if self.0.replace(token) == Some(token) { Err(MaskError::Refused(token)) } else { Ok(()) }
    }
}

/// A client: when it arrives and leaves, and what it asks for.
struct Visit {
    arrival: u32,
    leaves_after: Option<u32>,
    kind: u32,
    /// Tokens of the prompt: the first number for even kinds, the second for odd ones.
    prompt: [u32; 2],
    /// Greatest number of tokens of the answer; some kinds add to it.
    answer: usize,
}

impl Visit {
    fn request(&self) -> GenerationRequest {
        let n = self.kind;
        // Prompts of both lengths begin alike, so that they share blocks; the longer one is more
        // than one block of 64.
        let prompt: Vec<u32> = (0..self.prompt[n as usize % 2]).map(|at| at * 7 % VOCAB).collect();
        let plain = sampled(prompt, self.answer + self.answer / 9 * (n % 4) as usize, n.into());
        match n % 4 {
            0 => GenerationRequest { prompt_logprobs: Some(1), ..plain },
            1 => {
                let processors = LogitsProcessors {
                    presence: 0.7,
                    repetition: 1.2,
                    banned: vec![vec![3]],
                    ..Default::default()
                };
                GenerationRequest { processors, ..plain }
            }
            2 => GenerationRequest { mask: Some(Box::<NoRepeat>::default()), ..plain },
            _ => GenerationRequest { stop_ids: (0..VOCAB).step_by(9).collect(), ..plain },
        }
    }
}

fn visits() -> Vec<Visit> {
    let one = |n: u32| Visit {
        arrival: n * n % 11,
        leaves_after: (n % 5 == 4).then_some(20 + n),
        kind: n * 5 % 13,
        prompt: [30, 70],
        answer: 72,
    };
    (0..9).map(one).collect()
}

fn drive(rig: &mut Rig<CudaRunner>, visits: &[Visit]) -> Vec<Client> {
    let mut clients: Vec<Option<Client>> = visits.iter().map(|_| None).collect();
    for time in 0..2000 {
        for (visit, client) in visits.iter().zip(&mut clients) {
            if visit.arrival == time {
                *client = Some(rig.submit(visit.request()));
            }
            let Some(client) = client else { continue };
            client.read(usize::MAX);
            if visit.leaves_after == Some(time - visit.arrival) {
                client.leave();
            }
        }
        let moved = rig.round();
        let is_over =
            |client: &Option<Client>| client.as_ref().is_some_and(|one| one.left() || one.finish.is_some());
        if !moved && clients.iter().all(is_over) {
            break;
        }
    }
    clients.into_iter().flatten().collect()
}

/// The prompt's tokens with their log-probabilities. A device may round differently in another
/// batch.
fn scores(client: &Client) -> Vec<(u32, f32)> {
    let score = |token: &Token| (token.id, token.logprobs.as_ref().expect("they were asked for").chosen);
    client.scored.iter().map(score).collect()
}

fn alone(shape: Shape, visit: &Visit) -> Client {
    let mut rig = shape.rig(8);
    let mut client = rig.submit(visit.request());
    while rig.round() {
        client.read(usize::MAX);
    }
    client.read(usize::MAX);
    client
}

/// Runs the visits with each of these numbers of KV blocks (and whether they make it preempt), and
/// compares each client with what it gets alone.
fn check(shape: Shape, visits: &[Visit], rooms: &[(u64, bool)]) {
    let expected: Vec<_> = visits.iter().map(|visit| alone(shape, visit)).collect();
    for (blocks, preempts) in rooms.iter().copied() {
        let mut rig = shape.rig(blocks);
        let clients = drive(&mut rig, visits);
        assert_eq!(clients.len(), visits.len());
        for ((client, alone), visit) in clients.iter().zip(&expected).zip(visits) {
            if client.left() {
                assert!(alone.tokens.starts_with(&client.tokens));
                continue;
            }
            assert_eq!((&client.tokens, &client.finish), (&alone.tokens, &alone.finish), "{blocks} blocks");
            let (scores, alone, request) = (scores(client), scores(alone), visit.request());
            let told = if request.prompt_logprobs.is_some() { &request.prompt[1..] } else { &[] };
            assert!(scores.iter().map(|(id, _)| id).eq(told), "{scores:?}");
            let differ = |(one, other): (&(u32, f32), &(u32, f32))| (one.1 - other.1).abs() > 0.02;
            assert!(scores.len() == alone.len() && !scores.iter().zip(&alone).any(differ), "{alone:?}");
        }
        let stats = rig.scheduler.stats();
        assert_eq!((stats.free_blocks, stats.running, stats.waiting), (stats.total_blocks, 0, 0));
        assert_eq!((stats.preemptions > 0, stats.prefix_hit_tokens > 0), (preempts, true), "{blocks} blocks");
    }
}

#[test]
#[ignore = "a quarter of a minute: tests/nightly.sh"]
fn answers_are_those_alone_with_a_device_a_step_ahead() {
    check(SIMPLE, &visits(), &[(20, false), (4, true)]);
}

#[test]
#[ignore = "a quarter of a minute: tests/nightly.sh"]
fn so_they_do_with_experts_and_a_compressed_cache() {
    check(Shape { layer: Layer::LatentExperts, ..SIMPLE }, &visits(), &[(4, true)]);
}

/// Steps have up to eighty rows, for which other engines use other kernels of linear layers and
/// attention than for few rows.
#[test]
fn answers_are_those_alone_from_deterministic_engines() {
    let one =
        |n: u32| Visit { arrival: n / 4, leaves_after: None, kind: n * 5 % 13, prompt: [40, 68], answer: 12 };
    check(DETERMINISTIC, &(0..20).map(one).collect::<Vec<_>>(), &[(60, false)]);
}
